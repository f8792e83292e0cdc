"""Learning rate and momentum: constant, in steps, linear, in cycles (Clausen 2021, section 3.3)."""

import jax
import jax.numpy as jnp

from jaxzero.training.spec import TrainSettings


def learning_rate_factor(
    train: TrainSettings, iteration: jax.Array, progress: jax.Array
) -> jax.Array | float:
    """What the run's learning rate is multiplied by.

    Args:
      iteration: int32, from 1.
      progress: float32 in [0, 1), share of the iteration's training that is done.

    Returns:
      float32 scalar, or the number 1.0 for a constant rate.
    """
    if train.schedule == "constant":
        return 1.0
    if train.schedule == "steps":
        passed = (iteration >= jnp.array(train.schedule_steps, jnp.int32)).sum()
        return jnp.float32(train.schedule_factor) ** passed
    if train.schedule == "linear":
        return _annealing(train, iteration + progress)
    cycle = _cycle(train, progress, train.cycle_low, 1.0, train.cycle_last)
    return cycle * _annealing(train, iteration)


def momentum(train: TrainSettings, progress: jax.Array) -> jax.Array | float:
    """Momentum of SGD at a progress in [0, 1): as it is, or of the cycle."""
    if train.schedule != "cyclic":
        return train.momentum
    base, peak = train.cycle_momentum
    return _cycle(train, progress, base, peak, base)


def _cycle(
    train: TrainSettings, progress: jax.Array, base: float, peak: float, last: float
) -> jax.Array:
    """Linear from `base` to `peak`, back to `base`, and on to `last` (Clausen 2021, Figure 2)."""
    places = jnp.array([0.0, train.cycle_peak, train.cycle_end, 1.0])
    return jnp.interp(progress, places, jnp.array([base, peak, base, last]))


def _annealing(train: TrainSettings, iteration: jax.Array) -> jax.Array:
    """1 at iteration 1, `anneal_to` from `anneal_iterations` + 1 on, linear between."""
    done = jnp.clip((iteration - 1) / train.anneal_iterations, 0.0, 1.0)
    return 1.0 - (1.0 - train.anneal_to) * done
