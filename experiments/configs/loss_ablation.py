"""The loss ablation's settings: `loss_ablation.py:quick`, `:laptop`, `:long`, `:gpu`, `:paper`.

Wang 2020 (section 6.3), Wang 2019 and 2023 (section 6.3). A preset on one of the papers' boards:
`:paper.gobang_5x5`; on any board: `--config.game=gobang_5x5`.
"""

import dataclasses
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.config import KEYS as GENERAL_KEYS
from jaxzero.settings.config import TARGETS, ConfigError, Key, Preset, preset_config
from jaxzero.settings.keys import nearest, table

# Of 000 and 001 the 5x5 and 6x6 boards; 003 has them all.
BOARDS = (
    "othello_5x5",
    "othello_6x6",
    "othello_7x7",
    "othello_8x8",
    "connect_four_5x5",
    "connect_four_6x6",
    "gobang_5x5",
    "gobang_6x6",
)

_QUICK: dict[str, Any] = {
    "game": "connect_four_5x5",
    "study.seeds": 2,
    "study.tournament_games": 40,
    "study.tournament_simulations": 25,
    "study.ladder_games": 8,
    "study.ladder_opponents": ("random", "greedy", "mcts_50"),
    "network.channels": 32,
    "network.hidden": (256, 128),
    "search.num_simulations": 25,
    "selfplay.episodes": 32,
    "replay.window": 5,
    "train.iterations": 15,
    "train.epochs": 5,
    "train.learning_rate": 0.002,
    "arena.games": 16,
    "evaluation.learning_positions": 48,
}
LONG: dict[str, Any] = {  # on top of `quick`; the arms of the defects train as long
    "study.tournament_games": 20,
    "study.tournament_simulations": 100,
    "study.ladder_games": 40,
    "study.ladder_opponents": ("random", "greedy", "mcts_50", "mcts_200"),
    "search.num_simulations": 50,
    "selfplay.episodes": 48,
    "replay.window": 8,
    "train.iterations": 80,
    "train.epochs": 2,
    "arena.games": 20,
    "execution.snapshot_every": 20,
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Connect Four 5x5, 4 losses x 2 seeds, 32 channels: minutes on two CPU cores", _QUICK
    ),
    "laptop": Preset(
        "Connect Four 5x5, 4 losses x 5 seeds, 32 channels: 7 minutes of a CPU core",
        {
            **_QUICK,
            "study.seeds": 5,
            "study.tournament_games": 20,
            "train.iterations": 30,
            "train.epochs": 2,
        },
    ),
    "long": Preset(
        "Connect Four 5x5, 4 losses x 8 seeds, 32 channels: two hours of a CPU core",
        {**_QUICK, **LONG, "study.seeds": 8},
    ),
    "gpu": Preset(
        "Connect Four 5x5, 4 losses x 8 seeds together, 128 channels: one large GPU",
        {
            "game": "connect_four_5x5",
            "study.tournament_simulations": 50,
            "network.channels": 128,
            "search.num_simulations": 50,
            "replay.window": 10,
            "train.iterations": 60,
            "train.epochs": 5,
            "train.learning_rate": 0.002,
        },
    ),
    "paper": Preset("Othello 6x6, the papers' Table 1, 4 losses x 8 seeds, 256 channels", {}),
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key("study.seeds", 8, "runs of each target", low=1),
    Key(
        "study.targets",
        ("policy", "value", "sum", "product"),
        "what is minimised, a population of runs for each",
        choices=TARGETS,
    ),
    Key(
        "study.lambdas",
        (),
        "beside the targets: lambda l_p + (1 - lambda) l_v for each of these, e.g. 0,0.25,0.5,1 "
        "(Wang 2020, section 5.3, writes it down; 0 is l_v, 1 is l_p)",
        "lambda",
        low=0,
        high=1,
        item=float,
    ),
    Key("study.tournament_games", 20, "games of each pair of players", low=2, even=True),
    Key("study.tournament_simulations", 100, "m of the final tournament", low=1, high=100_000),
    Key(
        "study.low_simulations",
        5,
        "m of the second tournament, which shows mostly the network",
        low=1,
        high=100_000,
    ),
    Key("study.rollout_simulations", 50, "m of the plain MCTS opponent", low=1, high=100_000),
    Key(
        "study.ladder_games",
        20,
        "games of each kept network against each fixed opponent; 0: no ladder",
        low=0,
        even=True,
    ),
    Key(
        "study.ladder_opponents",
        ("random", "greedy", "mcts_50", "mcts_200"),
        "fixed opponents: random, greedy, mcts_50 or another number of rollouts",
    ),
    dataclasses.replace(
        table(GENERAL_KEYS)["train.iterations"],
        default=None,
        meaning="self-play, training and arena; unset: 200 on 5x5 boards, else 100 (Wang 2020)",
    ),
    dataclasses.replace(
        table(GENERAL_KEYS)["network.channels"],
        meaning="filters of each convolution; 256 in the authors' Othello and Connect Four, and "
        "assumed for Gobang, where theirs are unknown",
    ),
)


def get_config(preset: str = "quick") -> ConfigDict:
    """The settings of a preset, or of a preset on one of `BOARDS`: `"paper.gobang_5x5"`.

    ConfigError: unknown preset, unknown board.
    """
    name, dot, board = preset.partition(".")
    config = preset_config(name, PRESETS, KEYS)
    if dot:
        if board not in BOARDS:
            raise ConfigError(
                f"preset {preset!r}: the papers have no board {board!r} (others are set by "
                f"--config.game), {nearest(board, BOARDS)}"
            )
        config.game = board
    return config
