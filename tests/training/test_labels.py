"""Labels of self-play: every game is played to its end and says what happened in it.

Games are replayed with the plain-Python rules.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchOptions
from jaxzero.search.tree import UNKNOWN
from jaxzero.training import labels
from tests.games.boards import plain_game
from tests.training.stub_games import (
    ALWAYS,
    LANES,
    LINE,
    LINE3,
    SIMULATIONS,
    moves,
    play,
    signed,
)


def signed_plane(board: Any) -> np.ndarray:
    """[H, W, 1] of a plain-Python board, from the player to move."""
    plane = np.zeros((board.rows, board.columns, 1))
    for square, owner in board.stones.items():
        plane[square] = 1 if owner == board.to_move() else -1
    return plane


def true_labels(board: Any, **_: Any) -> tuple[float, float]:
    """What players 0 and 1 got out of a finished game."""
    return board.outcome()


def labels_of_tie_lost_by_asked(board: Any) -> tuple[float, float]:
    """alpha-zero-general's Othello asks for the side that would be to move."""
    if board.winner is None:
        return (-1.0, 1.0) if board.to_move() == 0 else (1.0, -1.0)
    return board.outcome()


def labels_of_small_draw(board: Any) -> tuple[float, float]:
    """Its Connect Four: 1e-4 for the side that would be to move."""
    if board.winner is None:
        return (1e-4, -1e-4) if board.to_move() == 0 else (-1e-4, 1e-4)
    return board.outcome()


def labels_of_gobang_defect(board: Any) -> tuple[float, float]:
    """Its Gobang: the first player has lost whatever was won."""
    return (0.0, 0.0) if board.winner is None else (-1.0, 1.0)


LABELS: dict[str, tuple[str, tuple[str, ...], dict[str, Any], Callable]] = {
    "connect_four": (LINE, (), {}, true_labels),
    "othello": ("othello_4x4", (), {}, true_labels),
    "reversi, the same player twice": ("reversi_4x4", (), {}, true_labels),
    "gobang": ("gobang_4x4", (), {}, true_labels),
    "small_draw_value": (LINE, (), {"draw_for_asked": 1e-4}, labels_of_small_draw),
    "othello_tie_is_loss_of_asked": (
        "othello_4x4",
        (),
        {"draw_for_asked": -1.0},
        labels_of_tie_lost_by_asked,
    ),
    "gobang_absolute_labels": (
        "gobang_4x4",
        ("first_player_always_loses",),
        {},
        labels_of_gobang_defect,
    ),
}


@pytest.mark.parametrize("case", LABELS)
def test_every_game_is_played_to_its_end_and_labelled_with_its_result(case: str) -> None:
    name, flags, options, labels_of = LABELS[case]
    games, _ = play(name, ALWAYS, *flags, **options)
    assert games.active.all()
    seen = set()
    for lane in range(LANES):
        board = plain_game(name)
        movers = []
        for ply, action in enumerate(moves(games, lane)):
            assert not board.is_terminal()
            assert games.valid[ply, lane]
            assert games.to_move[ply, lane] == board.to_move()
            np.testing.assert_array_equal(games.legal[ply, lane], board.legal_actions())
            np.testing.assert_array_equal(games.observation[ply, lane], signed_plane(board))
            movers.append(board.to_move())
            board.step(action)
        assert board.is_terminal()
        assert not games.valid[len(movers) :, lane].any()
        assert (games.action[len(movers) :, lane] == -1).all()
        np.testing.assert_array_equal(games.outcome[lane], board.outcome())
        labels = np.float32(labels_of(board))
        np.testing.assert_array_equal(games.value[: len(movers), lane], labels[movers])
        seen.add(board.winner)
        if name == "reversi_4x4":
            seen.update("twice" for a, b in itertools.pairwise(movers) if a == b)
    assert {0, 1} <= seen
    assert None in seen  # ties and full boards came up
    assert ("twice" in seen) == (name == "reversi_4x4")


def test_a_discount_counts_the_plies_to_the_end() -> None:
    games, _ = play(LINE, ALWAYS, discount=0.9)
    left = games.plies - np.arange(len(games.value))[:, None]
    won = np.where(games.to_move == 0, games.outcome[:, 0], games.outcome[:, 1])
    expected = won * 0.9 ** np.maximum(left, 0)
    np.testing.assert_allclose(games.value[games.valid], expected[games.valid], rtol=1e-5)
    np.testing.assert_array_equal(games.drawn[games.valid], (won == 0)[games.valid])


def test_labels_by_what_was_known() -> None:
    """The second player threw a win away, the first player's draw was known before the end."""
    unknown = UNKNOWN
    value = np.array([[1, 0], [-1, 0], [1, 0], [-1, 0]], np.float32)
    known = np.array([[unknown, unknown], [1, 0], [unknown] * 2, [-1, unknown]], np.int8)
    is_first = np.array([True, False, True, False])[:, None] & np.ones((4, 2), bool)
    found = labels.by_known(jnp.asarray(value), jnp.asarray(known), jnp.asarray(is_first))
    np.testing.assert_array_equal(found, [[-1, 0], [1, 0], [1, 0], [-1, 0]])


def test_what_is_said_after_the_end_is_no_label() -> None:
    game = signed(LINE3)
    state = functools.reduce(game.step, jnp.array([0, 1, 0, 1, 0]), game.init())  # a column of 3
    valid = np.arange(8)[:, None] < 5
    value, _ = labels.of_plies(
        game,
        jax.tree.map(lambda x: x[None], state),
        jnp.arange(8)[:, None] % 2 == 0,
        jnp.asarray(valid),
        options=SearchOptions(),
        known=jnp.where(valid, UNKNOWN, 0),
        first_player_always_loses=False,
    )
    np.testing.assert_array_equal(value[:5, 0], [1, -1, 1, -1, 1])


def test_labels_by_what_was_known_are_the_results_of_who_plays_by_it() -> None:
    options = {"propagate_results": True, "stop_when_known": True}
    games, diagnostics = play(LINE, ALWAYS, "known_labels", **options)
    plain, _ = play(LINE, ALWAYS, **options)
    chex.assert_trees_all_equal(games, plain)
    assert diagnostics.simulations < SIMULATIONS * games.plies.sum()  # some were sure


def test_gobang_defect_depends_on_the_side_to_move_alone() -> None:
    games, _ = play("gobang_4x4", ALWAYS, "first_player_always_loses")
    decided = games.valid & (games.outcome[:, 0] != 0)[None]
    assert {1.0, -1.0} == set(games.outcome[games.outcome[:, 0] != 0, 0].tolist())
    np.testing.assert_array_equal(
        games.value[decided], np.where(games.to_move[decided] == 0, -1, 1)
    )


@pytest.mark.parametrize(("draw_for_asked", "backed_up"), [(0.0, 0.0), (-1.0, 1.0)])
def test_othello_tie_is_loss_of_asked_in_the_search(
    draw_for_asked: float, backed_up: float
) -> None:
    # Where the last move is forced, all simulations end in the tie, and the other side is asked.
    games, _ = play("othello_4x4", ALWAYS, draw_for_asked=draw_for_asked)
    tied = np.flatnonzero(games.outcome[:, 0] == 0)
    last = games.plies[tied] - 1
    forced = games.legal[last, tied].sum(-1) == 1
    assert forced.any()
    own_evaluation = 1 / (SIMULATIONS + 1)  # the root's, in [-1, 1], is averaged in
    for value in games.root_value[last, tied][forced]:
        assert abs(value - backed_up * (1 - own_evaluation)) <= own_evaluation + 1e-6
