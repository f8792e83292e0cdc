"""The search tree: `mctx.Tree` as storage, and the four steps of a simulation on whole batches.

mctx vmaps a while loop over trees, and a vmapped loop copies the tree's arrays in every turn. Here
each step is one loop over the batch with masked scatters, which gives the same counts in a
fraction of the time. What is stored where:

* `children_values[b, n, a]` is Q of the edge *for the player to move at n*, draws at their worth
  and the search's discount included, the mean over the edge's visits; mctx's rewards are 0 and its
  discounts 1, so that `tree.qvalues` holds. Statistics live on edges alone: an edge keeps its
  history when its child is not stored.
* `children_prior_logits` are log-probabilities, `ILLEGAL` at illegal actions.
* A finished position is never stored: its edge stays unexpanded, is stepped again and backs up the
  true result as often as it is visited, and nothing can hang below it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from flax import struct

from jaxzero.loops import any_member

ILLEGAL = -1e9  # finite, so that no softmax can turn a node without moves into NaN
UNKNOWN = 2  # in place of a known result


@struct.dataclass
class Extra:
    """What the steps need beside mctx's fields.

    Attributes:
      size: int32[B], nodes in use; node 0 is the root.
      to_move: int8[B, N], whose turn it is at each node.
      root_gumbel: float32[B, A], Gumbel noise of the root (zeros for PUCT).
      known: int8[B, N, A], results of edges that are sure, for the player to move at n, see
        `known_results`; None for a search that keeps none.
      draws: float32[B, N, A], mean draw probability of the edges' visits; None for a search that
        does not back it up apart (`SearchOptions.backs_up_draws`).
      raw_draws: float32[B, N], draw probability of each node's own evaluation; None as `draws`.
    """

    size: jax.Array
    to_move: jax.Array
    root_gumbel: jax.Array
    known: jax.Array | None = None
    draws: jax.Array | None = None
    raw_draws: jax.Array | None = None


class Node(NamedTuple):
    """What selection sees of one node: edge statistics for the player to move there.

    visits: int32[..., A]; q: float32[..., A]; log_prior: float32[..., A]; raw_value: float32[...];
    known: int8[..., A] as in `Extra`, or None.
    """

    visits: jax.Array
    q: jax.Array
    log_prior: jax.Array
    raw_value: jax.Array
    known: jax.Array | None = None


class Leaf(NamedTuple):
    """Where a descent ended: `action` from `node`, `depth` edges below the root; all int32[B]."""

    node: jax.Array
    action: jax.Array
    depth: jax.Array


class NewNode(NamedTuple):
    """A position to be stored: log_prior [B, A], value [B] (draws included), state, to_move.

    draw: float32[B], draw probability.
    """

    log_prior: jax.Array
    value: jax.Array
    state: Any
    to_move: jax.Array
    draw: jax.Array


Select = Callable[[Node, jax.Array], jax.Array]  # (batched node, int32 depth) -> int32[B] action


def log_prior(logits: jax.Array, legal: jax.Array, *, renormalise: bool) -> jax.Array:
    """Masked log-probabilities, `ILLEGAL` where not legal. [..., A] both."""
    if renormalise:
        logits = jnp.where(legal, logits, ILLEGAL)
    return jnp.where(legal, jax.nn.log_softmax(logits.astype(jnp.float32)), ILLEGAL)


def new_tree(root: NewNode, capacity: int, *, keeps_results: bool, keeps_draws: bool) -> mctx.Tree:
    """A tree of `capacity` nodes that holds the root alone.

    Args:
      root: evaluated.
      capacity: nodes, at least 2.
      keeps_results: with known results.
      keeps_draws: with draw probabilities apart.
    """
    batch, num_actions = root.log_prior.shape
    edges = (batch, capacity, num_actions)

    def column(x: jax.Array, fill: float = 0) -> jax.Array:
        full = jnp.full((batch, capacity, *x.shape[1:]), fill, x.dtype)
        return full.at[:, 0].set(x)

    no_node = jnp.full((batch,), mctx.Tree.NO_PARENT, jnp.int32)
    return mctx.Tree(
        node_visits=jnp.zeros((batch, capacity), jnp.int32).at[:, 0].set(1),
        raw_values=column(root.value),
        node_values=column(root.value),
        parents=column(no_node, -1),
        action_from_parent=column(no_node, -1),
        children_index=jnp.full(edges, mctx.Tree.UNVISITED, jnp.int32),
        children_prior_logits=column(root.log_prior, ILLEGAL),
        children_values=jnp.zeros(edges, jnp.float32),
        children_visits=jnp.zeros(edges, jnp.int32),
        children_rewards=jnp.zeros(edges, jnp.float32),
        children_discounts=jnp.ones(edges, jnp.float32),
        embeddings=jax.tree.map(column, root.state),
        root_invalid_actions=root.log_prior <= ILLEGAL / 2,
        extra_data=Extra(
            size=jnp.ones((batch,), jnp.int32),
            to_move=column(root.to_move.astype(jnp.int8)),
            root_gumbel=jnp.zeros_like(root.log_prior),
            known=jnp.full(edges, UNKNOWN, jnp.int8) if keeps_results else None,
            draws=jnp.zeros(edges, jnp.float32) if keeps_draws else None,
            raw_draws=column(root.draw) if keeps_draws else None,
        ),
    )


def read_node(tree: mctx.Tree, index: jax.Array) -> Node:
    """The nodes at `index` (int32[B])."""
    rows = jnp.arange(index.shape[0])
    known = tree.extra_data.known
    return Node(
        visits=tree.children_visits[rows, index],
        q=tree.children_values[rows, index],
        log_prior=tree.children_prior_logits[rows, index],
        raw_value=tree.raw_values[rows, index],
        known=None if known is None else known[rows, index],
    )


def read_root(tree: mctx.Tree) -> Node:
    """The roots, as `read_node` of node 0: slices cost a GPU no kernel of their own."""
    known = tree.extra_data.known
    return Node(
        visits=tree.children_visits[:, 0],
        q=tree.children_values[:, 0],
        log_prior=tree.children_prior_logits[:, 0],
        raw_value=tree.raw_values[:, 0],
        known=None if known is None else known[:, 0],
    )


def read_state(tree: mctx.Tree, index: jax.Array) -> Any:
    """The game states [B, ...] at nodes `index` (int32[B])."""
    rows = jnp.arange(index.shape[0])
    return jax.tree.map(lambda x: x[rows, index], tree.embeddings)


def _below(tree: mctx.Tree, node: jax.Array, action: jax.Array) -> jax.Array:
    """Where a descent goes on below edges, int32[B]; `UNVISITED` where it ends."""
    rows = jnp.arange(node.shape[0])
    child = tree.children_index[rows, node, action]
    if tree.extra_data.known is None:
        return child
    is_open = tree.extra_data.known[rows, node, action] == UNKNOWN
    return jnp.where(is_open, child, mctx.Tree.UNVISITED)


def descend(tree: mctx.Tree, select_root: Select, select: Select, active: jax.Array) -> Leaf:
    """Follows `select` from the root to an edge without a stored child, in all trees at once.

    An edge whose result is known ends the descent too.

    The root is selected from outside the loop, so that its rule (noise, sequential halving) costs
    nothing at other depths. Lanes that are not active stop at the root's edge.
    """
    actions = tree.children_index.shape[-1]
    root = jnp.zeros(active.shape, jnp.int32)
    edge = select_root(read_root(tree), jnp.int32(0))  # node * A + action
    child = jnp.where(active, _below(tree, root, edge), mctx.Tree.UNVISITED)

    def body(carry: tuple) -> tuple:
        edge, child, depth = carry
        action = select(read_node(tree, child), depth.max())  # of no use where it has ended
        below = _below(tree, child, action)
        going = child >= 0
        edge = jnp.where(going, child * actions + action, edge)
        return edge, jnp.where(going, below, child), depth + going

    edge, _, depth = jax.lax.while_loop(
        lambda carry: any_member(carry[1] >= 0), body, (edge, child, jnp.ones_like(root))
    )
    return Leaf(*_node_and_action(edge, actions), depth)


def _node_and_action(edge: jax.Array, actions: int) -> tuple[jax.Array, jax.Array]:
    """Of an edge's number, int32[B] each."""
    return jax.lax.div(edge, jnp.int32(actions)), jax.lax.rem(edge, jnp.int32(actions))


def put(column: jax.Array, where: tuple[jax.Array, ...], value: jax.Array) -> jax.Array:
    """An array [B, ...] with one value for each tree, int32[B] each of `where`; beyond it: dropped.

    Each tree writes in its own row, so no two in one place. If XLA did not know that, it would sort
    the places first with `execution.deterministic_gpu`.
    """
    rows = jnp.arange(column.shape[0])
    return column.at[rows, *where].set(value.astype(column.dtype), mode="drop", unique_indices=True)


def expand(tree: mctx.Tree, leaf: Leaf, new: NewNode, keep: jax.Array) -> mctx.Tree:
    """Stores new nodes below `leaf` in the lanes `keep` (bool[B]) that still have room."""
    capacity = tree.node_visits.shape[1]
    size = tree.extra_data.size
    keep = keep & (size < capacity)
    index = jnp.where(keep, size, capacity)  # out of range: dropped
    parent = jnp.where(keep, leaf.node, capacity)

    def store(column: jax.Array, value: jax.Array) -> jax.Array:
        return put(column, (index,), value)

    raw_draws = tree.extra_data.raw_draws
    return tree.replace(
        raw_values=store(tree.raw_values, new.value),
        parents=store(tree.parents, leaf.node),
        action_from_parent=store(tree.action_from_parent, leaf.action),
        children_prior_logits=store(tree.children_prior_logits, new.log_prior),
        children_index=put(tree.children_index, (parent, leaf.action), size),
        embeddings=jax.tree.map(store, tree.embeddings, new.state),
        extra_data=dataclasses.replace(
            tree.extra_data,
            size=size + keep,
            to_move=store(tree.extra_data.to_move, new.to_move),
            raw_draws=None if raw_draws is None else store(raw_draws, new.draw),
        ),
    )


def backup(
    tree: mctx.Tree,
    leaf: Leaf,
    value: jax.Array,
    draw: jax.Array,
    active: jax.Array,
    *,
    draw_value: float = 0.0,
    discount: float = 1.0,
    alternating: bool,
) -> mctx.Tree:
    """Adds one visit to every edge from the leaf's up to the root.

    Args:
      leaf: where the descent ended.
      value: float32[B], the zero-sum part, from the player to move at `leaf.node`.
      draw: float32[B], draw probability, the same for both sides.
      active: bool[B], lanes to update.
      draw_value: worth of a draw to both sides.
      discount: of the value, per ply.
      alternating: turns alternate strictly, so that the sign flips at every level.
    """
    batch, capacity, actions = tree.children_visits.shape
    nowhere = capacity * actions  # edges are numbered through; this one is dropped
    draw_worth = draw_value * draw

    def flat(x: jax.Array | None) -> jax.Array | None:
        return None if x is None else x.reshape(batch, nowhere)

    def body(carry: tuple) -> tuple:
        visits, q, draws, edge, value = carry
        rows = jnp.arange(batch)
        count = visits[rows, edge]
        mean = (q[rows, edge] * count + value + draw_worth) / (count + 1)
        visits = put(visits, (edge,), count + 1)
        q = put(q, (edge,), mean)
        if draws is not None:
            mean = (draws[rows, edge] * count + draw) / (count + 1)
            draws = put(draws, (edge,), mean)
        node, _ = _node_and_action(edge, actions)
        parent = tree.parents[rows, node]
        above = parent * actions + tree.action_from_parent[rows, node]
        if alternating:
            value = -discount * value
        else:
            to_move = tree.extra_data.to_move
            same = to_move[rows, parent] == to_move[rows, node]
            value = discount * jnp.where(same, value, -value)
        return visits, q, draws, jnp.where((edge < nowhere) & (node != 0), above, nowhere), value

    carry = (
        flat(tree.children_visits),
        flat(tree.children_values),
        flat(tree.extra_data.draws),
        jnp.where(active, leaf.node * actions + leaf.action, nowhere),
        value,
    )
    carry = jax.lax.while_loop(lambda carry: any_member(carry[3] < nowhere), body, carry)
    visits, q, draws = (x if x is None else x.reshape(batch, capacity, actions) for x in carry[:3])
    return tree.replace(
        children_visits=visits,
        children_values=q,
        extra_data=dataclasses.replace(tree.extra_data, draws=draws),
    )


def node_value(node: Node) -> jax.Array:
    """float32[...]: mean of a node's own evaluation and its visits', from the player to move."""
    total = node.visits.sum(-1)
    return (node.raw_value + (node.visits * node.q).sum(-1)) / (1 + total)


def draws_of(tree: mctx.Tree, node: Node) -> Node | None:
    """The roots with draw probabilities in the place of values; None: they are not kept apart."""
    extra = tree.extra_data
    if extra.draws is None:
        return None
    return node._replace(q=extra.draws[:, 0], raw_value=extra.raw_draws[:, 0])
