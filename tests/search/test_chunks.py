"""Evaluating only what is needed, a few positions at a time, changes what a search costs alone."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.loops import MEMBER_AXIS
from jaxzero.search import ChunkedEvaluate, SearchResult, core
from tests.search.common import (
    LANES,
    SMALL,
    WITH_FINISHED,
    game_named,
    options_of,
    positions_with_an_end,
    scaled_network,
    stack,
)
from tests.small import assert_equal

M = 40


def search(at_once: int, states: Any, active: jax.Array) -> SearchResult:
    """With the stub network, so many positions at a time; 0: all lanes."""
    network = scaled_network(SMALL, 1.0)
    return core.run(
        game_named(SMALL),
        ChunkedEvaluate(network, at_once) if at_once else network,
        jax.random.split(jax.random.key(0), LANES),
        states,
        options=options_of(),
        num_simulations=M,
        c_puct=1.5,
        active=active,
    )


@functools.cache
def compiled(at_once: int) -> Callable[..., SearchResult]:
    return jax.jit(functools.partial(search, at_once))


def searched(result: SearchResult, active: np.ndarray) -> Any:
    """All that is said of the active lanes, as stored in their trees too."""
    held = (result.visit_counts, result.policy, result.action, result.value, result.q, result.tree)
    return jax.tree.map(lambda x: np.asarray(x)[active], held)


def some_lanes(seed: int) -> np.ndarray:
    active = np.random.default_rng(seed).random(LANES) < 0.6
    active[0], active[1] = True, False
    active[WITH_FINISHED] = False  # a finished game
    return active


@pytest.mark.usefixtures("as_users_run")
def test_the_search_is_that_of_all_lanes() -> None:
    states = stack(positions_with_an_end(SMALL))
    lanes = some_lanes(0), np.ones(LANES, bool)
    for at_once, active in itertools.product((1, 3, 100), lanes):
        whole = compiled(0)(states, active)
        parts = compiled(at_once)(states, active)
        unfinished = active & (np.arange(LANES) != WITH_FINISHED)
        assert_equal(searched(parts, unfinished), searched(whole, unfinished))
        assert not parts.visit_counts[~unfinished].any()
        assert parts.diagnostics.useful_evaluations == whole.diagnostics.useful_evaluations
        assert whole.diagnostics.evaluations == LANES * (M + 1)


def test_what_is_not_needed_is_not_evaluated() -> None:
    states, active = stack(positions_with_an_end(SMALL)), some_lanes(1)
    alone, by_three = (compiled(n)(states, active).diagnostics for n in (1, 3))
    assert alone.evaluations == alone.useful_evaluations
    assert alone.finished_leaves > 0
    least, most = float(alone.useful_evaluations), float(alone.useful_evaluations) + 2 * (M + 1)
    assert least <= by_three.evaluations <= most
    assert by_three.evaluations % 3 == 0
    nobody = compiled(3)(states, np.zeros(LANES, bool)).diagnostics
    assert nobody.evaluations == 0


@pytest.mark.usefixtures("as_users_run")
def test_members_of_a_population_need_different_numbers() -> None:
    states = stack(positions_with_an_end(SMALL))
    active = np.stack([some_lanes(2), np.arange(LANES) == 0])
    together = jax.jit(
        jax.vmap(functools.partial(search, 3), in_axes=(None, 0), axis_name=MEMBER_AXIS)
    )(states, jnp.asarray(active))
    for j in range(2):
        member = jax.tree.map(lambda x, j=j: x[j], together)
        alone = compiled(3)(states, active[j])
        assert_equal(searched(member, active[j]), searched(alone, active[j]))
        assert member.diagnostics.evaluations == alone.diagnostics.evaluations
