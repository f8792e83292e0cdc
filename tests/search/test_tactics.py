"""Forced wins and defences are found by a network that knows nothing, for either player."""

import numpy as np
import pytest

from tests.oracles.mcts_games import Position
from tests.oracles.perfect_play import best_actions, solve
from tests.search.common import (
    AGAIN,
    SMALL,
    oracle_game,
    play,
    random_game,
    search_all,
)

CONNECT_FOUR = "connect_four_6x7"

# Moves from the start, the only good answer.
WINS = {
    "row, first player": ([0, 6, 1, 6, 2, 5], 3),
    "row, second player": ([6, 0, 6, 1, 5, 2, 5], 3),
    "column": ([4, 0, 4, 1, 4, 0], 4),
    "diagonal": ([0, 1, 1, 2, 2, 3, 2, 3, 3, 6], 3),
    "gap": ([0, 6, 1, 6, 3, 5], 2),
}
DEFENCES = {
    "row, second player": ([0, 6, 1, 6, 2], 3),
    "column, second player": ([4, 0, 4, 1, 4], 4),
    "column, first player": ([0, 4, 1, 4, 6, 4], 4),
    "gap, first player": ([6, 0, 6, 1, 5, 3], 2),
}
# An open row of two, to which a third stone makes two threats at once.
DOUBLE_THREAT = ([2, 2, 3, 3], (1, 4))


@pytest.mark.parametrize("num_simulations", [10, 60])
def test_a_win_at_hand_is_taken(num_simulations: int) -> None:
    positions = [play(CONNECT_FOUR, moves) for moves, _ in WINS.values()]
    result = search_all(CONNECT_FOUR, positions, num_simulations, scale=0.0)
    answers = [answer for _, answer in WINS.values()]
    assert result.action.tolist() == answers
    for lane, answer in enumerate(answers):
        assert result.q[lane, answer] == 1
        assert result.value[lane] > 0


def test_a_threat_is_parried() -> None:
    positions = [play(CONNECT_FOUR, moves) for moves, _ in DEFENCES.values()]
    result = search_all(CONNECT_FOUR, positions, 250, scale=0.0)
    answers = [answer for _, answer in DEFENCES.values()]
    assert result.action.tolist() == answers
    for lane, answer in enumerate(answers):
        others = np.delete(result.q[lane], answer)
        assert others.max() < min(0.0, result.q[lane, answer])


def test_a_double_threat_is_made_and_its_value_has_the_right_sign() -> None:
    moves, answers = DOUBLE_THREAT
    before = play(CONNECT_FOUR, moves)
    after = play(CONNECT_FOUR, [*moves, answers[1]])
    shifted = play(CONNECT_FOUR, [6, *moves])  # the same for the second player
    result = search_all(CONNECT_FOUR, [before, after, shifted], 250, scale=0.0)
    assert result.action[0] in answers
    assert result.action[2] in answers
    assert result.value[0] > 0.2
    assert result.value[1] < -0.2
    assert result.value[2] > 0.2


def decided_positions(name: str, plies_left: int) -> list[Position]:
    """Positions near the end of random games in which the choice of a move matters."""
    game, found = oracle_game(name), []
    for seed in range(60):
        positions = random_game(name, seed)
        position = positions[max(0, len(positions) - 1 - plies_left)]
        if len(best_actions(game, position)) < position.legal.sum():
            found.append(position)
        if len(found) == 8:
            break
    return found


@pytest.mark.parametrize(("name", "plies_left"), [(SMALL, 4), (AGAIN, 5)])
def test_the_choice_is_among_the_best_of_perfect_play(name: str, plies_left: int) -> None:
    game, positions = oracle_game(name), decided_positions(name, plies_left)
    assert len(positions) >= 6
    assert {position.to_move for position in positions} == {0, 1}
    result = search_all(name, positions, 250, scale=0.0)
    for lane, position in enumerate(positions):
        assert result.action[lane] in best_actions(game, position)
        assert result.value[lane] == pytest.approx(solve(game, position), abs=0.5)
