"""What is kept of finished runs: compressed, by group."""

import dataclasses
import json
import lzma
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from experiments import export
from experiments.hyperparameters.group_training import GROUPS
from experiments.pages.study import BESIDE, Study, load
from jaxzero import workdir
from jaxzero.runs.failures import FAILED
from jaxzero.settings.config import ConfigError

ROOT: Final = Path(__file__).resolve().parents[2] / "docs" / "results"
MOST: Final = 20 * 2**20  # bytes of all data
PACKED: Final = ".xz"
NETWORKS: Final = "networks.zip"  # an archive of `experiments.export`


class Recorded(NamedTuple):
    """A run whose data is kept.

    Attributes:
      name: of its folder in that of its group.
      networks: the archive of its final networks, where it has one.
    """

    name: str
    study: Study
    networks: Path | None = None

    @property
    def kind(self) -> str:
        """The study's name."""
        return str(self.study.results["study"])


def add(runs: Sequence[Path], group: str, root: Path = ROOT, *, networks_mib: float = 0.0) -> None:
    """Keeps the data of finished runs; the folder that held them is called `runs`.

    With `networks_mib`, also the final networks of each, as many as an archive of that size holds:
    a seed of each loss, then the next seed.

    Left out are tournaments' likelihoods of superiority, a square of all players, which rating the
    games again gives; digits of metrics that no float32 has; and metrics of single groups of a
    study of hyper-parameters, which its own hold. What was recorded of a run of that
    name in that group is replaced.

    Raises:
      ConfigError: a run that is not finished or has no networks of its own where they are asked
        for, two of one name, or more data than is to be kept in all.
    """
    packed: dict[Path, bytes] = {}
    folders: dict[Path, Path] = {}
    for run in runs:
        if not (run / workdir.RESULTS).is_file():
            raise ConfigError(f"{run}: holds no {workdir.RESULTS}, name finished runs")
        folder = root / "data" / group / run.resolve().name
        if folder in folders:
            raise ConfigError(f"{run}: called as {folders[folder]} is, rename one of the folders")
        folders[folder] = run
        beside = [path for name in (*BESIDE.values(), FAILED) if (path := run / name).is_file()]
        metrics = [p for p in sorted(run.rglob(workdir.METRICS)) if run / GROUPS not in p.parents]
        for path in (run / workdir.RESULTS, *beside, *metrics):
            text = path.read_text("utf-8")
            whole = _under_runs(text, run)
            if path.name == workdir.RESULTS:
                whole = _without_squares(whole)
            elif path.name == workdir.METRICS:
                whole = "".join(map(_shortest, whole.splitlines(keepends=True)))
            place = folder / f"{path.relative_to(run)}{PACKED}"
            packed[place] = lzma.compress(whole.encode(), preset=9)
        if networks_mib:
            packed[folder / NETWORKS] = export.make(run, networks_mib, with_others=False).archive
    kept = (
        path
        for path in (root / "data").rglob("*")
        if path.is_file() and not folders.keys() & {*path.parents}
    )
    size = sum(path.stat().st_size for path in kept) + sum(map(len, packed.values()))
    if size > MOST:
        raise ConfigError(f"{root / 'data'}: {size:,} bytes, leave out runs, {MOST:,} are the most")
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for place, data in packed.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _under_runs(text: str, run: Path) -> str:
    """The run's folder as one in `runs/`, wherever it is; no metric is called as a path."""
    if run.parent == Path():
        return text
    own = "" if run.is_absolute() else rf"(?={re.escape(run.name)}\b)"
    return re.sub(rf"(?<![\w./-]){re.escape(f'{run.parent}/')}{own}", "runs/", text)


def _without_squares(results: str) -> str:
    found = json.loads(results)
    squares = [played.pop("superiority", None) for played in found.get("tournaments") or []]
    return json.dumps(found, indent=1) if any(squares) else results


def _shortest(line: str) -> str:
    """A line of metrics with each float32 in as few digits as tell it from the others."""
    end = line[len(line.rstrip("\n")) :]
    return json.dumps(json.loads(line, parse_float=_float32)) + end if line.strip() else line


def _float32(digits: str) -> float:
    with np.errstate(over="ignore"):
        short = np.float32(digits)
    return float(str(short)) if float(short) == float(digits) else float(digits)


def read(root: Path = ROOT) -> dict[str, list[Recorded]]:
    """All recorded runs by group."""
    found: dict[str, list[Recorded]] = {}
    for path in sorted((root / "data").glob(f"*/*/{workdir.RESULTS}{PACKED}")):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for packed in path.parent.glob(f"*{PACKED}"):
                (place / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
            study = dataclasses.replace(load(place), name=path.parent.name)
        archive = path.with_name(NETWORKS)
        recorded = Recorded(study.name, study, archive if archive.is_file() else None)
        found.setdefault(path.parent.parent.name, []).append(recorded)
    return found
