"""Supervised Connect Four's settings: `:quick`, `:laptop`, `:gpu`, `:paper`, `:few`.

Clausen 2021, section 3.2 and Table 1; with `_features` behind it (`:gpu_features`) section 4.2 and
the easy set. What the paper does not say is that of the authors' program.
"""

from jaxzero.settings.config import Key, Preset, preset_getter
from jaxzero.settings.features import FEATURES

GAME = "connect_four_6x7"
LABELS = ("corrected", "published")
HARD, EASY = 0.5, 0.9  # shares of perfect moves by which the paper's two sets were made


# The network of 002's Table 2 and its optimiser, in every preset.
BASE = {
    "game": GAME,
    "observation": "cells",
    "network.name": "resnet",
    "network.channels": 128,
    "network.value_head": "wdl",
    "network.batch_norm_momentum": 0.9,
    "train.batch_size": 128,
    "train.learning_rate": 0.2,
    "train.optimizer": "sgd",
    "train.momentum": 0.9,
    "train.weight_decay": 1e-4,
    "train.max_gradient_norm": 1.0,
    "train.measure": "in_step",
    "execution.checkpoint_every": 1,
}

# Of section 4.2: one position a game, squeeze and excite without a reply head, both sets.
FEATURES_BASE = BASE | {
    "network.squeeze_excite": True,
    "study.blocks": (5,),
    "study.versions": (2,),
    "study.best_move_probability": (HARD, EASY),
}
# All of which there are published accuracies.
PUBLISHED_FEATURES = (
    "none",
    "move0",
    "win0",
    "move0_win0",
    "move1",
    "win1",
    "move2",
    "win2",
    "only_move1_win1",
    "only_move2",
    "only_win2",
    "move0_win0_last_block",
    "move1_last_block",
    "win1_last_block",
)

_QUICK = BASE | {
    "network.channels": 32,
    "study.blocks": (2,),
    "study.versions": (1,),
    "study.outcome_labels": LABELS,
    "study.seeds": 2,
    "study.positions": 4000,
    "study.max_epochs": 12,
    "study.searches": 25,
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "4,000 positions, 2 blocks of 32 channels, both kinds of labels: minutes on two CPU cores",
        _QUICK,
    ),
    "laptop": Preset(
        "Table 1 small: 10,000 positions, 5, 10 and 20 blocks of 16 channels, both versions and "
        "labels, 5 seeds: 2 to 3 hours of a CPU core (predicted)",
        _QUICK
        | {
            "network.channels": 16,
            "study.blocks": (5, 10, 20),
            "study.versions": (1, 2),
            "study.seeds": 5,
            "study.positions": 10_000,
            "study.max_epochs": 20,
        },
    ),
    "gpu": Preset(
        "Table 1 with 100,000 positions: 5, 10 and 20 blocks, both versions and labels, 5 seeds "
        "together: one GPU",
        BASE
        | {
            "study.outcome_labels": LABELS,
            "study.positions": 100_000,
            "execution.checkpoint_every": 5,
        },
    ),
    "few": Preset(
        "8,000 positions, 2 blocks of 32 channels, features of a teacher of 20,000: two CPU cores",
        BASE
        | {
            "network.channels": 32,
            "network.squeeze_excite": True,
            "study.blocks": (2,),
            "study.versions": (2,),
            "study.features": ("none", "move0_win0", "move0_win0_random"),
            "study.seeds": 5,
            "study.positions": 10_000,  # of which 80 % are trained on
            "study.teacher_positions": 20_000,
            "study.max_epochs": 40,
        },
    ),
    "paper": Preset(
        "Table 1: 1,000,000 positions, 5, 10 and 20 blocks, both versions and labels, 5 seeds",
        BASE | {"study.outcome_labels": LABELS},
    ),
    "quick_features": Preset(
        "2,000 positions of each set, 2 blocks of 32 channels, move1 of a teacher of 2,000: "
        "minutes on two CPU cores",
        FEATURES_BASE
        | {
            "network.channels": 32,
            "study.blocks": (2,),
            "study.versions": (1,),  # quicker to make
            "study.features": ("none", "move1"),
            "study.seeds": 2,
            "study.positions": 2000,
            "study.teacher_positions": 2000,
            "study.max_epochs": 6,
        },
    ),
    "laptop_features": Preset(
        "10,000 positions of each set, 5 blocks of 32 channels, two kinds of features of a teacher "
        "of 10,000, 5 seeds: 2 hours of a CPU core (predicted)",
        FEATURES_BASE
        | {
            "network.channels": 32,
            "study.features": ("none", "move0_win0", "move1"),
            "study.positions": 10_000,
            "study.teacher_positions": 10_000,
            "study.max_epochs": 20,
        },
    ),
    "gpu_features": Preset(
        "100,000 positions of each set, 5 blocks, all published features, both labels, 5 seeds "
        "together: one GPU",
        FEATURES_BASE
        | {
            "study.outcome_labels": LABELS,
            "study.features": PUBLISHED_FEATURES,
            "study.positions": 100_000,
            "execution.checkpoint_every": 5,
        },
    ),
    "paper_features": Preset(
        "section 4.2 and the easy set: 1,000,000 positions of each set, 5 blocks, all published "
        "features, both labels, 5 seeds",
        FEATURES_BASE | {"study.outcome_labels": LABELS, "study.features": PUBLISHED_FEATURES},
    ),
}

REPLACED = {"network.blocks": "study.blocks"}  # of each group of networks

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key("study.blocks", (5, 10, 20), "residual blocks, a group of networks for each", low=1),
    Key(
        "study.versions",
        (1, 2),
        "sets of positions: all of each game (1), one of each (2)",
        low=1,
        high=2,
    ),
    Key(
        "study.outcome_labels",
        None,
        "true results, or the published ones, in which some losses are draws; unset: as "
        "config.semantics says",
        choices=LABELS,
        kind=tuple,
    ),
    Key(
        "study.features",
        ("none",),
        "features of a small network that are learned too (Clausen 2021, section 4.2): of moves "
        "and results of the position (0), and of one or two moves of the player later (1, 2); "
        "only: without those before; in the heads' convolutions, the last block, or an output of "
        "their own; random: of an untrained network",
        choices=("none", *FEATURES),
    ),
    Key("study.feature_weight", 1.0, "of their squared error", low=0, high=1e6),
    Key(
        "study.teacher_positions",
        50_000,
        "that the small network is trained on; they are none of study.positions",
        low=10,
    ),
    Key("study.seeds", 5, "networks of each group", low=1),
    Key("study.positions", 1_000_000, "positions of a set", low=10),
    Key(
        "study.best_move_probability",
        (HARD,),
        "of a perfect move where positions are made, a set for each; 0.5: hard, 0.9: easy",
        low=0,
        high=1,
    ),
    Key("study.data_seed", 0, "of the games that the positions are from", low=0),
    Key(
        "study.data",
        "runs/positions",
        "folder of the sets, made on first use (extra solver), or one set's own",
    ),
    Key(
        "study.split",
        "position",
        "80/10/10 by position (the paper; leaks in version 1), or by game",
        choices=("position", "game"),
    ),
    Key(
        "study.patience", 8, "epochs from the best on, its own counted, until the rate falls", low=1
    ),
    Key("study.factor", 0.1, "what the learning rate is multiplied by then", low=0, high=1),
    Key("study.stop_after", 12, "epochs from the best on, its own counted, until the end", low=1),
    Key("study.max_epochs", 1000, "the end in any case", low=1),
    Key("study.searches", 0, "simulations of a test with search too; 0: none", low=0),
    Key("study.mistakes", 20, "wrong moves listed with their boards", low=0),
)

get_config = preset_getter(PRESETS, KEYS)
