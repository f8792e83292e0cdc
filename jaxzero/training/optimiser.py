"""What makes steps of gradients: optimiser, learning rate, momentum, and averages of the weights.

Learning rate and momentum are constant, fall in steps or linearly, or go in cycles (Clausen 2021,
section 3.3).
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct

from jaxzero.training.spec import Spec, TrainSettings


def make_optimizer(
    spec: Spec, momentum: jax.Array | float | None = None
) -> optax.GradientTransformation:
    """Everything but the learning rate, which is traced and multiplied in by the learner.

    `momentum` may be traced; the spec's by default.

    Adam as in TensorFlow 1 (b1 0.9, b2 0.999, eps 1e-8: Wang 2020's program), or SGD with momentum.
    """
    chain = []
    if spec.train.max_gradient_norm > 0:
        chain.append(optax.clip_by_global_norm(spec.train.max_gradient_norm))
    if spec.train.weight_decay > 0:
        chain.append(optax.add_decayed_weights(spec.train.weight_decay))
    if spec.train.optimizer == "adam":
        chain.append(optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-8))
    else:
        decay: Any = spec.train.momentum if momentum is None else momentum
        chain.append(optax.trace(decay=decay))
    return optax.chain(*chain)


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


@struct.dataclass
class Averaged:
    """The optimiser's state, and running averages of the weights, which play in their place."""

    optimiser: optax.OptState  # its state
    params: Any  # averages
    batch_stats: Any  # averages
    steps: jax.Array  # float32, how many were averaged

    def after(self, decay: float, params: Any, batch_stats: Any, optimiser: Any) -> "Averaged":
        """With the weights and the optimiser's state after a step.

        The decay is smaller in the first steps t, (1 + t) / (10 + t): fresh weights are forgotten.
        """
        keep = jnp.minimum(decay, (1.0 + self.steps) / (10.0 + self.steps))
        params, batch_stats = jax.tree.map(
            lambda average, new: keep * average + (1.0 - keep) * new,
            (self.params, self.batch_stats),
            (params, batch_stats),
        )
        return Averaged(optimiser, params, batch_stats, self.steps + 1.0)
