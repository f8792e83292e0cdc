"""This package's loop and mctx's own give the same counts, policies and diagnostics."""

import dataclasses
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.loops import MEMBER_AXIS
from jaxzero.search import ChunkedEvaluate, SearchOptions, SearchResult, core, search
from jaxzero.training import selfplay
from tests.search.common import (
    AGAIN,
    LANES,
    SIMULATIONS,
    SMALL,
    WITH_FINISHED,
    game_named,
    gumbel_of_mctx,
    options_of,
    positions_with_an_end,
    scaled_network,
    search_all,
    stack,
    static_search,
)


def assert_same(ours: SearchResult, mctxs: SearchResult) -> None:
    """Everything that a result says, and nothing of a finished game."""
    ours, mctxs = (jax.device_get(result.replace(tree=())) for result in (ours, mctxs))
    np.testing.assert_array_equal(ours.visit_counts, mctxs.visit_counts)
    np.testing.assert_array_equal(ours.action, mctxs.action)
    chex.assert_trees_all_close(ours, mctxs, rtol=0, atol=1e-5)
    chex.assert_trees_all_equal(ours.diagnostics, mctxs.diagnostics)
    chex.assert_tree_all_finite(mctxs)
    for result in (ours, mctxs):
        assert not result.visit_counts[WITH_FINISHED].any()
        assert not result.policy[WITH_FINISHED].any()
    assert ours.diagnostics.simulations == (LANES - 1) * ours.visit_counts[0].sum()


@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_puct_equals_mctx(name: str) -> None:
    positions = positions_with_an_end(name)
    ours = search_all(name, positions, SIMULATIONS, c_puct=1.5)
    noise = jnp.zeros(ours.policy.shape)
    assert_same(ours, static_search(name, options_of(loop="mctx"))(stack(positions), 1.5, noise))
    assert ours.diagnostics.finished_leaves > 0


@pytest.mark.parametrize("gumbel_scale", [0.0, 1.0])
@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_gumbel_equals_mctx(name: str, gumbel_scale: float) -> None:
    check_gumbel(name, options_of(algorithm="gumbel"), gumbel_scale)


def check_gumbel(name: str, options: SearchOptions, gumbel_scale: float) -> SearchResult:
    """Both loops with the noise that mctx drew, and its policy with that noise of its own."""
    states = stack(positions_with_an_end(name))
    own, other = (
        static_search(name, dataclasses.replace(options, loop=loop)) for loop in ("tree", "mctx")
    )
    for seed in range(3 if gumbel_scale else 1):
        out = gumbel_of_mctx(name, options)(jax.random.key(seed), states, gumbel_scale)
        noise = out.search_tree.extra_data.root_gumbel
        assert bool(jnp.any(noise != 0)) == (gumbel_scale > 0)
        ours = own(states, 1.0, noise)
        assert_same(ours, other(states, 1.0, noise))
        live = np.arange(LANES) != WITH_FINISHED
        np.testing.assert_array_equal(ours.action[live], out.action[live])
        np.testing.assert_allclose(ours.policy[live], out.action_weights[live], rtol=0, atol=1e-5)
        assert ours.visit_counts[0].sum() == SIMULATIONS - options.root_expansion_counts
    return ours


def test_gumbel_options_equal_mctx() -> None:
    options = options_of(
        algorithm="gumbel",
        root_expansion_counts=True,
        max_considered_actions=2,
        gumbel_rescale=False,
        gumbel_value_scale=0.2,
        gumbel_visit_offset=30.0,
    )
    ours = check_gumbel(SMALL, options, 1.0)
    assert (np.asarray(ours.visit_counts) > 0).sum(-1).max() == 2


def test_gumbel_draws_its_own_noise_and_can_leave_it_out() -> None:
    name, options = "connect_four_5x5", options_of(algorithm="gumbel")
    states = stack(positions_with_an_end(name))

    @jax.jit
    def run(noise_scale: jax.Array) -> SearchResult:
        return core.run(
            game_named(name),
            scaled_network(name, 1.0),
            jax.random.split(jax.random.key(1), LANES),
            states,
            options=options,
            num_simulations=SIMULATIONS,
            noise_scale=noise_scale,
        )

    noisy = jnp.arange(LANES) % 2
    result = run(noisy)
    noise = np.asarray(result.tree.extra_data.root_gumbel)
    assert not noise[::2].any()
    assert (noise[1::2] != 0).all()
    assert len({row.tobytes() for row in noise[1::2]}) == LANES // 2
    quiet = static_search(name, options)(states, 1.0, jnp.zeros_like(noise))
    np.testing.assert_array_equal(result.visit_counts[::2], quiet.visit_counts[::2])


@pytest.mark.parametrize("loop", ["tree", "mctx"])
def test_either_loop_can_be_asked_for(loop: str) -> None:
    """The public function, with a static number of simulations and a network of two outputs."""
    positions = positions_with_an_end(SMALL)
    evaluate = scaled_network(SMALL, 1.0)

    @jax.jit
    def run(key: jax.Array, states: Any) -> SearchResult:
        return search(
            game_named(SMALL),
            lambda x: evaluate(x)[:2],
            key,
            states,
            num_simulations=SIMULATIONS,
            c_puct=1.5,
            loop=loop,
        )

    result = run(jax.random.key(0), stack(positions))
    assert_same(search_all(SMALL, positions, SIMULATIONS, c_puct=1.5), result)
    other_key = run(jax.random.key(1), stack(positions))
    np.testing.assert_array_equal(result.visit_counts, other_key.visit_counts)


@pytest.mark.parametrize(
    "options",
    [
        {
            "dirichlet_fraction": 0.25,
            "exploration": "sqrt_total_plus",
            "forced_playouts": 2.0,
            "q_scale": "unit",
            "root_expansion_counts": True,
            "unvisited_q": 0.6,
        },
        {"algorithm": "gumbel", "gumbel_target": "visits", "gumbel_root_value": "policy"},
    ],
    ids=["puct", "gumbel"],
)
def test_games_of_a_population_are_equal(options: dict[str, Any]) -> None:
    """Self-play to the end, two networks together, positions evaluated three at a time."""

    def play(scale: jax.Array, c: jax.Array, loop: str) -> Any:
        return selfplay.play(
            game_named(SMALL),
            ChunkedEvaluate(scaled_network(SMALL, scale), 3),
            jax.random.split(jax.random.key(2), LANES),
            jnp.arange(LANES) < LANES - 1,
            options=options_of(loop=loop, **options),
            num_simulations=9,
            c_puct=c,
            temperature_plies=4,
        )

    ours, mctxs = (
        jax.jit(jax.vmap(lambda s, c, loop=loop: play(s, c, loop), axis_name=MEMBER_AXIS))(
            jnp.array([1.0, -1.0]), jnp.array([1.0, 2.0])
        )
        for loop in ("tree", "mctx")
    )
    chex.assert_trees_all_equal(ours[0].action, mctxs[0].action)
    chex.assert_trees_all_close(ours[0], mctxs[0], rtol=0, atol=1e-5)
    chex.assert_trees_all_equal(ours[1], mctxs[1])
