"""Positions whose truth is made up, for what is counted on them."""

import numpy as np

from jaxzero.games import make_game
from jaxzero.solvers import ILLEGAL, Labelled

GAME = make_game("connect_four_5x5")


# Two ways to win and one to lose; a draw that can be lost; lost whatever is played.
TRUTH = Labelled(
    GAME,
    None,  # no states
    np.array([[3, 1, -2, ILLEGAL], [0, -1, ILLEGAL, ILLEGAL], [-5, -1, -1, -5]], np.int16),
    np.array([2, 5, 10]),
)
