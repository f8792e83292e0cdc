"""The search for Clausen 2021's constants: `connect_four_search.py:quick`, `:gpu`, `:paper`.

Ranges and budget are those of the authors' Bayesian search (named in section 4.3; their thesis and
program); what the search begins from is the plain AlphaZero of the efficiency study.
"""

from experiments.configs.connect_four_efficiency import ACCURACY_KEYS, BASE
from jaxzero.settings.config import Key, Preset, preset_getter

_SHORT = BASE | {
    "search.num_simulations": 300,
    "selfplay.episodes": 400,  # about 10,000 positions
    "replay.window_positions": 100_000,
    "train.schedule": "constant",
    "study.marked_with": "selfplay",  # the constants that are searched for are that search's
}

PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "2 blocks of 16 channels, 5 trials of 3 iterations: shows that everything runs, minutes",
        _SHORT
        | {
            "network.blocks": 2,
            "network.channels": 16,
            "search.num_simulations": 20,
            "selfplay.episodes": 16,
            "replay.window_positions": 1200,
            "train.iterations": 3,
            "train.batch_size": 64,
            "train.learning_rate": 0.02,
            "evaluation.heldout_games": 8,
            "evaluation.learning_positions": 64,
            "study.trials": 5,
            "study.random_trials": 3,
            "study.test_positions": 200,
        },
    ),
    "gpu": Preset(
        "3 blocks of 64 channels, 40 trials of 20 iterations: one large GPU",
        _SHORT
        | {
            "network.blocks": 3,
            "network.channels": 64,
            "search.num_simulations": 100,
            "train.iterations": 20,
            "execution.snapshot_every": 5,
            "study.trials": 40,
            "study.test_positions": 2000,
        },
    ),
    "paper": Preset(
        "5 blocks of 128 channels, 65 trials of 50 iterations of 10,000 positions",
        _SHORT | {"train.iterations": 50, "execution.snapshot_every": 5},
    ),
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key(
        "study.trials",
        65,
        "sets of constants that are tried; the first is the settings' own",
        low=1,
    ),
    Key("study.random_trials", 5, "random ones before the others are proposed", low=1),
    Key("study.sampler", "tpe", "how constants are proposed", choices=("tpe", "random")),
    Key("study.seeds", 1, "runs of each trial, whose accuracies are averaged", low=1),
    Key("study.c_puct", (0.25, 6.0), "smallest and largest search.c_puct", "c", low=0, high=1000),
    Key(
        "study.unvisited_q",
        (0.0, 1.0),
        "smallest and largest search.unvisited_q: first-play urgency",
        low=-1,
        high=1,
    ),
    Key(
        "study.dirichlet_alpha",
        (3.0, 30.0),
        "smallest and largest search.dirichlet_alpha",
        low=0.001,
        high=1000,
    ),
    Key(
        "study.draw",
        (0.0, 1.0),
        "smallest and largest worth of a draw as Clausen 2021 counts it, a win being 1 and a loss "
        "0; search.draw_value is twice that less 1",
        low=0,
        high=1,
    ),
    *ACCURACY_KEYS,
)

get_config = preset_getter(PRESETS, KEYS)
