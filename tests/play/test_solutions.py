"""What perfect play makes of every move, as a person at the board reads it."""

import sys

import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.play.display import session
from jaxzero.play.display.session import Session
from jaxzero.play.terminal import solutions
from jaxzero.play.terminal.dialogue import Table, respond, start
from jaxzero.solvers import bitbully
from tests.games.sessions import find_game, random_game
from tests.play.test_dialogue import first_legal, type_in

USUAL = "connect_four_6x7"


def after(name: str, *actions: int) -> Session:
    now = session.begin(make_game(name))
    for action in actions:
        now = session.play(now, action)
    return now


def before_the_end(name: str, seed: int, plies: int) -> Session:
    """A random game some plies before its end."""
    game = random_game(name, seed)
    return after(name, *game.actions[: max(0, len(game.actions) - plies)])


@pytest.mark.parametrize("seed", range(6))
def test_best_play_of_both_ends_as_told(seed: int) -> None:
    """The winner places exactly so many more stones, whatever the length of the rest."""
    now = before_the_end("connect_four_4x5", seed, 8)
    best = solutions.solved_moves(now)[0]
    me, mine, others = now.now.to_move, 0, 0
    while not now.now.is_terminal:
        mine, others = mine + (now.now.to_move == me), others + (now.now.to_move != me)
        now = session.play(now, solutions.solved_moves(now)[0].action)
    assert now.now.outcome[me] == np.sign(best.score)
    assert best.margin == (mine if best.score > 0 else others if best.score < 0 else 0)


def test_a_win_at_hand_and_a_loss() -> None:
    now = after(USUAL, *[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 4, 2, 4, 2, 4, 2, 6, 5, 6, 5])
    said = solutions.lines(now)
    assert "win in 1: 5" in said
    assert any(line.startswith("loss in 1:") for line in said)  # three of the other in column 3
    assert any("+1" in line for line in said[:-4])


def test_the_dialogue_has_it() -> None:
    talk, lines = type_in(
        Table(make_game("othello_4x4"), *[first_legal("othello_4x4")] * 2), "solve"
    )
    assert any(line.startswith(("win by", "draw", "loss by")) for line in lines)
    table = Table(make_game("gobang_5x5"), *[first_legal("gobang_5x5")] * 2)
    [line] = type_in(table, "solve")[1]
    assert "has no solver" in line
    over = random_game("othello_4x4", 0)
    table = Table(make_game("othello_4x4"), *[first_legal("othello_4x4")] * 2)
    talk, _ = start(table)
    lines = respond(table, talk._replace(session=over), "solve")[1]
    assert lines == ["the game is over: new, undo, save FILE, or quit"]


def test_the_usual_board_needs_the_extra_at_first_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitbully, "perfect_solver", bitbully.check_installed)
    monkeypatch.setitem(sys.modules, "bitbully", None)
    table = Table(make_game(USUAL), *[first_legal(USUAL)] * 2)
    [line] = type_in(table, "solve")[1]
    assert 'pip install -e ".[solver]"' in line
    long = find_game(USUAL, lambda game: len(game.actions) > 30)
    late = after(USUAL, *long.actions[:-1])
    assert solutions.solved_moves(late)


def test_other_boards_are_solved_when_they_are_small_enough() -> None:
    [line] = type_in(
        Table(make_game("connect_four_6x6"), *[first_legal("connect_four_6x6")] * 2), "solve"
    )[1]
    assert "is solved from stone 12 on, here are 0" in line


def test_the_first_move_of_the_usual_board() -> None:
    pytest.importorskip("bitbully")
    said = solutions.lines(after(USUAL))
    assert said[-4:] == ["win in 21: 4", "draw: 3 5", "loss in 21: 2 6", "loss in 20: 1 7"]
