"""What a search returns: moves, values, and what it cost."""

import jax
import jax.numpy as jnp
import mctx
from flax import struct


@struct.dataclass
class Diagnostics:
    """What a search cost and how it looked. Sums are over lanes and simulations, float32 scalars.

    Attributes:
      evaluations: network evaluations made, those that nobody asked for included.
      useful_evaluations: those of an unfinished leaf in an unfinished game.
      finished_leaves: simulations of unfinished games that ended in a finished position, or in one
        whose result was known already.
      depth_sum, simulations: mean depth of a simulation is depth_sum / simulations.
      depth_max: int32 scalar, edges below the root.
      nodes: int32[B], nodes in use at the end.
    """

    evaluations: jax.Array
    useful_evaluations: jax.Array
    finished_leaves: jax.Array
    depth_sum: jax.Array
    simulations: jax.Array
    depth_max: jax.Array
    nodes: jax.Array


def nothing(batch: int) -> Diagnostics:
    """The zero of `add`, of so many lanes."""
    zero = jnp.float32(0)
    return Diagnostics(
        evaluations=zero,
        useful_evaluations=zero,
        finished_leaves=zero,
        depth_sum=zero,
        simulations=zero,
        depth_max=jnp.int32(0),
        nodes=jnp.zeros((batch,), jnp.int32),
    )


def add(a: Diagnostics, b: Diagnostics) -> Diagnostics:
    """Sums, and maxima of depth and of nodes."""
    total = jax.tree.map(jnp.add, a, b)
    return total.replace(
        depth_max=jnp.maximum(a.depth_max, b.depth_max), nodes=jnp.maximum(a.nodes, b.nodes)
    )


@struct.dataclass
class SearchResult:
    """What a search says, for the B positions it was given.

    Attributes:
      visit_counts: int32[B, A], visits of the root's edges (of all searches of a kept tree).
      policy: float32[B, A]. PUCT: the visit distribution, without forced visits; Gumbel: the
        improved policy; `puct_target` and `gumbel_target` exchange them. Without moves that known
        results rule out. Zero at illegal actions, and everywhere in a finished game.
      action: int32[B]. PUCT: the most visited action (of those in the policy), lowest index among
        equals (random with `ties="random"`); Gumbel: the winner of sequential halving.
      value: float32[B], the root's value from the player to move, in [-1, 1]; its known one if the
        search has found out.
      draw: float32[B], probability of a draw, backed up as the value is: `value` less its worth is
        the zero-sum part. None for a search that does not back it up (`backs_up_draws`).
      q: float32[B, A], Q of the root's edges from the player to move; 0 without visits.
      known: int8[B], proven result of the root, for the player to move, or
        `tree.UNKNOWN`; None for a search that keeps none.
      tree: the search tree, which `search.subtree.advance` takes on (but for loop="mctx").
      diagnostics: costs and shape.
    """

    visit_counts: jax.Array
    policy: jax.Array
    action: jax.Array
    value: jax.Array
    draw: jax.Array | None
    q: jax.Array
    known: jax.Array | None
    tree: mctx.Tree
    diagnostics: Diagnostics
