"""Results that the search knows for certain: an MCTS-solver, `SearchOptions.propagate_results`.

Winands, Bjornsson and Saito, "Monte-Carlo Tree Search Solver" (2008), with draws; among the
extensions that Clausen 2021 names in section 2.4. The rule, for an edge (a node and a move from
it):

* An edge into a finished position has that result. An edge into a stored node has the node's:
  *won* for the player to move there as soon as one of its edges is won; else, once all legal edges
  are known, the best of them. Otherwise nothing is known. (A drawn edge beside unknown ones says
  nothing yet; the bounds of Cazenave and Saffidine 2010 would also cut there.)
* The known value takes the place of the edge's average Q for good. A simulation that comes to a
  known edge ends there, and what it backs up is the known value, as does the simulation that finds
  it out; to averages further up it is one visit among others.
* In every node a lost edge is not followed while one is left that is not lost; a won edge of the
  root is followed always. The move chosen obeys the same, and so does the policy.

Gumbel's sequential halving at the root goes on by their exact Q; below it, in the move chosen and
in the policy they rule as with PUCT. Known results say who wins, not how soon, and are not
discounted. Static: a search without them has no such array.
"""

import dataclasses

import jax
import jax.numpy as jnp
import mctx

from jaxzero.loops import any_member
from jaxzero.search.tree import ILLEGAL, UNKNOWN, Leaf, NewNode, Node, expand, put

WON, DRAWN, LOST = 1, 0, -1


def node_result(known: jax.Array, legal: jax.Array) -> jax.Array:
    """Results of nodes for the player to move there, int8[...].

    `UNKNOWN` where nothing is proven, and for nodes without moves (the root of a finished game).

    Args:
      known: int8[..., A], of their edges, for the same player.
      legal: bool[..., A].
    """
    won = (known == WON).any(-1)
    # UNKNOWN is the largest of all: the best is unknown where any edge is, but for a win.
    best = jnp.where(legal, known, LOST).max(-1)
    best = jnp.where(legal.any(-1), best, UNKNOWN)
    return jnp.where(won, WON, best).astype(jnp.int8)


def allowed(known: jax.Array, legal: jax.Array) -> jax.Array:
    """Edges that may be followed, bool[..., A]: won ones, else those not lost, else all legal ones.

    Args:
      known: int8[..., A].
      legal: bool[..., A].
    """
    won, not_lost = known == WON, legal & (known != LOST)
    found = jnp.where(won.any(-1, keepdims=True), won, not_lost)
    return jnp.where(found.any(-1, keepdims=True), found, legal)


def prefer(scores: jax.Array, known: jax.Array) -> jax.Array:
    """Scores of edges float32[..., A], -inf where illegal, with -inf also where not `allowed`."""
    return jnp.where(allowed(known, scores > -jnp.inf), scores, -jnp.inf)


def chosen_from(root: Node) -> jax.Array:
    """Visits of the root's moves that may be chosen, float32[B, A].

    Those that are `allowed`; if none of them was visited, each counts once.
    """
    if root.known is None:
        raise ValueError("a root of a search without known results")
    may = allowed(root.known, root.log_prior > ILLEGAL / 2)
    kept = jnp.where(may, root.visits, 0).astype(jnp.float32)
    return jnp.where(kept.any(-1, keepdims=True), kept, may.astype(jnp.float32))


def of_roots(tree: mctx.Tree) -> jax.Array:
    """int8[B]: results of the roots for the player to move, or `UNKNOWN`."""
    legal = tree.children_prior_logits[:, 0] > ILLEGAL / 2
    return node_result(tree.extra_data.known[:, 0], legal)


def of_edges(tree: mctx.Tree, leaf: Leaf) -> jax.Array:
    """int8[B]: results of edges for the player to move at their nodes, or `UNKNOWN`."""
    return tree.extra_data.known[jnp.arange(leaf.node.shape[0]), leaf.node, leaf.action]


def replace(value: jax.Array, result: jax.Array, draw_value: float) -> jax.Array:
    """Values float32[B], and in their place what known results int8[B] are worth."""
    known = result.astype(jnp.float32) + draw_value * (result == DRAWN)
    return jnp.where(result == UNKNOWN, value, known)


def grow(
    tree: mctx.Tree,
    leaf: Leaf,
    new: NewNode,
    value: jax.Array,
    draw: jax.Array,
    is_terminal: jax.Array,
    active: jax.Array,
    *,
    draw_value: float,
    discount: float,
    alternating: bool,
) -> tuple[mctx.Tree, jax.Array]:
    """What a simulation adds: `tree.expand` where nothing is known, then `backup`.

    Args:
      tree: the trees, with known results.
      leaf: where the descents ended.
      new: the positions that those edges lead to.
      value: float32[B], zero-sum value of them, from the player to move at `leaf.node`.
      draw: float32[B], draw probability of them.
      is_terminal: bool[B], whether they are finished, `value` being the result.
      active: bool[B], lanes to update.
      draw_value: worth of a draw to both sides.
      discount: of a value, per ply.
      alternating: turns alternate strictly.

    Returns:
      The trees, and bool[B]: whether the result of the leaf's edge is known.
    """
    result = jnp.where(is_terminal, jnp.sign(value).astype(jnp.int8), of_edges(tree, leaf))
    sure = result != UNKNOWN
    tree = expand(tree, leaf, new, active & ~sure)
    tree = backup(
        tree,
        leaf,
        value,
        draw,
        result,
        active,
        draw_value=draw_value,
        discount=discount,
        alternating=alternating,
    )
    return tree, sure


def backup(
    tree: mctx.Tree,
    leaf: Leaf,
    value: jax.Array,
    draw: jax.Array,
    result: jax.Array,
    active: jax.Array,
    *,
    draw_value: float,
    discount: float,
    alternating: bool,
) -> mctx.Tree:
    """`tree.backup` that carries known results upwards as long as they decide the next node.

    Args:
      tree: the trees, with known results.
      leaf: where the descent ended.
      value: float32[B], the zero-sum part, from the player to move at `leaf.node`.
      draw: float32[B], draw probability, the same for both sides.
      result: int8[B], of the leaf's edge, from the same player, or `UNKNOWN`.
      active: bool[B], lanes to update.
      draw_value: worth of a draw to both sides.
      discount: of a value, per ply.
      alternating: turns alternate strictly.
    """
    rows = jnp.arange(active.shape[0])
    capacity = tree.node_visits.shape[1]

    def body(carry: tuple) -> tuple:
        visits, q, draws, known, node, action, value, draw, result, going = carry
        sure = result != UNKNOWN
        value = jnp.where(sure, result.astype(value.dtype), value)
        draw = jnp.where(sure, (result == DRAWN).astype(draw.dtype), draw)
        draw_worth = draw_value * draw
        index = jnp.where(going, node, capacity)
        count = visits[rows, node, action]
        mean = (q[rows, node, action] * count + value + draw_worth) / (count + 1)
        mean = jnp.where(sure, value + draw_worth, mean)
        visits = put(visits, (index, action), count + 1)
        q = put(q, (index, action), mean)
        if draws is not None:
            mean = (draws[rows, node, action] * count + draw) / (count + 1)
            draws = put(draws, (index, action), jnp.where(sure, draw, mean))
        known = put(known, (index, action), result)
        legal = tree.children_prior_logits[rows, node] > ILLEGAL / 2
        of_node = node_result(known[rows, node], legal)
        going = going & (node != 0)
        parent = jnp.where(going, tree.parents[rows, node], node)
        action = jnp.where(going, tree.action_from_parent[rows, node], action)
        sign = jnp.full_like(of_node, -1)
        if not alternating:
            to_move = tree.extra_data.to_move
            sign = jnp.where(to_move[rows, parent] == to_move[rows, node], 1, sign)
        result = jnp.where(of_node == UNKNOWN, of_node, sign * of_node)
        value = discount * sign * value
        return visits, q, draws, known, parent, action, value, draw, result, going

    carry = (
        tree.children_visits,
        tree.children_values,
        tree.extra_data.draws,
        tree.extra_data.known,
        leaf.node,
        leaf.action,
        value,
        draw,
        result,
        active,
    )
    carry = jax.lax.while_loop(lambda carry: any_member(carry[-1]), body, carry)
    visits, q, draws, known, *_ = carry
    return tree.replace(
        children_visits=visits,
        children_values=q,
        extra_data=dataclasses.replace(tree.extra_data, draws=draws, known=known),
    )
