"""Loops over batches of games that may sit under the `vmap` of a population.

A `while_loop` whose condition is batched by `vmap` selects over its whole carry in every turn,
which for search trees costs more than the work itself. Its condition must therefore not be
batched: it is reduced over the named axis of that `vmap`, so that all members loop together and
members that are done ride along masked. The axis is a name fixed here, not an option handed
through every room; code that runs outside a population finds it unbound and needs no reduction.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

MEMBER_AXIS = "member"  # the vmapped axis of a population; unbound under lax.map and in solo runs
DATA_AXIS = "data"  # devices that share one run
RUN_AXIS = "run"  # devices that hold different runs

T = TypeVar("T")


def _member_axis_is_bound() -> bool:
    try:
        jax.lax.axis_index(MEMBER_AXIS)
    except NameError:
        return False
    return True


def any_member(predicate: jax.Array) -> jax.Array:
    """bool scalar: whether any entry is True, in this member or in another of its population."""
    result = jnp.any(predicate)
    if _member_axis_is_bound():
        result = jax.lax.pmax(result.astype(jnp.int32), MEMBER_AXIS) > 0
    return result


def max_member(count: jax.Array) -> jax.Array:
    """int32 scalar: the largest `count` among the members of the population."""
    if _member_axis_is_bound():
        count = jax.lax.pmax(count, MEMBER_AXIS)
    return count


def while_any(going: Callable[[T], jax.Array], body: Callable[[T], T], carry: T) -> T:
    """Runs `body` while `going(carry)` (bool, any shape) holds anywhere.

    `body` must leave alone whatever is not going.
    """
    return jax.lax.while_loop(lambda c: any_member(going(c)), body, carry)


def repeat(count: jax.Array | int, body: Callable[[jax.Array, T], T], carry: T) -> T:
    """`fori_loop` from 0 to `count`, which may be traced and may differ between members.

    `body(i, carry)` must leave the carry alone where `i >= count` (its own member's count).
    """
    bound = max_member(jnp.asarray(count, jnp.int32))
    return jax.lax.fori_loop(0, bound, body, carry)


def masked(going: jax.Array, new: T, old: T) -> T:
    """`new` where this member is still going. Outside a vmapped population it always is."""
    if not _member_axis_is_bound():
        return new
    return jax.tree.map(lambda n, o: jnp.where(going, n, o), new, old)


def where_lanes(lanes: jax.Array, new: T, old: T) -> T:
    """`new` in the lanes (bool[B]) of a batch, `old` elsewhere. Leaves [B, ...]."""

    def pick(n: jax.Array, o: jax.Array) -> jax.Array:
        return jnp.where(lanes.reshape(lanes.shape + (1,) * (n.ndim - 1)), n, o)

    return jax.tree.map(pick, new, old)


def in_chunks(ask: Callable[..., T], at_once: int, *given: Any) -> T:
    """What `ask` says of all given, leaves [N, ...], so many at a time; traced."""
    count = jax.tree.leaves(given)[0].shape[0]
    if count <= at_once:
        return ask(*given)
    parts = -(-count // at_once)  # the last one is filled with the last of all
    rows = np.minimum(np.arange(parts * at_once), count - 1).reshape(parts, at_once)
    answers = jax.lax.map(lambda part: ask(*jax.tree.map(lambda x: x[part], given)), rows)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:count], answers)
