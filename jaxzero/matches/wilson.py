"""The Wilson interval with continuity correction, and when a match has decided enough.

West 2020 section II-B3: the challenger plays the best network until the lower bound of its score is
above a half, the upper bound below it, or the interval narrow; only if it won, it takes its place.
Formulas: R. G. Newcombe, Statistics in Medicine 17 (1998), method 4.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from scipy.special import ndtri

GOING_ON, BETTER, WORSE, CLOSE = range(4)  # what `verdict` says of the first player


class Rule(NamedTuple):
    """When to stop."""

    confidence: float  # of the two-sided interval, 0.95 in West 2020
    width: float  # an interval narrower than this ends the match undecided, 0.1 in West 2020


def interval(points: jax.Array, games: jax.Array, confidence: float) -> tuple[jax.Array, jax.Array]:
    """Bounds of the true score.

    Args:
      points: float32[...], games won, a draw counting half.
      games: int or float[...], at least 1 where the answer matters; 0 games give (0, 1).
      confidence: two-sided, in (0, 1).

    Returns:
      (low, high) float32[...] in [0, 1].
    """
    z = jnp.float32(ndtri((1 + confidence) / 2))
    n = jnp.maximum(jnp.asarray(games, jnp.float32), 1.0)
    p = jnp.asarray(points, jnp.float32) / n
    q = 1 - p
    scale = 2 * (n + z**2)

    def spread(sign: float, share: jax.Array) -> jax.Array:
        inside = z**2 + sign * 2 - 1 / n + 4 * p * (n * share - sign)
        return z * jnp.sqrt(jnp.maximum(inside, 0.0))

    middle = 2 * n * p + z**2
    low = jnp.where(p <= 0, 0.0, (middle - 1 - spread(-1.0, q)) / scale)
    high = jnp.where(p >= 1, 1.0, (middle + 1 + spread(1.0, q)) / scale)
    none = jnp.asarray(games) == 0
    return (
        jnp.where(none, 0.0, jnp.clip(low, 0.0, 1.0)),
        jnp.where(none, 1.0, jnp.clip(high, 0.0, 1.0)),
    )


def verdict(points: jax.Array, games: jax.Array, rule: Rule) -> jax.Array:
    """int32[...]: `BETTER`, `WORSE`, `CLOSE`, or `GOING_ON` while nothing can be said.

    Args:
      points: float32[...], of the challenger, a draw counting half.
      games: [...], played.
    """
    low, high = interval(points, games, rule.confidence)
    decision = jnp.where(high - low < rule.width, CLOSE, GOING_ON)
    decision = jnp.where(high < 0.5, WORSE, decision)
    return jnp.where(low > 0.5, BETTER, decision).astype(jnp.int32)


def first_verdict(
    points: jax.Array,
    games: jax.Array,
    rule: Rule,
    before: tuple[jax.Array, jax.Array] | None = None,
) -> tuple[jax.Array, jax.Array]:
    """Of games looked at one step after another: what is said first, and at which step.

    Args:
      points: float32[N], of the games of each step.
      games: int[N], how many games each step has; steps without any are passed over.
      before: (points, games) of the steps before the first.

    Returns:
      int32 verdict (`GOING_ON` if none is reached), and int32, the step that brought it (N if none
      did).
    """
    earlier = (jnp.float32(0), jnp.int32(0)) if before is None else before
    counted = games > 0
    total = earlier[0] + jnp.cumsum(jnp.where(counted, points, 0.0))
    number = earlier[1] + jnp.cumsum(games.astype(jnp.int32))
    decisions = jnp.where(counted, verdict(total, number, rule), GOING_ON)
    decided = decisions != GOING_ON
    step = jnp.where(decided.any(), jnp.argmax(decided), decisions.shape[0]).astype(jnp.int32)
    at_step = jnp.arange(decisions.shape[0]) == step
    return jnp.where(at_step, decisions, 0).sum(dtype=jnp.int32), step
