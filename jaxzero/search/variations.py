"""Principal variations: what a search thinks both sides will play."""

import jax
import jax.numpy as jnp
import mctx


def principal(tree: mctx.Tree, *, count: int, depth: int) -> jax.Array:
    """The most visited moves at each root, each with the most visited replies.

    Args:
      tree: of a search, B lanes; what is stored where: `jaxzero.search.tree`.
      count: L, moves at the root; fewer where there are fewer actions.
      depth: D, moves in a row.

    Returns:
      int32[B, L, D] actions, the most visited first; -1 after the last one with a visit.
    """

    def of_lane(children: jax.Array, visits: jax.Array) -> jax.Array:
        def of_move(action: jax.Array) -> jax.Array:
            def step(at: tuple, _: None) -> tuple:
                node, action = at
                seen = (node >= 0) & (visits[node, action] > 0)
                child = jnp.where(seen, children[node, action], -1)
                return (child, visits[child].argmax()), jnp.where(seen, action, -1)

            return jax.lax.scan(step, (jnp.int32(0), action), None, length=depth)[1]

        return jax.vmap(of_move)(jax.lax.top_k(visits[0], min(count, visits.shape[1]))[1])

    return jax.vmap(of_lane)(tree.children_index, tree.children_visits).astype(jnp.int32)
