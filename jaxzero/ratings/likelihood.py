"""The likelihood of game results in BayesElo's model, its maximum and its curvature there.

Ratings are in natural units here, r = e * ln(10) / 400, so that f is the logistic function.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit

Float = NDArray[np.float64]

NATURAL = np.log(10) / 400  # natural units per Elo

_TOLERANCE = 1e-11  # natural units; 2e-9 Elo
_MAX_STEPS = 200
_LARGEST = 30.0  # natural units per player, 5200 Elo: where a fit that diverges is stopped
_WORST_CONDITION = 1e13  # of the information; beyond it some direction isn't determined


class Likelihood:
    """The log-likelihood of rows `[M, 5]` in theta = (P ratings, advantage, draw_elo).

    It is a sum of log f(design @ theta), one term for each win and loss and two for each draw, and
    of the draws' factor log(10^(draw_elo / 200) - 1).
    """

    def __init__(self, rows: Float, count: int) -> None:
        first, second = rows[:, :2].astype(np.int64).T
        wins, draws, losses = rows[:, 2:].T
        index, ones = np.arange(len(rows)), np.ones(len(rows))
        pairing = sparse.csr_array(
            (np.append(ones, -ones), (np.append(index, index), np.append(first, second))),
            shape=(len(rows), count),
        )
        ones = ones[:, None]
        self.design = sparse.csr_array(
            sparse.vstack(
                [sparse.hstack([pairing, ones, -ones]), sparse.hstack([-pairing, -ones, -ones])]
            )
        )
        self.weights = np.append(wins + draws, losses + draws)
        self.draws = float(draws.sum())

    def value(self, theta: Float) -> float:
        """Log-likelihood, without the draws' factor where draw_elo is fixed at 0 (a constant)."""
        likelihood = self.weights @ log_expit(self.design @ theta)
        if self.draws and theta[-1] > 0:
            likelihood += self.draws * np.log(np.expm1(2 * theta[-1]))
        return float(likelihood)

    def derivatives(self, theta: Float) -> tuple[Float, Float]:
        """Gradient `[P+2]` and Hessian `[P+2, P+2]` of `value`."""
        exponent = self.design @ theta
        chance, rest = expit(exponent), expit(-exponent)
        gradient = self.design.T @ (self.weights * rest)
        curvature = sparse.diags_array(self.weights * chance * rest)
        hessian = -(self.design.T @ curvature @ self.design).toarray()
        if self.draws and theta[-1] > 0:
            slope = 2 / -np.expm1(-2 * theta[-1])
            gradient[-1] += self.draws * slope
            hessian[-1, -1] -= self.draws * slope * (slope - 2)
        return gradient, hessian


class UndeterminedError(ValueError):
    """The likelihood has no finite maximum."""


def maximise(model: Likelihood, theta: Float, free: NDArray[np.bool_]) -> Float:
    """Newton's method with step halving from `theta`, in the coordinates that are `free`.

    Raises:
      UndeterminedError: there is no finite maximum.
    """
    count = len(theta) - 2
    for _ in range(_MAX_STEPS):
        gradient, hessian = model.derivatives(theta)
        information = _regular(-hessian, count)[np.ix_(free, free)]
        if np.linalg.cond(information) > _WORST_CONDITION:
            break
        newton = np.linalg.solve(information, gradient[free])
        step = np.zeros_like(theta)
        step[free] = newton
        if np.abs(step).max() < _TOLERANCE:
            theta = theta + step
            theta[:count] -= theta[:count].mean()
            return theta
        theta = _halve(model, theta, step, float(gradient[free] @ newton))
        if not np.abs(theta).max() < _LARGEST * count:
            break
    raise UndeterminedError(
        "the results don't determine the ratings: no finite maximum; give draw_elo and advantage "
        "numbers, and a prior > 0"
    )


def _halve(model: Likelihood, theta: Float, step: Float, slope: float) -> Float:
    """The first of theta + step, + step/2, ... that climbs as it should (Armijo)."""
    value = model.value(theta)
    floor = 1e-12 * (1 + abs(value))  # below it the difference of two values is rounding
    size = 1.0
    while size > 1e-10:
        moved = theta + size * step
        inside = moved[-1] > 0 or step[-1] == 0
        if inside and model.value(moved) >= value + 1e-4 * size * slope - floor:
            return moved
        size /= 2
    return theta + size * step


def _regular(information: Float, count: int) -> Float:
    """Adds curvature along the one direction, the same shift of all ratings, that has none."""
    regular = information.copy()
    regular[:count, :count] += 1 / count
    return regular


def covariance_at(model: Likelihood, theta: Float, free: NDArray[np.bool_]) -> Float:
    """`[P+2, P+2]` in natural units, at mean rating 0; zeros for what isn't free."""
    count = len(theta) - 2
    _, hessian = model.derivatives(theta)
    covariance = np.zeros_like(hessian)
    inverse = np.linalg.inv(_regular(-hessian, count)[np.ix_(free, free)])
    covariance[np.ix_(free, free)] = inverse
    covariance[:count, :count] -= 1 / count  # the added direction's share of the inverse
    return (covariance + covariance.T) / 2
