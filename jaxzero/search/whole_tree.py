"""Keeping all of a tree while its root moves, so that the next game finds what this one searched.

`subtree` drops what the moves played cannot reach any more; here nothing is dropped. A search wants
its root at index 0, so the node that was there and the new root change places. What lies above the
root stays where it is: ways up end at index 0.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from jaxzero.games.base import Game, State
from jaxzero.search import tree as steps
from jaxzero.search.evaluation import Evaluate, StateEvaluate, as_node, look_at
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL, Leaf


def put_root(trees: mctx.Tree, index: jax.Array) -> mctx.Tree:
    """The same trees with the nodes at `index` (int32[B]) at 0, and those of 0 in their places."""
    return jax.vmap(_exchange)(trees, index)


def _exchange(tree: mctx.Tree, index: jax.Array) -> mctx.Tree:
    def move(column: jax.Array) -> jax.Array:
        return column.at[0].set(column[index]).at[index].set(column[0])

    def renumber(pointers: jax.Array) -> jax.Array:
        swapped = jnp.where(pointers == index, 0, pointers)
        return move(jnp.where(pointers == 0, index, swapped))

    def columns(owner: Any, *names: str) -> dict[str, Any]:
        return {name: jax.tree.map(move, getattr(owner, name)) for name in names}

    extra, priors = tree.extra_data, move(tree.children_prior_logits)
    return tree.replace(
        **columns(tree, "raw_values", "action_from_parent", "children_values", "children_visits"),
        **columns(tree, "embeddings"),
        parents=renumber(tree.parents),
        children_index=renumber(tree.children_index),
        children_prior_logits=priors,
        root_invalid_actions=priors[0] <= ILLEGAL / 2,
        extra_data=dataclasses.replace(
            extra, **columns(extra, "to_move", "known", "draws", "raw_draws")
        ),
    )


def go_on(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    trees: mctx.Tree,
    action: jax.Array,
    states: State,
    live: jax.Array,
    options: SearchOptions,
) -> tuple[mctx.Tree, jax.Array, jax.Array, jax.Array]:
    """Makes the positions after a move the roots; what is not in the tree yet is evaluated.

    Args:
      evaluate: see `Evaluate` and `StateEvaluate`.
      keys: [B], consumed.
      action: int32[B], moves played at the roots.
      states: [B], the positions after them.
      live: bool[B], lanes to move; a finished position is no root, its lane stays.

    Returns:
      The trees, int32[B] where the earlier roots are now, bool[B] which roots are new, and
      evaluations made.
    """
    none, rows = jnp.zeros_like(action), jnp.arange(action.shape[0])
    live = live & ~jax.vmap(game.is_terminal)(states)
    is_new = live & (trees.children_index[rows, 0, action] == mctx.Tree.UNVISITED)
    position, made = look_at(game, evaluate, keys, states, options, is_new)
    trees = steps.expand(trees, Leaf(none, action, none + 1), as_node(position, options), is_new)
    place = jnp.where(live, trees.children_index[rows, 0, action], 0)
    return put_root(trees, place), place, is_new, made
