"""Stopping between iterations: Ctrl-C, SIGTERM (a scheduler's notice) and a limit of minutes."""

import os
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

FINISHED_EARLY = 0  # exit status of a run that kept to its limit of minutes
_PATIENCE = 1.0  # seconds for Python to obey a second signal, unless it waits for the device
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):
    """Training ended before its last iteration, everything saved.

    `status` is the program's: 0 for the limit of minutes, 128 + the signal else. `at_once`: by a
    second signal, in the middle of an iteration that is lost.
    """

    def __init__(self, message: str, status: int, *, at_once: bool = False) -> None:
        super().__init__(message)
        self.status, self.at_once = status, at_once


class _Unread:
    """Standard error into a pipe, which says nothing more when nobody reads it any longer."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.is_unread = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        self._try(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self.stream.flush)

    def _try(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BrokenPipeError:
            self.is_unread = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())  # for what is still in the buffer, too
            os.close(nowhere)


class StopRequest:
    """Notices a signal or that the minutes are over; a context manager around the iterations.

    So does the end of who reads standard error, `2>&1 | tee`, which Ctrl-C may end first: what is
    to be saved must not fail for a line that nobody reads.

    The first Ctrl-C or SIGTERM is only noted, with a line. The second, or the end of the grace,
    ends the process at once, what is saved stays. Python handles no signal while it compiles or
    waits for the device, which may take longer than a scheduler's grace, so a thread hears them
    too.
    """

    def __init__(self, max_minutes: float, started: float, grace: float = 0.0) -> None:
        """Args:
        max_minutes: 0 for no limit.
        started: `time.monotonic()` it is counted from.
        grace: seconds that an iteration may take after the first signal; 0 for no limit.
        """
        self._deadline = started + 60 * max_minutes if max_minutes else None
        self._max_minutes = max_minutes
        self._grace = grace
        self._signal: int | None = None
        self._before: dict[int, Any] = {}
        self._over = threading.Event()
        self._error: _Unread | None = None  # standard error, if it is a pipe
        self._bell: int | None = None  # Python writes a signal's number here, whatever it waits for

    def __enter__(self) -> "StopRequest":
        if _is_pipe(sys.stderr):
            sys.stderr = self._error = _Unread(sys.stderr)
        try:
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        except ValueError:
            return self  # not the main thread (a notebook's worker): signals stay as they are
        if hasattr(sys, "ps1"):
            return self  # a notebook has more to lose than this run
        heard, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._bell_before = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._bell is not None:
            signal.set_wakeup_fd(self._bell_before)
            os.close(self._bell)  # ends the thread
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
        if self._error is not None:
            sys.stderr = self._error.stream

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._signal is None:
            self._signal = number
            return
        self._over.set()
        if number == signal.SIGTERM:
            raise Stopped(_at_once("a second SIGTERM"), 128 + number, at_once=True)
        raise KeyboardInterrupt

    def _listen(self, heard: int) -> None:
        """Waits for signals, and for the end of the grace after the first."""
        first: int | None = None
        end: float | None = None  # of the grace
        with os.fdopen(heard, "rb", buffering=0) as pipe:
            while True:
                left = None if end is None else max(0.0, end - time.monotonic())
                if not select.select([pipe], [], [], left)[0]:
                    assert first is not None
                    _end(f"--grace={self._grace:g} seconds are over", first)
                numbers = pipe.read(64)
                if not numbers:
                    return
                for number in numbers:
                    if number not in _SIGNALS:
                        continue
                    if first and not self._over.wait(_PATIENCE):
                        _end(f"a second {signal.Signals(number).name}", number)
                    if not first:
                        first = number
                        end = time.monotonic() + self._grace if self._grace else None
                        message = f"{signal.Signals(number).name}: stopping after the current step"
                        print(
                            f"\n{message}; a second one stops at once", file=sys.stderr, flush=True
                        )

    def reason(self) -> Stopped | None:
        """Why to stop now, the same on all processes; None to go on."""
        unread = self._error is not None and self._error.is_unread
        mine = self._signal or (int(signal.SIGPIPE) if unread else 0)
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
    """Minutes of `--max-minutes` that are left for the next of several trainings.

    `limit`: of all of them together; 0, for no limit, is returned as it is. `started`:
    `time.monotonic()` they are counted from; `before`: what would come next, for the message.

    Stopped: nothing is left.
    """
    if not limit:
        return 0.0
    left = limit - (time.monotonic() - started) / 60
    if jax.process_count() > 1:  # their clocks differ, and one would stop alone
        left = float(multihost_utils.broadcast_one_to_all(np.float32(left)))
    if left <= 0:
        raise Stopped(
            f"--max-minutes={limit:g} are over before {before}; the same command resumes from "
            "there",
            FINISHED_EARLY,
        )
    return left


def _is_pipe(stream: Any) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):  # a notebook's, or none at all
        return False


def _at_once(why: str) -> str:
    return f"stopped by {why}: the same command resumes from the newest checkpoint, if any"


def _end(why: str, number: int) -> None:
    """Ends the process, whatever its main thread waits for."""
    print(f"\n{_at_once(why)}", file=sys.stderr, flush=True)
    os._exit(128 + number)
