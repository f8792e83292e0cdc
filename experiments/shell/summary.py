"""From `results.json` to what is tracked at the end: every number, table and figure of a report."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxzero.runs import learning
from jaxzero.tracking import Sheet, StudySummary

_SETTINGS = ("config", "switches", "environment", "runs")  # W&B has them as a run's config
_NAMED = ("training_elo", "tournaments", "checks")  # handled one by one


def summary_of(results: Mapping[str, Any], directory: Path) -> StudySummary:
    """What a finished study hands to its tracker.

    Args:
      results: as `results.json` holds them (null for what is not finite). Sections that only one
        study has are taken over as they come: numbers under their path, lists of records as tables.
      directory: the run directory, with its figures and its report.
    """
    found = _Findings([run["name"] for run in results["runs"]])
    for section, content in results.items():
        if section not in (*_SETTINGS, *_NAMED):
            found.take(section, content)
    found.take_accuracies(results.get("arms") or [])
    found.take_ratings("elo/training", results.get("training_elo") or {})
    for metric, by_run in learning.curves(directory, found.members).items():
        found.curves[metric] = by_run
        for run, curve in by_run.items():
            found.members[run][metric] = curve[max(curve)]
    found.take_ratings("elo/ladder", (results.get("ladder") or {}).get("runs") or {})
    for played in results.get("tournaments") or []:
        found.take_tournament(played)
    if checks := results.get("checks"):
        found.tables["checks"] = table(checks)
        for check in checks:
            found.take(f"checks/{check['name']}", check["value"])
    report = directory / "report.html"
    return StudySummary(
        iteration=int(results["config"]["train"]["iterations"]),
        curves=found.curves,
        members={name: numbers for name, numbers in found.members.items() if numbers},
        numbers=found.numbers,
        tables=found.tables,
        figures=sorted((directory / "figures").glob("*.png")),
        report=report if report.is_file() else None,
        arms=len(results["config"].get("study", {}).get("arms", ())),
    )


class _Findings:
    """Numbers and tables by path, curves by metric, and what there is of each run."""

    def __init__(self, runs: Iterable[str]) -> None:
        self.numbers: dict[str, float] = {}
        self.tables: dict[str, Sheet] = {}
        self.curves: dict[str, dict[str, dict[int, float]]] = {}
        self.members: dict[str, dict[str, float]] = {name: {} for name in runs}

    def take(self, path: str, node: Any) -> None:
        """Numbers and lists of records below a section; what is by run goes to the runs."""
        if isinstance(node, Mapping):
            own = set(node) & set(self.members)
            for name in own:
                self.members[name] |= _numbers(path.removesuffix("/runs"), node[name])
            for key, value in node.items() if not own else ():
                self.take(f"{path}/{key}", value)
        elif isinstance(node, list) and node and isinstance(node[0], Mapping):
            self.tables[path] = table(node)
        else:
            self.numbers |= _numbers(path, node)

    def take_accuracies(self, arms: Sequence[Mapping[str, Any]]) -> None:
        """What studies of arms measured of each kept network, as `accuracy/NAME` by run."""
        for run in (run for arm in arms for run in arm.get("runs", ())):
            for point in run["points"]:
                for name, value in point.items():
                    if name != "iteration" and _is_number(value):
                        curves = self.curves.setdefault(f"accuracy/{name}", {})
                        curves.setdefault(run["name"], {})[point["iteration"]] = float(value)

    def take_ratings(self, metric: str, rated: Mapping[str, Any]) -> None:
        """Ratings by iteration and their errors; the last ones to the runs."""
        for run, curve in rated.items():
            for name, source in ((metric, "elo"), (f"{metric}_stderr", "stderr")):
                values = [_or_nan(value) for value in curve[source]]
                by_iteration = dict(zip(curve["iterations"], values, strict=True))
                self.curves.setdefault(name, {})[run] = by_iteration
                self.members[run][name] = values[-1]

    def take_tournament(self, played: Mapping[str, Any]) -> None:
        """Ratings, results and settings of one tournament; ratings of runs to the runs."""
        path = f"tournament/{played['name']}"
        ratings = zip(played["players"], played["elo"], played["stderr"], strict=True)
        rated = [dict(player) | {"elo": elo, "stderr": stderr} for player, elo, stderr in ratings]
        names = [player["name"] for player in rated]
        self.tables[path] = table(rated)
        self.tables[f"{path}/results"] = Sheet(
            ("first", "second", "wins", "draws", "losses"),
            tuple(
                (names[first], names[second], *map(int, counts))
                for first, second, *counts in played["results"]
            ),
        )
        for player in rated:
            if player["name"] in self.members:
                self.members[player["name"]] |= {
                    f"elo/{played['name']}": _or_nan(player["elo"]),
                    f"elo/{played['name']}_stderr": _or_nan(player["stderr"]),
                }
        if "superiority" in played:
            rows = zip(names, played["superiority"], strict=True)
            square = tuple((name, *row) for name, row in rows)
            self.tables[f"{path}/superiority"] = Sheet(("player", *names), square)
        for key, value in played.items():
            if key not in ("players", "results"):
                self.take(f"{path}/{key}", value)


def table(records: Sequence[Mapping[str, Any]]) -> Sheet:
    """Records as rows; columns are all keys with plain values, in order of appearance.

    What a record holds in a mapping has its path as key, `network/weak/mean`.
    """
    records = [dict(_flat(record)) for record in records]
    columns = dict.fromkeys(
        key for record in records for key, value in record.items() if _is_plain(value)
    )
    return Sheet(tuple(columns), tuple(tuple(record.get(c) for c in columns) for record in records))


def _numbers(path: str, node: Any) -> dict[str, float]:
    """All numbers at and below a node, by path."""
    if isinstance(node, Mapping):
        below = [_numbers(f"{path}/{key}", value) for key, value in node.items()]
        return {name: x for numbers in below for name, x in numbers.items()}
    return {path: float(node)} if _is_number(node) else {}


def _flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, Mapping) and above.count("/") < 2:  # what lies deeper is by run
            yield from _flat(value, f"{above}{key}/")
        else:
            yield f"{above}{key}", value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
