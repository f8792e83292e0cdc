"""Does one hyper-parameter's worth depend on another's value? Of the correlation study.

The papers' linear model has one slope for each letter. Where a slope differs between the smallest
and the largest value of another letter, its mean over all settings misleads: more iterations may
gain with many simulations and lose with few.
"""

import math
from typing import NamedTuple

import numpy as np

from experiments.claims import decision, inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast
from experiments.hyperparameters.elo_model import Data, slopes
from experiments.hyperparameters.settings import VARIED


class Interaction(NamedTuple):
    """Elo for each doubling of `letter`, at the ends of `other`. Estimates are over seeds."""

    letter: str
    other: str
    least: float  # value of `other`
    most: float
    at_least: Estimate
    at_most: Estimate
    change: Estimate  # at most less at least, seed by seed
    level: float  # of the change's test, by Holm's method over all that are tested


def interactions(data: Data) -> list[Interaction]:
    """All ordered pairs of letters that vary, as `VARIED` has them."""
    varying = [i for i in range(len(VARIED)) if np.ptp(data.values[:, i]) > 0]
    pairs = [(i, j) for i in varying for j in varying if i != j]
    found = [_of_pair(data, i, j) for i, j in pairs]
    tests = decision.decide([Contrast()] * len(found), [one.change for one in found])
    return [one._replace(level=test.level) for one, test in zip(found, tests, strict=True)]


def _of_pair(data: Data, letter: int, other: int) -> Interaction:
    values = data.values[:, other]
    least, most = float(values.min()), float(values.max())
    low, high = (_slope_by_seed(data, letter, values == end) for end in (least, most))
    at_least, at_most, change = (inference.of_seeds(each) for each in (low, high, high - low))
    letters = VARIED[letter], VARIED[other]
    return Interaction(*letters, least, most, at_least, at_most, change, inference.LEVEL)


def _slope_by_seed(data: Data, letter: int, chosen: np.ndarray) -> np.ndarray:
    """float[S], of the chosen players (bool[P]) of each seed; NaN of one that has none."""
    own = [chosen & (data.seed == seed) for seed in np.unique(data.seed)]
    return np.array(
        [
            slopes(data.values[each], data.elo[each])[letter] if each.any() else math.nan
            for each in own
        ]
    )
