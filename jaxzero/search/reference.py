"""The same search through `mctx.search` and `mctx.gumbel_muzero_policy` themselves.

Slower than this package's loop and without its extras (kept trees, draw values, random ties). It
is the reference that the loop is tested against, for whoever doubts it: `search(..., loop="mctx")`.
Runs always use this package's loop.
"""

from typing import Any

import jax
import jax.numpy as jnp
import mctx

from jaxzero.games.base import Game, State
from jaxzero.search import rules
from jaxzero.search.core import Diagnostics, SearchResult, as_node
from jaxzero.search.evaluation import Evaluate, StateEvaluate, look_at
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL, Node


def recurrent_fn(game: Game, evaluate: Evaluate | StateEvaluate, options: SearchOptions) -> Any:
    """mctx's model of a two-player game.

    The edge that ends a game has reward = result and discount 0, so that nothing below it reaches
    the statistics above; the discount is +1 where the same player moves again.
    """

    def fn(params: Any, key: jax.Array, action: jax.Array, states: State) -> tuple:
        del params
        keys = jax.random.split(key, action.shape[0])
        was_finished = jax.vmap(game.is_terminal)(states)
        mover = jax.vmap(game.to_move)(states)
        position, _ = look_at(
            game, evaluate, keys, jax.vmap(game.step)(states, action), options.draw_for_asked
        )
        node = as_node(position, options)
        sign = jnp.where(position.to_move == mover, 1.0, -1.0)
        ends = position.is_terminal & ~was_finished
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(ends, sign * node.value, 0.0),
            discount=jnp.where(position.is_terminal, 0.0, sign),
            prior_logits=node.log_prior,
            value=jnp.where(position.is_terminal, 0.0, node.value),
        )
        return output, position.state

    return fn


def _puct_hook(c_puct: jax.Array | float, options: SearchOptions) -> Any:
    def select(key: jax.Array, tree: mctx.Tree, index: jax.Array, depth: Any = 0) -> jax.Array:
        del key, depth
        node = Node(
            tree.children_visits[index],
            tree.qvalues(index),
            tree.children_prior_logits[index],
            tree.raw_values[index],
        )
        scores = rules.puct_scores(node, jnp.asarray(c_puct, jnp.float32), options)
        # Below a finished game mctx goes on; the least visited child keeps that dummy tree shallow.
        has_moves = (node.log_prior > ILLEGAL / 2).any()
        scores = jnp.where(has_moves, scores, -node.visits.astype(scores.dtype))
        return jnp.argmax(scores).astype(jnp.int32)

    return select


def run(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    key: jax.Array,
    states: State,
    *,
    options: SearchOptions,
    num_simulations: int,
    c_puct: jax.Array | float = 1.0,
    gumbel_scale: float = 1.0,
) -> SearchResult:
    """As `core.run`, from fresh trees, by mctx's own search. `key` is one key, consumed."""
    root_key, key = jax.random.split(key)
    batch = jax.vmap(game.to_move)(states).shape[0]
    active = ~jax.vmap(game.is_terminal)(states)
    root_keys = jax.random.split(root_key, batch)
    position, _ = look_at(game, evaluate, root_keys, states, options.draw_for_asked)
    node = as_node(position, options)
    root = mctx.RootFnOutput(prior_logits=node.log_prior, value=node.value, embedding=states)
    model = recurrent_fn(game, evaluate, options)
    simulations = num_simulations - options.root_expansion_counts
    if options.algorithm == "gumbel":
        out = mctx.gumbel_muzero_policy(
            (),
            key,
            root,
            model,
            simulations,
            invalid_actions=node.log_prior <= ILLEGAL / 2,
            max_num_considered_actions=options.max_considered_actions,
            gumbel_scale=gumbel_scale,
        )
        tree, action, policy = out.search_tree, out.action, out.action_weights
    else:
        hook = _puct_hook(c_puct, options)
        tree = mctx.search(
            (),
            key,
            root=root,
            recurrent_fn=model,
            root_action_selection_fn=hook,
            interior_action_selection_fn=hook,
            num_simulations=simulations,
        )
        visits = tree.children_visits[:, 0].astype(jnp.float32)
        policy = visits / jnp.maximum(visits.sum(-1, keepdims=True), 1.0)
        action = jnp.argmax(visits, -1).astype(jnp.int32)
    visits = tree.children_visits[:, 0] * active[:, None]
    return SearchResult(
        visit_counts=visits,
        policy=jnp.where(active[:, None], policy, 0.0),
        action=action,
        value=jnp.where(active, tree.node_values[:, 0], node.value),
        q=jnp.where(visits > 0, tree.qvalues(jnp.zeros((batch,), jnp.int32)), 0.0),
        tree=tree,
        diagnostics=_diagnostics(tree, active, simulations),
    )


def _diagnostics(tree: mctx.Tree, active: jax.Array, simulations: int) -> Diagnostics:
    """Read off the finished tree. What mctx hangs below a finished game counts as that game."""
    batch, nodes = tree.node_visits.shape
    is_live = (tree.children_prior_logits > ILLEGAL / 2).any(-1)

    def depths(parents: jax.Array, is_live: jax.Array) -> jax.Array:
        def one(i: jax.Array, depth: jax.Array) -> jax.Array:  # parents come before their children
            parent = parents[i]
            own = depth[jnp.maximum(parent, 0)] + is_live[jnp.maximum(parent, 0)]
            return depth.at[i].set(jnp.where(parent >= 0, own, 0))

        return jax.lax.fori_loop(1, nodes, one, jnp.zeros((nodes,), jnp.int32))

    depth = jax.vmap(depths)(tree.parents, is_live) * active[:, None]
    finished = (tree.children_discounts == 0) & is_live[:, :, None]
    finished_leaves = ((tree.children_visits * finished).sum((1, 2)) * active).sum()
    evaluated = active.sum() * (simulations + 1)
    return Diagnostics(
        evaluations=jnp.float32(batch * (simulations + 1)),
        useful_evaluations=(evaluated - finished_leaves).astype(jnp.float32),
        finished_leaves=finished_leaves.astype(jnp.float32),
        depth_sum=depth.sum().astype(jnp.float32),
        simulations=(active.sum() * simulations).astype(jnp.float32),
        depth_max=depth.max(),
        nodes=(tree.node_visits > 0).sum(-1),
    )
