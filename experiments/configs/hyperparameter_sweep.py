"""The sweep's settings: `hyperparameter_sweep.py:quick`, `:laptop`, `:gpu`, `:paper`.

Wang 2020 and 2023, section 6.1: twelve hyper-parameters, one changed at a time. The middle value of
each is the run's own key, e.g. `--config.selfplay.episodes=50`.
"""

import dataclasses
from typing import Any

from jaxzero.settings.config import Key, Preset, preset_getter

# Sizes of the runs of all studies of hyper-parameters: on two CPU cores, and on one large GPU.
SMALL: dict[str, Any] = {
    "game": "othello_5x5",
    "network.channels": 16,
    "network.hidden": (64, 32),
    "selfplay.temperature_plies": 8,
    "replay.window": 4,
    "train.learning_rate": 0.002,
    "evaluation.heldout_games": 16,
    "evaluation.heldout_simulations": 20,
    "evaluation.learning_positions": 64,
}
MEDIUM: dict[str, Any] = {
    "network.channels": 64,
    "network.hidden": (256, 128),
    "replay.window": 10,
}
_QUICK: dict[str, Any] = {
    **SMALL,
    "search.num_simulations": 16,
    "selfplay.episodes": 16,
    "train.iterations": 6,
    "train.epochs": 2,
    "arena.games": 8,
    "study.seeds": 2,
    "study.programs": 4,
    "study.tournament_games": 4,
    "study.tournament_simulations": 16,
    "study.iterations": (3, 9),
    "study.episodes": (8, 24),
    "study.temperature_plies": (4, 12),
    "study.num_simulations": (8, 32),
    "study.window": (1, 8),
    "study.epochs": (1, 4),
    "study.learning_rate": (0.0005, 0.008),
    "study.arena_games": (4, 16),
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Othello 5x5, 25 settings x 2 seeds, 16 channels: minutes on two CPU cores", _QUICK
    ),
    "laptop": Preset(
        "Othello 6x6, 25 settings x 5 seeds, 16 channels: hours of a CPU core (predicted)",
        {
            **_QUICK,
            "game": "othello_6x6",
            "train.iterations": 10,
            "study.seeds": 5,
            "study.iterations": (5, 15),
            "study.tournament_games": 2,
        },
    ),
    "gpu": Preset(
        "Othello 6x6, 25 settings x 8 seeds together, 64 channels: one large GPU",
        {
            **MEDIUM,
            "search.num_simulations": 50,
            "train.iterations": 40,
            "train.epochs": 5,
            "study.seeds": 8,
            "study.iterations": (20, 60),
            "study.num_simulations": (12, 100),
            "study.window": (1, 20),
            "study.epochs": (2, 8),
            "study.tournament_simulations": 50,
        },
    ),
    "paper": Preset(
        "Othello 6x6, Table 1 of Wang 2020 and 2023, 25 settings x 5 seeds, 256 channels",
        {},
    ),
}


def _values(name: str, values: tuple, letter: str, low: float, high: float | None = None) -> Key:
    return Key(
        f"study.{name}", values, "values tried beside the default", letter, low=low, high=high
    )


# Of both studies that train every setting on several seeds, in shares.
SHARED_KEYS: tuple[Key, ...] = (
    Key(
        "study.seeds", 5, "runs of each setting, 5 are the fewest that decide; the papers: 1", low=1
    ),
    Key(
        "study.programs",
        8,
        "programs to compile at most, where shapes allow; more save empty places in arrays",
        low=1,
    ),
    Key("study.tournament_games", 10, "games of each pair of players", low=2, even=True),
    Key("execution.shard", "1/1", "i/k: the i-th of k shares of the runs (also --shard=i/k)"),
    Key("execution.retry_failed", False, "try settings that failed again"),
)
KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    *SHARED_KEYS,
    _values("iterations", (50, 150), "I", 1),
    _values("episodes", (10, 100), "E", 1),
    _values("temperature_plies", (10, 20), "T'", 0),
    _values("num_simulations", (25, 200), "m", 1, 100_000),
    _values("c_puct", (0.5, 2.0), "c", 0),
    _values("window", (1, 40), "rs", 1),
    _values("epochs", (5, 15), "ep", 1),
    _values("batch_size", (32, 96), "bs", 1),
    _values("learning_rate", (0.001, 0.01), "lr", 0),
    _values("dropout_rate", (0.2, 0.4), "d", 0, 0.999),
    dataclasses.replace(_values("arena_games", (20, 100), "n", 2), even=True),
    _values("threshold", (0.5, 0.7), "u", 0, 1),
    Key("study.tournament_simulations", 100, "m of the tournament", low=1, high=100_000),
)

get_config = preset_getter(PRESETS, KEYS)
