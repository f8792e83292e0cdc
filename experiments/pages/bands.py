"""Curves over seeds: one metric of several runs, its mean and its spread by iteration."""

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from experiments.published import Curve


class Band(NamedTuple):
    """One metric of several seeds, by iteration."""

    iterations: np.ndarray  # int [N]
    seeds: np.ndarray  # float [S, N], NaN where a run has no value
    mean: np.ndarray  # float [N], over the seeds that reached the iteration
    sd: np.ndarray  # float [N], sample standard deviation, NaN with fewer than two seeds
    reached: np.ndarray  # int [N], how many seeds reached the iteration

    @property
    def last(self) -> int:
        """Index of the last iteration that as many seeds reached as any: where to compare."""
        return int(np.flatnonzero(self.reached == self.reached.max())[-1])


Drawn = TypeVar("Drawn", Band, Curve)


def floats(values: Any) -> np.ndarray:
    """float [N] with NaN for None."""
    return np.array([math.nan if value is None else float(value) for value in values], dtype=float)


def band_of(series: list[tuple[np.ndarray, np.ndarray]], *, first: int = 0) -> Band | None:
    """Mean and spread of several curves, each (iterations int [N_s], values float [N_s]).

    A curve that ends early leaves the average from there on. A NaN or infinity inside a curve makes
    the average of that iteration NaN: a diverged run must not vanish from a mean.
    """
    kept = [(its[its >= first], values[its >= first]) for its, values in series]
    kept = [(its, values) for its, values in kept if len(its)]
    if not kept:
        return None
    iterations = np.unique(np.concatenate([its for its, _ in kept]))
    seeds = np.full((len(kept), len(iterations)), np.nan)
    present = np.zeros(seeds.shape, dtype=bool)
    for row, (its, values) in enumerate(kept):
        columns = np.searchsorted(iterations, its)
        seeds[row, columns], present[row, columns] = values, True
    reached = present.sum(axis=0)
    summands = np.where(present, np.where(np.isfinite(seeds), seeds, np.nan), 0.0)
    mean = summands.sum(axis=0) / reached
    squares = np.where(present, (summands - mean) ** 2, 0.0).sum(axis=0)
    sd = np.where(reached > 1, np.sqrt(squares / np.maximum(reached - 1, 1)), np.nan)
    return Band(iterations, seeds, mean, sd, reached)


def thinned(curve: Drawn, most: int, last: float = 0) -> Drawn:
    """A curve with every second, third, ... of its iterations, for a small panel.

    About `most` are left up to `last`, by default its own. The last one stays, and so does every
    one whose mean is not finite.
    """
    step = -(-(last or len(curve.iterations)) // most)
    keep = np.arange(len(curve.iterations)) % max(1, step) == 0
    keep[-1:] = True
    keep |= ~np.isfinite(curve.mean)
    return curve._replace(**{name: getattr(curve, name)[..., keep] for name in curve._fields})


def mean_between(x: np.ndarray, y: np.ndarray, low: float, high: float) -> float:
    """Mean height of the line through (x, y) between two places; NaN without two points."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 2 or not low < high:
        return np.nan
    at = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    return float(np.trapezoid(np.interp(at, x, y), at) / (high - low))
