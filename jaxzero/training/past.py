"""What a run remembers of its earlier games, for its next ones."""

import jax
from flax import struct

from jaxzero.training import archive, curriculum, league, seen
from jaxzero.training.archive import Archive
from jaxzero.training.curriculum import Progress
from jaxzero.training.league import League
from jaxzero.training.sharing import Memory
from jaxzero.training.spec import Spec


@struct.dataclass
class Past:
    """Between two batches of games.

    Attributes:
      curriculum, archive, league, seen (the run's positions): each None without one.
    """

    curriculum: Progress | None = None
    archive: Archive | None = None
    league: League | None = None
    seen: Memory | None = None


NOTHING = Past()


def begin(spec: Spec, key: jax.Array) -> Past:
    """Before the first game. The key is consumed."""
    own = spec.selfplay
    return Past(
        curriculum=curriculum.begin(own),
        archive=archive.begin(own, spec.game),
        league=league.begin(own, spec.search, key),
        seen=seen.begin(own),
    )
