"""A finished run in one small archive: what is worth keeping, and enough to play against it.

    python -m experiments.export runs/quick
    python -m experiments.export --read quick.zip

The archive holds the run's settings, results, metrics and games, its figures and report, and every
member's final network in bfloat16. Unpacked, it is a run directory: it can be played against and
entered in tournaments, but not trained on. What does not fit in --max-mib is left out, the least
important first, and named. See docs/export.md.
"""

import hashlib
import io
import json
import math
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import jax

from experiments.shell.next_command import suggest
from jaxzero import arguments, files, runs, workdir
from jaxzero.arguments import Parser
from jaxzero.runs import Run, population, weights
from jaxzero.settings.config import ConfigError
from jaxzero.tracking.wandb_runs import LEDGER

MANIFEST = "manifest.json"
_FORMAT = "jaxzero export 1"
_MIB = 2**20
_DATE = (1980, 1, 1, 0, 0, 0)  # the same run gives the same archive
_LEVEL = 9  # of compression
_END = 22 + 8  # bytes of a zip archive's end; "dropped" in the manifest
_MAX_MIB = 16.0


class Item(NamedTuple):
    """A file of the archive: path below the run's folder, contents."""

    path: str
    content: bytes


class Export(NamedTuple):
    """An archive: contents of the file, items in it (the manifest apart), and those left out."""

    archive: bytes
    kept: tuple[Item, ...]
    dropped: tuple[Item, ...]


def parser() -> Parser:
    made = Parser(prog="python -m experiments.export", description=__doc__)
    add = made.add_argument
    add("run", nargs="?", type=Path, metavar="RUN", help="run directory")
    add("--to", type=Path, metavar="FILE", help="archive to write (default RUN's name and .zip)")
    add("--max-mib", type=float, metavar="N", help=f"largest size (default {_MAX_MIB:g})")
    add("--read", type=Path, metavar="FILE", help="list and verify an archive")
    return made


def make(directory: Path, max_mib: float, *, with_others: bool = True) -> Export:
    """The archive of a run, its report, games and figures in it if they fit and are wanted.

    Raises:
      ConfigError: it is no run, is untrained, or not even the least fits.
    """
    run = runs.open_run(directory)
    if run.iterations[-1] == 0:
        raise ConfigError(
            f"{directory} has no trained networks yet: they are kept every "
            f"config.execution.snapshot_every={run.config.execution.snapshot_every} iterations and "
            "at the end"
        )
    core, networks, others = _core(run), _networks(run), _others(run) if with_others else []
    # These get shorter when networks are left out: what they take at most is set aside.
    lists = _members(run, networks)
    lists.append(_manifest(run, [*core, *lists, *networks, *others], []))
    room = int(max_mib * _MIB) - _END
    room -= sum(_size(run, item) for item in core)
    room -= sum(_size(run, item, packed=False) for item in lists)
    kept_networks, room = _fitting(run, networks, room)
    if not kept_networks:
        least = math.ceil(1000 * (max_mib + (_size(run, networks[0]) - room) / _MIB)) / 1000
        raise ConfigError(
            f"--max-mib={max_mib:g}: settings, results, metrics and one network take {least:g}; "
            "choose at least that"
        )
    kept_others, _ = _fitting(run, others, room)
    kept = [*core, *_members(run, kept_networks), *kept_networks, *kept_others]
    dropped = [item for item in (*networks, *others) if item not in kept]
    packed = _pack(run, [_manifest(run, kept, dropped), *kept])
    return Export(packed, tuple(kept), tuple(dropped))


def _core(run: Run) -> list[Item]:
    """What every archive has: settings, results and metrics, as far as the run got."""
    own = (MANIFEST, workdir.MEMBERS, LEDGER)
    results = sorted(run.directory.glob("*.json"))
    files = [*(f for f in results if f.name not in own), run.directory / workdir.METRICS]
    return [Item(file.name, file.read_bytes()) for file in files if file.is_file()]


def _networks(run: Run) -> list[Item]:
    """The final networks, the most important first: one seed of every target, then the next."""
    networks = jax.device_get(runs.networks(run))
    seen: dict[str, int] = {}
    order = []
    for number, member in enumerate(run.members):
        seen[member.target] = seen.get(member.target, -1) + 1
        order.append((seen[member.target], number))
    return [
        Item(
            f"{weights.FOLDER}/{run.members[number].name}.npz",
            weights.to_bytes(population.member(networks, number)),
        )
        for _, number in sorted(order)
    ]


def _others(run: Run) -> list[Item]:
    """The rest, the most important first."""
    patterns = ("report.html", "games/*", "figures/*.png", "figures/*")
    files = [file for p in patterns for file in sorted(run.directory.glob(p)) if file.is_file()]
    return [
        Item(file.relative_to(run.directory).as_posix(), file.read_bytes())
        for file in dict.fromkeys(files)
    ]


def _members(run: Run, networks: Sequence[Item]) -> list[Item]:
    """Who is in the archive: `members.json` and the index of the weights."""
    names = {PurePosixPath(item.path).stem for item in networks}
    stored = files.read_list(run.directory / workdir.MEMBERS)
    index = weights.index([m.name for m in run.members if m.name in names], run.iterations[-1])
    return [
        Item(workdir.MEMBERS, _json([member for member in stored if member["name"] in names])),
        Item(f"{weights.FOLDER}/{weights.INDEX}", _json(index)),
    ]


def _manifest(run: Run, kept: Sequence[Item], dropped: Sequence[Item]) -> Item:
    """The list of everything that is in the archive, and of what is not."""
    files = [
        {"file": x.path, "bytes": len(x.content), "sha256": hashlib.sha256(x.content).hexdigest()}
        for x in kept
    ]
    content = {
        "format": _FORMAT,
        "study": run.study,
        "game": run.config.game,
        "iteration": run.iterations[-1],
        "files": files,
        "dropped": [{"file": item.path, "bytes": len(item.content)} for item in dropped],
    }
    return Item(MANIFEST, _json(content))


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _fitting(run: Run, items: Sequence[Item], room: int) -> tuple[list[Item], int]:
    """Those that find room, each in its turn, and the room that is left."""
    fitting = []
    for item in items:
        size = _size(run, item)
        if size <= room:
            fitting.append(item)
            room -= size
    return fitting, room


def _size(run: Run, item: Item, *, packed: bool = True) -> int:
    """Bytes that an item takes in the archive, with its two headers; packed or as it is."""
    content = len(item.content)
    if packed:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        content = len(packer.compress(item.content) + packer.flush())
    return content + 30 + 46 + 2 * len(f"{_name(run)}/{item.path}".encode())


def _pack(run: Run, items: Sequence[Item]) -> bytes:
    """The archive: all items below a folder with the run's name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for item in items:
            entry = zipfile.ZipInfo(f"{_name(run)}/{item.path}", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, item.content, compresslevel=_LEVEL)
    return file.getvalue()


def _name(run: Run) -> str:
    return run.directory.resolve().name


def read(file: Path) -> dict[str, Any]:
    """An archive's manifest, every digest checked. ConfigError: no archive of ours, or damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            [path] = [n for n in archive.namelist() if n.endswith(f"/{MANIFEST}")]
            manifest: dict[str, Any] = json.loads(archive.read(path))
            folder = path.removesuffix(MANIFEST)
            for entry in manifest["files"]:
                if archive.getinfo(folder + entry["file"]).file_size != entry["bytes"]:
                    raise ValueError(f"{entry['file']} has another size")
                content = archive.read(folder + entry["file"])
                if hashlib.sha256(content).hexdigest() != entry["sha256"]:
                    raise ConfigError(f"--read={file} is damaged: {entry['file']} has changed")
            describe(manifest)
    except (*files.NO_ARCHIVE, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        if isinstance(error, FileNotFoundError):
            raise ConfigError(f"--read={file}: there is no such file") from error
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"--read={file} is no whole archive of a run: {reason}") from error
    return manifest


def describe(manifest: dict[str, Any]) -> str:
    """What is in an archive and what is not, a line for each file."""
    lines = [
        f"{manifest['study']}, {manifest['game']}, networks after iteration {manifest['iteration']}"
    ]
    lines += [f"{entry['bytes']:>12,} bytes  {entry['file']}" for entry in manifest["files"]]
    lines += [f"left out: {e['file']} ({e['bytes']:,} bytes)" for e in manifest["dropped"]]
    return "\n".join(lines)


def write(directory: Path, file: Path, max_mib: float) -> Export:
    """Exports a run to a file, which may be there with the same content.

    ConfigError: as `make`; or another file is there, or it can't be written.
    """
    export = make(directory, max_mib)
    try:
        if file.exists():
            if not file.is_file() or file.read_bytes() != export.archive:
                raise ConfigError(f"--to={file} exists already: choose another name")
            return export
        with files.replacing(file) as part:
            part.write_bytes(export.archive)
    except OSError as error:
        raise ConfigError(f"--to={file} can't be written: {error.strerror}") from error
    return export


def main(words: Sequence[str] | None = None) -> None:
    given = parser().parse(words)
    if (given.run is None) == (given.read is None):
        raise ConfigError("give either a run directory, or --read=FILE")
    if given.read is not None:
        for flag, value in (("--to", given.to), ("--max-mib", given.max_mib)):
            if value is not None:
                raise ConfigError(f"{flag}={value}: --read writes nothing, leave it out")
        print(describe(read(given.read)))
        suggest("to unpack it", "zipfile", "-e", given.read, "unpacked")
        return
    most = _MAX_MIB if given.max_mib is None else given.max_mib
    if not 0 < most < math.inf:  # nan is neither
        raise ConfigError(f"--max-mib={most:g}: choose a size above 0, in MiB")
    file = given.to or Path(f"{given.run.resolve().name}.zip")
    export = write(given.run, file, most)
    for item in export.dropped:
        print(
            f"left out, --max-mib={most:g}: {item.path} ({len(item.content):,} bytes)",
            file=sys.stderr,
        )
    print(f"{file}: {len(export.kept) + 1} files, {len(export.archive) / _MIB:.2f} MiB")
    suggest("what it holds", "experiments.export", f"--read={file}")


if __name__ == "__main__":
    arguments.run(main)
