"""Settings of games that begin at positions of earlier games.

Part of `jaxzero.settings.table`. By default none of them acts.
"""

from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from jaxzero.settings.keys import Key
from jaxzero.settings.switches import Switches

ARCHIVE: tuple[Key, ...] = (
    Key(
        "selfplay.archive_share",
        0.0,
        "share of the games that begin at a position of earlier games of the run, without learning "
        "again from what was played before (Go-Exploit); 0: none",
        low=0,
        high=1,
        needs=("selfplay.curriculum", "none"),
    ),
    Key(
        "selfplay.archive",
        "visited",
        "positions that are kept for that: one of each game at random, or of each lost game the "
        "loser's best move that nobody tried where its value fell most (Clausen 2021, section 4)",
        choices=("visited", "losses"),
    ),
    Key(
        "selfplay.archive_positions",
        100_000,
        "newest positions that are kept, at least one for each game of an iteration",
        low=1,
        high=2**27,
    ),
)


def conflicts(config: ConfigDict, switches: Switches) -> Iterator[tuple[Any, str, str]]:
    """(whether it is so, key, remedy) of what does not go together."""
    own = config.selfplay
    yield (
        own.archive_share and own.archive == "losses" and switches.one_hot_after_temperature,
        "selfplay.archive",
        "the move is tried that the search visited most, set "
        "config.switches.one_hot_after_temperature=False",
    )
    yield (
        own.archive_share and own.archive_positions < own.episodes,
        "selfplay.archive_positions",
        f"choose at least config.selfplay.episodes={own.episodes}",
    )
