"""What makes steps of gradients."""

from typing import Any

import jax
import optax

from jaxzero.training.spec import Spec


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
