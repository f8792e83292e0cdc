"""What a run remembers of its earlier games, for its next ones."""

from typing import Any

from flax import struct

from jaxzero.training import archive, curriculum
from jaxzero.training.archive import Archive
from jaxzero.training.spec import Spec


@struct.dataclass
class Past:
    """Between two batches of games.

    Attributes:
      curriculum: `curriculum.Progress`; `()` without one.
      archive: None without one.
    """

    curriculum: Any = ()
    archive: Archive | None = None


NOTHING = Past()


def begin(spec: Spec) -> Any:
    """Before the first game, as a run's state keeps it."""
    own = spec.selfplay
    return pack(Past(curriculum.begin(own), archive.begin(own, spec.game)))


def pack(past: Past) -> Any:
    """As a run's state keeps it: where there is a curriculum at most, that alone (as ever)."""
    return past.curriculum if past.archive is None else past


def unpack(kept: Any) -> Past:
    """The reverse of `pack`."""
    return kept if isinstance(kept, Past) else Past(kept)
