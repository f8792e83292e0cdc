"""The solvers against brute force by the rules of `jaxzero.games`, and against known results."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxzero import solvers
from jaxzero.games import Game, make_game
from jaxzero.settings.config import ConfigError
from jaxzero.solvers.bounds import Bounds
from jaxzero.solvers.connect_four import ConnectFourSolver
from jaxzero.solvers.othello import OthelloSolver
from tests.solvers import brute_force


def start(game: Game) -> Any:
    return jax.tree.map(lambda x: np.asarray(x)[None], game.init())


def pick(states: Any, which: np.ndarray) -> Any:
    return jax.tree.map(lambda x: x[which], states)


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        # Numbers of legal positions, finished ones included: tromp.github.io/c4/c4.html.
        ("connect_four_4x4", 161_029),
        pytest.param("connect_four_5x4", 1_706_255, marks=pytest.mark.slow),
        pytest.param("connect_four_4x5", 3_945_711, marks=pytest.mark.slow),
        ("othello_4x4", None),
    ],
)
def test_the_whole_of_a_small_board(name: str, positions: int | None) -> None:
    game = make_game(name)
    states, scores, finished = brute_force.reachable(game, start(game))
    if positions is not None:
        assert len(scores) + finished == positions
    which = np.random.default_rng(0).choice(len(scores), 2000, replace=False)
    labelled = solvers.label(game, pick(states, which))
    np.testing.assert_array_equal(labelled.scores, scores[which])


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("connect_four_5x4", 12),
        ("connect_four_4x5", 12),
        ("connect_four_6x7", 9),
        ("othello_5x5", 6),
        ("othello_6x6", 6),
        pytest.param("othello_8x8", 5, marks=pytest.mark.slow),
    ],
)
def test_late_positions(name: str, empty: int) -> None:
    game = make_game(name)
    squares = int(np.prod(game.observation_shape[:2]))
    last = squares - int(solvers.stones_placed(game.init()))
    states = solvers.sample(game, positions=40, plies=range(last - empty, last), seed=1)
    labelled = solvers.label(game, states)
    np.testing.assert_array_equal(labelled.scores, brute_force.action_scores(game, states))
    legal = jax.vmap(game.legal_actions)(states)
    np.testing.assert_array_equal(labelled.legal, legal)
    solver = solvers.solver_of(game)
    for pair, scores in zip(solvers.own_and_other(states), labelled.scores, strict=True):
        assert solver.score(*pair) == scores.max()
        assert solver.result(*pair) == np.sign(scores.max())


@pytest.mark.parametrize(
    ("rows", "columns", "result"),
    [(4, 4, 0), (4, 5, 0), (5, 4, 0), (4, 6, -1), (5, 5, 0)],
)
def test_known_results_of_connect_four(rows: int, columns: int, result: int) -> None:
    """As solved by Tromp; rows x columns."""
    assert ConnectFourSolver(rows, columns).result(0, 0) == result


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), [(5, 6), (6, 5)])
def test_boards_of_thirty_squares_are_drawn(rows: int, columns: int) -> None:
    assert ConnectFourSolver(rows, columns).result(0, 0) == 0


def test_othello_on_4x4_is_won_by_the_second_player_with_11_to_3() -> None:
    game = make_game("othello_4x4")
    ((own, other),) = solvers.own_and_other(start(game))
    assert OthelloSolver(4).score(own, other) == 3 - 11


def test_a_pass_is_scored_like_the_position_after_it() -> None:
    game = make_game("othello_4x4")
    states, scores, _ = brute_force.reachable(game, start(game))
    must_pass = scores[:, -1] != solvers.ILLEGAL
    assert must_pass.any()
    labelled = solvers.label(game, pick(states, np.flatnonzero(must_pass)[:20]))
    assert (labelled.legal.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(labelled.scores[:, -1], scores[must_pass][:20, -1])


def test_the_last_stone_of_a_game() -> None:
    """Scores tell how long perfect games last: they are played."""
    game = make_game("connect_four_4x5")
    states = solvers.sample(game, positions=60, plies=range(8, 12), seed=2)
    labelled = solvers.label(game, states)
    solver, step = ConnectFourSolver(4, 5), jax.jit(game.step)
    for result in (1, 0, -1):
        for i in np.flatnonzero(labelled.value == result)[:3]:
            state, stones = pick(states, i), int(labelled.plies[i])
            expected = solver.last_stone(int(labelled.scores[i].max()), stones)
            while not game.is_terminal(state):
                ((own, other),) = solvers.own_and_other(pick(state, np.newaxis))
                state = step(state, np.int32(np.argmax(solver.action_scores(own, other))))
                state = jax.device_get(state)
            assert int(solvers.stones_placed(state)) == expected


def test_a_full_table_forgets_and_nothing_else() -> None:
    small = ConnectFourSolver(4, 4)
    small._bounds = Bounds(capacity=50)
    assert small.action_scores(0, 0) == ConnectFourSolver(4, 4).action_scores(0, 0)


@pytest.mark.parametrize(
    "name", ["gobang_5x5", "reversi_6x6", "connect_four_5x5_line3", "pgx:tic_tac_toe"]
)
def test_games_without_a_solver_are_refused(name: str) -> None:
    if name.startswith("pgx"):
        pytest.importorskip("pgx")
    with pytest.raises(ConfigError, match="has no solver"):
        solvers.solver_of(make_game(name))
