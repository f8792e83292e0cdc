"""A run directory: what is in it, and whether a command may go on in it."""

import contextlib
import errno
import fcntl
import json
import math
import os
import platform
import subprocess
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from jaxzero import __version__
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
DISK_TROUBLE = (
    errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EFBIG, errno.EIO,
)  # fmt: skip
# What NumPy and `zipfile` raise for files that are no whole `.npz`; RuntimeError: "is encrypted".
_NO_ARRAYS = (
    ValueError, OSError, KeyError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
# May differ when a workdir is gone on with: how long, how it is logged and measured, where it runs.
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


def plain(value: Any) -> Any:
    """Something that JSON can hold; floats that are not finite become null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_home(path: str | Path) -> Path:
    """A path as a person writes it, `~` for the home folder: `--flag=~/x` reaches us like that."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # `~nobody`
        return Path(path)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns a full or unwritable disk into one line. ConfigError: which file, and why."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"--workdir: {path} can't be written ({error.strerror or error}): make room or choose "
            "another directory; the same command resumes from what is saved"
        ) from error


@contextlib.contextmanager
def _replacing(path: Path, ending: str = "") -> Iterator[Path]:
    """A file beside another, which it becomes; another process may be writing the same one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part{ending}")
    with writing(path):
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())  # else a power cut may leave the name with nothing in it
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing: a reader never sees half of one."""
    with _replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Writes a whole file or nothing, as `write_text`."""
    write_text(path, json.dumps(plain(value), indent=1) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes a compressed `.npz`, whole or not at all; its folder is made."""
    with _replacing(path, ".npz") as part:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(part, **arrays)


def read_arrays(path: Path, names: Iterable[str], remedy: str) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote.

    Args:
      names: arrays that it must have.
      remedy: what to do when it does not.

    Raises:
      ConfigError: it is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except _NO_ARRAYS as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"is damaged ({error})"
        raise ConfigError(f"{path} {reason}: {remedy}".replace("\n", " ")) from error
    if missing := sorted(set(names) - found.keys()):
        raise ConfigError(f"{path} is damaged (it has no {missing[0]}): {remedy}")
    return found


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. ConfigError: it holds none any more."""
    found: dict[str, Any] = _read(path, dict)
    return found


def read_list(path: Path) -> list[Any]:
    """The list in a JSON file. ConfigError: it holds none any more."""
    found: list[Any] = _read(path, list)
    return found


def _read(path: Path, kind: type = object) -> Any:
    try:
        if isinstance(found := json.loads(path.read_text("utf-8")), kind):
            return found
        error = f"it holds no {'list' if kind is list else 'object'}"
    except ValueError as wrong:
        error = str(wrong)
    raise ConfigError(f"{path} is damaged ({error}): put back a copy of it")


def read_config(directory: Path) -> dict[str, Any]:
    """What `claim` stored in a run directory: values by dotted key, and its `study`.

    ConfigError: it is damaged, or no study wrote it.
    """
    return _of_a_study(directory / CONFIG)


def read_results(directory: Path) -> dict[str, Any]:
    """What a study found, with its `study`. ConfigError: it is damaged, or no study wrote it."""
    return _of_a_study(directory / RESULTS)


def _of_a_study(path: Path) -> dict[str, Any]:
    stored = _read(path)
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
    defaults = plain(flatten(default_config()))
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
    wanted = plain(flatten(config)) | {"study": study}

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
    with writing(workdir):
        workdir.mkdir(parents=True, exist_ok=True)
        _lock(workdir)
        refuse_another()  # again: another command may have come and gone before this had the lock
        if jax.process_index() == 0:
            write_json(workdir / CONFIG, wanted)


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
    except OSError:
        pass  # a file system without locks (some mounted folders)
    _locks[path] = file


def append_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Adds lines to a JSONL file, all at once, in place of a last one that was cut short."""
    text = "".join(json.dumps(plain(row)) + "\n" for row in rows)
    with writing(path), path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a JSONL file; a last line cut short by a crash is not one.

    ConfigError: a whole line is not JSON any more.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise ConfigError(
                f"{path} is damaged (line {number}: {error}): put back a copy of it"
            ) from error
    return rows


def drop_rows_after(path: Path, iteration: int) -> None:
    """Forgets the metrics of iterations that will be done again."""
    rewrite_rows(path, (row for row in read_rows(path) if row["iteration"] <= iteration))


def rewrite_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A JSONL file of these rows alone, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    append_rows(part, rows)
    with writing(path):
        os.replace(part, path)
