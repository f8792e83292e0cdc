"""A run directory: what is in it, and whether a command may go on in it."""

import fcntl
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict
from tqdm import tqdm

from jaxzero import __version__, files
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config, flatten

CONFIG, ENVIRONMENT, MEMBERS, METRICS, RESULTS = (
    "config.json",
    "environment.json",
    "members.json",
    "metrics.jsonl",
    "results.json",
)
LOCK = ".lock"
# May differ when a workdir is resumed: how long, how it is logged and measured, where it runs.
MAY_DIFFER = (
    "train.iterations",
    "execution.",
    "tracking.",
    "study.ladder_",
    "study.patience",
    "study.examine_every",
    "evaluation.learning_positions",
)
MAY_GROW = (  # lists that may have more when a workdir is resumed
    "study.arms",
    "study.blocks",
    "study.versions",
    "study.outcome_labels",
    "study.features",
    "study.best_move_probability",
)
_PACKAGES = ("jax", "jaxlib", "flax", "optax", "mctx", "chex", "orbax-checkpoint", "numpy")


def read_config(directory: Path) -> dict[str, Any]:
    """What `claim` stored in a run directory: values by dotted key, and its `study`.

    ConfigError: it is damaged, or no study wrote it.
    """
    return _of_a_study(directory / CONFIG)


def read_results(directory: Path) -> dict[str, Any]:
    """What a study found, with its `study`. ConfigError: it is damaged, or no study wrote it."""
    return _of_a_study(directory / RESULTS)


def _of_a_study(path: Path) -> dict[str, Any]:
    stored = files.read(path)
    if isinstance(stored, dict) and "study" in stored:
        return stored
    raise ConfigError(
        f"{path.parent} has a {path.name} that no study wrote: choose another directory"
    )


def environment() -> dict[str, Any]:
    """Device, versions and commit, for the record."""
    packages = {name: metadata.version(name) for name in _PACKAGES}
    return {
        "jaxzero": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "device": devices.describe(),
        "jax": packages["jax"],
        "packages": packages,
    }


def _commit() -> str:
    """The commit of the code that runs, `+` for uncommitted changes; unknown outside a checkout.

    Files that are not under version control count where they may be imported.
    """
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # else the checkout is another's
        root = git("rev-parse", "--show-toplevel")
        tracked = git("status", "--porcelain", "--untracked-files=no")
        code = git("-C", root, "status", "--porcelain", "jaxzero", "experiments")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if tracked or code else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def differing_keys(
    old: dict[str, Any], new: dict[str, Any], fixed: Sequence[str] = ()
) -> list[str]:
    """Dotted keys that forbid going on, as `key: old -> new`.

    A key that is younger than the run directory had its default value in it. Those of `fixed` may
    not differ, be they in `MAY_DIFFER` or `MAY_GROW`.
    """
    defaults = files.plain(flatten(default_config()))
    stored = {key: defaults.get(key, value) for key, value in new.items()} | old

    def forbids(key: str) -> bool:
        before, now = stored.get(key), new.get(key)
        grew = key in MAY_GROW and set(before or ()) <= set(now or ())
        allowed = grew or key.startswith(MAY_DIFFER)
        return before != now and (key in fixed or not allowed)

    keys = sorted(set(stored) | set(new))
    return [f"{key}: {stored.get(key)!r} -> {new.get(key)!r}" for key in keys if forbids(key)]


def claim(workdir: Path, config: ConfigDict, study: str, *, fixed: Sequence[str] = ()) -> None:
    """Makes a workdir for a config, or accepts one of the same config; touches nothing else.

    Args:
      fixed: keys that elsewhere may differ when a workdir is resumed, but not here.

    Raises:
      ConfigError: the workdir belongs to another study or config, or can't be written.
    """
    wanted = files.plain(flatten(config)) | {"study": study}

    def refuse_another() -> None:
        if not (workdir / CONFIG).exists():
            return
        stored = read_config(workdir)
        if differing := differing_keys(stored, wanted, fixed):
            if stored["study"] != study:
                differing = [f"of {stored['study']}, not {study}"]
            elif len(differing) > _NAMED:
                differing[_NAMED:] = [f"and {len(differing) - _NAMED} more"]
            raise ConfigError(
                f"--workdir={workdir} holds another run ({'; '.join(differing)}): choose another "
                "directory or the same settings, or delete it"
            )

    refuse_another()
    with files.writing(workdir):
        workdir.mkdir(parents=True, exist_ok=True)
        _lock(workdir)
        refuse_another()  # again: another command may have come and gone before this had the lock
        if jax.process_index() == 0:
            files.write_json(workdir / CONFIG, wanted)


_NAMED = 5  # differing keys that a refusal names
_locks: dict[Path, Any] = {}  # open for as long as the process lives, `kill -9` included


def _lock(workdir: Path) -> None:
    """Refuses a second process in the same run directory; the system frees a dead one's lock."""
    path = (workdir / LOCK).resolve()
    if path in _locks or jax.process_index() != 0:
        return
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(
            f"--workdir={workdir} is in use by another process: wait for it, stop it, or choose "
            "another directory"
        ) from error
    except OSError:  # a file system without locks (some mounted folders)
        if not _locks.keys() & {above / LOCK for above in path.parent.parents}:  # a part says none
            tqdm.write(
                f"warning: --workdir={workdir} is on a file system without locks: two commands at "
                "once could write the same run; start one only",
                file=sys.stderr,
            )
    _locks[path] = file
