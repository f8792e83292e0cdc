"""Wall seconds of a training, those of earlier processes included, as every row of metrics has."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

TIMES: Final = ("seconds", "starting_seconds")  # what differs between rows of equal runs


class TrainingClock:
    """`seconds`, and of these `starting_seconds`: before a process's first iteration, compiling."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], started: float, compiling: Callable[[], float]
    ) -> None:
        """As the first iteration of this process begins.

        Args:
          rows: of earlier processes.
          started: when this one began with the training, `time.monotonic`.
          compiling: seconds that it has compiled for until now.
        """
        self._earlier = {
            name: max((row.get(name, 0.0) for row in rows), default=0.0) for name in TIMES
        }
        self._started, self._compiling = started, compiling
        self._before = time.monotonic() - started - compiling()
        self._paused = 0.0

    def leave_out(self, seconds: float) -> None:
        """Has gone by and was no training."""
        self._paused += seconds

    def read(self) -> dict[str, float]:
        """Both, by name."""
        took = time.monotonic() - self._started - self._paused
        own = (took, self._before + self._compiling())
        return {name: self._earlier[name] + value for name, value in zip(TIMES, own, strict=True)}
