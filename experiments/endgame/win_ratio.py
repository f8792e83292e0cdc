"""Win ratios over training: pooled curves with intervals, and what decides West 2020's claims.

A point is one network against the reference. Curves pool the points of all seeds, as in the paper;
what is decided is decided from one number per seed.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from experiments.claims import inference
from experiments.pages.bands import mean_between

AXES = ("minutes", "steps", "epochs")
PAIR = ("curriculum", "baseline")  # the player with the curriculum, the one without


@dataclasses.dataclass(frozen=True)
class Point:
    """One network's games against the reference."""

    arm: str  # which player
    seed: int  # of its run
    iteration: int  # how long it was trained
    x: Mapping[str, float]  # its place on each of `AXES`
    wins: int  # of distinct games
    draws: int  # of distinct games
    losses: int  # of distinct games

    @staticmethod
    def of(row: Mapping[str, Any], x: Mapping[str, float]) -> "Point":
        """Of a row of `points.jsonl` or of `results.json`."""
        names = ("arm", "seed", "iteration", "wins", "draws", "losses")
        return Point(**{name: row[name] for name in names}, x=x)

    @property
    def games(self) -> int:
        """All of them."""
        return self.wins + self.draws + self.losses

    def ratio(self, draw_points: float) -> float:
        """Wins over games, a draw counting `draw_points`; NaN without a game."""
        return (self.wins + draw_points * self.draws) / self.games if self.games else np.nan


@dataclasses.dataclass(frozen=True)
class Curve:
    """A moving average over pooled points: x, mean and 95 % interval, float[N]."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def smooth(points: Iterable[Point], axis: str, window: int, draw_points: float) -> Curve:
    """The moving average of 004: of so many neighbouring points of all seeds together.

    The interval is Wilson's, over all games of a window: of the games alone, not of the spread of
    seeds. Fewer points than a window make one value.
    """
    ordered = sorted((p for p in points if p.games), key=lambda p: p.x[axis])
    if not ordered:
        return Curve(*(np.empty(0),) * 4)
    window = min(window, len(ordered))
    x = _moving([p.x[axis] for p in ordered], window)
    games = _moving([p.games for p in ordered], window) * window
    won = _moving([p.games * p.ratio(draw_points) for p in ordered], window) * window
    z = scipy.stats.norm.ppf(0.975)
    share = won / games
    middle = (share + z**2 / (2 * games)) / (1 + z**2 / games)
    inside = share * (1 - share) / games + z**2 / (4 * games**2)
    reach = z * np.sqrt(np.maximum(inside, 0.0)) / (1 + z**2 / games)
    return Curve(x, share, middle - reach, middle + reach)


def _moving(values: Sequence[float], window: int) -> np.ndarray:
    return np.convolve(np.asarray(values, float), np.ones(window) / window, mode="valid")


def curve_of(
    points: Iterable[Point], seed: int, axis: str, draw_points: float
) -> tuple[np.ndarray, np.ndarray]:
    """(x, win ratio) of one seed, ascending."""
    own = sorted((p for p in points if p.seed == seed), key=lambda p: p.x[axis])
    return (
        np.array([p.x[axis] for p in own], float),
        np.array([p.ratio(draw_points) for p in own], float),
    )


def common_end(points: Sequence[Point], axis: str) -> float:
    """Where the first run of any arm ends: up to there all can be compared."""
    ends: dict[tuple[str, int], float] = {}
    for p in points:
        ends[p.arm, p.seed] = max(p.x[axis], ends.get((p.arm, p.seed), 0.0))
    return min(ends.values(), default=0.0)


def paired(
    points: Sequence[Point],
    axis: str,
    draw_points: float,
    value: Callable[[np.ndarray, np.ndarray], float],
    weights: tuple[float, float] = (1.0, -1.0),
) -> np.ndarray:
    """float[S]: a number of a run's curve (x, win ratio), weighted and summed over `PAIR`."""
    by_arm = [[p for p in points if p.arm == arm] for arm in PAIR]
    sides = [
        {seed: value(*curve_of(own, seed, axis, draw_points)) for seed in {p.seed for p in own}}
        for own in by_arm
    ]
    return inference.paired(sides, weights)


def gain_around(x: np.ndarray, y: np.ndarray, change: float, reach: float) -> float:
    """Mean of a curve in the reach after the change less that before; NaN where it ends earlier."""
    if not len(x) or x[-1] <= change:
        return np.nan
    after = mean_between(x, y, change, min(change + reach, x[-1]))
    return after - mean_between(x, y, max(change - reach, x[0]), change)


def late_gain(x: np.ndarray, y: np.ndarray, end: float, share: float) -> float:
    """Mean of a curve over its last share up to the end less that over as much in the middle."""
    middle = mean_between(x, y, end * (1 - share) / 2, end * (1 + share) / 2)
    return mean_between(x, y, end * (1 - share), end) - middle


def meeting(ahead: Curve, behind: Curve, margin: float = 0.0) -> float | None:
    """Where the first curve, having led by more than `margin`, stops leading; None if never."""
    if not len(ahead.x) or not len(behind.x):
        return None
    low, high = max(ahead.x[0], behind.x[0]), min(ahead.x[-1], behind.x[-1])
    if not low < high:
        return None
    x = np.linspace(low, high, 400)
    lead = np.interp(x, ahead.x, ahead.mean) - np.interp(x, behind.x, behind.mean)
    led = np.flatnonzero(lead > margin)
    if not len(led):
        return None
    later = np.flatnonzero(lead[led[0] :] <= 0)
    return float(x[led[0] + later[0]]) if len(later) else None
