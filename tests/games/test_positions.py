"""Single positions in which rules are easily wrong."""

import numpy as np
import pytest

from jaxzero.games import make_game
from tests.games.boards import board, legal, play

FIRST_WINS, SECOND_WINS, DRAW = [1, -1], [-1, 1], [0, 0]


def ended(name, actions):
    """(board, outcome) of a game that must be over after these actions, and not before."""
    game = make_game(name)
    assert not game.is_terminal(play(game, actions[:-1]))
    state = play(game, actions)
    assert game.is_terminal(state)
    assert legal(game, state) == []
    return board(game, state), np.asarray(game.outcome(state)).tolist()


LAST_SQUARE = {
    "connect_four_3x3_line3": ([0, 2, 1, 2, 2, 1, 0, 1, 0], FIRST_WINS),
    "connect_four_4x5": (
        [4, 3, 1, 0, 4, 3, 4, 1, 1, 0, 1, 4, 0, 2, 2, 2, 2, 0, 3, 3],
        SECOND_WINS,
    ),
    "gobang_3x3_line3": ([5, 8, 2, 0, 7, 3, 4, 1, 6], FIRST_WINS),
    "gobang_5x5": (
        [5, 22, 4, 11, 1, 24, 20, 18, 2, 0, 16, 12, 9, 10, 7, 15, 6, 17, 13, 3, 23, 19, 14, 21, 8],
        FIRST_WINS,  # with a line of five, where four are enough
    ),
}


@pytest.mark.parametrize("name", LAST_SQUARE)
def test_a_line_on_the_last_empty_square_wins(name):
    actions, outcome = LAST_SQUARE[name]
    rows, found = ended(name, actions)
    assert "." not in "".join(rows)
    assert found == outcome


FULL_BOARD = {
    "connect_four_4x4": [1, 0, 1, 3, 1, 1, 3, 2, 3, 2, 0, 3, 0, 2, 2, 0],
    "gobang_3x3_line3": [1, 7, 6, 4, 3, 5, 2, 0, 8],
}


@pytest.mark.parametrize("name", FULL_BOARD)
def test_a_full_board_without_a_line_is_a_draw(name):
    rows, outcome = ended(name, FULL_BOARD[name])
    assert "." not in "".join(rows)
    assert outcome == DRAW


def test_lines_do_not_wrap_round_the_edge():
    # Squares 3, 4, 5, 6 follow each other in number, over the end of a row of five.
    game = make_game("gobang_5x5")
    assert not game.is_terminal(play(game, [3, 20, 4, 21, 5, 23, 6]))
    assert game.is_terminal(play(game, [1, 20, 2, 21, 3, 23, 4]))


def test_a_longer_line_wins_too():
    rows, outcome = ended("gobang_6x6_line5", [0, 6, 1, 7, 2, 8, 4, 9, 5, 12, 3])
    assert rows[0] == "XXXXXX"
    assert outcome == FIRST_WINS


def test_stones_fall_and_full_columns_close():
    game = make_game("connect_four_6x7")
    state = play(game, [3] * 6)
    assert [row[3] for row in board(game, state)] == list("OXOXOX")
    assert legal(game, state) == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("othello_4x4", ["....", ".OX.", ".XO.", "...."]),
        ("othello_5x5", [".....", ".OX..", ".XO..", ".....", "....."]),
        ("othello_7x7", [".......", ".......", "..OX...", "..XO...", *["......."] * 3]),
    ],
)
def test_the_starting_block_lies_to_the_upper_left_on_odd_boards(name, rows):
    game = make_game(name)
    assert board(game, game.init()) == rows


def test_reversi_starts_with_black_on_the_rising_diagonal():
    # Paper 004's environment: black (first) at (3, 4) and (4, 3), white at (3, 3) and (4, 4).
    game = make_game("reversi_8x8")
    rows = board(game, game.init())
    assert (rows[3][4], rows[4][3], rows[3][3], rows[4][4]) == ("X", "X", "O", "O")


def test_othello_ends_when_neither_side_can_move_though_squares_are_empty():
    rows, outcome = ended("othello_4x4", [4, 8, 12, 0, 2, 16, 15])
    assert rows == ["O.X.", "XXX.", "XXX.", "X..X"]
    assert outcome == FIRST_WINS


def test_othello_ends_when_one_side_has_no_stone_left():
    rows, outcome = ended("othello_4x4", [11, 13, 12, 7, 3, 2, 1, 8, 14, 16, 4])
    assert rows == [".XXX", "XXXX", "XXXX", "XXX."]
    assert outcome == FIRST_WINS


def test_othello_wiped_out_after_nine_stones():
    # The shortest game on the usual board: e6 f4 e3 f6 g5 d6 e7 f5 c5.
    squares = [(5, 4), (3, 5), (2, 4), (5, 5), (4, 6), (5, 3), (6, 4), (4, 5), (4, 2)]
    rows, outcome = ended("othello_8x8", [8 * row + column for row, column in squares])
    assert "O" not in "".join(rows)
    assert outcome == FIRST_WINS


@pytest.mark.parametrize(
    ("name", "actions"),
    [("othello_4x4", [1, 2, 11, 0]), ("othello_6x6", [13, 7, 1, 16, 17, 11, 27, 23])],
)
def test_a_player_without_a_move_must_pass(name, actions):
    game = make_game(name)
    state = play(game, actions)
    passing = game.num_actions - 1
    assert legal(game, state) == [passing]
    after = play(game, [*actions, passing])
    assert board(game, after) == board(game, state)
    assert game.to_move(after) == 1 - game.to_move(state)
    assert passing not in legal(game, after)
    assert not game.is_terminal(after)


EQUAL_COUNTS = {
    "othello_4x4": "14 13 0 3 2 1 12 7 16 15 11",
    "othello_6x6": (
        "8 9 4 19 22 7 18 26 6 23 29 3 17 13 28 25 27 33 24 31 16 0 32 35 10 2 1 5 30 11 34 12"
    ),
}


@pytest.mark.parametrize("name", EQUAL_COUNTS)
def test_equal_counts_are_a_draw(name):
    # The authors' program gave no draws in Othello; the true result is one.
    rows, outcome = ended(name, [int(action) for action in EQUAL_COUNTS[name].split()])
    assert "".join(rows).count("X") == "".join(rows).count("O")
    assert outcome == DRAW


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("reversi_4x4", [14, 13, 4, 15]),
        ("reversi_6x6", [13, 9, 22, 12, 8, 7, 4, 29, 6, 1, 2, 3, 18, 19, 0]),
    ],
)
def test_reversi_gives_the_turn_back(name, actions):
    game = make_game(name)
    before, state = play(game, actions[:-1]), play(game, actions)
    assert not game.is_terminal(state)
    assert game.to_move(state) == game.to_move(before)
    assert legal(game, state)
    # In Othello the same player has the same moves, after the other one's pass.
    othello = make_game(name.replace("reversi", "othello"))
    passed = play(othello, [*actions, othello.num_actions - 1])
    assert board(othello, passed) == board(game, state)
    assert legal(othello, passed) == legal(game, state)


def test_the_three_encodings_say_the_same():
    actions = [3, 3, 2]
    observed = {}
    for encoding in ("planes", "signed", "cells"):
        game = make_game("connect_four_6x7", observation=encoding)
        observed[encoding] = np.asarray(game.observe(play(game, actions)))
        assert observed[encoding].shape == game.observation_shape
    own, other = observed["planes"][..., 0], observed["planes"][..., 1]
    # Player 1 is to move and owns the one stone in row 4.
    assert (own.sum(), other.sum(), own[4, 3], other[5, 3]) == (1, 2, 1, 1)
    np.testing.assert_array_equal(observed["signed"][..., 0], own - other)
    expected = np.where(own, 1, np.where(other, 2, 3))
    np.testing.assert_array_equal(observed["cells"][..., 0], expected)


def test_the_board_is_shown_to_people():
    game = make_game("connect_four_6x7")
    text = game.render(play(game, [3, 3]))
    assert [line.split()[4] for line in text.splitlines()[5:7]] == ["O", "X"]
    assert text.endswith("X to move")
    assert game.render(play(game, [0, 1] * 3 + [0])).endswith("X has won")
