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
        "the position, so that each network searches it in one way only (002, section 4)",
        choices=("game", "position"),
    ),
    Key(
        "selfplay.share",
        "none",
        "games that stand at the same position share its search: in the same ply, or for all of an "
        "iteration (002, section 4); changes no game, needs search.key=position",
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
)


def conflicts(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    own = config.selfplay
    by_position = config.search.key == "position"
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
