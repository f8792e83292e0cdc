"""Connect Four efficiency's settings: `:quick`, `:laptop`, `:cpu`, `:gpu`, `:gpu_hour`, `:paper`.

Clausen 2021, sections 3.1, 3.3 and 3.4; what it does not say is that of the authors' program.
"""

from jaxzero.settings.config import Key, Preset, preset_getter

# Every arm: the authors' plain AlphaZero, its constants found by their Bayesian search.
BASE = {
    "game": "connect_four_6x7",
    "observation": "cells",
    "network.name": "resnet",
    "network.blocks": 5,
    "network.channels": 128,
    "network.value_head": "wdl",
    "network.batch_norm_momentum": 0.9,
    "search.num_simulations": 343,
    "search.c_puct": 1.545,
    "search.unvisited_q": 0.8545,
    "search.q_scale": "unit",
    "search.exploration": "sqrt_total_plus",
    "search.renormalise_prior": False,
    "search.dirichlet_fraction": 0.25,
    "search.dirichlet_alpha": 20.38,
    "search.dirichlet_scaling": "per_legal_move",
    "search.ties": "random",
    "search.draw_value": 0.3826,  # 0.6913 of a win where a loss is 0: 2 x 0.6913 - 1 where it is -1
    "selfplay.temperature_plies": 32,  # sampled while at most 30 stones are on the board
    "selfplay.episodes": 12_000,  # about 300,000 positions
    "replay.images": "none",
    "replay.window_positions": 2_000_000,
    "replay.max_examples": 1_000_000,
    "train.iterations": 40,
    "train.epochs": 1,
    "train.sampling": "epoch",
    "train.batch_size": 256,
    "train.learning_rate": 0.2,
    "train.value_weight": 0.01,
    "train.optimizer": "sgd",
    "train.momentum": 0.9,
    "train.weight_decay": 1e-4,
    "train.max_gradient_norm": 1.0,
    "train.measure": "in_step",
    "train.schedule": "steps",
    "train.schedule_steps": (7, 14),
    "arena.gate": "none",
    "execution.snapshot_every": 1,
    "execution.checkpoint_every": 5,
}

PAPER_ARMS = (
    "baseline",
    "dedupe_0.2",
    "dedupe_0.5",
    "dedupe",
    "cyclic",
    "slow_window",
    "reply",
    "squeeze_excite",
    "extended",
)
OTHER_ARMS = (
    "playout_caps",
    "move_values",
    "mixed_values",
    "forced_playouts",
    "known_results",
    "few_head_filters",
    "symmetric_images",
)
INGREDIENTS = ("dedupe", "cyclic", "slow_window", "reply", "squeeze_excite")  # the paper's five
WITHOUT_ARMS = tuple(f"without_{name}" for name in (*INGREDIENTS, *OTHER_ARMS))

# One player, as strong as it gets in the time: not the paper's, but measured by its accuracy.
FROM_SCRATCH = {
    "search.algorithm": "gumbel",
    "search.gumbel_rescale": False,  # else self-play gets worse (docs/results/gumbel.md)
    "search.gumbel_root_value": "policy",  # a share of the value target
    "search.draw_value": 0.0,
    "selfplay.curriculum": "schedule",  # the first 15 % of a game's plies, 3 to 5, are random
    "selfplay.curriculum_epochs": (0,),
    "selfplay.curriculum_fractions": (0.85,),
    "train.value_weight": 0.5,  # 0.01 is too slow (docs/results/connect_four.md)
    "evaluation.heldout_games": 8,
    "execution.checkpoint_every": 10,
    "study.arms": ("extended",),
    "study.extended": (*INGREDIENTS, "symmetric_images", "mixed_values"),
    "study.seeds": 1,
    "study.patience": 0,
    "study.simulations": 343,
    "study.marked_with": "puct_known_results",
    "study.extended_window_grows": (4, 16),
}

_QUICK = BASE | {
    "network.blocks": 2,
    "network.channels": 16,
    "search.num_simulations": 25,
    "selfplay.episodes": 48,
    "replay.window_positions": 6000,
    "train.iterations": 12,
    "train.batch_size": 64,
    "train.learning_rate": 0.05,
    "train.schedule_steps": (6, 10),
    "evaluation.heldout_games": 8,
    "evaluation.learning_positions": 64,
    "execution.snapshot_every": 2,
    "study.seeds": 1,
    "study.patience": 0,
    "study.test_positions": 500,
    "study.slow_window_grows": (3, 8),
    "study.extended_window_grows": (3, 8),
}
PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "2 blocks of 16 channels, 48 games an iteration, the arms of Figs. 1 to 7: minutes", _QUICK
    ),
    "laptop": Preset(
        "quick with 96 games, 24 iterations and 5 seeds: an hour of a CPU core",
        _QUICK
        | {
            "selfplay.episodes": 96,
            "replay.window_positions": 12_000,
            "train.iterations": 24,
            "train.schedule_steps": (12, 20),
            "execution.snapshot_every": 4,
            "study.seeds": 5,
            "study.slow_window_grows": (3, 12),
            "study.extended_window_grows": (3, 12),
        },
    ),
    "cpu": Preset(
        "Gumbel search of 32 simulations, extended by images and mixed values too: from scratch on "
        "two CPU cores, 3 hours (predicted)",
        BASE
        | FROM_SCRATCH
        | {
            "network.blocks": 4,
            "network.channels": 32,
            "search.num_simulations": 32,
            "selfplay.episodes": 256,
            "replay.window_positions": 50_000,
            "train.iterations": 400,
            "execution.snapshot_every": 20,
            "study.test_positions": 1000,
        },
    ),
    "gpu": Preset(
        "3 blocks of 64 channels, 1,000 games an iteration, the arms of Figs. 1 to 7, 5 seeds: one "
        "large GPU",
        BASE
        | {
            "network.blocks": 3,
            "network.channels": 64,
            "search.num_simulations": 100,
            "selfplay.episodes": 1000,
            "replay.window_positions": 200_000,
            "train.iterations": 30,
            "study.test_positions": 2000,
        },
    ),
    "gpu_hour": Preset(
        "cpu with the paper's network, 64 simulations, 4,096 games an iteration: from scratch on "
        "one large GPU, meant for an hour",
        BASE
        | FROM_SCRATCH
        | {
            "search.num_simulations": 64,
            "selfplay.episodes": 4096,
            "replay.window_positions": 1_000_000,
            "train.iterations": 250,
            "train.batch_size": 1024,
            "execution.snapshot_every": 25,
            "study.test_positions": 2000,
        },
    ),
    "paper": Preset(
        "Figs. 1 to 7: 5 blocks of 128 channels, 300,000 positions an iteration",
        BASE | {"train.iterations": 60},  # the longest published run has 42
    ),
}

# Of every study that measures networks on solved positions.
ACCURACY_KEYS: tuple[Key, ...] = (
    Key(
        "study.test_positions", 10_000, "solved positions that the networks are measured on", low=10
    ),
    Key(
        "study.simulations",
        0,
        "of the search with which networks are measured; 0: as many as in self-play",
        low=0,
        high=100_000,
    ),
    Key(
        "study.marked_with",
        "puct",
        "search with which networks are measured: the same PUCT for all, with a draw worth 0; that "
        "with proven results carried up; or each network's search of self-play without its "
        "noise, the authors' way",
        choices=("puct", "puct_known_results", "selfplay"),
    ),
    Key(
        "study.data",
        "runs/positions",
        "folder of solved positions, made on first use (extra solver), or one set's own",
    ),
)

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key(
        "study.arms",
        PAPER_ARMS,
        "the baseline, extensions alone, several together (extended), or all of these but one; "
        "the first is what the others are compared with",
        choices=(*PAPER_ARMS, *OTHER_ARMS, *WITHOUT_ARMS),
    ),
    Key(
        "study.extended",
        INGREDIENTS,
        "what the arm extended has; the paper: these five",
        choices=(*INGREDIENTS, *OTHER_ARMS),
    ),
    Key("study.seeds", 5, "runs of each arm; the paper: 5 of baseline and extended, else 1", low=1),
    Key(
        "study.patience",
        10,
        "an arm ends when the accuracy with search of none of its seeds has improved for so "
        "many iterations (Clausen 2021: 10), looked at when a checkpoint is saved; 0: never before "
        "train.iterations",
        low=0,
    ),
    *ACCURACY_KEYS,
    Key(
        "study.slow_window_share",
        0.25,
        "of replay.window_positions, with which the slow window begins",
        low=0,
        high=1,
    ),
    Key("study.slow_window_grows", (5, 12), "iterations between which it grows", low=1),
    Key("study.extended_window_grows", (5, 15), "the same in the arm extended", low=1),
    Key(
        "study.curves_as_drawn",
        False,
        "published curves as the paper's figures draw them, each network one iteration too late; "
        "else at what it had cost when it was trained",
    ),
    Key("study.extended_anneal_to", 0.4, "factor of its cycles at last", low=0, high=1),
)

get_config = preset_getter(PRESETS, KEYS)
