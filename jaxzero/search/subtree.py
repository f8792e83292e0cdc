"""Keeping the tree between moves: the child that was played becomes the root.

mctx wants its root at index 0, so the kept nodes are moved to the front in their old order. The
papers' program (Wang 2020) keeps the whole tree of a game, transpositions shared; keeping the
subtree below the played move is what its visits can still reach (deviation: no transpositions).
"""

import math

import jax
import jax.numpy as jnp
import mctx

from jaxzero.search.tree import ILLEGAL, UNKNOWN, Extra


def _keep_below(tree: mctx.Tree, action: jax.Array) -> tuple[mctx.Tree, jax.Array]:
    """One tree (unbatched): the subtree below `action` of the root, and whether it exists."""
    capacity = tree.node_visits.shape[0]
    index, known = jnp.arange(capacity), tree.extra_data.known
    draws, raw_draws = tree.extra_data.draws, tree.extra_data.raw_draws
    new_root = tree.children_index[0, action]
    exists = new_root >= 0

    # Pointer jumping: every node points at its parent, the new root at itself; after log2(N)
    # doublings all of its descendants point at it.
    ancestor = jnp.where(index == new_root, index, tree.parents)
    for _ in range(math.ceil(math.log2(capacity)) + 1):
        ancestor = jnp.where(ancestor >= 0, ancestor[jnp.maximum(ancestor, 0)], -1)
    kept = exists & (ancestor == new_root) & (index < tree.extra_data.size)
    size = kept.sum().astype(jnp.int32)
    new_index = jnp.where(kept, jnp.cumsum(kept) - 1, -1).astype(jnp.int32)
    source = jnp.nonzero(kept, size=capacity, fill_value=0)[0]
    in_use = index < size

    def move(column: jax.Array, empty: float) -> jax.Array:
        mask = in_use.reshape((capacity,) + (1,) * (column.ndim - 1))
        return jnp.where(mask, column[source], jnp.asarray(empty, column.dtype))

    def renumber(pointers: jax.Array) -> jax.Array:
        return jnp.where(pointers >= 0, new_index[jnp.maximum(pointers, 0)], -1)

    return tree.replace(
        raw_values=move(tree.raw_values, 0),
        parents=move(renumber(tree.parents), -1).at[0].set(-1),
        action_from_parent=move(tree.action_from_parent, -1).at[0].set(-1),
        children_index=move(renumber(tree.children_index), mctx.Tree.UNVISITED),
        children_prior_logits=move(tree.children_prior_logits, ILLEGAL),
        children_values=move(tree.children_values, 0),
        children_visits=move(tree.children_visits, 0),
        embeddings=jax.tree.map(lambda x: move(x, 0), tree.embeddings),
        root_invalid_actions=tree.children_prior_logits[new_root] <= ILLEGAL / 2,
        extra_data=Extra(
            size=size,
            to_move=move(tree.extra_data.to_move, 0),
            root_gumbel=tree.extra_data.root_gumbel,
            known=None if known is None else move(known, UNKNOWN),
            draws=None if draws is None else move(draws, 0),
            raw_draws=None if raw_draws is None else move(raw_draws, 0),
        ),
    ), exists


def advance(tree: mctx.Tree, action: jax.Array) -> tuple[mctx.Tree, jax.Array]:
    """Re-roots every tree at the child that was played.

    Args:
      action: int32[B], the moves played.

    Returns:
      The trees, and bool[B]: whether the child was stored. Where it was not, the tree is of no use
      and the next search starts afresh (`core.run(..., trees=, is_kept=)`).
    """
    return jax.vmap(_keep_below)(tree, action)
