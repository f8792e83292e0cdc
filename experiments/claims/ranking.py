"""Who is above whom in a tournament: ratings by target, and the pairs that they separate."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy

from experiments.claims import decision, inference
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast
from experiments.pages.bands import floats


class Rated(NamedTuple):
    """The ratings of one target's networks in one tournament."""

    target: str
    elo: Mapping[Any, float]  # by seed
    own: float  # error of the mean from the games; bounds the spread over seeds from below
    mean: float
    stderr: float  # of the mean over seeds; with one seed only the rating's own error
    sd: float  # between seeds, NaN with one
    low: float  # 95 % interval of the mean
    high: float  # 95 % interval of the mean

    @property
    def seeds(self) -> int:
        """How many."""
        return len(self.elo)


def ranking(played: Mapping[str, Any], *, trained_only: bool = True) -> list[Rated]:
    """Targets by mean rating, best first; with `untrained`, `random` and other kinds if wanted."""
    elo, errors = floats(played["elo"]), floats(played["stderr"])
    members: dict[str, dict[Any, int]] = {}
    for index, player in enumerate(played["players"]):
        trained, seed = player.get("kind") == "trained", player.get("seed")
        if trained or not trained_only:
            name = str(player["target"] if trained else player["kind"])
            members.setdefault(name, {})[f"player {index}" if seed is None else seed] = index
    rated = [
        _rated(name, {seed: float(elo[i]) for seed, i in own.items()}, errors[[*own.values()]])
        for name, own in members.items()
    ]
    return sorted(rated, key=lambda one: -one.mean)


def _rated(target: str, elo: Mapping[Any, float], errors: np.ndarray) -> Rated:
    values, n = np.array([*elo.values()]), len(elo)
    own = float(np.sqrt(np.mean(errors**2) / n))
    sd = float(np.std(values, ddof=1)) if n > 1 else math.nan
    stderr = float(np.fmax(own, sd / math.sqrt(n)))
    tail = inference.LEVEL / 2
    reach = stderr * (scipy.stats.t.isf(tail, n - 1) if n > 1 else scipy.stats.norm.isf(tail))
    mean = float(np.mean(values))
    return Rated(target, elo, own, mean, stderr, sd, mean - reach, mean + reach)


def lead(one: Rated, other: Rated) -> tuple[float, float]:
    """(mean of one less mean of the other, standard error), seed by seed where they share seeds.

    The error is no smaller than the ratings' own.
    """
    if len(one.elo.keys() & other.elo.keys()) > 1:
        found = difference(one, other)
        return found.effect, found.stderr
    return one.mean - other.mean, math.hypot(one.stderr, other.stderr)


def difference(one: Rated, other: Rated) -> Estimate:
    """Mean of one less mean of the other, with an error no smaller than the ratings' own."""
    own = float(np.nan_to_num(math.hypot(one.own, other.own)))
    return inference.difference(one.elo, other.elo, own_error=own)


def separated(
    rated: Sequence[Rated],
) -> tuple[list[tuple[Rated, Rated]], list[tuple[Rated, Rated]]]:
    """All pairs (better, worse): those that the data separate, and those that they do not.

    A family of its own (see `decision`), with errors no smaller than the ratings' own.
    """
    pairs = list(combinations(rated, 2))
    estimates = [difference(a, b) for a, b in pairs]
    tests = decision.decide([Contrast()] * len(pairs), estimates)
    apart = [test.verdict == decision.REPRODUCED for test in tests]
    return (
        [pair for pair, surely in zip(pairs, apart, strict=True) if surely],
        [pair for pair, surely in zip(pairs, apart, strict=True) if not surely],
    )
