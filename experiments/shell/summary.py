"""From `results.json` to what is tracked at the end: every number, table and figure of a report."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxzero.runs import learning
from jaxzero.tracking import StudySummary, Table

_SETTINGS = ("config", "switches", "environment", "runs")  # W&B has them as a run's config
_NAMED = ("training_elo", "tournaments", "checks")  # handled one by one


def summary_of(results: Mapping[str, Any], directory: Path) -> StudySummary:
    """What a finished study hands to its tracker.

    Args:
      results: as `results.json` holds them (null for what is not finite). Sections that only one
        study has are taken over as they come: numbers under their path, lists of records as tables.
      directory: the run directory, with its figures and its report.
    """
    runs = [run["name"] for run in results["runs"]]
    numbers: dict[str, float] = {}
    tables: dict[str, Table] = {}
    members: dict[str, dict[str, float]] = {name: {} for name in runs}
    for section, content in results.items():
        if section not in (*_SETTINGS, *_NAMED):
            _gather(section, content, runs, numbers, tables, members)
    curves: dict[str, dict[str, dict[int, float]]] = {}
    _accuracies(results.get("arms") or [], curves)
    _curves("elo/training", results.get("training_elo") or {}, curves, members)
    for metric, by_run in learning.curves(directory, runs).items():
        curves[metric] = by_run
        for run, curve in by_run.items():
            members[run][metric] = curve[max(curve)]
    _curves("elo/ladder", (results.get("ladder") or {}).get("runs") or {}, curves, members)
    for played in results.get("tournaments") or []:
        _tournament(played, numbers, tables, members)
    checks = results.get("checks") or []
    if checks:
        tables["checks"] = table(checks)
        numbers |= {f"checks/{c['name']}": c["value"] for c in checks if _is_number(c["value"])}
    report = directory / "report.html"
    return StudySummary(
        iteration=int(results["config"]["train"]["iterations"]),
        curves=curves,
        members={name: found for name, found in members.items() if found},
        numbers=numbers,
        tables=tables,
        figures=sorted((directory / "figures").glob("*.png")),
        report=report if report.is_file() else None,
    )


def table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Records as rows; columns are all keys with plain values, in order of appearance.

    What a record holds in a mapping has its path as key, `network/weak/mean`.
    """
    records = [dict(_flat(record)) for record in records]
    columns = dict.fromkeys(
        key for record in records for key, value in record.items() if _is_plain(value)
    )
    return Table(tuple(columns), tuple(tuple(record.get(c) for c in columns) for record in records))


def _accuracies(
    arms: Sequence[Mapping[str, Any]], curves: dict[str, dict[str, dict[int, float]]]
) -> None:
    """What studies of arms measured of each kept network, as `accuracy/NAME` by run."""
    for run in (run for arm in arms for run in arm.get("runs", ())):
        for point in run["points"]:
            for name, value in point.items():
                if name != "iteration" and _is_number(value):
                    curve = curves.setdefault(f"accuracy/{name}", {}).setdefault(run["name"], {})
                    curve[point["iteration"]] = float(value)


def _curves(
    metric: str,
    rated: Mapping[str, Any],
    curves: dict[str, dict[str, dict[int, float]]],
    members: dict[str, dict[str, float]],
) -> None:
    """Ratings by iteration and their errors; the last ones to the runs."""
    for run, curve in rated.items():
        for name, source in ((metric, "elo"), (f"{metric}_stderr", "stderr")):
            values = [_or_nan(value) for value in curve[source]]
            curves.setdefault(name, {})[run] = dict(zip(curve["iterations"], values, strict=True))
            members[run][name] = values[-1]


def _tournament(
    played: Mapping[str, Any],
    numbers: dict[str, float],
    tables: dict[str, Table],
    members: dict[str, dict[str, float]],
) -> None:
    """Ratings, results and settings of one tournament; ratings of runs to the runs."""
    path = f"tournament/{played['name']}"
    rated = [
        dict(player) | {"elo": elo, "stderr": stderr}
        for player, elo, stderr in zip(
            played["players"], played["elo"], played["stderr"], strict=True
        )
    ]
    names = [player["name"] for player in rated]
    tables[path] = table(rated)
    tables[f"{path}/results"] = Table(
        ("first", "second", "wins", "draws", "losses"),
        tuple(
            (names[first], names[second], *map(int, counts))
            for first, second, *counts in played["results"]
        ),
    )
    for player in rated:
        if player["name"] in members:
            members[player["name"]] |= {
                f"elo/{played['name']}": _or_nan(player["elo"]),
                f"elo/{played['name']}_stderr": _or_nan(player["stderr"]),
            }
    if "superiority" in played:
        rows = zip(names, played["superiority"], strict=True)
        tables[f"{path}/superiority"] = Table(("player", *names), tuple((n, *r) for n, r in rows))
    for key, value in played.items():
        if key not in ("players", "results"):
            _gather(f"{path}/{key}", value, (), numbers, tables, {})


def _gather(
    path: str,
    node: Any,
    runs: Sequence[str],
    numbers: dict[str, float],
    tables: dict[str, Table],
    members: dict[str, dict[str, float]],
) -> None:
    """Numbers and lists of records below a section, by path; what is by run goes to the runs."""
    if _is_number(node):
        numbers[path] = float(node)
    elif isinstance(node, Mapping) and set(node) & set(runs):
        for name in set(node) & set(runs):
            _gather(path.removesuffix("/runs"), node[name], (), members[name], {}, {})
    elif isinstance(node, Mapping):
        for key, value in node.items():
            _gather(f"{path}/{key}", value, runs, numbers, tables, members)
    elif isinstance(node, list) and node and isinstance(node[0], Mapping):
        tables[path] = table(node)


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
