"""Every action has one name, every name one action, and squares are where stones go."""

import numpy as np
import pytest

from jaxzero.games import GAME_EXAMPLES, make_game
from jaxzero.play.display import boards
from jaxzero.play.display.notation import Notation, make_notation
from tests.games.sessions import random_game

OTHERS = ("gobang_28x28", "racing_kings", "pgx:tic_tac_toe", "pgx:othello")
ON_BOARDS = ("connect_four_4x5", "gobang_5x5", "othello_4x4", "reversi_4x4", "pgx:tic_tac_toe")


@pytest.mark.parametrize("name", [*GAME_EXAMPLES, *OTHERS])
def test_names_and_actions_are_one_to_one(name: str) -> None:
    if name.startswith("pgx:"):
        pytest.importorskip("pgx")
    game = make_game(name)
    notation = make_notation(game)
    assert len(notation.names) == game.num_actions
    assert len(set(notation.names)) == game.num_actions
    assert [notation.read(n) for n in notation.names] == list(range(game.num_actions))
    assert [notation.read(f" {n.upper()} ") for n in notation.names] == list(
        range(len(notation.names))
    )


@pytest.mark.parametrize("name", ON_BOARDS)
def test_a_move_fills_the_square_of_its_name(name: str) -> None:
    if name.startswith("pgx:"):
        pytest.importorskip("pgx")
    for seed in range(3):
        played = random_game(name, seed)
        notation = make_notation(played.game)
        history = [boards.stones(played.game, p.state) for p in played.positions]
        for before, after, action in zip(history[:-1], history[1:], played.actions, strict=True):
            assert notation.square(action, before) == boards.placed(before, after)


@pytest.mark.parametrize(
    ("game", "text", "action"),
    [
        ("connect_four_6x7", "1", 0),
        ("connect_four_6x7", "7", 6),
        ("connect_four_6x7", "0", None),
        ("connect_four_6x7", "8", None),
        ("othello_6x6", "a1", 0),
        ("othello_6x6", "F1", 5),
        ("othello_6x6", "a2", 6),
        ("othello_6x6", "c4", 20),
        ("othello_6x6", "pass", 36),
        ("othello_6x6", "g1", None),
        ("othello_6x6", "a7", None),
        ("othello_6x6", "20", None),
        ("othello_6x6", "", None),
        ("reversi_8x8", "h8", 63),
        ("reversi_8x8", "pass", None),
        ("gobang_28x28", "aa1", 26),
        ("gobang_28x28", "ab28", 783),
    ],
)
def test_texts_are_read(game: str, text: str, action: int | None) -> None:
    assert make_notation(make_game(game)).read(text) == action


def test_labels_are_those_of_the_names() -> None:
    squares = make_notation(make_game("gobang_5x5"))
    assert squares.names[1 * 5 + 2] == squares.column_labels[2] + squares.row_labels[1] == "c2"
    columns = make_notation(make_game("connect_four_6x7"))
    assert columns.column_labels == columns.names
    assert set(columns.row_labels) == {""}


def test_actions_of_other_games_are_numbers() -> None:
    class Plain:
        """A game of no known family."""

        num_actions = 12

    notation = make_notation(Plain())
    assert notation.names == tuple(map(str, range(12)))
    assert (notation.read("11"), notation.read("12"), notation.read("a1")) == (11, None, None)


def test_a_full_column_and_a_pass_have_no_square() -> None:
    assert make_notation(make_game("connect_four_3x3_line3")).square(0, np.ones((3, 3))) is None
    assert make_notation(make_game("othello_4x4")).square(16, np.zeros((4, 4))) is None


def test_long_lists_of_moves_are_cut() -> None:
    notation = Notation(tuple(map(str, range(100))), "a number")
    legal = np.arange(100) >= 50
    assert notation.list_legal(legal) == " ".join(map(str, range(50, 90))) + " and 10 more"
    assert notation.list_legal(legal & (np.arange(100) < 52)) == "50 51"
