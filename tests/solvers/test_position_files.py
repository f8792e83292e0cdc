"""Positions from files in the common notation of Connect Four: read, solved, or refused."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero import solvers
from jaxzero.games import ConnectFour, make_game
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import ILLEGAL, position_files

USUAL = make_game("connect_four_6x7")
# The first lines of a test set that solvers of the usual board share.
SHARED = """\
2252576253462244111563365343671351441 -1
7422341735647741166133573473242566 1

23163416124767223154467471272416755633 0
"""


def file_of(folder: Path, text: str) -> Path:
    path = folder / "positions.txt"
    path.write_text(text)
    return path


def test_shared_positions_are_read_and_solved(tmp_path: Path) -> None:
    found = solvers.read_positions(file_of(tmp_path, SHARED), USUAL)
    np.testing.assert_array_equal(found.plies, [37, 34, 38])
    np.testing.assert_array_equal(found.value, [-1, 1, 0])
    np.testing.assert_array_equal(found.scores.max(axis=1), [-1, 1, 0])
    for row, moves in enumerate(line.split()[0] for line in SHARED.splitlines() if line):
        state = USUAL.init()
        for move in moves:
            state = USUAL.step(state, jnp.int32(int(move) - 1))
        np.testing.assert_array_equal(found.states.stones[row], state.stones)
        legal = np.asarray(USUAL.legal_actions(state))
        np.testing.assert_array_equal(found.scores[row] != ILLEGAL, legal)


def test_without_a_solver_only_the_value_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_files, "solver_from", lambda game, ply: None)
    found = solvers.read_positions(file_of(tmp_path, SHARED), USUAL)
    np.testing.assert_array_equal(found.value, [-1, 1, 0])
    assert not found.contested.any()


def test_scores_of_an_odd_number_of_empty_squares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who moves first has the last stone but one then: 35 are empty, a win at once is 18."""
    monkeypatch.setattr(position_files, "solver_from", lambda game, ply: None)
    found = solvers.read_positions(file_of(tmp_path, "1727471 18\n1727471 -17\n"), USUAL)
    np.testing.assert_array_equal(found.value, [1, -1])
    with pytest.raises(ConfigError, match="a score from -17 to 18 is expected"):
        solvers.read_positions(file_of(tmp_path, "1727471 -18\n"), USUAL)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("44 x", "columns as digits from 1, a space and a score are expected"),
        ("4 4 1", "columns as digits from 1"),
        ("405 1", "columns as digits from 1"),
        ("48 1", "48 1: columns from 1 to 7 are expected"),
        ("4444444 1", "at most 6 stones in a column are expected"),
        ("44 21", "a score from -20 to 20 is expected"),
        ("1212121 18", "an unfinished position is expected"),
        ("12121212 17", "an unfinished position is expected"),
        ("2252576253462244111563365343671351441 0", "its exact score is -1"),
    ],
)
def test_a_bad_line_is_named_with_what_is_expected(
    line: str, expected: str, tmp_path: Path
) -> None:
    path = file_of(tmp_path, SHARED + line + "\n")
    with pytest.raises(ConfigError, match=r"positions\.txt, line 5: ") as refused:
        solvers.read_positions(path, USUAL)
    assert expected in str(refused.value)


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read as text"):
        solvers.read_positions(tmp_path / "none.txt", USUAL)
    with pytest.raises(ConfigError, match="holds no position"):
        solvers.read_positions(file_of(tmp_path, "\n"), USUAL)
    for game in (make_game("othello_6x6"), ConnectFour(4, 10)):
        with pytest.raises(ConfigError, match="at most 9 columns"):
            solvers.read_positions(file_of(tmp_path, SHARED), game)
