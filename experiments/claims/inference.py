"""How sure a difference between runs is: Student's t over seeds, Holm's correction, power.

Runs that share seeds are compared seed by seed, others as independent samples (Welch). Of a few
seeds Student's t covers as it says where their spread is normal or heavy-tailed, and 89 % at 95 %
where it is as skewed as an exponential. Below `FEWEST` seeds nothing is decided.
"""

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy  # which loads its parts where they are first used

LEVEL: Final = 0.05
FEWEST: Final = 5
POWER: Final = 0.8
MOST_SEEDS: Final = 1000


@dataclass(frozen=True)
class Estimate:
    """An effect and how sure it is."""

    effect: float  # weighted sum of the samples' means
    stderr: float  # of the effect, from the spread over seeds; NaN with one seed
    seeds: int  # of the smallest sample
    freedom: float  # degrees of freedom of the standard error

    @property
    def sd(self) -> float:
        """Spread of one seed's effect: stderr times the root of the number of seeds."""
        return self.stderr * math.sqrt(self.seeds)

    @property
    def tested(self) -> bool:
        """Whether there are seeds enough for an interval."""
        return self.seeds >= FEWEST and not math.isnan(self.stderr)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """What a test of this level does not reject: 95 % by default; NaN where not tested."""
        quantile = scipy.stats.t.isf(level / 2, self.freedom) if self.tested else math.nan
        reach = self.stderr * quantile
        return float(self.effect - reach), float(self.effect + reach)

    def p_value(self, distance: float | None = None) -> float:
        """Two-sided, of an effect that is so far from what is tested; 1 where not tested.

        `distance`: from 0 by default; at most 0 where the effect is what is tested.
        """
        distance = abs(self.effect) if distance is None else distance
        if not self.tested or distance <= 0:
            return 1.0
        if not self.stderr:
            return 0.0
        return float(2 * scipy.stats.t.sf(distance / self.stderr, self.freedom))


NOTHING: Final = Estimate(math.nan, math.nan, 0, math.nan)  # of no seed


def of_seeds(values: np.ndarray) -> Estimate:
    """The mean over the seeds that have a value; float[S], NaN where one has none."""
    known = values[np.isfinite(values)]
    return estimate([known]) if len(known) else NOTHING


def estimate(
    samples: Sequence[np.ndarray], weights: Sequence[float] = (1.0,), *, own_error: float = 0.0
) -> Estimate:
    """The weighted sum of the samples' means.

    Args:
      samples: float[n_k] each, values of seeds, at least one; independent of each other. What is
        compared seed by seed is one sample of differences (`paired`).
      weights: of their means.
      own_error: bounds the standard error from below, where values have errors of their own: seeds
        that happen to agree do not look certain.
    """
    effect = sum(w * s.mean() for s, w in zip(samples, weights, strict=True))
    fewest = min(map(len, samples))
    if fewest < 2:
        return Estimate(float(effect), own_error or math.nan, fewest, math.nan)
    parts = [w**2 * s.var(ddof=1) / len(s) for s, w in zip(samples, weights, strict=True)]
    shares = sum(part**2 / (len(s) - 1) for part, s in zip(parts, samples, strict=True))
    freedom = sum(parts) ** 2 / shares if shares else fewest - 1
    return Estimate(float(effect), max(math.sqrt(sum(parts)), own_error), fewest, float(freedom))


def paired(sides: Sequence[Mapping[Any, float]], weights: Sequence[float]) -> np.ndarray:
    """float[S], the weighted sum for every seed that all sides have; not finite ones left out."""
    seeds = sorted(set.intersection(*(set(side) for side in sides)))
    sums = [sum(w * side[seed] for side, w in zip(sides, weights, strict=True)) for seed in seeds]
    return np.array([value for value in sums if math.isfinite(value)], dtype=float)


def difference(
    plus: Mapping[Any, float], minus: Mapping[Any, float], *, own_error: float = 0.0
) -> Estimate:
    """Mean of one side less mean of the other: seed by seed where they share seeds, else Welch.

    Both are values by seed, at least one each.
    """
    if plus.keys() & minus.keys():
        return estimate([paired([plus, minus], (1.0, -1.0))], own_error=own_error)
    samples = [np.array([*side.values()], float) for side in (plus, minus)]
    return estimate(samples, (1.0, -1.0), own_error=own_error)


def holm(p_values: Sequence[float]) -> list[tuple[float, float]]:
    """(adjusted p value, level of its test) of each, in the order given, by Holm's method.

    The smallest of K p values is tested at LEVEL / K, the next at LEVEL / (K - 1), and so on; the
    first that is not rejected ends it, and its level is that of all after it. So a test rejects
    where its p value is at most its level, which is where the adjusted one is at most `LEVEL`.
    """
    found = [(1.0, LEVEL)] * len(p_values)
    worst, level = 0.0, LEVEL
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        left = len(p_values) - rank
        level = LEVEL / left if worst <= LEVEL else level
        worst = max(worst, min(1.0, left * p_values[index]))
        found[index] = (worst, level)
    return found


def distance_decided(effect: float, margin: float, direction: str) -> float:
    """How far an effect is from where a claim of this direction is not decided."""
    if direction == "not_greater":
        return abs(effect - margin)
    return abs(effect) - margin if direction == "equal" else abs(effect)


def seeds_needed(
    effect: float, sd: float, margin: float, *, tests: int, direction: str
) -> int | None:
    """Seeds that decide with probability 0.8 if effect and spread are the measured ones.

    At the strictest level of Holm's correction.

    Args:
      effect, sd: of one seed's effect.
      margin: below it there is no difference.
      tests: corrected for.
      direction: claimed, see `papers.Contrast`. It says what decides: an effect that is not 0;
        for "equal" one beyond the margin; for "not_greater" one on either side of the margin.
        An interval inside the margins decides as well, but for "not_greater".

    Returns:
      At least `FEWEST`; None for more than `MOST_SEEDS`, or an unknown spread.
    """
    if not (math.isfinite(effect) and math.isfinite(sd)):
        return None
    distance = distance_decided(effect, margin, direction)
    one_sided = direction == "not_greater"

    def decides(seeds: int) -> bool:
        error, freedom = sd / math.sqrt(seeds), seeds - 1
        if error == 0:
            return distance > 0 or (abs(effect) < margin and not one_sided)
        bound = scipy.stats.t.isf(LEVEL / tests / 2, freedom)
        apart = scipy.stats.nct.sf(bound, freedom, distance / error) if distance > 0 else 0.0
        if one_sided or abs(effect) >= margin:
            return apart >= POWER
        # The interval inside the margins: two one-sided tests.
        upper = scipy.stats.nct.cdf(-bound, freedom, (abs(effect) - margin) / error)
        lower = scipy.stats.nct.cdf(bound, freedom, (abs(effect) + margin) / error)
        return max(apart, upper - lower) >= POWER

    return _first(decides, FEWEST, MOST_SEEDS)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest number from `low` to `high` from which a condition holds, if it holds at all."""
    top = low
    while not holds(top):
        if top >= high:
            return None
        low, top = top + 1, min(2 * top, high)
    return low + bisect.bisect_left(range(low, top), True, key=holds)
