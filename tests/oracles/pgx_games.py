"""Games of pgx as oracles of ours: the same actions, the same positions."""

import numpy as np

from jaxzero.games import make_game
from jaxzero.games.playouts import replay

PGX = {
    "connect_four_6x7": "pgx:connect_four",
    "othello_8x8": "pgx:othello",
    "gobang_3x3_line3": "pgx:tic_tac_toe",
}


def check_pgx(name, playout):
    """Plays the games of a `Playout` again in pgx and compares every position.

    pgx's Othello goes on until both sides have passed, ours stops when neither can do anything
    else: after the end only the results and the number of stones are the same.

    Returns:
      how many positions were compared, those at the end included.

    Raises:
      AssertionError: something differs.
    """
    found, actions, going_on = playout.views, playout.actions, ~playout.views.terminal
    othello = name.startswith("othello")
    if othello:
        passes = make_game(name).num_actions - 1
        actions = np.where(going_on[:-1], actions, passes).astype(np.int32)
    expected = replay(make_game(PGX[name]), actions).views
    # In the others' finished games the actions are arbitrary, and change nothing on either side.
    compared = going_on if othello else np.ones_like(going_on)
    for what in ("legal", "terminal", "outcome", "observation"):
        ours, theirs = getattr(found, what), getattr(expected, what)
        np.testing.assert_array_equal(ours[compared], theirs[compared], err_msg=what)
    to_move = found.to_move[going_on], expected.to_move[going_on]
    np.testing.assert_array_equal(*to_move, err_msg="to_move")
    assert expected.terminal[-1].all()
    np.testing.assert_array_equal(found.outcome[-1], expected.outcome[-1])
    stones = [views.observation[-1].sum(axis=(1, 2, 3)) for views in (found, expected)]
    np.testing.assert_array_equal(*stones, err_msg="stones at the end")
    return int(going_on.sum()) + going_on.shape[1]
