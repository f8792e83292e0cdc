"""What a run remembers of its earlier games, for its next ones."""

from typing import Any

import jax
from flax import struct

from jaxzero.training import archive, curriculum, league, seen
from jaxzero.training.archive import Archive
from jaxzero.training.league import League
from jaxzero.training.sharing import Memory
from jaxzero.training.spec import Spec


@struct.dataclass
class Past:
    """Between two batches of games.

    Attributes:
      curriculum: `curriculum.Progress`; `()` without one.
      archive, league, seen (the run's positions): each None without one.
    """

    curriculum: Any = ()
    archive: Archive | None = None
    league: League | None = None
    seen: Memory | None = None


NOTHING = Past()


def begin(spec: Spec, key: jax.Array) -> Any:
    """Before the first game, as a run's state keeps it. The key is consumed."""
    own = spec.selfplay
    return pack(
        Past(
            curriculum=curriculum.begin(own),
            archive=archive.begin(own, spec.game),
            league=league.begin(own, spec.search, key),
            seen=seen.begin(own),
        )
    )


def pack(past: Past) -> Any:
    """As a run's state keeps it: where there is a curriculum at most, that alone (as ever)."""
    others = (past.archive, past.league, past.seen)
    return past.curriculum if all(part is None for part in others) else past


def unpack(kept: Any) -> Past:
    """The reverse of `pack`."""
    return kept if isinstance(kept, Past) else Past(kept)
