"""Recorded runs: their data in docs/results/data, and the page that is made of it.

    python -m experiments.results                                  # makes the page again
    python -m experiments.results --check                          # would that change it?
    python -m experiments.results --add RUN RUN --group=laptop     # records finished runs

Runs of a group are read together: one folder of docs/results/data, a board and semantics once. Of
each are kept results.json, with its settings, environment and games won, and metrics.jsonl, both
compressed. Every number of docs/results/recorded.md comes from these files.
"""

import functools
import gzip
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from matplotlib.figure import Figure

from experiments.claims import measured
from experiments.claims import section as claims_section
from experiments.claims.losses import decide
from experiments.connect_four import extension_figures, extensions_report
from experiments.connect_four_extensions import STUDY as EXTENSIONS
from experiments.losses import joint_figures
from experiments.pages import page
from experiments.pages.study import Study, load
from experiments.pages.tables import Table, table
from experiments.pages.wording import ABSENT, duration, plural
from experiments.recipe import STUDY as RECIPE
from experiments.shell import arguments
from experiments.strength import recipe_report
from jaxzero import workdir
from jaxzero.settings.config import ConfigError

ROOT: Final = Path(__file__).resolve().parents[1] / "docs" / "results"
KEPT: Final = (workdir.RESULTS, workdir.METRICS)
MOST: Final = 20 * 2**20  # bytes of all data
_HEAD: Final = """# Results: recorded runs

`python -m experiments.results` makes this page from the data in `docs/results/data`; no number is
typed by hand. Runs of a section are read together. How verdicts are reached:
[deviations](../deviations.md#do-the-claims-hold).
"""


class Recorded(NamedTuple):
    """A run whose data is kept; `name`: of its folder in that of its group."""

    name: str
    study: Study

    @property
    def kind(self) -> str:
        """The study's name."""
        return str(self.study.results["study"])


def add(runs: Sequence[Path], group: str, root: Path = ROOT) -> None:
    """Keeps the data of finished runs; the folder that held them is called `runs`.

    Raises:
      ConfigError: a run that is not finished, or more data than is to be kept in all.
    """
    packed: dict[Path, bytes] = {}
    for run in runs:
        if not (run / workdir.RESULTS).is_file():
            raise ConfigError(f"{run}: holds no {workdir.RESULTS}, name finished runs")
        for name in (name for name in KEPT if (run / name).is_file()):
            whole = (run / name).read_text().replace(f"{run.parent}/", "runs/")
            place = root / "data" / group / run.name / f"{name}.gz"
            packed[place] = gzip.compress(whole.encode(), mtime=0)
    others = (path for path in (root / "data").rglob("*.gz") if path not in packed)
    size = sum(path.stat().st_size for path in others) + sum(map(len, packed.values()))
    if size > MOST:
        raise ConfigError(f"{root / 'data'}: {size:,} bytes, leave out runs, {MOST:,} are the most")
    for place, data in packed.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def read(root: Path = ROOT) -> dict[str, list[Recorded]]:
    """All recorded runs by group."""
    found: dict[str, list[Recorded]] = {}
    for path in sorted((root / "data").glob(f"*/*/{workdir.RESULTS}.gz")):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for packed in path.parent.glob("*.gz"):
                (place / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
            recorded = Recorded(path.parent.name, load(place))
        found.setdefault(path.parent.parent.name, []).append(recorded)
    return found


def text(groups: Mapping[str, Sequence[Recorded]]) -> str:
    """The page."""
    parts = [_HEAD]
    for group, runs in groups.items():
        parts.append(f"\n## {group}\n")
        parts += [markdown(one) for one in tables(runs)]
        parts += [f"\n![{one.title}]({one.file})\n" for one in drawings(group, runs)]
    return "".join(parts)


def tables(runs: Sequence[Recorded]) -> Iterator[Table]:
    """Of a group: what was run, and what came out."""
    yield table(
        "Runs",
        runs,
        {
            "run": lambda one: one.name,
            "study": lambda one: one.kind,
            "board": lambda one: one.study.game,
            "semantics": lambda one: str(one.study.setting("semantics") or ABSENT),
            "seeds": lambda one: str(len({r["seed"] for r in _runs(one.study)})),
            "wall time": lambda one: duration(_seconds(one.study)),
            "device": lambda one: _environment(one.study, "device"),
            "commit": lambda one: _environment(one.study, "commit"),
            "command": lambda one: f"`{one.study.results.get('command') or ABSENT}`",
        },
    )
    boards = _of_losses(runs)
    if boards:
        findings = decide(boards)
        tests = [test for one in findings.decided for test in one.tests]
        yield claims_section.table(findings)
        if any(test.estimate and test.estimate.tested for test in tests):  # seeds enough
            yield claims_section.details(findings)
        yield joint_figures.ratings(boards)
    for one in _of(RECIPE, runs):
        rows, at = recipe_report.compared(one.study.results)
        yield from recipe_report.earned_tables(rows, at)
        yield recipe_report.arms_table(one.study.results["arms"], at)
    for one in _of(EXTENSIONS, runs):
        yield from (shown for shown in extensions_report.tables(one.study.results) if shown.rows)
    for one in runs:
        results = one.study.results
        decided = results.get("claims") or (results.get("sweep") or {}).get("remarks") or []
        analysed = results.get("correlation") or {}
        named = {one.name: decided} | {
            f"{one.name}, {name}": each["claims"]
            for name, each in analysed.items()
            if isinstance(each, dict)
        }
        yield from (claims_section.of_results(n, rows, "") for n, rows in named.items() if rows)


def _of_losses(runs: Sequence[Recorded]) -> tuple[measured.BoardStudies, ...]:
    own = [one for one in runs if one.kind == measured.STUDY]
    return measured.together((Path(one.name), one.study) for one in own)


def _of(kind: str, runs: Sequence[Recorded]) -> list[Recorded]:
    return [one for one in runs if one.kind == kind]


def _runs(study: Study) -> list[Mapping[str, Any]]:
    """Of the whole study, or of its first arm."""
    results = study.results
    return results.get("runs") or results["arms"][0]["runs"]


def _seconds(study: Study) -> float | None:
    """Wall time of all trainings."""
    arms = study.results.get("arms") or []
    cost = study.results.get("cost") or {}
    return cost.get("wall_seconds") or sum(map(_arm_seconds, arms))


def _arm_seconds(arm: Mapping[str, Any]) -> float:
    if "seconds" in arm:
        return float(arm["seconds"])
    return max((run["points"][-1]["seconds"] for run in arm["runs"]), default=0.0)


def _environment(study: Study, key: str) -> str:
    return str((study.results.get("environment") or {}).get(key) or ABSENT)


def markdown(shown: Table) -> str:
    """A table as GitHub shows it."""
    lines = [shown.headers, ["---"] * len(shown.headers), *shown.rows]
    rows = "\n".join(f"| {' | '.join(c.replace('|', '&#124;') for c in line)} |" for line in lines)
    note = f"\n{shown.note}\n" if shown.note else ""
    return f"\n{shown.title}:\n\n{rows}\n{note}"


class Drawing(NamedTuple):
    """A figure of a group: its file, its title, what draws it."""

    file: str
    title: str
    draw: Callable[[], Figure | None]


def drawings(group: str, runs: Sequence[Recorded]) -> list[Drawing]:
    """The tournaments of losses, what the parts of each recipe earn, the extensions' figures."""
    found = []
    if boards := _of_losses(runs):
        draw = functools.partial(joint_figures.tournaments, boards)
        found.append(Drawing(f"recorded_{group}.svg", f"tournaments of {group}", draw))
    for one in _of(RECIPE, runs):
        rows, _ = recipe_report.compared(one.study.results)
        title = f"what the parts of the recipe earn, {one.study.game}"
        effects = functools.partial(recipe_report.effects, rows)
        found.append(Drawing(f"recorded_{group}_{one.name}.svg", title, effects))
    for one in _of(EXTENSIONS, runs):
        ours, theirs = extensions_report.lines(one.study.results)
        for which in extension_figures.shown(ours):
            curves = functools.partial(
                extension_figures.comparison, ours, theirs, which.arms, diversity=which.diversity
            )
            file = f"recorded_{group}_{one.name}_{which.name}.svg"
            found.append(Drawing(file, f"{which.title}, {one.study.game}", curves))
    return found


def write(root: Path = ROOT) -> Path:
    """Writes the page and its figures; returns its path."""
    groups = read(root)
    for group, runs in groups.items():
        for one in drawings(group, runs):
            stem = (root / one.file).with_suffix("")
            if (drawn := one.draw()) is not None:
                page.save(drawn, stem)
                stem.with_suffix(".png").unlink()
    path = root / "recorded.md"
    path.write_text(text(groups), encoding="utf-8")
    return path


def main(words: Sequence[str] | None = None) -> None:
    """The command; with `--check` it exits with 1 where the page is not what the data says."""
    parser = arguments.Parser(prog="python -m experiments.results", description=__doc__)
    parser.add_argument("--add", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--group", metavar="NAME", help="of the runs that are added")
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse(words)
    if bool(given.add) != bool(given.group):
        raise ConfigError("--add and --group: give both, e.g. --add runs/first --group=laptop")
    if given.check:
        groups = read()
        if (ROOT / "recorded.md").read_text(encoding="utf-8") != text(groups):
            print("recorded.md differs from its data: run python -m experiments.results")
            sys.exit(1)
        print(f"recorded.md is that of {plural(sum(map(len, groups.values())), 'recorded run')}")
        return
    if given.add:
        add(given.add, given.group)
    print(f"written: {write()}")


if __name__ == "__main__":
    arguments.run(main)
