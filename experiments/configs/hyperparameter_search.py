"""The search's settings: `hyperparameter_search.py:quick`, `:gpu`, `:paper`.

The correlation study of Wang 2020 and 2023 (section 6.2) with Optuna in place of the grid.
"""

from experiments.configs import hyperparameter_correlation as correlation
from experiments.configs.hyperparameter_correlation import MEDIUM, NO_ARENA, SMALL
from jaxzero.settings.config import Key, Preset, preset_getter

PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Othello 5x5, 12 trials, 16 channels: minutes on two CPU cores",
        {
            **SMALL,
            "study.trials": 12,
            "study.batch": 6,
            "study.iterations": (2, 6),
            "study.iterations_step": 2,
            "study.episodes": (6, 18),
            "study.num_simulations": (6, 18),
            "study.epochs": (1, 3),
            "study.tournament_games": 20,
            "study.opponents": ("random", "greedy", "mcts_20"),
        },
    ),
    "gpu": Preset(
        "Othello 6x6, 80 trials, 64 channels: one large GPU",
        {
            **MEDIUM,
            "study.iterations": (10, 30),
            "study.iterations_step": 10,
            "study.trials": 80,
            "study.batch": 16,
        },
    ),
    "paper": Preset(
        "Othello 6x6, the ranges of Table 2 of Wang 2020 and 2023, 81 trials, 256 channels",
        NO_ARENA,
    ),
}

REPLACED = correlation.REPLACED

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key("study.trials", 81, "settings that are tried", low=1),
    Key(
        "study.batch", 9, "settings that are proposed, and trained as a population, at once", low=1
    ),
    Key("study.sampler", "tpe", "how settings are proposed", choices=("tpe", "nsga2", "random")),
    Key("study.iterations", (25, 75), "smallest and largest number of iterations", "I", low=1),
    Key("study.iterations_step", 25, "between numbers of iterations", low=1),
    Key("study.episodes", (10, 30), "smallest and largest number of games", "E", low=1),
    Key("study.num_simulations", (25, 75), "smallest and largest, a move", "m", low=1),
    Key("study.epochs", (5, 15), "smallest and largest number of epochs", "ep", low=1),
    Key("study.tournament_games", 40, "games against each opponent", low=2, even=True),
    Key("study.tournament_simulations", 50, "m of all networks in games that are rated", low=1),
    Key(
        "study.opponents",
        ("random", "greedy", "mcts_50", "mcts_200"),
        "fixed opponents that the strength of a trial is measured against",
    ),
    Key("study.grid", "", "run directory of a correlation study to be compared with"),
    Key("execution.shard", "1/1", "not of this study: trials follow one another", choices=("1/1",)),
)

get_config = preset_getter(PRESETS, KEYS)
