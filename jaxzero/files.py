"""JSON, rows and arrays in files: written whole or not at all; one line says what is wrong."""

import contextlib
import errno
import glob
import json
import lzma
import math
import os
import re
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxzero.settings.config import ConfigError

DISK_TROUBLE = (
    errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EFBIG, errno.EIO,
    errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.ETIMEDOUT,  # it has gone
)  # fmt: skip
# What NumPy, JSON and `zipfile` raise for files that are no whole archive; RuntimeError: it is
# encrypted, its compression is unknown, or what it says is nested too deeply.
NO_ARCHIVE = (
    ValueError, OSError, KeyError, EOFError, RuntimeError, MemoryError, OverflowError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip
_ABANDONED = 3600  # seconds; no file takes as long to write
_DENSEST = 1032  # bytes that one byte of `zlib` can stand for

# Of an array: letters of `np.dtype.kind`, and sizes; the same name is the same size.
Form = tuple[str, tuple[int | str, ...]]


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
def replacing(path: Path, ending: str = "") -> Iterator[Path]:
    """A file beside another, which it becomes; another process may be writing the same one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part{ending}")
    _remove_abandoned(path)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())  # else a power cut may leave the name with nothing in it
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Halves of this file that killed processes left.

    One is old by the clock, which may jump, so those of processes that are alive stay. Processes of
    other machines are not known here.
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part*"):
        number = re.match(r"\.(\d{1,9})\.part", part.name[len(path.name) + 1 :])
        if number is None or _is_alive(int(number[1])):
            continue
        with contextlib.suppress(OSError):  # another process removed it
            if time.time() - part.stat().st_mtime > _ABANDONED:
                part.unlink()


def _is_alive(process: int) -> bool:
    """Whether this machine has a process of that number."""
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing: a reader never sees half of one."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a whole file or nothing, as `write_text`."""
    with writing(path), replacing(path) as part:
        part.write_bytes(content)


def write_json(path: Path, value: Any) -> None:
    """Writes a whole file or nothing, as `write_text`."""
    write_text(path, json.dumps(plain(value), indent=1) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes a compressed `.npz`, whole or not at all; its folder is made."""
    with writing(path), replacing(path, ".npz") as part:
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
        _check_announced(path)
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except NO_ARCHIVE as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"is damaged ({error})"
        raise ConfigError(f"{path} {reason}: {remedy}".replace("\n", " ")) from error
    if missing := sorted(set(names) - found.keys()):
        raise ConfigError(f"{path} is damaged (it has no {missing[0]}): {remedy}")
    return found


def _check_announced(path: Path) -> None:
    """ValueError: an `.npz` announces arrays that no file of its size can hold."""
    left = _DENSEST * path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                first = np.lib.format.read_magic(member) == (1, 0)
                form = np.lib.format
                read = form.read_array_header_1_0 if first else form.read_array_header_2_0
                shape, _, dtype = read(member)
            left -= math.prod(shape) * dtype.itemsize
            if left < 0:
                raise ValueError(f"{name} announces {shape}, more than the file holds")


def form_of(one: Any, *lead: int | str) -> Form:
    """That of arrays like `one`, with leading axes."""
    return one.dtype.kind, (*lead, *one.shape)


def check_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], forms: Mapping[str, Form], remedy: str
) -> None:
    """Compares what `read_arrays` read with what its reader expects.

    Args:
      forms: by array: the kinds of numbers, "iu" for whole ones, and the shape, `("positions", 7)`.
      remedy: what to do when it is otherwise.

    Raises:
      ConfigError: an array is missing, of another kind or shape, or holds a number that is not
        finite.
    """
    sizes: dict[int | str, int] = {}
    for name, (kinds, shape) in forms.items():
        array = arrays.get(name)
        if array is None:
            reason = f"it has no {name}"
        elif array.dtype.kind not in kinds:
            reason = f"{name} holds {array.dtype}"
        elif array.ndim != len(shape) or any(
            size != (sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted)
            for wanted, size in zip(shape, array.shape, strict=True)
        ):
            expected = ", ".join(str(sizes.get(size, size)) for size in shape)
            reason = f"{name} has the shape {array.shape}, ({expected}) is expected"
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            reason = f"{name} is not finite"
        else:
            continue
        raise ConfigError(f"{path} is damaged ({reason}): {remedy}")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. ConfigError: it holds none any more."""
    found: dict[str, Any] = read(path, dict)
    return found


def read_list(path: Path) -> list[Any]:
    """The list in a JSON file. ConfigError: it holds none any more."""
    found: list[Any] = read(path, list)
    return found


def read(path: Path, kind: type = object) -> Any:
    """A JSON file that holds one of a kind. ConfigError: it does not."""
    try:
        if isinstance(found := json.loads(path.read_text("utf-8")), kind):
            return found
        error = f"it holds no {'list' if kind is list else 'object'}"
    except (ValueError, RecursionError) as wrong:
        error = str(wrong)
    raise ConfigError(f"{path} is damaged ({error}): put back a copy of it")


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

    ConfigError: a whole line is no JSON object any more.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            if not isinstance(row := json.loads(line), dict):
                raise ValueError("it holds no object")
            rows.append(row)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{path} is damaged (line {number}: {error}): put back a copy of it"
            ) from error
    return rows


def drop_rows_after(path: Path, iteration: int) -> None:
    """Forgets the metrics of iterations that will be done again.

    ConfigError: the file is damaged.
    """
    rows = read_rows(path)
    if any(not isinstance(row.get("iteration"), int) for row in rows):
        raise ConfigError(f"{path} is damaged (a line has no iteration): put back a copy of it")
    rewrite_rows(path, (row for row in rows if row["iteration"] <= iteration))


def rewrite_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A JSONL file of these rows alone, whole or not at all."""
    with writing(path), replacing(path) as part:
        append_rows(part, rows)
