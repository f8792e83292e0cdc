"""What each part of a whole earned: the whole less the arm without it, at equal evaluations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.claims import decision, inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast
from experiments.pages.tables import Table, table
from experiments.pages.wording import interval, number, plus_minus

Arm = Mapping[str, Any]  # of `results.json`: its `runs` and their `points`


class Measure(NamedTuple):
    """What networks are compared by."""

    key: str  # of a run's points
    title: str  # with its unit
    scale: float  # of what is shown over what the points have
    digits: int  # that are shown
    sign: int = 1  # +1 where more is better, else -1


class Earned(NamedTuple):
    """The whole less an arm by one measure, as it is shown; positive where the whole is better."""

    arm: str
    means: tuple[float, float]  # over seeds, of the whole and of the arm
    estimate: Estimate  # of the difference
    level: float  # of its test, and 1 less the interval's coverage

    @property
    def name(self) -> str:
        """The arm in a sentence."""
        return self.arm.replace("_", " ")

    @property
    def interval(self) -> tuple[float, float]:
        """Which decides it; NaN with too few seeds."""
        return self.estimate.interval(self.level)

    @property
    def decided(self) -> bool:
        """Whether its interval leaves out 0."""
        low, high = self.interval
        return low > 0 or high < 0


def shared_evaluations(arms: Iterable[Arm]) -> float:
    """The evaluations of self-play that all runs reached."""
    return float(min(run["points"][-1]["evaluations"] for arm in arms for run in arm["runs"]))


def by_seed(arm: Arm, measure: Measure, evaluations: float) -> dict[int, float]:
    """A measure of every run at a number of evaluations, by interpolation, as it is shown."""

    def value(points: Sequence[Mapping[str, Any]]) -> float:
        x, y = ([p[key] for p in points] for key in ("evaluations", measure.key))
        return measure.scale * float(np.interp(evaluations, x, y))

    return {run["seed"]: value(run["points"]) for run in arm["runs"]}


def earned(
    arms: Mapping[str, Arm], whole: str, measure: Measure, evaluations: float
) -> list[Earned]:
    """What the whole has over every other arm; all are corrected together."""
    values = {name: by_seed(arm, measure, evaluations) for name, arm in arms.items()}
    means = {name: float(np.mean([*own.values()])) for name, own in values.items()}
    others = [name for name in arms if name != whole]
    sides = [(values[whole], values[name])[:: measure.sign] for name in others]
    estimates = [inference.difference(plus, minus) for plus, minus in sides]
    tests = decision.decide([Contrast()] * len(others), estimates)
    return [
        Earned(name, (means[whole], means[name]), estimate, test.level)
        for name, estimate, test in zip(others, estimates, tests, strict=True)
    ]


def earned_table(rows: Sequence[Earned], whole: str, measure: Measure, evaluations: float) -> Table:
    """A row for each arm."""
    shown = measure.digits
    return table(
        f"What each earned: {measure.title}",
        rows,
        {
            "arm": lambda row: row.name,
            "seeds": lambda row: number(row.estimate.seeds),
            whole: lambda row: number(row.means[0], shown),
            "arm's": lambda row: number(row.means[1], shown),
            "earned": lambda row: plus_minus(row.estimate.effect, row.estimate.stderr, shown),
            "interval": lambda row: interval(row.interval, shown),
            "of": lambda row: decision.coverage(row.level) if row.estimate.tested else None,
        },
        f"At {number(round(evaluations))} evaluations of self-play, which all of these runs "
        f"reached. Earned: by how much {whole} is better, ± standard error over seeds. "
        f"{decision.METHOD} All rows are read together.",
    )
