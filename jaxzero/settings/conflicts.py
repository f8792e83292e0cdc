"""Settings that do not go together: what is wrong, and what to change.

Each is refused in one line by `jaxzero.settings.config.validate`.
"""

from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings import archive, features, growing, league, sharing
from jaxzero.settings.switches import Switches

Conflicts = Iterator[tuple[Any, str, str]]  # whether it is so, key, remedy


def conflicts(config: ConfigDict, switches: Switches) -> Conflicts:
    """(whether it is so, key, remedy) of what does not go together."""
    yield from _of_arena(config, switches)
    yield from _of_curriculum(config)
    yield from _of_window(config)
    yield from _of_training(config)
    yield from _of_search(config, switches)
    yield from features.conflicts(config)
    yield from growing.conflicts(config)
    yield from sharing.conflicts(config, switches)
    yield from archive.conflicts(config, switches)
    yield from league.conflicts(config, switches)


def _of_arena(config: ConfigDict, switches: Switches) -> Conflicts:
    yield (
        config.arena.gate != "none" and config.arena.games % 2,
        "arena.games",
        f"both colours need an even number, e.g. {config.arena.games + 1}",
    )
    yield (
        config.arena.gate == "wilson"
        and config.arena.trees != "gate"
        and not (switches.arena_random_openings and config.arena.opening_plies),
        "arena.gate",
        "its interval needs games that differ, and from the start position there are only two: "
        "set config.switches.arena_random_openings=True and config.arena.opening_plies above 0, "
        "or choose threshold",
    )
    yield (
        config.arena.trees == "gate"
        and (
            config.arena.gate != "threshold"
            or not switches.keep_tree
            or switches.arena_random_openings
            or config.execution.tree_steps != "loops"
        ),
        "arena.trees",
        "one tree for all games from the start position needs config.arena.gate='threshold', "
        "config.switches.keep_tree=True, config.switches.arena_random_openings=False and "
        "config.execution.tree_steps='loops'",
    )


def _of_curriculum(config: ConfigDict) -> Conflicts:
    own = config.selfplay
    epochs = list(own.curriculum_epochs)
    yield (
        len(epochs) != len(own.curriculum_fractions) or not epochs,
        "selfplay.curriculum_fractions",
        f"one for each of config.selfplay.curriculum_epochs={own.curriculum_epochs}",
    )
    yield (
        epochs[0] != 0 or epochs != sorted(set(epochs)),
        "selfplay.curriculum_epochs",
        "begin with 0 and count upwards",
    )


def _of_window(config: ConfigDict) -> Conflicts:
    replay, train = config.replay, config.train
    yield (
        replay.minimum_games
        and (replay.window_positions or train.schedule != "constant" or train.passes),
        "replay.minimum_games",
        "needs config.replay.window_positions=0, config.train.schedule='constant' and "
        "config.train.passes=0",
    )
    most = max(replay.minimum_games, default=0)
    episodes = config.selfplay.episodes
    slots = -(-most // episodes)
    yield (
        slots > replay.window,
        "replay.minimum_games",
        f"{most} games are {slots} batches of config.selfplay.episodes={episodes}, set "
        "config.replay.window to at least that",
    )
    yield (
        replay.duplicate_weight and not replay.window_positions,
        "replay.duplicate_weight",
        "equal positions are merged in a window counted in positions, set "
        "config.replay.window_positions",
    )
    yield (
        bool(replay.window_start) and replay.window_start >= replay.window_positions,
        "replay.window_start",
        "the window grows from it to "
        f"config.replay.window_positions={replay.window_positions}, choose less than that",
    )
    grows = list(replay.window_grows)
    yield len(grows) != 2, "replay.window_grows", "give two numbers"
    yield replay.window_start and grows != sorted(grows), "replay.window_grows", "count upwards"


def _of_training(config: ConfigDict) -> Conflicts:
    train = config.train
    yield len(train.cycle_momentum) != 2, "train.cycle_momentum", "give two numbers"
    yield (
        train.passes and train.epochs != 1,
        "train.passes",
        f"it is in place of config.train.epochs={train.epochs}, set that to 1",
    )
    yield (
        train.schedule == "cyclic" and train.optimizer != "sgd",
        "train.schedule",
        "its momentum is that of config.train.optimizer='sgd'",
    )
    yield (
        train.schedule == "linear" and train.anneal_to == 1,
        "train.schedule",
        "it falls to config.train.anneal_to=1.0, choose less",
    )
    yield (
        train.schedule == "cyclic" and not 0 < train.cycle_peak < train.cycle_end < 1,
        "train.cycle_peak",
        f"0 < cycle_peak < cycle_end < 1 is needed (cycle_end={train.cycle_end})",
    )


def _of_search(config: ConfigDict, switches: Switches) -> Conflicts:
    search, own, train = config.search, config.selfplay, config.train
    yield (
        search.algorithm == "gumbel" and own.fast_share,
        "search.algorithm",
        "its number of simulations is one for all plies, set config.selfplay.fast_share=0",
    )
    yield (
        search.loop == "mctx" and (own.fast_share or switches.keep_tree),
        "search.loop",
        "it has no fast searches and no kept trees, set config.selfplay.fast_share=0 and "
        "config.switches.keep_tree=False, or choose tree",
    )
    yield (
        search.loop == "mctx" and train.root_value_share and config.network.value_head == "wdl",
        "search.loop",
        "it backs up no draw probabilities, set config.train.root_value_share=0 or choose tree",
    )
    yield (
        own.fast_share and own.fast_simulations > search.num_simulations,
        "selfplay.fast_simulations",
        f"a full search makes {search.num_simulations}, choose at most that",
    )
    yield (
        switches.root_expansion_counts and own.fast_share and own.fast_simulations < 2,
        "selfplay.fast_simulations",
        "the published program's first simulation visits nothing, choose at least 2 or set "
        "config.switches.root_expansion_counts=False",
    )
    yield (
        switches.root_expansion_counts and search.num_simulations < 2,
        "search.num_simulations",
        "the published program's first simulation visits nothing, choose at least 2 or set "
        "config.switches.root_expansion_counts=False",
    )
    yield (
        search.propagate_results and switches.draw_for_asked,
        "search.propagate_results",
        "true results are propagated, set config.switches.small_draw_value=False and "
        "config.switches.othello_tie_is_loss_of_asked=False",
    )
    yield (
        search.algorithm == "gumbel" and switches.keep_tree,
        "search.algorithm",
        "sequential halving starts from an unvisited root, set config.switches.keep_tree=False",
    )
