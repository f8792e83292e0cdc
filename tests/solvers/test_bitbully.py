"""The perfect player of the usual board: against our own solver, known results, and its rivals."""

import random
import sys

import numpy as np
import pytest

from jaxzero import solvers
from jaxzero.games import make_game
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import bitbully
from tests.solvers.test_solvers import start

GAME = make_game("connect_four_6x7")


@pytest.fixture(scope="module")
def perfect() -> bitbully.PerfectSolver:
    pytest.importorskip("bitbully")
    return bitbully.perfect_solver()


def test_scores_are_those_of_our_own_solver(perfect: bitbully.PerfectSolver) -> None:
    states = solvers.sample(GAME, positions=60, plies=range(26, 41), seed=0)
    own = solvers.label(GAME, states)
    theirs = solvers.label(GAME, states, solver=perfect)
    np.testing.assert_array_equal(own.scores, theirs.scores)
    for i, pair in enumerate(solvers.own_and_other(states)):
        assert perfect.score(*pair) == own.scores[i].max()
        assert perfect.result(*pair) == own.value[i]


def test_the_first_move_is_known(perfect: bitbully.PerfectSolver) -> None:
    # The first player wins in the middle with the last but one stone, draws beside it, else loses.
    found = solvers.label(GAME, start(GAME), solver=perfect)
    np.testing.assert_array_equal(found.scores, [[-2, -1, 0, 1, 0, -1, -2]])


def test_samples_are_uniform_among_the_best(perfect: bitbully.PerfectSolver) -> None:
    rng = random.Random(0)
    board = perfect.board()
    for column in (3, 3, 3, 3, 3, 2, 0, 6, 0, 6, 1, 1, 4):  # several best moves, none of them wins
        board.play(column)
    scores = perfect.board_scores(board)
    best = [column for column, score in enumerate(scores) if score == max(scores)]
    counts = np.bincount([perfect.sample_best(board, rng) for _ in range(300)], minlength=7)
    assert set(np.flatnonzero(counts)) == set(best)
    assert counts[best] / 300 == pytest.approx(np.full(len(best), 1 / len(best)), abs=0.12)


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitbully", None)
    with pytest.raises(ConfigError, match=r"\.\[solver\]"):
        bitbully.check_installed()
