"""A search that ends when more simulations change little: KLD-limited thinking time.

Clausen 2021, Fig. 12.

After every `kld_step` simulations the root's visits are compared with those before; lc0 has the
same idea, with a limit per simulation.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import mctx

from jaxzero.loops import any_member
from jaxzero.search.options import SearchOptions
from jaxzero.search.result import Diagnostics

Carry = tuple[mctx.Tree, Diagnostics]


def gain(before: jax.Array, now: jax.Array) -> jax.Array:
    """float32[B]: Kullback-Leibler divergence, in bits, of what was before from what is now.

    Over the moves that had weight before, both made to sum to 1 there; moves without weight now are
    left out.

    Args:
      before, now: float32[B, A], weights of moves, at least 0.
    """
    had = before > 0
    p, q = (jnp.where(had, x, 0.0) for x in (before, now))
    p, q = (x / jnp.maximum(x.sum(-1, keepdims=True), 1e-30) for x in (p, q))
    both = had & (q > 0)
    terms = p * (jnp.log2(jnp.where(both, p, 1.0)) - jnp.log2(jnp.where(both, q, 1.0)))
    return jnp.where(both, terms, 0.0).sum(-1)


def in_steps(
    simulate: Callable[[jax.Array, jax.Array, Carry], Carry],
    carry: Carry,
    active: jax.Array,
    budget: jax.Array,
    prior: jax.Array,
    options: SearchOptions,
) -> Carry:
    """Simulations in steps, in each lane until a step has changed little.

    Args:
      simulate: (lanes bool[B], int32 number, carry) -> carry after that simulation in these lanes.
      carry: trees without visits, and counts.
      active: bool[B], lanes to search.
      budget: int32[B], simulations at most.
      prior: float32[B, A], the roots' log prior without noise, which the visits of the first step
        are compared with, where there are any.
      options: `kld_step`, and `kld_stop`: log2 of the gain that ends a search.
    """
    step = options.kld_step

    def going(state: tuple) -> jax.Array:
        return any_member(state[1])

    def think(state: tuple) -> tuple:
        number, lanes, before, carry = state
        carry = jax.lax.fori_loop(number, number + step, lambda i, c: simulate(lanes, i, c), carry)
        number = number + step
        now = carry[0].children_visits[:, 0].astype(jnp.float32)
        first = jnp.where(now > 0, jnp.exp(prior), 0.0)
        found = gain(jnp.where(number == step, first, before), now)
        lanes = lanes & (found > 0) & (jnp.log2(found) > options.kld_stop) & (number < budget)
        return number, lanes, now, carry

    nothing = jnp.zeros(prior.shape, jnp.float32)
    return jax.lax.while_loop(going, think, (jnp.int32(0), active, nothing, carry))[3]
