"""What each ingredient of the extended baseline earned: extended, less extended without it."""

from typing import Any

import numpy as np

from experiments.claims import decision, inference
from experiments.claims.papers import Contrast
from experiments.pages.tables import Table, table
from experiments.pages.wording import interval, number, plus_minus

EXTENDED = "extended"
PREFIX = "without_"


def accuracy_at(run: dict[str, Any], evaluations: float) -> float:
    """A run's accuracy with search, in percent, at a number of evaluations, by interpolation."""
    points = run["points"]
    x, y = [p["evaluations"] for p in points], [100 * p["search"] for p in points]
    return float(np.interp(evaluations, x, y))


def shared_evaluations(arms: dict[str, Any]) -> float:
    """The evaluations of self-play that all runs of these arms reached."""
    return min(run["points"][-1]["evaluations"] for arm in arms.values() for run in arm["runs"])


def earned(arms: dict[str, Any]) -> Table | None:
    """A row for each ingredient that was left out; None if none was, or `extended` was not run."""
    left_out = [name for name in arms if name.startswith(PREFIX)]
    if not left_out or EXTENDED not in arms:
        return None
    compared = {name: arms[name] for name in (EXTENDED, *left_out)}
    at = shared_evaluations(compared)
    samples = {
        name: {run.get("seed", n): accuracy_at(run, at) for n, run in enumerate(arm["runs"])}
        for name, arm in compared.items()
    }
    means = {name: float(np.mean([*own.values()])) for name, own in samples.items()}
    estimates = [inference.difference(samples[EXTENDED], samples[name]) for name in left_out]
    tests = decision.decide([Contrast()] * len(left_out), estimates)
    return table(
        "What each ingredient earned",
        list(zip(left_out, estimates, tests, strict=True)),
        {
            "without": lambda row: row[0].removeprefix(PREFIX),
            "runs": lambda row: number(row[1].seeds),
            "extended, %": lambda row: number(means[EXTENDED], 2),
            "without, %": lambda row: number(means[row[0]], 2),
            "earned": lambda row: plus_minus(row[1].effect, row[1].stderr, 2),
            "interval": lambda row: interval(row[2].interval, 2),
            "of": lambda row: decision.coverage(row[2].level) if row[1].tested else None,
        },
        f"Accuracy with search at {number(round(at))} evaluations of self-play, which all of these "
        "runs reached: extended less extended without the ingredient, in percentage points, "
        f"± standard error over seeds. {decision.METHOD} All rows are read together.",
    )
