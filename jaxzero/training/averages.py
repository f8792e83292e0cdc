"""Running averages of a network's weights, kept beside its optimiser's state."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct


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
