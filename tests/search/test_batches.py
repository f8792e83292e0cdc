"""A game's search depends on nothing but itself: not on its batch, not on its population."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jax_core

from jaxzero.loops import MEMBER_AXIS
from jaxzero.search import SearchOptions, SearchResult, core
from tests.search.common import (
    AGAIN,
    LANES,
    SMALL,
    game_named,
    options_of,
    oracle_game,
    random_game,
    scaled_network,
    search_all,
    stack,
    various_positions,
)
from tests.small import assert_close, assert_equal

PER_GAME = ("visit_counts", "policy", "action", "value", "q")
OPTIONS = (options_of(), options_of(propagate_results=True))


def lanes(result: SearchResult, order: Any) -> list[Any]:
    """What the result says of some lanes, trees included."""
    parts = [getattr(result, field) for field in PER_GAME] + [result.tree]
    return jax.tree.map(lambda x: x[np.asarray(order)], parts)


@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_other_games_in_the_batch_do_not_matter(name: str) -> None:
    positions = various_positions(name)
    whole = search_all(name, positions, 60)
    order = np.random.default_rng(0).permutation(LANES)
    permuted = search_all(name, [positions[i] for i in order], 60)
    assert_equal(lanes(permuted, range(LANES)), lanes(whole, order))
    for lane in (0, 3):
        alone = search_all(name, [positions[lane]] * LANES, 60)
        assert_equal(lanes(alone, range(LANES)), lanes(whole, [lane] * LANES))
    with_ends = [random_game(name, 0)[-1] if i % 2 else positions[i] for i in range(LANES)]
    mixed = search_all(name, with_ends, 60)
    assert_equal(lanes(mixed, range(0, LANES, 2)), lanes(whole, range(0, LANES, 2)))


def test_lanes_that_are_not_active_are_not_searched() -> None:
    positions = various_positions(SMALL)
    active = np.arange(LANES) % 3 == 0
    whole, some = search_all(SMALL, positions, 60), search_all(SMALL, positions, 60, active=active)
    assert_equal(lanes(some, active), lanes(whole, active))
    none = search_all(SMALL, positions, 60, active=np.zeros(LANES, bool))
    assert_equal(lanes(some, ~active), lanes(none, ~active))
    assert not some.visit_counts[~active].any()
    assert not some.policy[~active].any()
    evaluated = [oracle_game(SMALL).evaluate(position)[1] for position in positions]
    np.testing.assert_allclose(none.value, evaluated, atol=1e-6)
    assert some.diagnostics.simulations == active.sum() * 60
    assert none.diagnostics.useful_evaluations == 0


def member_search(
    options: SearchOptions, scale: jax.Array, m: jax.Array, states: Any
) -> SearchResult:
    """The search of one member of a population."""
    return core.run(
        game_named(SMALL),
        scaled_network(SMALL, scale),
        jax.random.split(jax.random.key(0), LANES),
        states,
        options=options,
        num_simulations=m,
        c_puct=1.5,
    )


@functools.cache
def population_search(axis: str | None, options: SearchOptions) -> Any:
    """The search of several members, under vmap."""
    search = functools.partial(member_search, options)
    return jax.vmap(search, (0, 0, None), axis_name=axis)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("options", OPTIONS)
def test_a_population_equals_its_members(options: SearchOptions) -> None:
    positions = various_positions(SMALL)
    scales, simulations = np.array([1.0, -1.0, 0.0, 1.0], np.float32), np.array([60, 60, 25, 7])
    together = jax.device_get(
        jax.jit(population_search(MEMBER_AXIS, options))(scales, simulations, stack(positions))
    )
    for member, (scale, m) in enumerate(zip(scales, simulations.tolist(), strict=True)):
        alone = search_all(SMALL, positions, m, scale=float(scale), c_puct=1.5, options=options)
        own = jax.tree.map(lambda x, i=member: x[i], together)
        np.testing.assert_array_equal(own.visit_counts.sum(-1), m)
        # Two programs, which XLA may round differently (JAX 0.7.2 does); counts are whole numbers.
        assert_close(lanes(own, range(LANES)), lanes(alone, range(LANES)), 1e-6)
        for field in ("useful_evaluations", "finished_leaves", "depth_sum", "depth_max"):
            assert getattr(own.diagnostics, field) == getattr(alone.diagnostics, field)
    assert (together.visit_counts[0] != together.visit_counts[1]).any()


def loop_conditions(jaxpr: jax_core.Jaxpr) -> list[tuple[int, ...]]:
    """Shapes of the conditions of all while loops, those in inner functions too."""
    shapes = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "while":
            shapes += [x.shape for x in equation.params["cond_jaxpr"].out_avals]
        for parameter in equation.params.values():
            if isinstance(parameter, jax_core.ClosedJaxpr):
                shapes += loop_conditions(parameter.jaxpr)
    return shapes


@pytest.mark.parametrize("options", OPTIONS)
def test_a_population_shares_its_loop_conditions(options: SearchOptions) -> None:
    """A condition that is batched selects over the whole tree in every turn."""
    states = stack(various_positions(SMALL))
    arguments = (jnp.ones(2), jnp.array([5, 7]), states)
    shared = jax.make_jaxpr(population_search(MEMBER_AXIS, options))(*arguments)
    batched = jax.make_jaxpr(population_search(None, options))(*arguments)
    assert loop_conditions(shared.jaxpr) == [()] * 3  # simulations, descent, backup
    assert loop_conditions(batched.jaxpr) == [(2,)] * 3
