"""Forced playouts at the root and what is pruned of them, as paper 002 has them, by hand."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import make_game
from jaxzero.search import core, rules
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL, Node
from tests.oracles.stub_network import jax_stub_evaluate

GAME = make_game("connect_four_4x4", observation="signed")


def test_forced_playouts_and_what_is_pruned() -> None:
    """Every visited move of the root has sqrt(k P N) visits; the best keeps all of its own."""
    states = jax.tree.map(lambda x: jnp.stack([x] * 4), GAME.init())
    evaluate = jax_stub_evaluate(GAME.num_actions, 7)

    @jax.jit
    def searched(scale: jax.Array) -> Any:
        keys = jax.random.split(jax.random.key(0), 4)
        of = functools.partial(core.run, GAME, evaluate, keys, states, num_simulations=60)
        plain, forced = SearchOptions(capacity=61), SearchOptions(capacity=61, forced_playouts=2.0)
        return of(options=forced, noise_scale=scale), of(options=plain)

    forced, without = searched(jnp.ones(4))
    plain = without.visit_counts
    node = jax.tree.map(np.asarray, first_node(forced))
    owed = np.floor(np.sqrt(2.0 * np.exp(node.log_prior) * 59))
    visited = node.visits > 0
    assert (node.visits[visited] >= np.minimum(owed, node.visits.max())[visited] - 1).all()
    assert forced.visit_counts.sum() == plain.sum() == 4 * 60
    best = node.visits.argmax(-1)
    rows = np.arange(4)
    options = SearchOptions(forced_playouts=2.0)
    pruned = np.asarray(rules.pruned_visits(first_node(forced), jnp.float32(1.0), options, 2.0))
    np.testing.assert_array_equal(pruned[rows, best], node.visits[rows, best])
    assert (pruned <= node.visits).all()
    assert pruned.sum() < node.visits.sum()
    np.testing.assert_allclose(forced.policy, pruned / pruned.sum(-1, keepdims=True), rtol=1e-5)
    # A root without noise is searched as if there were none.
    mixed, _ = searched(jnp.array([1.0, 0.0, 1.0, 0.0]))
    for found, quiet, noisy in (
        (mixed.visit_counts, plain, forced.visit_counts),
        (mixed.policy, without.policy, forced.policy),
    ):
        np.testing.assert_array_equal(found[1::2], quiet[1::2])
        np.testing.assert_array_equal(found[::2], noisy[::2])


def test_of_equals_a_move_that_is_left_is_played() -> None:
    """With two playouts two moves have one each, and one of them may be pruned."""
    games = 32
    states = jax.tree.map(lambda x: jnp.stack([x] * games), GAME.init())
    options = SearchOptions(capacity=3, forced_playouts=2.0, ties="random")

    def knows_nothing(observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((games, GAME.num_actions)), jnp.zeros(games)

    keys = jax.random.split(jax.random.key(0), games)
    of = functools.partial(core.run, GAME, knows_nothing, keys, states, num_simulations=2)
    found = jax.jit(lambda: of(options=options))()
    assert ((found.visit_counts == 1).sum(-1) == 2).all()
    assert len(set(found.action.tolist())) > 1
    assert (found.policy[jnp.arange(games), found.action] > 0).all()


def first_node(result: Any) -> Node:
    tree = result.tree
    return Node(
        visits=tree.children_visits[:, 0],
        q=tree.children_values[:, 0],
        log_prior=tree.children_prior_logits[:, 0],
        raw_value=tree.raw_values[:, 0],
    )


def test_pruning_by_hand() -> None:
    """Visits are taken away while the score stays below the best move's, at most the forced."""
    node = Node(
        visits=jnp.array([[40, 9, 3, 0]]),
        q=jnp.array([[0.5, 0.3, -0.9, 0.0]]),
        log_prior=jnp.log(jnp.array([[0.5, 0.3, 0.2, 1e-9]])).at[0, 3].set(ILLEGAL),
        raw_value=jnp.zeros((1,)),
    )
    options = SearchOptions(forced_playouts=2.0)
    root, target = math.sqrt(52), 0.5 + 0.5 * math.sqrt(52) / 41
    expected = [40.0]
    for q, prior, visits in ((0.3, 0.3, 9), (-0.9, 0.2, 3)):
        left, most = visits, int(math.sqrt(2 * prior * 52))
        while left > visits - most and left > 0 and q + prior * root / left <= target:
            left -= 1  # the move with one visit less still scores no more
        expected.append(left if left > 1 else 0)
    found = rules.pruned_visits(node, jnp.float32(1.0), options, 2.0)
    np.testing.assert_array_equal(found[0], [*expected, 0.0])


def test_visits_are_owed_to_visited_moves_alone() -> None:
    """Of 13 visits, with k P = 0.6: sqrt(7.8) to a move that has one."""
    for visits, expected in (((10, 3, 0), 0), ((11, 2, 0), 1)):
        node = Node(
            visits=jnp.array([visits]),
            q=jnp.array([[1.0, -1.0, 0.0]]),
            log_prior=jnp.log(jnp.array([[0.3, 0.3, 0.4]])),
            raw_value=jnp.zeros((1,)),
        )
        options = SearchOptions(forced_playouts=2.0)
        select = rules.puct_root(jnp.float32(0.01), options, None, 2.0)
        assert int(select(node, jnp.int32(0))[0]) == expected


def test_as_many_visits_are_forced_as_the_formula_says() -> None:
    prior = np.array([0.5, 0.3, 0.2])
    visits = jnp.array([[2, 1, 0]])
    node = Node(visits, jnp.zeros((1, 3)), jnp.log(prior)[None], jnp.zeros((1,)))
    np.testing.assert_allclose(rules.forced(node, 2.0)[0], np.sqrt(2.0 * prior * 3), rtol=1e-6)
