"""Parts of a paper, run one after another: each a command in a process and a directory of its own.

What is done lies beside the run directories, PART.json, so that the same command resumes where it
was stopped, a finished part is never begun again, and papers share their parts.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from experiments.reproduce.papers import Part
from jaxzero import files, workdir
from jaxzero.runs.processes import say

FINISHED, FAILED, STOPPED, UNTOUCHED = "finished", "failed", "unfinished", "not begun"
_SIGNALLED: Final = (130, 143)  # exit statuses of a study that saved and left


class State(NamedTuple):
    """How far a part is."""

    state: str  # one of the four above
    status: int | None = None  # exit status of its last call, None before the first
    reason: str = ""  # the last line that it printed when it failed


def directory_of(part: Part, folder: Path) -> Path:
    """The run directory of a part; `folder`: of all parts of a scale."""
    return folder / part.name


def state_of(part: Part, folder: Path) -> State:
    """How far a part is, from its files alone."""
    directory = directory_of(part, folder)
    noted = _noted(directory)
    found = State(**files.read_json(noted)) if noted.is_file() else None
    if found and (found.state != FINISHED or (directory / workdir.RESULTS).is_file()):
        return found
    return State(STOPPED if directory.is_dir() else UNTOUCHED)


def command_of(part: Part, scale: str, folder: Path) -> str:
    """What makes a part, for people."""
    words = [*part.words(scale), f"--workdir={directory_of(part, folder)}"]
    return shlex.join(["python", *words])


def run(parts: Sequence[Part], scale: str, folder: Path, max_minutes: float) -> int:
    """Runs those that are not finished; one that fails is named and the others follow.

    Args:
      scale: of `papers.SCALES`.
      folder: of their run directories; it is made.
      max_minutes: of all together; 0: no limit.

    Returns:
      0; 1 after a failure; 130 and 143 after Ctrl-C and SIGTERM, everything saved.
    """
    started, failures = time.monotonic(), 0
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, 1):
        before = state_of(part, folder)
        if before.state == FINISHED:
            say(f"[{number}/{len(parts)}] {part.name}: finished before")
            continue
        left = max_minutes - (time.monotonic() - started) / 60
        if max_minutes and left <= 0:
            say(f"--max-minutes={max_minutes:g} are over before {part.name}; {_AGAIN}")
            return int(failures > 0)
        say(f"[{number}/{len(parts)}] {part.name}")
        limit = [f"--max-minutes={max(left, 0.001):.3f}"] if max_minutes else []
        held = (directory_of(part, folder) / workdir.RESULTS).is_file()  # what failed is left out
        again = part.retry() if before.state == FAILED or held else []
        done = _run_one(part, scale, folder, [*again, *limit])
        if done.status in _SIGNALLED:
            say(f"stopped in {part.name}; {_AGAIN}")
            return int(done.status or 0)
        if done.state == FAILED:
            failures += 1
            say(f"{part.name} failed (status {done.status}): {done.reason}")
    return int(failures > 0)


_AGAIN: Final = "the same command resumes"
_running: dict[subprocess.Popen, list[int]] = {}  # the part that runs now: signals it was sent


def stop() -> None:
    """Stops the part that this process runs, if there is one, and waits until it has saved.

    For a signal's handler: what the part still prints goes to the terminal alone.
    """
    for child, sent in _running.items():
        if not sent:  # a second signal would end it before it has saved
            child.send_signal(signal.SIGTERM)
        assert child.stdout is not None
        while printed := os.read(child.stdout.fileno(), 1 << 16):  # unread, a full pipe stops it
            with contextlib.suppress(OSError):
                os.write(sys.stderr.fileno(), printed)
        child.wait()


def _run_one(part: Part, scale: str, folder: Path, more: list[str]) -> State:
    """One process; its output goes to the terminal and to PART.log.

    ConfigError: the log can't be written; the process has saved and ended.
    """
    directory = directory_of(part, folder)
    words = [f"--workdir={directory}", *more]
    begin = [sys.executable, "-m", f"{__package__}.child", str(os.getpid())]
    command = [*begin, *part.words(scale)[1:], *words]
    last, results = b"", _written(directory)
    path = directory.with_name(f"{part.name}.log")
    with files.writing(path), path.open("ab") as log:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        assert child.stdout is not None
        _running[child] = []
        try:
            with _forwarding_signals(child):
                while printed := child.stdout.read1():  # type: ignore[attr-defined]
                    log.write(printed)
                    log.flush()
                    # Ctrl-C may end who reads this, `2>&1 | tee`; the part is saving then.
                    with contextlib.suppress(BrokenPipeError):
                        sys.stderr.buffer.write(printed)
                        sys.stderr.flush()
                    last = (last + printed)[-1000:]
                ended = child.wait()
        except OSError:  # a full disk; ending now would kill the part before it has saved
            if not _running[child]:
                child.send_signal(signal.SIGTERM)
            child.communicate()  # reads on, or it might wait for a reader
            raise
        finally:
            del _running[child]
    status = 128 - ended if ended < 0 else ended  # of a signal before it saves, as shells say it
    lines = last.decode(errors="replace").replace("\r", "\n").strip().splitlines()
    has_ended = _written(directory) != results
    found = _judged(status, lines[-1] if lines else "", has_ended=has_ended)
    now = state_of(part, folder)
    if found.state == FAILED and now.state == FINISHED:
        return now  # another process had the directory, and has ended the part meanwhile
    files.write_json(_noted(directory), found._asdict())
    return found


def _written(directory: Path) -> int | None:
    """When results were written, for comparison; None: they are not there."""
    path = directory / workdir.RESULTS
    return path.stat().st_mtime_ns if path.is_file() else None


def _judged(status: int, line: str, *, has_ended: bool) -> State:
    """A part that kept to its minutes has status 0 too; one that `has_ended` wrote results."""
    if status == 0:
        return State(FINISHED if has_ended else STOPPED, status)
    return State(STOPPED, status) if status in _SIGNALLED else State(FAILED, status, line)


def _noted(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.json")


@contextlib.contextmanager
def _forwarding_signals(child: subprocess.Popen) -> Iterator[None]:
    """Ctrl-C and SIGTERM go to the child, which saves and ends."""

    def forward(number: int, _: FrameType | None) -> None:
        child.send_signal(number)
        _running[child].append(number)  # last: `stop`, of another signal, may come between the two

    before: dict[int, Any] = {}
    number: int
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError):  # not the main thread
            before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
