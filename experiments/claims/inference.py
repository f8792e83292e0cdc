"""What a difference between runs can be told from: bootstrap over seeds, Holm's correction, power.

An effect is a weighted sum of means of independent samples; each sample has one value per seed. Its
test statistic is effect / standard error, and the distribution of that under resampling the seeds
(the bootstrap-t, symmetric) gives p values and the interval. Unlike the percentile bootstrap it
keeps its level at eight seeds. Below `FEWEST` seeds no resampling can tell: nothing is decided.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

LEVEL: Final = 0.05
FEWEST: Final = 5
RESAMPLES: Final = 20_000
POWER: Final = 0.8
MOST_SEEDS: Final = 10_000


@dataclass(frozen=True, eq=False)
class Estimate:
    """An effect and how sure it is.

    Attributes:
      effect: weighted sum of the samples' means.
      stderr: of the effect, from the spread over seeds; NaN with one seed.
      seeds: of the smallest sample.
      scores: float[B], |t*| of the resamples, ascending; None below `FEWEST` seeds.
    """

    effect: float
    stderr: float
    seeds: int
    scores: np.ndarray | None

    @property
    def sd(self) -> float:
        """Spread of one seed's effect: stderr times the root of the number of seeds."""
        return self.stderr * math.sqrt(self.seeds)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the effect, symmetric; NaN below `FEWEST` seeds."""
        if self.scores is None:
            return math.nan, math.nan
        reach = self.stderr * float(np.quantile(self.scores, 1 - LEVEL, method="higher"))
        return self.effect - reach, self.effect + reach

    def p_value(self, beyond: float = 0.0) -> float:
        """Of |true effect| at most `beyond`, two-sided; 1 below `FEWEST` seeds."""
        distance = abs(self.effect) - beyond
        if self.scores is None or distance <= 0:
            return 1.0
        if self.stderr == 0:
            return 1 / (len(self.scores) + 1)
        above = len(self.scores) - np.searchsorted(self.scores, distance / self.stderr, "left")
        return float((above + 1) / (len(self.scores) + 1))

    def within(self, margin: float) -> bool:
        """Whether the interval lies inside plus or minus `margin`."""
        low, high = self.interval
        return -margin < low and high < margin  # False for NaN


def estimate(
    samples: Sequence[np.ndarray],
    weights: Sequence[float] = (1.0,),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """The weighted sum of the samples' means.

    Args:
      samples: float[n_k] each, values of seeds, at least one; independent of each other.
      weights: of their means.
      resamples: B.
      seed: of the resampling.
    """
    effect, stderr = _moments(samples, weights)
    fewest = min(len(sample) for sample in samples)
    if fewest < FEWEST:
        return Estimate(float(effect), float(stderr), fewest, None)
    rng = np.random.default_rng(seed)
    drawn = [s[rng.integers(len(s), size=(resamples, len(s)))] for s in samples]
    means, errors = _moments(drawn, weights)
    gaps = np.abs(means - effect)
    gaps[gaps <= 1e-12 * np.abs(effect)] = 0.0  # rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = gaps / errors  # inf where a resample drew one seed only
    return Estimate(
        float(effect), float(stderr), fewest, np.sort(np.nan_to_num(scores, posinf=np.inf))
    )


def _moments(
    samples: Sequence[np.ndarray], weights: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """(weighted sum of the means over the last axis, its standard error)."""
    pairs = list(zip(samples, weights, strict=True))
    mean = sum(weight * sample.mean(axis=-1) for sample, weight in pairs)
    if any(sample.shape[-1] < 2 for sample in samples):
        return np.asarray(mean), np.asarray(math.nan)
    variance = sum(w**2 * s.var(axis=-1, ddof=1) / s.shape[-1] for s, w in pairs)
    return np.asarray(mean), np.sqrt(variance)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given: reject where they are at most the level."""
    adjusted, worst = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = worst
    return adjusted


def seeds_needed(
    effect: float, sd: float, margin: float, *, tests: int, equality: bool
) -> int | None:
    """Seeds that decide with probability 0.8 if effect and spread are the measured ones.

    At the strictest level of Holm's correction; the bootstrap's bounds are about those of Student's
    t with two degrees of freedom fewer (so simulations of 5 to 20 normal seeds show).

    Args:
      effect, sd: of one seed's effect.
      margin: below it there is no difference.
      tests: corrected for.
      equality: what is claimed is that there is no difference: what decides against it is an
        effect beyond the margin, not one that is not 0.

    Returns:
      At least `FEWEST`; None for more than `MOST_SEEDS`, or an unknown spread.
    """
    if not (math.isfinite(effect) and math.isfinite(sd)):
        return None
    distance = abs(effect) - margin if equality else abs(effect)

    def decides(seeds: int) -> bool:
        error = sd / math.sqrt(seeds)
        apart = _power_apart(distance, error, seeds - 1, LEVEL / tests)
        return max(apart, _power_within(abs(effect), error, seeds - 1, margin)) >= POWER

    return _first(decides, FEWEST, MOST_SEEDS)


def _power_apart(distance: float, error: float, freedom: int, level: float) -> float:
    """Chance that the two-sided test sees a true distance."""
    if distance <= 0:
        return 0.0
    if error == 0:
        return 1.0
    bound = stats.t.isf(level / 2, freedom - 2)
    return float(stats.nct.sf(bound, freedom, distance / error))


def _power_within(effect: float, error: float, freedom: int, margin: float) -> float:
    """Chance that the 95 % interval lies inside the margins (two one-sided tests)."""
    if effect >= margin:
        return 0.0
    if error == 0:
        return 1.0
    bound = stats.t.isf(LEVEL / 2, freedom - 2)
    upper = stats.nct.cdf(-bound, freedom, (effect - margin) / error)
    lower = stats.nct.cdf(bound, freedom, (effect + margin) / error)
    return max(0.0, float(upper - lower))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest number from `low` to `high` from which a condition holds, if it holds at all."""
    top = low
    while not holds(top):
        low, top = top + 1, 2 * top
        if low > high:
            return None
    while low < top:
        middle = (low + top) // 2
        low, top = (low, middle) if holds(middle) else (middle + 1, top)
    return top if top <= high else None
