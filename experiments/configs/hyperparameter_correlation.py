"""The correlation study's settings: `:quick`, `:laptop`, `:gpu`, `:paper`.

Wang 2020 and 2023, section 6.2: all combinations of I, E, m and ep, without an arena.
"""

import dataclasses
from typing import Any

from experiments.configs import hyperparameter_sweep as sweep
from jaxzero.settings.config import Key, Preset, preset_getter

NO_ARENA = {"arena.gate": "none"}
# What a run of `quick` is, also in the search that takes the grid's place.
SMALL: dict[str, Any] = sweep.SMALL | NO_ARENA | {"study.tournament_simulations": 12}
MEDIUM: dict[str, Any] = sweep.MEDIUM | NO_ARENA
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
        "Othello 6x6, 81 settings x 5 seeds, 16 channels: hours of a CPU core (predicted)",
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
        {**MEDIUM, "study.iterations": (10, 20, 30)},
    ),
    "paper": Preset(
        "Othello 6x6, Table 2 of Wang 2020 and 2023, 81 settings x 5 seeds, 256 channels", NO_ARENA
    ),
}

_SHARED = [
    dataclasses.replace(key, default=3) if key.name == "study.programs" else key
    for key in sweep.SHARED_KEYS
]
# What every setting sets itself, and the study's own key in its place.
REPLACED = {
    "train.iterations": "study.iterations",
    "selfplay.episodes": "study.episodes",
    "search.num_simulations": "study.num_simulations",
    "train.epochs": "study.epochs",
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    *_SHARED,
    Key("study.iterations", (25, 50, 75), "numbers of iterations", "I", low=1),
    Key("study.episodes", (10, 20, 30), "games of an iteration", "E", low=1),
    Key("study.num_simulations", (25, 50, 75), "simulations a move", "m", low=1, high=100_000),
    Key("study.epochs", (5, 10, 15), "epochs of an iteration", "ep", low=1),
    Key(
        "study.tournament_simulations",
        50,
        "m of all players in the second tournament; in the first each has its own",
        low=1,
        high=100_000,
    ),
)

get_config = preset_getter(PRESETS, KEYS)
