"""Learning rate and momentum over training: constant, in steps, or in cycles (002, section 3.3)."""

import dataclasses

import jax
import jax.numpy as jnp

SCHEDULES = ("constant", "steps", "cyclic")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How learning rate and momentum change. The learning rate is a factor of the run's own.

    Attributes:
      kind: one of `SCHEDULES`.
      steps: iterations from which on the learning rate is multiplied by `factor` once more.
      factor: of each step.
      peak, end: shares of an iteration's training at which a cycle is highest, and over.
      low, last: of the learning rate where a cycle begins and is over, and at the very end.
      momentum: where a cycle begins and ends, and at its peak.
      anneal_to, anneal_iterations: a factor of cycles that falls linearly from 1 in iteration 1.
    """

    kind: str = "constant"
    steps: tuple[int, ...] = ()
    factor: float = 0.1
    peak: float = 0.35
    end: float = 0.7
    low: float = 0.1
    last: float = 0.015
    momentum: tuple[float, float] = (0.95, 0.85)
    anneal_to: float = 1.0
    anneal_iterations: int = 20


CONSTANT = Schedule()


def learning_rate_factor(
    schedule: Schedule, iteration: jax.Array, progress: jax.Array
) -> jax.Array | float:
    """What the run's learning rate is multiplied by.

    Args:
      schedule: static.
      iteration: int32, from 1.
      progress: float32 in [0, 1), share of the iteration's training that is done.

    Returns:
      float32 scalar, or the number 1.0 for a constant rate.
    """
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "steps":
        passed = (iteration >= jnp.array(schedule.steps, jnp.int32)).sum()
        return jnp.float32(schedule.factor) ** passed
    cycle = _cycle(schedule, progress, schedule.low, 1.0, schedule.last)
    return cycle * _annealing(schedule, iteration)


def momentum(schedule: Schedule, constant: float, progress: jax.Array) -> jax.Array | float:
    """Momentum at a progress in [0, 1): `constant`, or of the cycle."""
    if schedule.kind != "cyclic":
        return constant
    base, peak = schedule.momentum
    return _cycle(schedule, progress, base, peak, base)


def _cycle(
    schedule: Schedule, progress: jax.Array, base: float, peak: float, last: float
) -> jax.Array:
    """Linear from `base` to `peak`, back to `base`, and on to `last` (002, Figure 2)."""
    places = jnp.array([0.0, schedule.peak, schedule.end, 1.0])
    return jnp.interp(progress, places, jnp.array([base, peak, base, last]))


def _annealing(schedule: Schedule, iteration: jax.Array) -> jax.Array:
    """1 in iteration 1, `anneal_to` from `anneal_iterations` + 1 on, linear between."""
    done = jnp.clip((iteration - 1) / schedule.anneal_iterations, 0.0, 1.0)
    return 1.0 - (1.0 - schedule.anneal_to) * done
