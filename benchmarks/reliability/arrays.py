"""Networks and games of two run directories, compared bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxzero import files, runs, workdir
from jaxzero.settings.config import ConfigError

FOLDERS = ("games", "weights")  # whose `.npz` files are compared
_REMEDY = "it was not written whole"


def differing(expected: Path, found: Path) -> str | None:
    """The first array that is not the same below two directories: of games or networks."""
    for path in sorted(expected.rglob("*.npz")):
        if path.parent.name in FOLDERS:
            different = _compare(found / path.relative_to(expected), path, _stored)
            if different:
                return different
    for path in sorted(expected.rglob(workdir.MEMBERS)):
        if (path.parent / runs.SNAPSHOTS).is_dir():
            place = path.parent.relative_to(expected)
            different = _compare(found / place, path.parent, _networks)
            if different:
                return different
    return None


def _compare(
    found: Path, expected: Path, read: Callable[[Path], dict[str, np.ndarray]]
) -> str | None:
    try:
        ours, theirs = read(found), read(expected)
    except ConfigError as error:
        return str(error)
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            return f"{found}: {name} is only in one"
        if not _same(ours[name], theirs[name]):
            return f"{found}: {name} is not that of the study that was left alone"
    return None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Bit for bit; numbers that are not finite too."""
    alike = (one.dtype, one.shape) == (other.dtype, other.shape)
    return alike and one.tobytes() == other.tobytes()


def _stored(path: Path) -> dict[str, np.ndarray]:
    return files.read_arrays(path, (), _REMEDY)


def _networks(directory: Path) -> dict[str, np.ndarray]:
    """The newest networks that a run directory keeps, by iteration and path."""
    run = runs.open_run(directory)
    leaves: Any = jax.tree_util.tree_leaves_with_path(jax.device_get(runs.networks(run)))

    def name(path: Any) -> str:
        inside = jax.tree_util.keystr(path, simple=True, separator="/")
        return f"iteration {run.iterations[-1]} {inside}"

    return {name(path): np.asarray(x) for path, x in leaves}
