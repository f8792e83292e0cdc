"""Random games in lock-step with the plain Python rules: masks, turns, ends, results, boards."""

import pytest

from jaxzero.games import make_game
from jaxzero.games.conformance import check_against_reference
from jaxzero.games.playouts import random_playout
from tests.games.boards import board, plain_game
from tests.oracles.batches import check_batch

NUM_GAMES = {
    "connect_four_2x3_line2": 20,
    "connect_four_3x3_line3": 60,
    "connect_four_4x5": 30,
    "connect_four_5x4_line3": 30,
    "connect_four_5x5": 30,
    "connect_four_6x7": 30,
    "connect_four_7x8_line5": 15,
    "gobang_3x3_line3": 60,
    "gobang_5x5": 30,
    "gobang_6x6_line5": 20,
    "gobang_7x7": 10,
    "othello_4x4": 60,
    "othello_5x5": 30,
    "othello_6x6": 20,
    "othello_7x7": 10,
    "othello_8x8": 6,
    "othello_9x9": 4,
    "othello_10x10": 4,
    "reversi_4x4": 60,
    "reversi_5x5": 30,
    "reversi_6x6": 20,
    "reversi_8x8": 6,
}


@pytest.mark.parametrize("name", NUM_GAMES)
def test_same_games_as_the_plain_rules(name):
    game = make_game(name)
    check_against_reference(
        game,
        lambda: plain_game(name),
        num_games=NUM_GAMES[name],
        same_position=lambda state, plain: board(game, state) == plain.text(),
    )
    assert check_batch(name, game, random_playout(game, num_games=NUM_GAMES[name])) > 0
