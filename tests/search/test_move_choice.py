"""From a search to the move that is played and the policy that is learnt."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchResult
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL
from jaxzero.training import moves
from tests.search.common import SMALL, options_of, search_all, various_positions

VISITS = np.array([3, 0, 5, 2])
GAMES = 2000


def result_of(visits: np.ndarray, action: int, policy: np.ndarray | None = None) -> SearchResult:
    """As many searches with these visits."""
    counts = jnp.tile(jnp.asarray(visits, jnp.int32)[None], (GAMES, 1))
    share = visits / visits.sum() if policy is None else policy
    nothing: Any = None
    return SearchResult(
        visit_counts=counts,
        policy=jnp.tile(jnp.asarray(share, jnp.float32)[None], (GAMES, 1)),
        action=jnp.full((GAMES,), action, jnp.int32),
        value=jnp.zeros(GAMES),
        draw=nothing,
        q=jnp.zeros((GAMES, len(visits))),
        known=nothing,
        tree=nothing,
        diagnostics=nothing,
    )


def choose(
    result: SearchResult, sampled: Any, *, one_hot: bool, algorithm: str = "puct"
) -> tuple[np.ndarray, np.ndarray]:
    """Actions [GAMES] and targets [GAMES, A]."""
    keys = jax.random.split(jax.random.key(0), GAMES)
    options = SearchOptions(algorithm=algorithm)
    return jax.device_get(
        moves.choose(keys, result, jnp.asarray(sampled), options, one_hot_after_temperature=one_hot)
    )


@pytest.mark.parametrize("one_hot", [False, True])
def test_sampled_plies_follow_the_visits(one_hot: bool) -> None:
    actions, targets = choose(result_of(VISITS, 2), True, one_hot=one_hot)
    shares = np.bincount(actions, minlength=4) / GAMES
    np.testing.assert_allclose(shares, VISITS / 10, atol=0.06)
    assert shares[1] == 0
    np.testing.assert_allclose(targets, np.tile(VISITS / 10, (GAMES, 1)), rtol=1e-6)


def test_moves_are_sampled_from_visits_that_no_target_has() -> None:
    pruned = np.array([0.0, 0.0, 1.0, 0.0], np.float32)  # as of forced playouts
    actions, targets = choose(result_of(VISITS, 2, pruned), True, one_hot=False)
    np.testing.assert_allclose(np.bincount(actions, minlength=4) / GAMES, VISITS / 10, atol=0.06)
    np.testing.assert_array_equal(targets, np.tile(pruned, (GAMES, 1)))


def test_greedy_plies_play_the_most_visited_and_keep_the_distribution() -> None:
    actions, targets = choose(result_of(VISITS, 2), False, one_hot=False)
    assert (actions == 2).all()
    np.testing.assert_allclose(targets, np.tile(VISITS / 10, (GAMES, 1)), rtol=1e-6)


def test_published_greedy_plies_store_the_move_alone() -> None:
    actions, targets = choose(result_of(VISITS, 2), False, one_hot=True)
    assert (actions == 2).all()
    np.testing.assert_array_equal(targets, np.tile([0, 0, 1, 0], (GAMES, 1)))


def test_plies_may_differ_within_a_batch() -> None:
    sampled = np.arange(GAMES) % 2 == 0
    actions, targets = choose(result_of(VISITS, 2), sampled, one_hot=True)
    assert (actions[~sampled] == 2).all()
    assert len(set(actions[sampled].tolist())) == 3
    assert (targets[~sampled].max(-1) == 1).all()
    assert (targets[sampled].max(-1) == 0.5).all()


def test_gumbel_plays_its_winner_and_stores_its_policy() -> None:
    policy = np.array([0.7, 0.0, 0.2, 0.1], np.float32)
    for sampled in (True, False):
        actions, targets = choose(
            result_of(VISITS, 2, policy), sampled, one_hot=False, algorithm="gumbel"
        )
        assert (actions == 2).all()
        np.testing.assert_allclose(targets, np.tile(policy, (GAMES, 1)), rtol=1e-6)


def test_the_searchs_own_action_is_the_first_of_the_most_visited() -> None:
    positions = various_positions(SMALL)
    for m in (3, 25):
        result = search_all(SMALL, positions, m)
        np.testing.assert_array_equal(result.action, result.visit_counts.argmax(-1))
        np.testing.assert_allclose(result.policy, result.visit_counts / m, rtol=1e-6)


def test_puct_can_learn_from_prior_and_q_together() -> None:
    """As Gumbel does (Danihelka et al. 2022, Equation 11), from the prior without the noise."""
    positions, m = various_positions(SMALL), 25
    by_visits, found = (
        search_all(
            SMALL,
            positions,
            m,
            options=options_of(dirichlet_fraction=0.25, gumbel_rescale=False, puct_target=target),
        )
        for target in ("visits", "improved")
    )
    np.testing.assert_array_equal(found.visit_counts, by_visits.visit_counts)
    np.testing.assert_array_equal(found.action, by_visits.action)
    clean = search_all(SMALL, positions, m).tree.children_prior_logits[:, 0]
    legal = clean > ILLEGAL / 2
    seen = found.visit_counts > 0
    weight = np.where(seen, np.exp(clean), 0)
    average = (weight * found.q).sum(-1) / weight.sum(-1)
    mixed = (found.tree.raw_values[:, 0] + m * average) / (1 + m)
    completed = np.where(seen, found.q, mixed[:, None])
    sigma = 0.1 * (50 + found.visit_counts.max(-1, keepdims=True))
    expected = np.where(legal, np.exp(clean + sigma * completed), 0)
    np.testing.assert_allclose(found.policy, expected / expected.sum(-1, keepdims=True), rtol=1e-3)


def test_that_target_leaves_the_visits_to_sampling_and_lost_moves_to_nobody() -> None:
    policy = np.array([0.6, 0.4, 0.0, 0.0], np.float32)
    options = SearchOptions(propagate_results=True, puct_target="improved")
    keys = jax.random.split(jax.random.key(0), GAMES)
    for visits, expected in ((VISITS, {0}), (np.array([0, 0, 5, 2]), {0, 1})):
        actions, targets = moves.choose(
            keys,
            result_of(visits, 0, policy),
            jnp.bool_(True),
            options,
            one_hot_after_temperature=False,
        )
        assert set(actions.tolist()) == expected
        np.testing.assert_array_equal(targets[0], policy)
