"""Visit counts equal those of a plain-Python search, for every game and every option."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import rules
from jaxzero.search.tree import ILLEGAL, Node
from tests.search.common import (
    AGAIN,
    GAMES,
    SMALL,
    check_search,
    options_of,
    search_all,
    various_positions,
    visited_edges,
)


@pytest.mark.parametrize(("num_simulations", "c_puct"), [(25, 1.0), (60, 1.0), (60, 3.0)])
@pytest.mark.parametrize("name", GAMES)
def test_visit_counts_equal(name: str, num_simulations: int, c_puct: float) -> None:
    check_search(name, various_positions(name), num_simulations, c_puct, options_of())


@pytest.mark.parametrize("name", ["reversi_8x8", AGAIN])
def test_a_player_moves_twice_within_those_trees(name: str) -> None:
    result = search_all(name, various_positions(name), 60)
    twice = 0
    for lane in range(2, 4):
        movers = result.tree.extra_data.to_move[lane]
        twice += sum(
            movers[edge.child_index] == edge.parent.to_move
            for edge in visited_edges(name, result, lane)
            if edge.child_index >= 0
        )
    assert twice > 0


VARIATIONS: dict[str, dict[str, Any]] = {
    "unvisited_q": {"unvisited_q": -0.3},
    "unit q": {"q_scale": "unit", "unvisited_q": 0.85},
    "sqrt_total_plus": {"exploration": "sqrt_total_plus"},
    "prior over all": {"renormalise_prior": False},
    "draws cost": {"draw_value": -0.5},
    "discount": {"discount": 0.8},
    "draws pay, unit q": {"draw_value": 0.4, "q_scale": "unit"},
    "draw lost by the asked": {"draw_for_asked": -1.0},
    "draw nearly nothing": {"draw_for_asked": 1e-4},
    "root expansion counts": {"root_expansion_counts": True},
}


@pytest.mark.parametrize("variation", VARIATIONS)
def test_options_have_the_same_effect(variation: str) -> None:
    options = options_of(**VARIATIONS[variation])
    for num_simulations in (25, 60):
        check_search(SMALL, various_positions(SMALL), num_simulations, 1.5, options)


def test_options_of_paper_002_together() -> None:
    options = {"q_scale": "unit", "unvisited_q": 0.85, "exploration": "sqrt_total_plus"}
    options |= {"renormalise_prior": False, "draw_value": -0.2}
    name = "connect_four_5x5"
    check_search(name, various_positions(name), 60, 2.0, options_of(**options))


# Differences of 1e-4 and 1e-5 in the scores change a choice only where two actions nearly tie.
@pytest.mark.parametrize(
    "variation", [v for v in VARIATIONS if v not in ("draw nearly nothing", "sqrt_total_plus")]
)
def test_every_option_changes_something(variation: str) -> None:
    positions = various_positions(SMALL)
    plain = search_all(SMALL, positions, 60, c_puct=1.5)
    varied = search_all(
        SMALL, positions, 60, c_puct=1.5, options=options_of(**VARIATIONS[variation])
    )
    assert (plain.visit_counts != varied.visit_counts).any()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.5 + 0.5 * np.sqrt(4 + 1e-8) / 4, 0.3 * np.sqrt(4 + 1e-8), -np.inf, -0.5 + 0.1]),
        ({"exploration": "sqrt_total_plus"}, [0.5 + 2.00001 / 8, 0.600003, -np.inf, -0.4 + 5e-7]),
        ({"q_scale": "unit", "unvisited_q": 0.9}, [0.75 + 0.25, 0.9 + 0.6, -np.inf, 0.25 + 0.1]),
    ],
)
def test_the_rule_by_hand(options: dict[str, Any], expected: list[float]) -> None:
    node = Node(
        visits=jnp.array([[3, 0, 0, 1]]),
        q=jnp.array([[0.5, 0.0, 0.0, -0.5]]),
        log_prior=jnp.array([[np.log(0.5), np.log(0.3), ILLEGAL, np.log(0.1)]], jnp.float32),
        raw_value=jnp.zeros(1),
    )
    scores = rules.puct_scores(node, jnp.float32(1.0), options_of(**options))
    np.testing.assert_allclose(scores[0], expected, rtol=3e-7)


def test_first_choice_is_the_largest_prior_though_n_is_zero() -> None:
    for exploration in ("sqrt_total", "sqrt_total_plus"):
        node = Node(
            visits=jnp.zeros((1, 3), jnp.int32),
            q=jnp.zeros((1, 3)),
            log_prior=jnp.log(jnp.array([[0.2, 0.5, 0.3]])),
            raw_value=jnp.zeros(1),
        )
        scores = rules.puct_scores(node, jnp.float32(1.0), options_of(exploration=exploration))
        assert int(jnp.argmax(scores[0])) == 1
