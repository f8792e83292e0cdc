"""Which players no other one beats both in strength and in cost."""

from collections.abc import Sequence

import numpy as np


def front(cost: Sequence[float] | np.ndarray, strength: Sequence[float] | np.ndarray) -> list[int]:
    """Indices of the points that no other dominates, from the cheapest on.

    A point dominates another if it costs at most as much, is at least as strong, and differs. Of
    equal points the first stays. Both are float[N].
    """
    cost, strength = np.asarray(cost, float), np.asarray(strength, float)
    best, kept = -np.inf, []
    for i in np.lexsort((-strength, cost)).tolist():
        if strength[i] > best:
            best = float(strength[i])
            kept.append(int(i))
    return kept


def hypervolume(
    cost: Sequence[float] | np.ndarray,
    strength: Sequence[float] | np.ndarray,
    *,
    most: float,
    least: float,
) -> float:
    """The area between the front and a worst corner: larger is better.

    `most`, `least`: cost and strength of the corner; points beyond it add nothing.
    """
    cost, strength = np.asarray(cost, float), np.asarray(strength, float)
    kept = [i for i in front(cost, strength) if cost[i] < most and strength[i] > least]
    ends = [*(float(cost[i]) for i in kept[1:]), most][: len(kept)]
    return float(
        sum((end - cost[i]) * (strength[i] - least) for i, end in zip(kept, ends, strict=True))
    )
