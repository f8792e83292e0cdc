"""The correlation study's settings: `:quick`, `:laptop`, `:gpu`, `:paper`.

Papers 000 and 003, section 6.2: all combinations of I, E, m and ep, without an arena.
"""

from typing import Any

from jaxzero.settings.config import Key, Preset, preset_getter

SMALL: dict[
    str, Any
] = {  # what a run of `quick` is, also in the search that takes the grid's place
    "game": "othello_5x5",
    "network.channels": 16,
    "network.hidden": (64, 32),
    "selfplay.temperature_plies": 8,
    "replay.window": 4,
    "train.learning_rate": 0.002,
    "evaluation.heldout_games": 16,
    "evaluation.heldout_simulations": 20,
    "evaluation.learning_positions": 64,
    "study.tournament_simulations": 12,
    "arena.gate": "none",
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Othello 5x5, 81 settings, 16 channels: minutes on two CPU cores",
        {
            **SMALL,
            "study.seeds": 1,
            "study.iterations": (2, 4, 6),
            "study.episodes": (6, 12, 18),
            "study.num_simulations": (6, 12, 18),
            "study.epochs": (1, 2, 3),
            "study.tournament_games": 2,
        },
    ),
    "laptop": Preset(
        "Othello 6x6, 81 settings x 5 seeds, 16 channels: hours of a CPU core",
        {
            **SMALL,
            "game": "othello_6x6",
            "study.iterations": (4, 8, 12),
            "study.episodes": (8, 16, 24),
            "study.num_simulations": (8, 16, 24),
            "study.epochs": (1, 2, 3),
            "study.tournament_games": 2,
        },
    ),
    "gpu": Preset(
        "Othello 6x6, 81 settings x 5 seeds together, 64 channels: one large GPU",
        {
            "network.channels": 64,
            "network.hidden": (256, 128),
            "replay.window": 10,
            "study.iterations": (10, 20, 30),
            "study.tournament_simulations": 50,
            "arena.gate": "none",
        },
    ),
    "paper": Preset(
        "Othello 6x6, Table 2 of 000 and 003, 81 settings x 5 seeds, 256 channels",
        {"arena.gate": "none"},
    ),
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key(
        "study.seeds", 5, "runs of each setting, 5 are the fewest that decide; the papers: 1", low=1
    ),
    Key("study.iterations", (25, 50, 75), "numbers of iterations", "I", low=1),
    Key("study.episodes", (10, 20, 30), "games of an iteration", "E", low=1),
    Key("study.num_simulations", (25, 50, 75), "simulations a move", "m", low=1, high=100_000),
    Key("study.epochs", (5, 10, 15), "epochs of an iteration", "ep", low=1),
    Key(
        "study.programs",
        3,
        "programs to compile at most, where shapes allow; more save empty places in arrays",
        low=1,
    ),
    Key("study.tournament_games", 10, "games of each pair of players", low=2, even=True),
    Key(
        "study.tournament_simulations",
        50,
        "m of all players in the second tournament; in the first each has its own",
        low=1,
        high=100_000,
    ),
    Key("execution.shard", "1/1", "i/k: the i-th of k shares of the runs (also --shard=i/k)"),
    Key("execution.retry_failed", False, "try settings that failed again"),
)

get_config = preset_getter(PRESETS, KEYS)
