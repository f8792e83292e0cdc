"""Curves of what `learning.json` holds: of runs by training and loss, with the data they had."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from jaxzero import files, workdir
from jaxzero.runs.failures import Failures
from jaxzero.training.examination import PREFIX

_GROUPS: Final = 6  # that one figure shows
_BELOW: Final = {"games": "selfplay/distinct_games", "positions": "selfplay/distinct_positions"}
_OF: Final = {"games": "count/games", "positions": "selfplay/positions"}


class Group(NamedTuple):
    """Runs that are shown together."""

    name: str  # empty if there are no others
    contested: int  # positions in which their moves were judged
    # metric -> iteration -> mean over the runs, names without their first word
    means: Mapping[str, Mapping[int, float]]
    # (predicted, exact) of the last iteration's value, float[K, 2], runs together
    bins: np.ndarray
    left_out: Sequence[int]  # iterations that only some of them reached

    @property
    def iterations(self) -> list[int]:
        return sorted(self.means["value_error"])

    def at(self, name: str, iteration: int) -> float:
        """A mean; NaN where there is none."""
        return self.means.get(name, {}).get(iteration, math.nan)


def groups_of(found: Sequence[tuple[str, Path, Mapping[str, Any]]]) -> list[Group]:
    """Runs by training and loss, or by training, or all together: the first that can be shown.

    `found`: (name, run directory, contents of its `learning.json`) of each training.
    """
    entries = []
    for name, place, one in found:
        rows = files.read_rows(place / workdir.METRICS)
        config = workdir.read_config(place)
        gone = Failures(place).reasons
        targets = {row["run"]: row["target"] for row in rows if row["run"] not in gone}
        for run, target in targets.items():
            metrics: dict[int, dict[str, Any]] = {
                int(i): dict(by_run[run])
                for i, by_run in one["iterations"].items()
                if run in by_run
            }
            for row in rows:
                if row["run"] == run and row["iteration"] in metrics:
                    metrics[row["iteration"]] |= novelty(row, config["train.batch_size"])
            if metrics:
                entries.append((name, target, one["contested"], metrics))
    for names in (
        [f"{name} {target}".strip() for name, target, *_ in entries],
        [name for name, *_ in entries],
        ["all runs" for _ in entries],
    ):
        distinct = list(dict.fromkeys(names))
        if len(distinct) <= _GROUPS:
            break
    return [
        _group(
            name if len(distinct) > 1 else "",
            [entry for own, entry in zip(names, entries, strict=True) if own == name],
        )
        for name in distinct
    ]


def _group(name: str, entries: Sequence[tuple[str, str, int, dict[int, dict[str, Any]]]]) -> Group:
    """Means over the iterations that as many runs have as any: others compare different runs."""
    reached = Counter(i for *_, metrics in entries for i in metrics)
    most = max(reached.values())
    shown = [i for i, runs in reached.items() if runs == most]
    whole = [{i: entry[-1][i] for i in shown if i in entry[-1]} for entry in entries]
    collected: dict[str, dict[int, list[float]]] = {}
    for metrics in whole:
        for i, values in metrics.items():
            for key, value in values.items():
                if isinstance(value, int | float):
                    short = key.removeprefix(PREFIX)
                    collected.setdefault(short, {}).setdefault(i, []).append(float(value))
    bins = []
    for metrics in whole:
        if (last := metrics.get(max(shown))) is None:
            continue
        columns = [last[f"{PREFIX}calibration_{c}"] for c in ("predicted", "exact", "share")]
        bins.append(np.array(columns, float).T)
    weights = np.array([one[:, 2] for one in bins])
    with np.errstate(invalid="ignore"):
        pooled = np.array([np.nan_to_num(one[:, :2]) * one[:, 2:] for one in bins]).sum(0)
        pooled = pooled / weights.sum(0)[:, None]
    return Group(
        name,
        min(entry[2] for entry in entries),
        {key: {i: float(np.mean(v)) for i, v in by.items()} for key, by in collected.items()},
        pooled,
        tuple(sorted(reached.keys() - shown)),
    )


def novelty(row: Mapping[str, Any], batch_size: int) -> dict[str, float]:
    """Of an iteration's metrics: shares of what is distinct, and passes per new example."""
    found = {
        f"distinct_{kind}": row[name] / row[_OF[kind]]
        for kind, name in _BELOW.items()
        if row.get(name) is not None and row.get(_OF[kind])
    }
    if row.get("replay/effective_share") is not None:
        found["effective_share"] = row["replay/effective_share"]
    if row.get("count/new_examples"):
        found["passes"] = row["count/gradient_steps"] * batch_size / row["count/new_examples"]
    return found
