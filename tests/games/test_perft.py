"""Sizes of the game trees, against published and independently computed counts."""

import pytest

from jaxzero.games import make_game
from tests.games.boards import leaves

# Connect Four: 7 ** d until a column fills, at depth 7. Othello 8x8: the usual perft counts.
# The smaller boards: counted by other programs. A forced pass is one ply.
COUNTS = {
    "connect_four_6x7": (7, 49, 343, 2401, 16807, 117649, 823536),
    "othello_4x4": (4, 12, 44, 128, 424, 1256, 3624, 9116),
    "othello_6x6": (4, 12, 56, 244, 1364, 7604),
    "othello_8x8": (4, 12, 56, 244, 1396, 8200),
    "reversi_8x8": (4, 12, 56, 244, 1396, 8200),  # nobody has to pass so early
}


@pytest.mark.parametrize("name", COUNTS)
def test_leaves_per_depth(name):
    expected = COUNTS[name]
    assert tuple(leaves(make_game(name), len(expected))) == expected


def test_tic_tac_toe_has_its_255168_games():
    # 5 plies: 1440 games won; 6: 5328; 7: 47952; 8: 72576; 9: 127872.
    counts = leaves(make_game("gobang_3x3_line3"), 9)
    assert counts[:5] == [9, 72, 504, 3024, 15120]
    assert counts[-1] == 255168
