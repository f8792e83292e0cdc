"""The curriculum study's settings: `curriculum.py:quick`, `:laptop`, `:gpu`, `:paper`.

Each is for Reversi; with `_racing_kings` or `_racing_kings_gate` behind it for the other game.

West 2020, Tables I and II, Equations 5 and 6. What the paper leaves unsaid is a key, its default
named in docs/curriculum.md.
"""

from typing import Any

from jaxzero.settings.config import Key, Preset, preset_getter

ARMS = ("curriculum", "baseline", "trim", "horizon")

# 004: what both games share, in every preset and in those of the paper's size.
_SHARED: dict[str, Any] = {
    "observation": "planes",
    "network.name": "resnet",
    "network.style": "curriculum",
    "network.value_head": "wdl",
    "search.c_puct": 3.0,
    "search.dirichlet_fraction": 0.25,
    "search.draw_value": -0.5,
    "train.sampling": "epoch",
    "replay.images": "none",
    "train.weight_decay": 1e-4,
    "train.measure": "in_step",
    "arena.gate": "none",
    "selfplay.curriculum": "schedule",
}
_PLAYER: dict[str, Any] = {
    **_SHARED,
    "network.blocks": 10,
    "network.channels": 512,
    "search.num_simulations": 200,
    "switches.keep_tree": True,
    "train.epochs": 20,
    "train.batch_size": 350,
    "train.learning_rate": 0.001,
    "evaluation.heldout_games": 4,
}
_REVERSI = {
    **_PLAYER,
    "game": "reversi_8x8",
    "selfplay.episodes": 200,
    "selfplay.temperature_plies": 17,  # 16 sampled plies
    "selfplay.drop_draws": 0.1,
    "selfplay.curriculum_epochs": (0, 1, 100, 500),
    "selfplay.curriculum_fractions": (0.25, 0.5, 0.75, 1.0),
    "replay.minimum_games": (2000,),
    "replay.window": 12,
    "train.iterations": 85,
    "execution.snapshot_every": 1,
    "study.reference": "mcts_200",
}
_RACING_KINGS = {
    **_PLAYER,
    "game": "racing_kings",
    "evaluation.heldout_simulations": 8,  # random play takes 100 plies and more to end
    "network.channels": 256,  # Fig. 2; Tables I and II say 512
    "selfplay.episodes": 50,
    "selfplay.temperature_plies": 31,  # 30 sampled plies
    "selfplay.drop_draws": 0.5,
    "selfplay.curriculum_epochs": (0, 1, 100, 500, 800, 1000),
    "selfplay.curriculum_fractions": (0.1, 0.33, 0.5, 0.66, 0.8, 1.0),
    "replay.minimum_games": (350, 500, 750, 1000, 1500, 2000),
    "replay.window": 60,
    "replay.max_examples": 6000,
    "train.iterations": 188,
    "execution.snapshot_every": 2,
    "study.reference": "engine",
    "study.points": 94,
}
_QUICK: dict[str, Any] = {
    **_SHARED,
    "game": "reversi_6x6",
    "network.blocks": 2,
    "network.channels": 16,
    "network.head_filters": 8,
    "network.value_hidden": 64,
    "search.num_simulations": 25,
    "selfplay.episodes": 32,
    "selfplay.temperature_plies": 11,
    "selfplay.drop_draws": 0.1,
    "selfplay.curriculum_epochs": (0, 1, 16, 48),
    "selfplay.curriculum_fractions": (0.25, 0.5, 0.75, 1.0),
    "replay.window": 5,
    "train.iterations": 40,
    "train.epochs": 4,
    "train.learning_rate": 0.002,
    "evaluation.heldout_games": 8,
    "evaluation.heldout_simulations": 25,
    "evaluation.learning_positions": 64,
    "execution.snapshot_every": 2,
    "study.seeds": 2,
    "study.reference": "mcts_50",
    "study.points": 15,
    "study.smoothing": 6,
}
_QUICK_RACING_KINGS: dict[str, Any] = {
    **_QUICK,
    "game": "racing_kings_100plies",
    "selfplay.episodes": 16,
    "train.iterations": 8,
    "train.epochs": 2,
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 4,
    "study.seeds": 1,
    "study.reference": "engine",
    "study.engine_nodes": 50,  # untrained networks draw, with 200 they lose all games
    "study.points": 3,
    "study.games": 10,
    "study.smoothing": 2,
}
# One pass an iteration, five over a game: with twenty the value was memorised, and on new games
# worse than a constant (docs/results/curriculum.md).
_FEW_PASSES: dict[str, Any] = {"train.epochs": 1, "selfplay.curriculum_epochs": (0, 1, 4, 12)}
_LAPTOP: dict[str, Any] = {
    **_QUICK,
    **_FEW_PASSES,
    "game": "reversi_8x8",
    "selfplay.episodes": 64,
    "evaluation.heldout_games": 64,
    "study.seeds": 5,
}
_LAPTOP_RACING_KINGS: dict[str, Any] = {
    **_QUICK_RACING_KINGS,
    **_FEW_PASSES,
    "selfplay.episodes": 32,
    "train.iterations": 40,
    "evaluation.heldout_games": 16,
    "evaluation.heldout_simulations": 25,  # with 4 all these games are drawn
    "study.seeds": 5,
    "study.points": 20,
    "study.games": 20,
    "study.smoothing": 6,
}
_GPU: dict[str, Any] = {  # what both games share
    "network.blocks": 5,
    "network.channels": 64,
    "search.num_simulations": 50,
    "switches.keep_tree": False,
    "replay.minimum_games": (),
    "train.epochs": 5,
    "execution.snapshot_every": 4,
}
_GPU_RACING_KINGS: dict[str, Any] = {
    **_RACING_KINGS,
    **_GPU,
    "selfplay.curriculum_epochs": (0, 1, 50, 200, 300, 400),
    "replay.window": 24,  # as many games as Reversi's 6 batches of 200
    "train.iterations": 120,
    "study.points": 31,
    "study.engine_nodes": 1000,
}


def _gate(settings: dict[str, Any], games: int, batch: int) -> dict[str, Any]:
    own = {"gate": "wilson", "games": games, "batch": batch, "continue_from": "latest"}
    return settings | {f"arena.{name}": value for name, value in own.items()}


PRESETS: dict[str, Preset] = {
    "quick": Preset(
        "Reversi 6x6, two players x 2 seeds, 16 channels: minutes on two CPU cores", _QUICK
    ),
    "quick_racing_kings": Preset(
        "Racing Kings of at most 100 plies against the engine, two players x 1 seed: minutes",
        _QUICK_RACING_KINGS,
    ),
    "quick_racing_kings_gate": Preset(
        "the same with AlphaGo Zero's evaluation (Fig. 6)", _gate(_QUICK_RACING_KINGS, 40, 20)
    ),
    "laptop": Preset(
        "Reversi 8x8, two players x 5 seeds, 16 channels: 66 minutes of a CPU core",
        _LAPTOP,
    ),
    "laptop_racing_kings": Preset(
        "Racing Kings of at most 100 plies, two players x 5 seeds: 2.2 hours of a CPU core",
        _LAPTOP_RACING_KINGS,
    ),
    "laptop_racing_kings_gate": Preset(
        "the same with AlphaGo Zero's evaluation (Fig. 6)", _gate(_LAPTOP_RACING_KINGS, 80, 20)
    ),
    "gpu": Preset(
        "Reversi 8x8, two players x 5 seeds, 64 channels, 5 blocks: one large GPU",
        {
            **_REVERSI,
            **_GPU,
            "selfplay.curriculum_epochs": (0, 1, 50, 200),
            "replay.window": 6,
            "train.iterations": 80,
            "study.points": 21,
        },
    ),
    "gpu_racing_kings": Preset(
        "Racing Kings, two players x 5 seeds, 64 channels, 5 blocks: one large GPU",
        _GPU_RACING_KINGS,
    ),
    "gpu_racing_kings_gate": Preset(
        "the same with AlphaGo Zero's evaluation (Fig. 6)", _gate(_GPU_RACING_KINGS, 400, 50)
    ),
    "paper": Preset("West 2020's Reversi (Fig. 5), 512 channels, 5 seeds of each", _REVERSI),
    "paper_racing_kings": Preset("West 2020's Racing Kings (Fig. 4), Stockfish", _RACING_KINGS),
    "paper_racing_kings_gate": Preset(
        "the same with AlphaGo Zero's evaluation (Fig. 6)", _gate(_RACING_KINGS, 2000, 50)
    ),
}

KEYS: tuple[Key, ...] = (
    Key("preset", "quick", "what these settings began from", choices=tuple(PRESETS)),
    Key("study.seeds", 5, "runs of each player, 5 are the fewest that decide; West 2020: 3", low=1),
    Key(
        "study.arms",
        ("curriculum", "baseline"),
        "players: as selfplay.curriculum says; without; searched and trimmed; by the horizon",
        choices=ARMS,
    ),
    Key(
        "study.reference",
        "mcts_200",
        "opponent by which all are measured: mcts_200 or another number of rollouts, random, "
        "greedy, or engine (Racing Kings)",
    ),
    Key("study.games", 30, "games of each point against it, both colours", low=2, even=True),
    Key("study.points", 85, "measured iterations of each run, at most", low=2),
    Key("study.openings", 0, "random plies before each colour-swapped pair of games", low=0),
    Key(
        "study.draw_points",
        0.0,
        "what a draw adds to the win ratio; West 2020 does not say",
        low=0,
        high=1,
    ),
    Key("study.smoothing", 20, "points of the moving average", low=1),
    Key("study.engine_command", ("fairy-stockfish",), "UCI engine with its arguments"),
    Key("study.engine_skill", 2, "its Skill Level, West 2020's level 2", low=-20, high=20),
    Key(
        "study.engine_nodes",
        50_000,
        "nodes of its searches, at most: a level that no machine's speed changes; 0: no limit",
        low=0,
    ),
    Key("study.engine_depth", 0, "depth of its searches, at most; 0: no limit", low=0),
    Key(
        "study.engine_seconds",
        5.0,
        "seconds of its moves, at most; so long that the nodes decide",
        low=0.001,
        high=3600,
    ),
    Key("study.engine_processes", 2, "engines side by side", low=1, high=1000),
)

get_config = preset_getter(PRESETS, KEYS)
