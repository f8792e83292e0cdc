"""How well moves and values agree with the truth about positions."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.solvers.labels import Labelled

STAGES = ("early", "middle", "late")
DIFFICULTIES = ("one_best", "two_best", "more_best")  # by the number of best moves


def certain(labelled: Labelled, actions: np.ndarray) -> np.ndarray:
    """float64[N, A]: the policy that plays these actions, int[N]."""
    return np.eye(labelled.scores.shape[1])[actions]


def uniform(labelled: Labelled) -> np.ndarray:
    """float64[N, A]: the policy of a random player."""
    legal = labelled.legal
    return legal / legal.sum(axis=1, keepdims=True)


def stages(plies: Any) -> dict[str, Any]:
    """bool[N] for each of `STAGES`: thirds of the plies int[N] that the positions span."""
    first, last = plies.min(), plies.max()
    third = (plies - first) * len(STAGES) // (last - first + 1)
    return {name: third == i for i, name in enumerate(STAGES)}


def move_accuracy(labelled: Labelled, policy: np.ndarray) -> dict[str, dict[str, float]]:
    """How often a policy plays an optimal move, in expectation.

    Args:
      policy: float[N, A], probabilities; of `certain` or `uniform`.

    Returns:
      For `all` positions, the `contested` ones (some legal move gives away result) and those by
      stage: `positions`, `weak` (share of moves that keep the result) and `strong` (that reach the
      best score). NaN where there are no positions.
    """
    every = np.ones_like(labelled.contested)
    contested = {
        f"contested_{n}": s & labelled.contested for n, s in stages(labelled.plies).items()
    }
    return means_of(
        {"all": every, "contested": labelled.contested} | contested,
        weak=(policy * labelled.weak).sum(axis=1),
        strong=(policy * labelled.strong).sum(axis=1),
    )


def policy_accuracy(
    labelled: Labelled, policy: np.ndarray, results: np.ndarray | None = None
) -> dict[str, dict[str, float]]:
    """How often moves are best or keep the result, and results are right, in expectation.

    Args:
      policy: float[N, A], probabilities; of `certain` or `uniform`.
      results: float[N], expected ones, -1, 0 or 1, NaN where not asked; None: of no position.

    Returns:
      For `all` positions, by stage of the game (thirds of the plies) and by difficulty (number of
      best moves): `positions`; `strong`, share of moves that are best; `weak`, share that keep the
      result; `result`, share of results that are right (NaN if not asked, or no positions).
    """
    strong = (policy * labelled.strong).sum(axis=1)
    weak = (policy * labelled.weak).sum(axis=1)
    right = np.full(len(strong), np.nan)
    if results is not None:
        right = np.where(np.isnan(results), np.nan, results == labelled.value)
    return means_of(groups(labelled), strong=strong, weak=weak, result=right)


def groups(labelled: Labelled) -> dict[str, np.ndarray]:
    """bool[N] for `all`, every stage and every difficulty."""
    best = np.minimum(labelled.strong.sum(axis=1), len(DIFFICULTIES))
    every = {"all": np.ones(len(best), bool)}
    return (
        every
        | stages(labelled.plies)
        | {name: best == i + 1 for i, name in enumerate(DIFFICULTIES)}
    )


def means_of(groups: dict[str, np.ndarray], **values: np.ndarray) -> dict[str, dict[str, float]]:
    """For each group, bool[N]: its `positions` and the means of values [N], NaN if it is empty."""
    return {
        name: {"positions": int(group.sum())} | {k: _mean(v[group]) for k, v in values.items()}
        for name, group in groups.items()
    }


def value_accuracy(
    labelled: Labelled, values: np.ndarray, *, bins: int = 10
) -> dict[str, dict[str, Any]]:
    """How far predicted values are from the exact ones.

    Args:
      values: float[N], predicted for the player to move, in [-1, 1].
      bins: of equal width.

    Returns:
      For `all` positions and by stage: `positions`, `mse` (mean squared error), `constant_mse`
      (that of the best constant), `recalibrated` (see `recalibrated_error`) and `bins`, each with
      its edges `low` and `high`, `positions`, the mean `predicted` and the mean `exact` value.
    """
    exact = labelled.value.astype(float)
    predicted = np.asarray(values, float)
    groups = {"all": np.ones(len(exact), bool)} | stages(labelled.plies)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    place = np.clip(np.digitize(predicted, edges) - 1, 0, bins - 1)
    accuracy: dict[str, dict[str, Any]] = {}
    for name, group in groups.items():
        constant = _mean(exact[group])
        errors = {"mse": (predicted - exact) ** 2, "constant_mse": (exact - constant) ** 2}
        accuracy |= means_of({name: group}, **errors)
        accuracy[name]["bins"] = [
            {"low": float(edges[i]), "high": float(edges[i + 1])}
            | means_of({"": group & (place == i)}, predicted=predicted, exact=exact)[""]
            for i in range(bins)
        ]
        accuracy[name]["recalibrated"] = recalibrated(accuracy[name])
    return accuracy


def recalibrated_error(share: Any, exact: Any, constant_error: Any, positions: Any) -> Any:
    """What a value knows, however it is calibrated: its error if each bin had the right value.

    That of the best constant (Murphy 1973's uncertainty) less what the bins tell apart (his
    resolution), for other positions than those by which the bins were set right: the mean square
    within groups of an analysis of variance. A value that knows nothing has the constant's.

    Args:
      share: float[bins], of the positions, by bins of the predicted value.
      exact: float[bins], mean exact value; anything where there are none.
      constant_error: mean squared error of the best constant.
      positions: how many.

    Returns:
      A mean squared error; NaN where there are no more positions than bins with some.
    """
    xp: Any = jnp if isinstance(share, jax.Array) else np
    held = share > 0
    exact = xp.where(held, exact, 0.0)
    told_apart = (share * (exact - (share * exact).sum()) ** 2).sum()
    free = positions - held.sum()
    error = (constant_error - told_apart) * positions / xp.maximum(free, 1)
    return xp.where(free > 0, error, xp.nan)


def recalibrated(accuracy: Mapping[str, Any]) -> float:
    """`recalibrated_error` of a group that `value_accuracy` returned."""
    bins = [one for one in accuracy["bins"] if one["positions"]]
    counts = np.array([one["positions"] for one in bins])
    exact, total = np.array([one["exact"] for one in bins], float), counts.sum()
    share = counts / max(total, 1)
    return float(recalibrated_error(share, exact, accuracy["constant_mse"], total))


def _mean(x: np.ndarray) -> float:
    return float(x.mean()) if x.size else float("nan")
