"""Numbers that differ between the games of a batch: each game is searched as with its own."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchResult, core
from jaxzero.search.options import Numbers, SearchOptions
from tests.search.common import (
    LANES,
    SIMULATIONS,
    SMALL,
    game_named,
    options_of,
    scaled_network,
    stack,
    various_positions,
)

EACH = ((0.5, 3), (0, 0.9), (-0.8, 0.6), (0.5, 8), (-3, -5))
TWO = Numbers(*(jnp.array(x, jnp.float32) for x in EACH))


@functools.cache
def program(options: SearchOptions, by_game: bool) -> Any:
    def run(states: Any, c: Any, numbers: Any) -> SearchResult:
        return core.run(
            game_named(SMALL),
            scaled_network(SMALL, 1.0),
            jax.random.split(jax.random.key(0), LANES),
            states,
            options=options.of_games(numbers) if by_game else options,
            num_simulations=SIMULATIONS,
            c_puct=c,
        )

    return jax.jit(run)


@pytest.mark.parametrize("propagate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_each_game_is_searched_with_its_own_numbers(propagate: bool) -> None:
    noisy: dict[str, Any] = {
        "q_scale": "unit",
        "dirichlet_fraction": 0.25,
        "ties": "random",
        "kld_step": 6,
    }
    options = options_of(propagate_results=propagate, **noisy)
    states = stack(various_positions(SMALL))
    whose = np.arange(LANES) % 2
    numbers = Numbers(*(x[whose] for x in TWO))
    together = program(options, True)(states, numbers.c_puct, numbers)
    differ = 0
    for one in (0, 1):
        own = Numbers(*(float(x[one]) for x in TWO))
        values = {k: v for k, v in own._asdict().items() if k != "c_puct"}
        alone = program(dataclasses.replace(options, **values), False)(states, own.c_puct, None)
        lanes = whose == one
        np.testing.assert_array_equal(together.visit_counts[lanes], alone.visit_counts[lanes])
        np.testing.assert_allclose(together.value[lanes], alone.value[lanes], atol=1e-6)
        differ += (together.visit_counts[~lanes] != alone.visit_counts[~lanes]).sum()
    assert differ > 0
