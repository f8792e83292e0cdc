"""A draw that is worth something to both sides, and the scalar that cannot express it."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from jaxzero.search import SearchResult
from tests.oracles.mcts_games import Position
from tests.oracles.perfect_play import solve
from tests.search.common import (
    LANES,
    SMALL,
    game_named,
    options_of,
    oracle_game,
    random_game,
    search_all,
    stack,
    static_search,
    various_positions,
)

FULL = 9  # plies of a drawn game: the board is full


def drawn_game() -> tuple[Position, ...]:
    """A random game that ends in a draw, and could not end otherwise in its last three plies."""
    game = oracle_game(SMALL)
    for seed in range(400):
        positions = random_game(SMALL, seed)
        if positions[-1].outcome != (0.0, 0.0):
            continue
        todo, forced = [positions[-4]], True
        while todo and forced:
            position = todo.pop()
            if position.terminal:
                forced = position.outcome == (0.0, 0.0)
            else:
                actions = np.flatnonzero(position.legal).tolist()
                todo += [game.step(position, action) for action in actions]
        if forced:
            return positions
    raise AssertionError("no such game")


def search_last_plies(**options: Any) -> SearchResult:
    """Lanes 0, 1, 2: one, two and three plies before the draw, by a network that knows nothing."""
    positions = drawn_game()
    assert len(positions) == FULL + 1
    assert [p.to_move for p in positions[-4:-1]] == [0, 1, 0]
    last = [positions[-2], positions[-3], positions[-4]]
    return search_all(SMALL, last, 200, scale=0.0, options=options_of(**options))


@pytest.mark.parametrize("worth", [-0.5, 0.4])
def test_a_drawn_leaf_is_worth_the_same_to_both_sides(worth: float) -> None:
    result = search_last_plies(draw_value=worth, q_scale="unit" if worth > 0 else "signed")
    q = [result.q[lane][result.visit_counts[lane] > 0] for lane in range(3)]
    assert q[0].tolist() == [pytest.approx(worth, abs=1e-5)]  # a mean of 200 equal numbers, rounded
    for lane in (1, 2):  # a few visits saw the network's 0 and not the end
        assert q[lane].mean() == pytest.approx(worth, abs=0.1)
    np.testing.assert_allclose(result.value, worth, atol=0.1)


def test_a_scalar_costs_one_side_what_it_gives_to_the_other() -> None:
    result = search_last_plies(draw_for_asked=-1.0)  # the second player is asked at the end
    assert result.value[0] > 0.9
    assert result.value[1] < -0.9
    assert result.value[2] > 0.9


def test_the_truth_costs_nobody() -> None:
    np.testing.assert_array_equal(search_last_plies().value, [0, 0, 0])


def test_parent_and_grandparent_both_fall() -> None:
    plain, costly = search_last_plies(), search_last_plies(draw_value=-0.5)
    assert (costly.value < plain.value - 0.4).all()


def positions_to_save() -> list[Position]:
    """One for either player, in which every move draws or loses, and some do the one or other."""
    game = oracle_game(SMALL)
    memo: dict[Hashable, float] = {}
    found: dict[int, Position] = {}
    for seed in range(60):
        for position in random_game(SMALL, seed)[4:-1]:
            worths = set()
            for action in np.flatnonzero(position.legal).tolist():
                worths.add(-solve(game, game.step(position, action), memo))
            if worths == {-1.0, 0.0}:
                found.setdefault(position.to_move, position)
    return [found[0], found[1]]


def test_even_a_costly_draw_is_better_than_a_defeat_for_either_player() -> None:
    game, positions = oracle_game(SMALL), positions_to_save()
    options = options_of(draw_value=-0.5)
    result = search_all(SMALL, positions, 200, scale=0.0, options=options)
    for lane, position in enumerate(positions):
        assert solve(game, game.step(position, int(result.action[lane]))) == 0
        assert result.value[lane] == pytest.approx(-0.5, abs=0.15)


def test_the_networks_draw_probability_counts() -> None:
    """One simulation: Q is minus the leaf's value plus the worth of its draw probability."""
    positions = random_game(SMALL, 1)[:3]
    options = options_of(draw_value=-0.5, backs_up_draws=True)
    result = search_all(SMALL, positions, 1, options=options)
    game = oracle_game(SMALL)
    for lane, position in enumerate(positions):
        action = int(np.argmax(result.visit_counts[lane]))
        _, value, draw = game.evaluate(game.step(position, action))
        _, own_value, own_draw = game.evaluate(position)
        assert draw > 0.01
        q = -value - 0.5 * draw
        assert result.q[lane, action] == pytest.approx(q, abs=1e-6)
        root = (own_value - 0.5 * own_draw + q) / 2
        assert result.value[lane] == pytest.approx(root, abs=1e-6)
        assert result.draw[lane] == pytest.approx((own_draw + draw) / 2, abs=1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_what_a_draw_is_worth_can_be_taken_out_of_the_value(known: bool) -> None:
    """A search that does not look at Q finds the same wins, draws and losses at any worth."""
    found = []
    for worth in (0.0, 0.4):
        options = options_of(draw_value=worth, backs_up_draws=True, propagate_results=known)
        result = search_all(SMALL, various_positions(SMALL), 60, c_puct=1e9, options=options)
        found.append((result.value - worth * result.draw, result.draw))
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    value, draw = found[0]
    assert (np.abs(value) + draw <= 1 + 1e-5).all()
    assert draw.max() > 0.2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"propagate_results": True},
        {"algorithm": "gumbel", "gumbel_root_value": "policy"},
    ],
)
def test_a_draw_that_is_sure_is_a_draw_for_both(options: dict[str, Any]) -> None:
    positions = drawn_game()[-2:-1]
    if "algorithm" in options:
        search = static_search(SMALL, options_of(draw_value=0.4, backs_up_draws=True, **options))
        states = stack(positions * LANES)
        result = search(states, 1.0, np.zeros((LANES, game_named(SMALL).num_actions)))
    else:
        own = options_of(draw_value=0.4, backs_up_draws=True, **options)
        result = search_all(SMALL, positions, 60, options=own)
    _, value, draw = oracle_game(SMALL).evaluate(positions[0])
    weight = 0.0 if options else 1 / 61  # of the network's own word on the root
    np.testing.assert_allclose(result.draw, 1 - weight * (1 - draw), atol=1e-5)
    np.testing.assert_allclose(result.value - 0.4 * result.draw, weight * value, atol=1e-5)
