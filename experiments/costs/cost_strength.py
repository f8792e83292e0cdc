"""Strength for its cost: what losses reach after equal work, from a ladder and counted cost.

Losses accept networks at different rates but cost about alike. Networks are kept every so many
iterations; between them strength is interpolated along each run's own cost.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from experiments.claims import decision, inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast

MEASURES: Final = {
    "evaluations": "network evaluations",  # in self-play and arena
    "flops": "floating-point operations",  # of the network, training included
    "seconds": "calibrated seconds",  # of the run alone
}


class Course(NamedTuple):
    """One run's kept networks in the order of training."""

    name: str  # of the run
    target: str  # of the run
    seed: int  # of the run
    iterations: np.ndarray  # int[N]
    elo: np.ndarray  # float[N], above the random player
    stderr: np.ndarray  # float[N], above the random player
    shared: np.ndarray  # float[N], the part of it that all runs share; 0 in older files
    cost: Mapping[str, np.ndarray]  # float[N] up to each, by measure


def courses(
    runs: Sequence[Mapping[str, Any]],
    curves: Mapping[str, Mapping[str, Any]],
    cumulative: Mapping[str, Mapping[str, np.ndarray]],
) -> list[Course]:
    """The runs (`name`, `target`, `seed` of each) that were measured.

    `curves`: of a ladder, by name: `iterations`, `elo`, `stderr`; `cumulative`: by name and
    measure, cost up to and with iteration 0, 1, ..., float[I + 1].
    """
    found = []
    for run in runs:
        curve = curves.get(run["name"])
        if curve is None or run["name"] not in cumulative:
            continue
        spent = cumulative[run["name"]]
        at = np.array(curve["iterations"], int)
        reached = at < min(len(values) for values in spent.values())
        shared = curve.get("shared_stderr", [0.0] * len(at))
        found.append(
            Course(
                run["name"],
                run["target"],
                int(run["seed"]),
                at[reached],
                np.array(curve["elo"], float)[reached],
                np.array(curve["stderr"], float)[reached],
                np.array(shared, float)[reached],
                {measure: values[at[reached]] for measure, values in spent.items()},
            )
        )
    return found


def strength_at(course: Course, measure: str, cost: float) -> tuple[float, float, float]:
    """(Elo above random, its standard error, the shared part) of a run at a cost.

    Between its kept networks; NaN where all of them cost more.
    """
    x = course.cost[measure]
    elo, stderr, shared = (
        float(np.interp(cost, x, values, left=math.nan)) if len(x) else math.nan
        for values in (course.elo, course.stderr, course.shared)
    )
    return elo, stderr, shared


def at_equal_cost(found: Sequence[Course], measure: str) -> dict[str, Any]:
    """Every loss at the largest cost that all runs reached, and all differences of two losses.

    A run whose kept networks all cost more is left out; a loss without others has no number.

    Returns:
      `cost`; `targets`: mean Elo, standard error (spread over seeds, or the ratings' own where that
      is larger, and the error that all runs share), 95 % interval by Student's t over seeds (None
      below `inference.FEWEST` seeds); `differences`: the same for pairs of losses, in which the
      shared error cancels, seed by seed, the pairs read together (`level`).
    """
    cost = min((float(c.cost[measure][-1]) for c in found if len(c.cost[measure])), default=0.0)
    elo: dict[str, dict[int, float]] = {}
    own: dict[str, float] = {}  # error of a target's mean from the ratings, not shared
    shared: dict[str, float] = {}
    for target in dict.fromkeys(course.target for course in found):
        runs = [course for course in found if course.target == target]
        both = {course.seed: strength_at(course, measure, cost) for course in runs}
        at = {seed: one for seed, one in both.items() if math.isfinite(one[0])}
        elo[target] = {seed: strength for seed, (strength, *_) in at.items()}
        alone = [math.sqrt(max(error**2 - part**2, 0.0)) for _, error, part in at.values()]
        own[target] = math.hypot(*alone) / max(1, len(at))
        shared[target] = max((part for *_, part in at.values()), default=0.0)
    targets = []
    for target, values in elo.items():
        mean = inference.NOTHING
        if values:
            mean = inference.estimate([np.array([*values.values()])], own_error=own[target])
            mean = dataclasses.replace(mean, stderr=math.hypot(mean.stderr, shared[target]))
        targets.append({"target": target} | _row(mean, mean.interval()))
    pairs = list(itertools.combinations(elo, 2))
    estimates = [
        inference.difference(elo[a], elo[b], own_error=math.hypot(own[a], own[b]))
        if elo[a] and elo[b]
        else inference.NOTHING
        for a, b in pairs
    ]
    tests = decision.decide([Contrast()] * len(pairs), estimates)
    differences = [
        {"plus": a, "minus": b, "level": test.level} | _row(estimate, test.interval)
        for (a, b), estimate, test in zip(pairs, estimates, tests, strict=True)
    ]
    return {"cost": cost, "targets": targets, "differences": differences}


def _row(found: Estimate, interval: tuple[float, float]) -> dict[str, Any]:
    low, high = interval
    return {
        "elo": found.effect,
        "stderr": found.stderr,
        "low": low,
        "high": high,
        "seeds": found.seeds,
    }
