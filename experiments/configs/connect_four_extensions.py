"""Connect Four extensions' settings: `:quick`, `:population`, `:laptop`, `:gpu`, `:paper`.

Clausen 2021, section 4: all arms are its extended baseline with one thing more, or several.
"""

from experiments.configs import connect_four_efficiency as efficiency
from jaxzero.settings.config import Key, Preset, preset_getter
from jaxzero.settings.keys import table

TEACHER = "teacher"  # the small network, of whose features the next ones learn
# What they learn (`train.features`).
FEATURE_ARMS = {
    "move1": "move1",
    "move0_win0": "move0_win0",
    "win0": "win0",
    "only_move2": "only_move2",
    "move1_random": "move1_random",
    "last_block": "move1_last_block",
    "extra_output": "move1_own",
}
ARMS = (
    "extended",
    "cached",
    "tree",
    "tree_5",
    "tree_15",
    "retry",
    "archive",
    "archive_losses",
    "evolve",
    "kld",
    "novel_wins",
    "novelty",
    "growing",
    "growing_net2net",
    "growing_parallel",
    "cached_growing",
    TEACHER,
    *FEATURE_ARMS,
    "population",
    "population_alone",
)
CONSTANTS = ("c_puct", "unvisited_q", "draw_value", "dirichlet_alpha", "learning_rate")
POPULATIONS = ("population", "population_alone")  # whose runs have constants of their own

PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "2 blocks of 16 channels, 48 games an iteration, eight of the arms: minutes",
        dict(efficiency.PRESETS["quick"].changes)
        | {
            "train.iterations": 6,
            "train.schedule_steps": (3, 5),
            "execution.snapshot_every": 1,
            "evaluation.learning_positions": 0,
            # One for each figure; compiling takes most of the time.
            "study.arms": (
                "extended",
                "cached",
                "tree",
                TEACHER,
                "move1",
                "growing",
                "evolve",
                "novelty",
            ),
            "study.test_positions": 300,
            "study.grow_channels": (8, 16),
            "study.grow_at": (3,),
            "study.teacher_blocks": 1,
            "study.teacher_channels": 8,
        },
    ),
    "population": Preset(
        "quick's sizes, 12 iterations: 5 runs with constants of their own, with and without copies",
        dict(efficiency.PRESETS["quick"].changes)
        | {
            "execution.snapshot_every": 3,
            "execution.checkpoint_every": 3,
            "evaluation.learning_positions": 0,
            "study.arms": ("extended", *POPULATIONS),
            "study.seeds": 5,
            "study.population": 5,
            "study.generation": 3,
            "study.fitness_positions": 500,
        },
    ),
    "laptop": Preset(
        "2 blocks of 16 channels, 20 iterations, 5 seeds, the arms of Figs. 8 to 13 and those of "
        "the thesis that the text names: two to three hours of a CPU core (predicted)",
        dict(efficiency.PRESETS["quick"].changes)
        | {
            "selfplay.episodes": 128,
            "replay.window_positions": 12_000,
            "train.iterations": 20,
            "train.schedule_steps": (10, 16),
            "train.value_weight": 0.5,  # 0.01 is too slow (docs/results/connect_four.md)
            "evaluation.learning_positions": 0,
            "execution.snapshot_every": 1,  # else nobody sees the drop when a network grows
            "study.arms": (
                "extended",
                "cached",
                "growing",
                "growing_net2net",
                "growing_parallel",
                "cached_growing",
                TEACHER,
                "move1",
                "move0_win0",
                "win0",
                "only_move2",
                "move1_random",
                "evolve",
                "kld",
                "novelty",
                "tree",
                "tree_5",
                "tree_15",
                "retry",
                "archive",
            ),
            "study.seeds": 5,
            "study.test_positions": 1000,
            "study.extended_window_grows": (3, 10),
            "study.grow_channels": (4, 8, 16),
            "study.grow_at": (3, 8),
            "study.teacher_blocks": 1,
            "study.teacher_channels": 8,
        },
    ),
    "gpu": Preset(
        "3 blocks of 64 channels, 1,000 games an iteration, 5 seeds: one large GPU",
        dict(efficiency.PRESETS["gpu"].changes)
        | {"study.arms": ARMS, "study.grow_channels": (16, 32, 64), "study.grow_at": (4, 8)},
    ),
    "paper": Preset(
        "Figs. 8 to 13: 5 blocks of 128 channels, 300,000 positions an iteration",
        efficiency.PRESETS["paper"].changes,
    ),
}

KEYS: tuple[Key, ...] = tuple(
    table(
        efficiency.KEYS,
        (
            Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
            Key(
                "study.arms",
                ARMS,
                "the extended baseline, and what is added to it; the first is what the others are "
                "compared with",
                choices=ARMS,
            ),
            Key(
                "study.grow_channels",
                (16, 32, 64, 128, 256),
                "of the arms that grow: network.channels, then network.grow_to",
                low=1,
                high=4096,
            ),
            Key("study.grow_at", (4, 8, 16, 32), "of the arms that grow: network.grow_at", low=1),
            Key("study.teacher_blocks", 3, "of the arm teacher: network.blocks", low=1, high=100),
            Key("study.teacher_channels", 32, "of it: network.channels", low=1, high=1024),
            Key("study.population", 10, "of the arms population: runs, side by side", low=2),
            Key(
                "study.generation",
                4,
                "iterations after which the worst fifth of these runs go on as changed copies of "
                "the best fifth",
                low=1,
            ),
            Key(
                "study.evolves",
                CONSTANTS,
                "their constants: each run has its own",
                choices=CONSTANTS,
            ),
            Key(
                "study.fitness_positions",
                1000,
                "solved positions, none of the test positions, by which these runs are compared",
                low=10,
            ),
        ),
    ).values()
)

get_config = preset_getter(PRESETS, KEYS)
