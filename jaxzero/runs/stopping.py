"""Stopping between iterations: Ctrl-C, SIGTERM (a scheduler's notice) and a limit of minutes."""

import signal
import time
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

FINISHED_EARLY = 0  # exit status of a run that kept to its limit of minutes


class Stopped(Exception):
    """Training ended before its last iteration, everything saved.

    Attributes:
      status: exit status for the shell: 0 for the limit of minutes, 128 + the signal else.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class StopRequest:
    """Notices a signal or that the minutes are over; a context manager around the iterations.

    The first Ctrl-C or SIGTERM is only noted, the second acts at once as it would have without.
    """

    def __init__(self, max_minutes: float, started: float) -> None:
        """Args: max_minutes: 0 for no limit. started: `time.monotonic()` it is counted from."""
        self._deadline = started + 60 * max_minutes if max_minutes else None
        self._max_minutes = max_minutes
        self._signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        except ValueError:
            pass  # not the main thread (a notebook's worker): signals stay as they are
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = number
        signal.signal(number, self._before[number])

    def reason(self) -> Stopped | None:
        """Why to stop now, the same on all processes; None to go on."""
        mine = self._signal or 0
        if not mine and self._deadline is not None and time.monotonic() >= self._deadline:
            mine = -1
        if jax.process_count() > 1:  # a signal may reach one process only
            everyones = multihost_utils.process_allgather(np.int32(mine))
            mine = int(everyones[np.argmax(np.abs(everyones))])
        if mine == 0:
            return None
        if mine < 0:
            return Stopped(f"--max-minutes={self._max_minutes:g} are over", FINISHED_EARLY)
        return Stopped(f"stopped by {signal.Signals(mine).name}", 128 + mine)


def minutes_left(limit: float, started: float, before: str) -> float:
    """What is left of `--max-minutes` for the next of several trainings.

    Args:
      limit: of all of them together; 0 for none.
      started: `time.monotonic()` it is counted from.
      before: what would come next, for the message.

    Returns:
      Minutes; 0 for no limit.

    Raises:
      Stopped: nothing is left.
    """
    left = limit - (time.monotonic() - started) / 60
    if limit and left <= 0:
        raise Stopped(
            f"--max-minutes={limit:g} are over before {before}; the same command resumes from "
            "there",
            FINISHED_EARLY,
        )
    return left if limit else 0.0
