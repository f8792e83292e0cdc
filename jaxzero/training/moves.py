"""Moves of self-play: what a search makes of a position, and what is learned from it."""

import jax
import jax.numpy as jnp

from jaxzero.search.options import SearchOptions
from jaxzero.search.result import SearchResult


def root_noise(options: SearchOptions, sampled: jax.Array) -> jax.Array | float:
    """Factor of a search's root noise: Gumbel's decides the move, and is on in sampled plies alone.

    Args:
      sampled: bool scalar or [B], see `choose`.
    """
    return jnp.where(sampled, 1.0, 0.0) if options.algorithm == "gumbel" else 1.0


def choose(
    keys: jax.Array,
    result: SearchResult,
    sampled: jax.Array,
    options: SearchOptions,
    *,
    one_hot_after_temperature: bool,
) -> tuple[jax.Array, jax.Array]:
    """The move played and the policy target stored.

    Args:
      keys: [B], consumed.
      sampled: bool scalar or [B], whether this ply is sampled (temperature 1) or greedy (0).
      options: of the search. Gumbel plays the winner of its sequential halving, which is a sample
        where its noise is on.
      one_hot_after_temperature: published target of greedy plies; else it never depends on the
        temperature.

    Returns:
      int32[B] actions, float32[B, A] targets.
    """
    action = result.action
    if options.algorithm == "puct":
        # From the visits: the target may be without the forced ones.
        visits = result.visit_counts.astype(jnp.float32)
        played = visits / jnp.maximum(visits.sum(-1, keepdims=True), 1.0)
        if options.propagate_results:  # without moves that are known to lose
            played = result.policy
            if options.puct_target == "improved":  # which is 0 for them
                kept = jnp.where(result.policy > 0, visits, 0.0)
                played = jnp.where(kept.any(-1, keepdims=True), kept, result.policy > 0)
        logits = jnp.where(played > 0, jnp.log(jnp.maximum(played, 1e-30)), -1e9)
        drawn = jax.vmap(jax.random.categorical)(keys, logits).astype(jnp.int32)
        action = jnp.where(sampled, drawn, action)
    policy = result.policy
    if one_hot_after_temperature:
        one_hot = jax.nn.one_hot(action, policy.shape[-1], dtype=policy.dtype)
        sampled = jnp.broadcast_to(sampled, action.shape)
        policy = jnp.where(sampled[:, None], policy, one_hot)
    return action, policy
