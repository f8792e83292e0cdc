"""What each ingredient of the extended baseline earned: extended, less extended without it."""

from typing import Any

import numpy as np

from experiments.claims import inference
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, number, plus_minus

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
        name: np.array([accuracy_at(run, at) for run in arm["runs"]])
        for name, arm in compared.items()
    }
    rows = tuple(_row(name, samples[EXTENDED], samples[name]) for name in left_out)
    return Table(
        "What each ingredient earned",
        ("without", "runs", "extended, %", "without, %", "earned", "95 % interval"),
        rows,
        f"Accuracy with search at {number(round(at))} evaluations of self-play, which all of these "
        "runs reached: extended less extended without the ingredient, in percentage points, "
        "\N{PLUS-MINUS SIGN} standard error over seeds. Intervals (bootstrap) from "
        f"{inference.FEWEST} seeds on.",
    )


def _row(name: str, whole: np.ndarray, without: np.ndarray) -> tuple[str, ...]:
    found = inference.estimate([whole, without], [1.0, -1.0])
    low, high = found.interval
    return (
        name.removeprefix(PREFIX),
        number(found.seeds),
        number(float(whole.mean()), 2),
        number(float(without.mean()), 2),
        plus_minus(found.effect, found.stderr, 2),
        NONE if np.isnan(low) else f"{number(low, 2)} to {number(high, 2)}",
    )
