"""What a finished game counts as, under the truth and under the published programs' rules."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import scoring

FIRST, SECOND, DRAW = (1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)  # who won
TRUE, OTHELLO, FULL_BOARD = 0.0, -1.0, 1e-4  # what a draw is worth to the side that is asked


def array(outcome: tuple[float, float]) -> jnp.ndarray:
    """An outcome as games give it."""
    return jnp.array(outcome, jnp.float32)


@pytest.mark.parametrize(("outcome", "drawn"), [(FIRST, False), (SECOND, False), (DRAW, True)])
def test_is_drawn(outcome: tuple[float, float], drawn: bool) -> None:
    assert bool(scoring.is_drawn(array(outcome))) == drawn


RESULTS = [
    # outcome, to move, draw for the asked, result
    (FIRST, 0, TRUE, 1.0),
    (FIRST, 1, TRUE, -1.0),
    (SECOND, 0, TRUE, -1.0),
    (SECOND, 1, TRUE, 1.0),
    (DRAW, 0, TRUE, 0.0),
    (DRAW, 1, TRUE, 0.0),
    (FIRST, 1, OTHELLO, -1.0),
    (SECOND, 1, OTHELLO, 1.0),
    (DRAW, 0, OTHELLO, -1.0),
    (DRAW, 1, OTHELLO, -1.0),
    (FIRST, 0, FULL_BOARD, 1.0),
    (DRAW, 0, FULL_BOARD, 1e-4),
    (DRAW, 1, FULL_BOARD, 1e-4),
]


@pytest.mark.parametrize(("outcome", "to_move", "draw_for_asked", "result"), RESULTS)
def test_result_for_mover(
    outcome: tuple[float, float], to_move: int, draw_for_asked: float, result: float
) -> None:
    value = scoring.result_for_mover(array(outcome), jnp.int32(to_move), draw_for_asked)
    assert value.dtype == jnp.float32
    assert float(value) == pytest.approx(result, rel=1e-6)


@pytest.mark.parametrize(
    ("result", "share"), [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (1e-4, 1 - 1e-4), (-1e-4, 1 - 1e-4)]
)
def test_a_published_draw_is_one_only_as_far_as_it_is_no_win_or_loss(
    result: float, share: float
) -> None:
    """So that shares of wins, draws and losses are not negative: a tie that counts as lost is."""
    assert float(scoring.draw_share(jnp.float32(result))) == pytest.approx(share)


def test_results_of_a_batch() -> None:
    for draw in (TRUE, OTHELLO, FULL_BOARD):
        rows = [row for row in RESULTS if row[2] == draw]
        outcomes = jnp.array([row[0] for row in rows])
        movers = jnp.array([row[1] for row in rows])
        values = scoring.result_for_mover(outcomes, movers, draw)
        np.testing.assert_allclose(values, [row[3] for row in rows], rtol=1e-6)


LABELS = [
    # outcome, to move at the end, draw for the asked, Gobang's defect, labels of both players
    (FIRST, 0, TRUE, False, FIRST),
    (FIRST, 1, TRUE, False, FIRST),
    (SECOND, 0, TRUE, False, SECOND),
    (SECOND, 1, TRUE, False, SECOND),
    (DRAW, 0, TRUE, False, DRAW),
    (DRAW, 1, TRUE, False, DRAW),
    (DRAW, 0, OTHELLO, False, SECOND),  # whoever would be to move has lost the tie
    (DRAW, 1, OTHELLO, False, FIRST),
    (FIRST, 0, OTHELLO, False, FIRST),
    (FIRST, 1, OTHELLO, False, FIRST),
    (DRAW, 0, FULL_BOARD, False, (1e-4, -1e-4)),
    (DRAW, 1, FULL_BOARD, False, (-1e-4, 1e-4)),
    (FIRST, 0, FULL_BOARD, True, SECOND),  # the defect: the first player has always lost
    (FIRST, 1, FULL_BOARD, True, SECOND),
    (SECOND, 0, FULL_BOARD, True, SECOND),
    (SECOND, 1, FULL_BOARD, True, SECOND),
    (DRAW, 0, FULL_BOARD, True, (1e-4, -1e-4)),
    (DRAW, 1, FULL_BOARD, True, (-1e-4, 1e-4)),
]


@pytest.mark.parametrize(("outcome", "to_move", "draw_for_asked", "defect", "labels"), LABELS)
def test_labels(
    outcome: tuple[float, float],
    to_move: int,
    draw_for_asked: float,
    defect: bool,
    labels: tuple[float, float],
) -> None:
    found = scoring.labels(
        array(outcome),
        jnp.int32(to_move),
        draw_for_asked=draw_for_asked,
        first_player_always_loses=defect,
    )
    np.testing.assert_allclose(found, labels, rtol=1e-6)


def test_the_gobang_defect_leaves_only_the_side_to_move() -> None:
    rng = np.random.default_rng(0)
    outcomes = jnp.array([FIRST, SECOND], jnp.float32)[rng.integers(2, size=50)]
    at_end, movers = jnp.asarray(rng.integers(2, size=50)), rng.integers(2, size=50)
    rows = np.arange(50)
    published = scoring.labels(
        outcomes, at_end, draw_for_asked=FULL_BOARD, first_player_always_loses=True
    )
    np.testing.assert_array_equal(np.asarray(published)[rows, movers], np.where(movers, 1, -1))
    corrected = scoring.labels(outcomes, at_end)
    np.testing.assert_array_equal(corrected, outcomes)


@pytest.mark.parametrize(
    ("outcome", "draw_for_asked", "counted"),
    [
        (FIRST, TRUE, FIRST),
        (SECOND, TRUE, SECOND),
        (DRAW, TRUE, DRAW),
        (FIRST, OTHELLO, FIRST),
        (SECOND, OTHELLO, SECOND),
        (DRAW, OTHELLO, SECOND),  # the arena asks for the first player: the second wins ties
        (FIRST, FULL_BOARD, FIRST),
        (DRAW, FULL_BOARD, DRAW),
    ],
)
def test_arena_outcome(
    outcome: tuple[float, float], draw_for_asked: float, counted: tuple[float, float]
) -> None:
    found = scoring.arena_outcome(array(outcome), draw_for_asked)
    np.testing.assert_array_equal(found, counted)
    batch = scoring.arena_outcome(jnp.tile(array(outcome)[None, None], (3, 2, 1)), draw_for_asked)
    np.testing.assert_array_equal(batch, np.broadcast_to(counted, (3, 2, 2)))
