"""Dirichlet noise: at the root, over legal moves, off unless asked for."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchOptions, SearchResult, core, noise
from jaxzero.search.tree import ILLEGAL
from tests.oracles.mcts_games import Position
from tests.search.common import (
    SMALL,
    game_named,
    options_of,
    random_game,
    scaled_network,
    search_all,
    stack,
    various_positions,
)

LEGAL = jnp.array([True, False, True, True, False])
PRIOR = np.array([0.5, 0.0, 0.3, 0.2, 0.0], np.float32)
DRAWS = 3000


def noisy_priors(**options: Any) -> np.ndarray:
    """[DRAWS, 5] priors with noise, of one root."""
    settings = options_of(**options)
    log_prior = jnp.where(LEGAL, jnp.log(jnp.maximum(PRIOR, 1e-30)), ILLEGAL)
    keys = jax.random.split(jax.random.key(0), DRAWS)
    noisy = jax.vmap(lambda key: noise.mixed_in(key, log_prior, LEGAL, settings))(keys)
    return np.exp(np.asarray(noisy))


def expected_variance(alpha: float) -> float:
    """Of one of three entries of a symmetric Dirichlet vector."""
    return (1 / 3) * (2 / 3) / (3 * alpha + 1)


@pytest.mark.parametrize(
    ("scaling", "alpha", "effective"),
    [("constant", 0.6, 0.6), ("per_legal_move", 6.0, 2.0), ("constant", 0.001, 0.001)],
)
def test_noise_is_dirichlet_over_the_legal_moves(
    scaling: str, alpha: float, effective: float
) -> None:
    fraction = 0.25
    noisy = noisy_priors(
        dirichlet_fraction=fraction, dirichlet_alpha=alpha, dirichlet_scaling=scaling
    )
    assert not noisy[:, ~LEGAL].any()
    np.testing.assert_allclose(noisy.sum(-1), 1, atol=1e-5)
    noise = (noisy - (1 - fraction) * PRIOR[None])[:, LEGAL] / fraction
    assert noise.min() > -1e-5
    np.testing.assert_allclose(noise.mean(0), 1 / 3, atol=5 / np.sqrt(DRAWS))
    np.testing.assert_allclose(noise.var(0), expected_variance(effective), rtol=0.15)


def test_the_fraction_is_the_share_of_noise() -> None:
    np.testing.assert_allclose(
        noisy_priors(dirichlet_fraction=0.0), np.tile(PRIOR, (DRAWS, 1)), atol=1e-6
    )
    whole = noisy_priors(dirichlet_fraction=1.0, dirichlet_alpha=1.0)
    np.testing.assert_allclose(whole[:, LEGAL].mean(0), 1 / 3, atol=0.03)
    log_prior, key = jnp.log(jnp.maximum(PRIOR, 1e-30)), jax.random.key(0)
    half, quarter = (
        noise.mixed_in(key, log_prior, LEGAL, options_of(dirichlet_fraction=share), scale)
        for share, scale in ((0.5, 0.5), (0.25, 1.0))
    )
    np.testing.assert_allclose(half, quarter, rtol=1e-6)


def test_off_by_default() -> None:
    assert SearchOptions().dirichlet_fraction == 0
    positions = various_positions(SMALL)
    one, other = (search_all(SMALL, positions, 25, seed=seed) for seed in (0, 1))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


@functools.cache
def noisy_search() -> Callable[..., SearchResult]:
    """(seed, states, trees, is_kept, m, noise scale [B]) -> result."""

    @jax.jit
    def run(seed: Any, states: Any, trees: Any, is_kept: Any, m: Any, scale: Any) -> SearchResult:
        return core.run(
            game_named(SMALL),
            scaled_network(SMALL, 1.0),
            jax.random.split(jax.random.key(seed), 4),
            states,
            options=options_of(dirichlet_fraction=0.25),
            num_simulations=m,
            trees=trees,
            is_kept=is_kept,
            noise_scale=scale,
        )

    return lambda *args: jax.device_get(run(*args))


def positions_with_a_full_column() -> list[Position]:
    """Four unfinished positions with two legal moves of three."""
    positions = [position for seed in range(40) for position in random_game(SMALL, seed)]
    return [position for position in positions if position.legal.sum() == 2][:4]


def test_noise_in_fresh_and_in_kept_trees() -> None:
    positions = positions_with_a_full_column()
    states = stack(positions)
    plain = search_all(SMALL, positions, 25)
    clean = plain.tree.children_prior_logits[:4]
    trees = jax.tree.map(lambda x: x[:4], plain.tree)
    loud, nobody, everybody = np.ones(4), np.zeros(4, bool), np.ones(4, bool)
    legal = np.stack([position.legal for position in positions])

    fresh = noisy_search()(0, states, trees, nobody, 25, loud)
    kept = noisy_search()(0, states, trees, everybody, 25, loud)
    for result in (fresh, kept):
        noisy = result.tree.children_prior_logits
        assert (np.abs(noisy[:, 0] - clean[:, 0]) > 1e-3)[legal].mean() > 0.9
        assert (noisy[:, 0][~legal] <= ILLEGAL / 2).all()
        np.testing.assert_allclose(np.exp(noisy[:, 0]).sum(-1), 1, atol=1e-5)
    assert (fresh.visit_counts.sum(-1) == 25).all()
    assert (kept.visit_counts.sum(-1) == 50).all()
    stored = np.arange(clean.shape[1])[None] < trees.extra_data.size[:, None]
    stored[:, 0] = False
    np.testing.assert_array_equal(kept.tree.children_prior_logits[stored], clean[stored])

    other = noisy_search()(1, states, trees, nobody, 25, loud)
    assert (other.visit_counts != fresh.visit_counts).any()


def test_noise_scale_switches_noise_off_per_lane() -> None:
    positions = positions_with_a_full_column()
    plain = search_all(SMALL, positions, 25)
    trees = jax.tree.map(lambda x: x[:4], plain.tree)
    scale = np.array([0.0, 1.0, 0.0, 1.0])
    result = noisy_search()(0, stack(positions), trees, np.zeros(4, bool), 25, scale)
    priors, clean = result.tree.children_prior_logits[:, 0], plain.tree.children_prior_logits
    np.testing.assert_array_equal(priors[::2], clean[:4:2, 0])
    assert (priors[1::2] != clean[1:4:2, 0]).any(-1).all()
    np.testing.assert_array_equal(result.visit_counts[::2], plain.visit_counts[::2])
