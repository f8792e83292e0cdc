"""Settings of what a search depends on, and of which searches are made once for several games.

Part of `jaxzero.settings.table`. By default none of them acts.
"""

from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.keys import Key
from jaxzero.settings.switches import Switches

SHARING: tuple[Key, ...] = (
    Key(
        "search.key",
        "game",
        "what a search's noise and random ties in self-play are drawn by: the game and its ply, or "
        "the position, so that each network searches it in one way only (Clausen 2021, section 4)",
        choices=("game", "position"),
    ),
    Key(
        "selfplay.share",
        "none",
        "games that stand at the same position share its search: in the same ply, or for all of an "
        "iteration (Clausen 2021, section 4); changes no game, needs search.key=position",
        choices=("none", "ply", "cache"),
    ),
    Key(
        "selfplay.share_positions",
        1_000_000,
        "positions that the table of share=cache has room for on a device, at most: what finds no "
        "room is searched again; it has none for more than twice the moves of an iteration",
        low=1,
        high=2**27,
    ),
    Key(
        "selfplay.tree_c",
        0.0,
        "c of one big tree by which an iteration's games choose their moves, in place of sampling "
        "them (Clausen 2021, Fig. 9: 1.5, 5, 15); 0: none",
        low=0,
        high=1e6,
        needs=("selfplay.share", "cache"),
    ),
    Key(
        "selfplay.retry",
        False,
        "lost games are tried again at once, from where they went wrong, by the same network "
        "(Clausen 2021, section 4)",
        needs=("selfplay.share", "cache"),
    ),
    Key(
        "selfplay.parts",
        1,
        "an iteration's games in so many parts, one after another: with tree_c or retry each part "
        "learns from those before it",
        low=1,
        high=1_000_000,
    ),
)


def conflicts(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    own = config.selfplay
    by_position = config.search.key == "position"
    key = "selfplay.retry" if own.retry else "selfplay.tree_c"
    learns = own.retry or own.tree_c
    for name, plain in (("opening_plies", 0), ("archive_share", 0.0), ("curriculum", "none")):
        yield (
            learns and own[name] != plain,
            key,
            f"it says where games begin, set config.selfplay.{name}={plain!r}",
        )
    yield own.retry and own.tree_c, "selfplay.retry", "set config.selfplay.tree_c=0"
    yield (
        learns and switches.one_hot_after_temperature,
        key,
        "the tree chooses the move and a retry the most visited one, set "
        "config.switches.one_hot_after_temperature=False",
    )
    yield (
        bool(learns) != (own.parts > 1),
        "selfplay.parts",
        "one part learns from another with config.selfplay.tree_c or config.selfplay.retry: choose "
        "1 without, more with them",
    )
    yield (
        own.retry
        and (
            own.known_labels
            or config.search.discount < 1
            or switches.draw_for_asked
            or switches.gobang_absolute_labels
        ),
        "selfplay.retry",
        "what was played before learns the new game's true result, set "
        "config.selfplay.known_labels=False, config.search.discount=1 and config.semantics to "
        "'corrected'",
    )
    yield (
        by_position and switches.keep_tree,
        "search.key",
        "a kept tree depends on the moves before, set config.switches.keep_tree=False",
    )
    yield (
        own.share != "none" and not by_position,
        "selfplay.share",
        "games only share searches that are the same, set config.search.key='position'",
    )
