"""Dirichlet noise in the prior of a root."""

import jax
import jax.numpy as jnp

from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL


def add_root_noise(
    key: jax.Array,
    log_prior: jax.Array,
    legal: jax.Array,
    options: SearchOptions,
    scale: jax.Array | float = 1.0,
    alpha: jax.Array | float | None = None,
) -> jax.Array:
    """(1 - f) P + f Dirichlet over the legal moves of one root [A], as log-probabilities.

    f is the options' share times `scale`; `alpha` is the options' by default.

    A Dirichlet over k legal moves is k gamma variates over their sum: drawn for all actions and
    masked, no noise can fall on an illegal move.
    """
    alpha = jnp.float32(options.dirichlet_alpha if alpha is None else alpha)
    if options.dirichlet_scaling == "per_legal_move":
        alpha = alpha / jnp.maximum(legal.sum(), 1)
    log_gamma = jax.random.loggamma(key, alpha, legal.shape)  # in logs: a small alpha underflows
    noise = jax.nn.softmax(jnp.where(legal, log_gamma, ILLEGAL))
    fraction = options.dirichlet_fraction * scale
    mixed = (1.0 - fraction) * jnp.exp(log_prior) + fraction * noise
    return jnp.where(legal, jnp.log(jnp.maximum(mixed, 1e-30)), ILLEGAL)
