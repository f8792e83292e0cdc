"""Settings of one player's training: `:connect_four_6x7`, `:othello_8x8.gpu`, `:laptop`, ...

A preset is a game, sized for two CPU cores, or with `.gpu` behind it for one large GPU; `:laptop`
and `:gpu` are for any other game: `:laptop --config.game=pgx:go_9x9`.
"""

from typing import Any

from jaxzero.settings.config import Key, Preset, preset_getter

# The best settings that are known; what each of them earned: docs/results/training.md.
RECIPE: dict[str, Any] = {
    "observation": "planes_ones",  # the plane of ones shows where the board ends
    "network.name": "resnet",
    "network.value_head": "wdl",  # a draw is known from an even chance
    "search.algorithm": "puct",
    "search.num_simulations": 64,
    "search.c_puct": 1.5,
    "search.dirichlet_fraction": 0.25,  # games differ, and moves that the network dislikes are seen
    "search.dirichlet_alpha": 10.0,
    "search.dirichlet_scaling": "per_legal_move",
    "search.ties": "random",  # not the lowest column
    "search.propagate_results": True,  # a proven win is neither missed nor averaged away
    "search.stop_when_known": True,  # nothing is left to find out
    "selfplay.known_labels": True,  # a win that was seen and thrown away is learned as a win
    "search.puct_target": "improved",  # visits of 64 simulations are too coarse to learn from
    "search.gumbel_rescale": False,  # else noise of the value counts as much as a win
    "replay.window": 4,  # what older networks played is forgotten
    "replay.max_examples": 2_000_000,
    "train.epochs": 1,  # an example is seen about four times: no overfitting
    "train.batch_size": 256,
    "train.learning_rate": 0.002,
    "train.weight_decay": 1e-4,
    "train.average": 0.99,  # the average of the last hundred steps plays
    "train.measure": "in_step",  # a second pass would only measure
    "train.schedule": "steps",
    "train.schedule_factor": 0.3,
    "arena.gate": "none",  # its games teach nothing
    "evaluation.heldout_games": 8,
    "evaluation.learning_positions": 100,  # with the examinations less than 5 % of the time
}

# Sizes: of the network and of an iteration.
LAPTOP: dict[str, Any] = {
    "network.blocks": 3,
    "network.channels": 64,
    "selfplay.episodes": 512,
}
GPU: dict[str, Any] = {
    "network.blocks": 5,
    "network.channels": 128,
    "selfplay.episodes": 4096,
    "train.batch_size": 1024,
    "evaluation.heldout_games": 64,
    "study.games": 100,
    "study.final_games": 400,
}

# Games that need more memory than others.
_LESS: dict[str, dict[str, Any]] = {"racing_kings": {"selfplay.episodes": 512}}

# Boards with eight symmetric images, each an example: few passes, for they are nearly the same.
_EIGHT_IMAGES = {
    "selfplay.episodes": 256,
    "replay.window": 12,
    "train.passes": 0.75,
    "train.root_value_share": 0.5,
}

_EIGHT_BY_EIGHT = _EIGHT_IMAGES | {
    "selfplay.temperature_plies": 16,
    "selfplay.opening_plies": 20,
    "train.iterations": 60,
}
# By game: how long its games are sampled and at most begin at random, and how long a laptop trains.
_CONNECT_FOUR = {"study.positions": 200}
GAMES: dict[str, dict[str, Any]] = {
    "connect_four_5x5": _CONNECT_FOUR
    | {
        "network.channels": 32,
        "selfplay.temperature_plies": 8,
        "selfplay.opening_plies": 20,
        "train.iterations": 60,
    },
    # Too many positions for results alone to teach their values: few passes over a long window, and
    # half of the target is the search's value. Best moves are the quickest wins: a discount.
    "connect_four_6x7": _CONNECT_FOUR
    | {
        "search.discount": 0.985,
        "selfplay.temperature_plies": 12,
        "selfplay.opening_plies": 35,
        "replay.window": 20,
        "train.passes": 3.0,
        "train.root_value_share": 0.5,
        "train.iterations": 150,
    },
    "othello_6x6": _EIGHT_IMAGES
    | {
        "network.channels": 32,
        "network.blocks": 4,
        "selfplay.temperature_plies": 12,
        "selfplay.opening_plies": 10,
        "train.iterations": 60,
        "study.opponents": ("random", "mcts_200", "mcts_800"),
        "study.examine_every": 8,  # 800 rollouts a move take their time
    },
    "othello_8x8": _EIGHT_BY_EIGHT,
    "gobang_6x6": _EIGHT_IMAGES
    | {
        "network.channels": 32,
        "selfplay.temperature_plies": 8,
        "selfplay.opening_plies": 8,
        "train.iterations": 60,
    },
    "reversi_8x8": _EIGHT_BY_EIGHT,
    "racing_kings": {
        "network.head_filters": 8,  # each costs 64 weights for every one of its 4,096 moves
        "selfplay.temperature_plies": 12,
        "selfplay.opening_plies": 8,
        "selfplay.episodes": 64,
        "replay.max_examples": 40_000,  # each has a target for every move, 20 kB
        "train.iterations": 60,
        "study.opponents": ("random", "greedy"),  # random games of its rollouts are long
    },
}
_ANY = {
    "game": "connect_four_6x6",
    "selfplay.temperature_plies": 12,
    "selfplay.opening_plies": 8,
    "train.iterations": 60,
}
_QUICK = GAMES["connect_four_5x5"] | {
    "game": "connect_four_5x5",
    "network.blocks": 2,
    "selfplay.episodes": 128,
    "train.iterations": 12,
    "train.batch_size": 64,  # few games: the recipe's few large steps learn too little
    "train.learning_rate": 0.005,
    "evaluation.learning_positions": 64,
    "study.examine_every": 3,
    "study.final_games": 40,
}


def _preset(meaning: str, *parts: dict[str, Any]) -> Preset:
    """The recipe with some changes; the learning rate falls in the last third."""
    changes: dict[str, Any] = dict(RECIPE)
    for part in parts:
        changes |= part
    every = changes.get("study.examine_every", 4)
    falls = {"train.schedule_steps": (2 * changes["train.iterations"] // 3 + 1,)}
    kept = {"execution.snapshot_every": every, "execution.checkpoint_every": every}
    return Preset(meaning, falls | kept | changes)


PRESETS: dict[str, Preset] = {
    "quick": _preset("Connect Four 5x5, few games: three minutes on two CPU cores", LAPTOP, _QUICK),
    "laptop": _preset("any --config.game, two CPU cores", LAPTOP, _ANY),
    "gpu": _preset("any --config.game, one large GPU", _ANY, GPU),
    **{name: _preset("two CPU cores", {"game": name}, LAPTOP, own) for name, own in GAMES.items()},
    **{
        f"{name}.gpu": _preset("one large GPU", {"game": name}, own, GPU | _LESS.get(name, {}))
        for name, own in GAMES.items()
    },
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key(
        "study.examine_every",
        4,
        "iterations between examinations of the network; 0: none, and the last network is kept",
        low=0,
    ),
    Key(
        "study.patience",
        8,
        "training ends when so many examinations have found nothing better; 0: never",
        low=0,
    ),
    Key(
        "study.opponents",
        ("random", "mcts_200"),
        "whom it is examined against: random, greedy, mcts_200 or another number of rollouts",
    ),
    Key("study.games", 20, "games against each, both colours together", low=2, even=True),
    Key(
        "study.positions",
        0,
        "solved positions whose moves and results it is asked for, of all stages that can be "
        "solved (Connect Four) or of the end (Othello); then these choose the best network, else "
        "the points of the games; 0: none",
        low=0,
    ),
    Key(
        "study.position_file",
        "",
        "a file of Connect Four positions with scores, in place of these (docs/solvers.md)",
    ),
    Key(
        "study.simulations",
        0,
        "of the search in examinations; 0: as in self-play",
        low=0,
        high=100_000,
    ),
    Key(
        "study.final_games",
        100,
        "games of the best network against each opponent at the end, for its card",
        low=2,
        even=True,
    ),
)

get_config = preset_getter(PRESETS, KEYS)
