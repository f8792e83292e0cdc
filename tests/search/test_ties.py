"""Equal scores: the lowest index by default, any of them on request."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import ArrayLike

from jaxzero.search import SearchResult, StateEvaluate, core
from tests.search.common import SMALL, game_named, options_of, oracle_game, search_all, stack

NAME = "gobang_3x3_line3"
ACTIONS = 9
LANES = 512


@functools.cache
def random_ties(name: str = NAME) -> Callable[..., SearchResult]:
    """(seed, simulations, scale): games of the start position; priors are uniform.

    A leaf's value is `scale` times an action drawn from the evaluation's own key, as a random tie
    below the root would be.
    """
    states = stack([oracle_game(name).init()] * LANES)
    actions = game_named(name).num_actions

    @jax.jit
    def run(seed: jax.Array, m: jax.Array, scale: jax.Array) -> SearchResult:
        def evaluate(keys: jax.Array, states: Any) -> tuple[jax.Array, jax.Array]:
            def one(key: jax.Array) -> jax.Array:
                return jnp.argmax(jax.random.uniform(jax.random.fold_in(key, 0), (actions,)))

            return jnp.zeros((LANES, actions)), jax.vmap(one)(keys) * scale

        return core.run(
            game_named(name),
            StateEvaluate(evaluate),
            jax.random.split(jax.random.key(seed), LANES),
            states,
            options=options_of(ties="random", capacity=16),
            num_simulations=m,
        )

    return lambda *args: jax.device_get(run(*args))


def assert_uniform(actions: ArrayLike) -> None:
    """Each of the nine actions comes up about equally often."""
    counts = np.bincount(np.asarray(actions), minlength=ACTIONS)
    expected = LANES / ACTIONS
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_the_lowest_index_wins_by_default() -> None:
    start = oracle_game(SMALL).init()
    for m, counts in ((1, [1, 0, 0]), (2, [1, 1, 0]), (3, [1, 1, 1]), (4, [2, 1, 1])):
        result = search_all(SMALL, [start], m, scale=0.0)
        assert result.visit_counts[0].tolist() == counts
        assert result.action[0] == 0


def test_random_ties_reach_every_action() -> None:
    result = random_ties()(0, 1, 0.0)
    assert (result.visit_counts.sum(-1) == 1).all()
    assert_uniform(result.visit_counts.argmax(-1))
    np.testing.assert_array_equal(result.action, result.visit_counts.argmax(-1))


def test_the_most_visited_action_is_random_among_equals() -> None:
    result = random_ties()(0, ACTIONS, 0.0)
    assert (result.visit_counts == 1).all()
    assert_uniform(result.action)


def test_random_ties_choose_only_among_the_best() -> None:
    result = random_ties()(1, ACTIONS + 1, 0.0)
    assert (result.visit_counts.max(-1) == 2).all()
    np.testing.assert_array_equal(result.action, result.visit_counts.argmax(-1))
    assert_uniform(result.action)


def test_evaluation_and_random_ties_do_not_share_random_numbers() -> None:
    result = random_ties()(0, 1, 0.1)
    chosen = result.visit_counts.argmax(-1)
    evaluated = np.round(-result.q.sum(-1) / 0.1)
    assert (chosen == evaluated).mean() == pytest.approx(1 / ACTIONS, abs=0.07)


def test_every_simulation_draws_its_own_evaluation() -> None:
    values = random_ties()(0, 3, 0.1).tree.raw_values[:, 1:4]
    for one, other in itertools.combinations(range(3), 2):
        assert (values[:, one] == values[:, other]).mean() == pytest.approx(1 / ACTIONS, abs=0.07)


def test_every_simulation_draws_its_own_ties() -> None:
    """All root actions have been tried once: any is chosen again, not the first one tried."""
    result = random_ties()(0, ACTIONS + 1, 0.0)
    first, again = result.tree.action_from_parent[:, 1], result.visit_counts.argmax(-1)
    assert (first == again).mean() == pytest.approx(1 / ACTIONS, abs=0.07)


def test_every_level_draws_its_own_ties() -> None:
    """The fourth simulation chooses among three equal columns, and below among three again."""
    result = random_ties(SMALL)(0, 4, 0.0)
    below = result.tree.action_from_parent[:, 4]
    assert (result.visit_counts.argmax(-1) == below).mean() == pytest.approx(1 / 3, abs=0.1)
