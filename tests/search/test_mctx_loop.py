"""The batched loop and mctx's own search give the same counts, policies and diagnostics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchResult, core, search
from tests.search.common import (
    AGAIN,
    GUMBEL_GAMES,
    LANES,
    SIMULATIONS,
    SMALL,
    WITH_FINISHED,
    batched_gumbel,
    game_named,
    mctx_search,
    options_of,
    positions_with_an_end,
    scaled_network,
    search_all,
    stack,
)


def assert_same(name: str, ours: SearchResult, mctxs: SearchResult) -> None:
    """Everything that a result says, and nothing of a finished game."""
    ours, mctxs = jax.device_get((ours, mctxs))
    np.testing.assert_array_equal(ours.visit_counts, mctxs.visit_counts)
    live = np.arange(LANES) != WITH_FINISHED
    np.testing.assert_array_equal(ours.action[live], mctxs.action[live])
    for field in ("policy", "value", "q"):
        np.testing.assert_allclose(
            getattr(ours, field), getattr(mctxs, field), rtol=0, atol=1e-5, err_msg=field
        )
        assert not np.isnan(getattr(ours, field)).any()
    for result in (ours, mctxs):
        assert not result.visit_counts[WITH_FINISHED].any()
        assert not result.policy[WITH_FINISHED].any()
    counts = {
        field: (getattr(ours.diagnostics, field), getattr(mctxs.diagnostics, field))
        for field in ours.diagnostics.__dataclass_fields__
        if field != "nodes"  # mctx stores finished positions and what it hangs below them
    }
    for field, (own, other) in counts.items():
        assert own == other, field
    assert ours.diagnostics.simulations == (LANES - 1) * ours.visit_counts[0].sum()
    assert (ours.diagnostics.nodes <= mctxs.diagnostics.nodes).all()


@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_puct_equals_mctx(name: str) -> None:
    positions = positions_with_an_end(name)
    ours = search_all(name, positions, SIMULATIONS, c_puct=1.5)
    result = mctx_search(name, options_of())(jax.random.key(0), stack(positions), 1.5, 0.0)
    assert_same(name, ours, result)
    assert ours.diagnostics.finished_leaves > 0


@pytest.mark.parametrize("gumbel_scale", [0.0, 1.0])
@pytest.mark.parametrize("name", GUMBEL_GAMES)
def test_gumbel_equals_mctx(name: str, gumbel_scale: float) -> None:
    options, states = options_of(algorithm="gumbel"), stack(positions_with_an_end(name))
    for seed in range(3 if gumbel_scale else 1):
        result = mctx_search(name, options)(jax.random.key(seed), states, 0.0, gumbel_scale)
        noise = result.tree.extra_data.root_gumbel
        assert bool(jnp.any(noise != 0)) == (gumbel_scale > 0)
        ours = batched_gumbel(name, options)(states, noise)
        assert_same(name, ours, result)
        assert ours.visit_counts[0].sum() == SIMULATIONS


def test_gumbel_options_equal_mctx() -> None:
    options = options_of(algorithm="gumbel", root_expansion_counts=True, max_considered_actions=2)
    states = stack(positions_with_an_end(SMALL))
    for seed in range(4):
        result = mctx_search(SMALL, options)(jax.random.key(seed), states, 0.0, 1.0)
        ours = batched_gumbel(SMALL, options)(states, result.tree.extra_data.root_gumbel)
        assert_same(SMALL, ours, result)
        assert ours.visit_counts[0].sum() == SIMULATIONS - 1
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
    quiet = batched_gumbel(name, options)(states, jnp.zeros_like(noise))
    np.testing.assert_array_equal(result.visit_counts[::2], quiet.visit_counts[::2])


@pytest.mark.parametrize("loop", ["batched", "mctx"])
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
    traced = search_all(SMALL, positions, SIMULATIONS, c_puct=1.5)
    assert_same(SMALL, result if loop == "batched" else traced, result)
    np.testing.assert_array_equal(result.visit_counts, traced.visit_counts)
    other_key = run(jax.random.key(1), stack(positions))
    np.testing.assert_array_equal(result.visit_counts, other_key.visit_counts)
