"""Noise at the root: Gumbel's, or Dirichlet noise in the prior."""

import dataclasses

import jax
import jax.numpy as jnp
import mctx

from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL


def add(
    trees: mctx.Tree,
    keys: jax.Array,
    legal: jax.Array,
    noise_scale: jax.Array,
    options: SearchOptions,
) -> mctx.Tree:
    """Gumbel's or Dirichlet noise at the roots of trees [B], fresh and kept ones alike."""
    priors = trees.children_prior_logits
    if options.algorithm == "gumbel":
        gumbel = jax.vmap(lambda key: jax.random.gumbel(key, legal.shape[1:]))(keys)
        gumbel = gumbel * noise_scale[:, None]
        return trees.replace(extra_data=dataclasses.replace(trees.extra_data, root_gumbel=gumbel))
    if options.dirichlet_fraction == 0:
        return trees
    alpha = options.dirichlet_alpha
    noisy = jax.vmap(mixed_in, (0, 0, 0, None, 0, 0 if jnp.ndim(alpha) else None))(
        keys, priors[:, 0], legal, options, noise_scale, alpha
    )
    noisy = jnp.where(noise_scale[:, None] > 0, noisy, priors[:, 0])
    return trees.replace(children_prior_logits=priors.at[:, 0].set(noisy))


def mixed_in(
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
