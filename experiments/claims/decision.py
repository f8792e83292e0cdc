"""From effects to verdicts, the same way for every paper and every table.

Contrasts that are read together are one family: those of a claim, or all rows of a table from which
a sentence picks. Holm's method gives each a level; the interval of that level is printed, and the
verdict is read off it. That an effect is too small to matter, where a claim is of an effect, needs
the strictest level: Holm's steps lead from the clearest effect to the smallest, which would get the
loosest one just because it is small. A contrast without runs or with fewer than `inference.FEWEST`
seeds is not tested: undecided, and not counted in the correction.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.claims import inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Claim, Contrast
from experiments.pages.wording import NONE, number, plural

REPRODUCED, CONTRADICTED, EQUIVALENT, UNDECIDED = VERDICTS = (
    "reproduced",
    "contradicted",
    "equivalent",
    "undecided",
)
NOT_ADDRESSED = "not addressed"  # the verdict on a claim of which no run says anything
METHOD = (
    "Intervals: Student's t over seeds, seed by seed where they are shared, from "
    f"{inference.FEWEST} seeds on, at the level at which Holm's method tests the contrast (95 % "
    "where it stands alone, more where several are read together); the verdict is read off them. "
    "That a difference is too small to matter takes the level of the strictest of these tests."
)


def too_few(seeds: int, of: str = "") -> str:
    """`2 seeds a loss, 5 are the fewest that decide`, with `of` " a loss"; empty if enough."""
    message = f"{plural(seeds, 'seed')}{of}, {inference.FEWEST} are the fewest that decide"
    return message if seeds < inference.FEWEST else ""


def seeds_to_decide(verdict: str, seeds: int, needed: int | None) -> str:
    """In words, what `Tested` has; a dash for what is decided."""
    if verdict != UNDECIDED:
        return NONE
    if needed is not None and needed <= inference.MOST_SEEDS:
        return number(needed)
    over = f"over {number(inference.MOST_SEEDS)}"
    return over if seeds > 1 else f"{inference.FEWEST} or more"  # one seed has no spread


def coverage(level: float) -> str:
    """`98.33 %`, of the interval of a test."""
    return f"{100 * (1 - level):.4g} %"


@dataclass(frozen=True)
class Tested:
    """One contrast."""

    contrast: Contrast  # what was compared
    estimate: Estimate | None  # None without a single seed that has all of it
    adjusted: float  # p value after Holm's correction over the family, 1 where not tested
    level: float  # of its test, and 1 less the interval's coverage
    verdict: str  # one of `VERDICTS`
    # seeds that would decide it, of an undecided one; None where that is not known
    needed: int | None

    @property
    def seeds(self) -> int:
        """That have all of it."""
        return 0 if self.estimate is None else self.estimate.seeds

    @property
    def to_decide(self) -> str:
        """See `seeds_to_decide`."""
        return seeds_to_decide(self.verdict, self.seeds, self.needed)

    @property
    def interval(self) -> tuple[float, float]:
        """Which decides it; NaN where not tested."""
        return (math.nan,) * 2 if self.estimate is None else self.estimate.interval(self.level)

    def row(self) -> dict[str, Any]:
        """For a JSON file; what is not known is None."""
        estimate = self.estimate
        return {
            "verdict": self.verdict,
            "effect": None if estimate is None else estimate.effect,
            "stderr": None if estimate is None else estimate.stderr,
            "interval": None if estimate is None else self.interval,
            "level": self.level,
            "seeds": self.seeds,
            "p_holm": self.adjusted,
            "seeds_to_decide": self.needed,
        }


@dataclass(frozen=True)
class Decided:
    """A claim, decided."""

    claim: Claim
    tests: tuple[Tested, ...]  # of its contrasts; none where no run says anything about it
    semantics: str = ""  # of the runs
    absent: tuple[str, ...] = ()  # boards of the claim that have no runs
    missing: tuple[str, ...] = ()  # runs and values that should be there

    @property
    def verdict(self) -> str:
        """See `all_of`."""
        return all_of(test.verdict for test in self.tests)


def all_of(verdicts: Iterable[str]) -> str:
    """The verdict on several contrasts together.

    One against a claim is enough; reproduced are claims whose contrasts all are.
    """
    known = {*verdicts}
    order = (CONTRADICTED, UNDECIDED, EQUIVALENT, REPRODUCED)
    return next((verdict for verdict in order if verdict in known), NOT_ADDRESSED)


def differences(contrast: Contrast, values: Callable[[str], Mapping[Any, float]]) -> np.ndarray:
    """float[S]: mean of the plus sides less mean of the minus sides, of every seed that has all.

    Less `contrast.than`.
    """
    sides = [(values(name), weight) for name, weight in contrast.sides]
    return inference.paired(*zip(*sides, strict=True)) - contrast.than


def decide(
    contrasts: Sequence[Contrast], estimates: Sequence[Estimate | None]
) -> tuple[Tested, ...]:
    """One family of contrasts with their effects."""
    pairs = list(zip(contrasts, estimates, strict=True))
    tested = [i for i, estimate in enumerate(estimates) if estimate is not None and estimate.tested]
    p_values = inference.holm([_p_value(*pairs[i]) for i in tested])
    by_place = dict(zip(tested, p_values, strict=True))
    family = sum(estimate is not None for estimate in estimates)
    strictest = inference.LEVEL / max(1, len(tested))
    decided = []
    for place, (contrast, estimate) in enumerate(pairs):
        adjusted, level = by_place.get(place, (1.0, inference.LEVEL))
        verdict = judge(estimate, contrast.direction, contrast.margin, level, strictest)
        needed = _needed(contrast, estimate, family) if verdict == UNDECIDED else None
        decided.append(Tested(contrast, estimate, adjusted, level, verdict, needed))
    return tuple(decided)


def _p_value(contrast: Contrast, estimate: Estimate | None) -> float:
    """Of the interval that decides the claim, see `judge`."""
    assert estimate is not None
    return estimate.p_value(
        inference.distance_decided(estimate.effect, contrast.margin, contrast.direction)
    )


def judge(
    estimate: Estimate | None, direction: str, margin: float, level: float, strictest: float
) -> str:
    """The verdict on one contrast, read off its interval.

    An interval inside the margin comes first: an effect that is surely there and surely too small
    to matter is no effect. `estimate`: of the effect, None is undecided; `direction`: claimed, see
    `Contrast`; `margin`: differences below it count as none; `level`: of the test, 1 less the
    interval's coverage; `strictest`: of the interval that must lie inside the margin where the
    claim is of an effect.
    """
    low, high = (math.nan, math.nan) if estimate is None else estimate.interval(level)
    if direction == "not_greater":
        return REPRODUCED if high < margin else CONTRADICTED if low > margin else UNDECIDED
    widest = (low, high)
    if estimate is not None and direction != "equal":
        widest = estimate.interval(strictest)
    if -margin < widest[0] and widest[1] < margin:
        return {"equal": REPRODUCED, "different": CONTRADICTED}.get(direction, EQUIVALENT)
    surely = margin if direction == "equal" else 0.0
    if not (low > surely or high < -surely):  # as for NaN
        return UNDECIDED
    if direction in ("equal", "different"):
        return CONTRADICTED if direction == "equal" else REPRODUCED
    return REPRODUCED if (low > 0) == (direction == "greater") else CONTRADICTED


def _needed(contrast: Contrast, estimate: Estimate | None, family: int) -> int | None:
    """More seeds than there are, as these did not do."""
    if estimate is None:
        return None
    needed = inference.seeds_needed(
        estimate.effect,
        estimate.sd,
        contrast.margin,
        tests=family,
        direction=contrast.direction,
    )
    return None if needed is None else max(needed, estimate.seeds + 1)
