"""Studies whose disk is full from some write on: a file system in memory, which only root makes."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.reliability import studies
from jaxzero.settings.config import ConfigError

_PAGE = 4096  # bytes that such a file system hands out at once
_STRIDE = 617  # numbers visit all sizes, far apart: a prime
_ROOM = "size=1g,nr_inodes=100000"
_PATIENCE = (60, 5)  # seconds, and times those of the whole study


def fill(study: str, number: int) -> tuple[Mapping[str, int], str | None]:
    """Runs a study with too little room, then again with enough.

    One time in four files can't be made any more, else they take no more bytes.

    Returns:
      what happened (`no room for bytes`, `no room for files`, `room enough`), and what was wrong.
    """
    found = list(studies.whole(study).rglob("*"))
    turn, place = divmod(number, 4)
    if place == 3:
        happened, room = "no room for files", 1 + turn * _STRIDE % len(found)
        limits = f"size=1g,nr_inodes={1 + room}"
    else:
        pages = sum(-(-path.stat().st_size // _PAGE) for path in found if path.is_file())
        happened, room = "no room for bytes", 1 + (3 * turn + place) * _STRIDE % pages
        limits = f"size={room * _PAGE},nr_inodes=100000"
    directory = studies.FOLDER / study / f"full_{number}"
    patience = _PATIENCE[0] + _PATIENCE[1] * studies.needs(study)["seconds"]
    with _file_system(directory, limits):
        process = studies.begin(study, directory)
        try:
            status = process.wait(patience)
            wrong = studies.refused(status, directory) if status else None
        except subprocess.TimeoutExpired:
            process.kill()
            status, wrong = process.wait(), f"goes on after {patience:.0f} s"
        _mount(directory, f"remount,{_ROOM}")
        wrong = wrong or studies.resumed(study, directory)
    if wrong is None:
        studies.remove(directory)
    happened = happened if status else "room enough"
    return {happened: 1}, wrong and f"{study} {number}, {limits}: {wrong}"


@contextlib.contextmanager
def _file_system(directory: Path, options: str) -> Iterator[None]:
    """With room for so much; gone at the end."""
    if directory.is_mount():  # of a count that was killed
        _unmount(directory)
    studies.remove(directory)
    directory.mkdir(parents=True)
    _mount(directory, options)
    try:
        yield
    finally:
        _unmount(directory)


def _unmount(directory: Path) -> None:
    subprocess.run(["umount", "--lazy", directory], check=True)


def _mount(directory: Path, options: str) -> None:
    """Raises ConfigError where that is not allowed."""
    words = ["mount", "-t", "tmpfs", "-o", options, "reliability", str(directory)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"disk: {done.stderr.strip()}: run it as root, e.g. in a container")
