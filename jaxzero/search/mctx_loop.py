"""The same search by mctx's own loop: `mctx.search`, and for Gumbel `mctx.gumbel_muzero_policy`.

`search.loop=mctx`. mctx's are the tree, the simulations and Gumbel's rules; this package's are what
mctx asks a caller for: the model of a two-player game, the papers' rule in its hooks, the noise of
each game's own key. Slower than this package's loop and without some of its options
(`SearchOptions.loop`), but equal move for move: for whoever doubts that loop.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from jaxzero.games.base import Game, State
from jaxzero.search.evaluation import Evaluate, StateEvaluate, as_node, look_at
from jaxzero.search.options import SearchOptions
from jaxzero.search.result import Diagnostics
from jaxzero.search.rules import q_transform
from jaxzero.search.tree import ILLEGAL, Extra, Node, Select


class Place(NamedTuple):
    """What mctx stores of a position [B]: edges below the root, evaluations made for the batch."""

    state: State
    depth: jax.Array
    made: jax.Array


def root(states: State, made: jax.Array) -> Place:
    """The roots, for which `made` evaluations (float32 scalar) were made."""
    batch = jax.tree.leaves(states)[0].shape[:1]
    return Place(states, jnp.zeros(batch, jnp.int32), jnp.broadcast_to(made, batch))


def model(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    options: SearchOptions,
    keys: jax.Array,
    active: jax.Array,
) -> mctx.RecurrentFn:
    """mctx's model of B two-player games; what it embeds is `Place`.

    The edge that ends a game has reward = result and discount 0, so that nothing below it reaches
    the statistics above; the discount is +1 where the same player moves again. `keys` [B] are
    consumed; lanes that are not `active` (bool[B]) need no evaluation.
    """

    def fn(params: Any, key: jax.Array, action: jax.Array, place: Place) -> tuple:
        del params
        states = place.state
        own_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, jax.random.bits(key))
        moved = jax.vmap(game.step)(states, action)
        position, made = look_at(game, evaluate, own_keys, moved, options, active)
        node = as_node(position, options)
        sign = jnp.where(position.to_move == jax.vmap(game.to_move)(states), 1.0, -1.0)
        was_finished = jax.vmap(game.is_terminal)(states)
        ends = position.is_terminal & ~was_finished
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(ends, sign * node.value, 0.0),
            discount=jnp.where(position.is_terminal, 0.0, sign),
            prior_logits=node.log_prior,
            value=jnp.where(position.is_terminal, 0.0, node.value),
        )
        depth = place.depth + ~was_finished  # what mctx hangs below a finished game counts as that
        return output, Place(moved, depth, jnp.broadcast_to(made, active.shape))

    return fn


def _hook(select: Select) -> mctx.InteriorActionSelectionFn:
    """A rule for whole batches as mctx asks for one: at one node of one tree."""

    def fn(key: jax.Array, tree: mctx.Tree, index: jax.Array, depth: Any = 0) -> jax.Array:
        del key
        visits, log_prior = tree.children_visits[index], tree.children_prior_logits[index]
        node = Node(visits, tree.qvalues(index), log_prior, tree.raw_values[index])
        action = select(jax.tree.map(lambda x: x[None], node), depth)[0]
        # Below a finished game mctx goes on; the least visited child keeps that dummy tree shallow.
        has_moves = (log_prior > ILLEGAL / 2).any()
        return jnp.where(has_moves, action, jnp.argmin(visits)).astype(jnp.int32)

    return fn


def run(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    trees: mctx.Tree,
    made: jax.Array,
    active: jax.Array,
    rules: tuple[Select, Select],
    num_simulations: int,
    options: SearchOptions,
) -> tuple[mctx.Tree, Diagnostics, jax.Array | None]:
    """All simulations of B games.

    Args:
      evaluate: see `Evaluate`.
      keys: [B], for evaluations, consumed.
      trees: hold the roots alone, with their noise.
      made: float32, evaluations made for them.
      active: bool[B], lanes to search; in the others nothing counts.
      rules: PUCT at the root and below.
      num_simulations: of a tree.

    Returns:
      Finished trees as this package reads them (finished positions are stored, too), what they
      cost, and float32[B, A]: the policy that mctx makes of Gumbel's search, None for PUCT.
    """
    log_prior, gumbel = trees.children_prior_logits[:, 0], trees.extra_data.root_gumbel
    start = mctx.RootFnOutput(
        prior_logits=log_prior,
        value=trees.raw_values[:, 0],
        embedding=root(jax.tree.map(lambda x: x[:, 0], trees.embeddings), made),
    )
    games = model(game, evaluate, options, keys, active)
    key = jax.random.key(0)  # what is random has the keys of the games
    policy = None
    if options.algorithm == "gumbel":

        def with_noise(lower: Any, upper: Any, body: Any, carry: tuple) -> Any:
            key, tree = carry
            noise = mctx.GumbelMuZeroExtraData(root_gumbel=gumbel)
            return jax.lax.fori_loop(lower, upper, body, (key, tree.replace(extra_data=noise)))

        out = mctx.gumbel_muzero_policy(
            (),
            key,
            start,
            games,
            num_simulations,
            invalid_actions=trees.root_invalid_actions,
            loop_fn=with_noise,
            max_num_considered_actions=options.max_considered_actions,
            qtransform=q_transform(options),
            gumbel_scale=0.0,
        )
        tree, policy = out.search_tree, out.action_weights * active[:, None]
    else:
        tree = mctx.search(
            (),
            key,
            root=start,
            recurrent_fn=games,
            root_action_selection_fn=_hook(rules[0]),
            interior_action_selection_fn=_hook(rules[1]),
            num_simulations=num_simulations,
        )
    # Every simulation adds one node, finished positions included.
    live = active[:, None] & (tree.children_prior_logits > ILLEGAL / 2).any(-1)
    places, searched = tree.embeddings, active.sum().astype(jnp.float32)
    depth = places.depth * active[:, None]
    counts = Diagnostics(
        evaluations=places.made[0].sum(),
        useful_evaluations=live.sum().astype(jnp.float32),
        finished_leaves=searched * (num_simulations + 1) - live.sum(),
        depth_sum=depth.sum().astype(jnp.float32),
        simulations=searched * num_simulations,
        depth_max=depth.max(),
        nodes=jnp.maximum(live.sum(-1), 1),
    )
    visits = tree.children_visits * active[:, None, None]
    q = tree.children_rewards + tree.children_discounts * tree.children_values
    tree = tree.replace(
        children_prior_logits=tree.children_prior_logits.at[:, 0].set(log_prior),
        children_visits=visits,
        children_values=jnp.where(visits > 0, q, 0.0),
        children_rewards=jnp.zeros_like(q),
        children_discounts=jnp.ones_like(q),
        embeddings=places.state,
        extra_data=Extra(
            size=counts.nodes,
            to_move=jax.vmap(jax.vmap(game.to_move))(places.state).astype(jnp.int8),
            root_gumbel=gumbel,
        ),
    )
    return tree, counts, policy
