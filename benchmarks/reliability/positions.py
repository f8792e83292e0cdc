"""Positions of random games against independent engines: legal moves, boards, ends, results."""

from jaxzero.games import make_game
from jaxzero.games.playouts import random_playout
from jaxzero.games.racing_kings import FAMILY as RACING_KINGS
from tests.oracles import pgx_games
from tests.oracles.batches import check_batch

GAMES = (
    "connect_four_5x5",
    "connect_four_6x7",
    "gobang_5x5",
    "gobang_6x6_line5",
    "othello_6x6",
    "othello_8x8",
    "reversi_8x8",
    RACING_KINGS,
)
_AT_ONCE, _WITH_CHESS = 2048, 64  # games of a number; python-chess takes one after another


def compare(name: str, number: int) -> int:
    """Plays the games of a number on both sides.

    Returns:
      how many positions were compared.

    Raises:
      AssertionError: something differs.
    """
    game = make_game(name)
    if name == RACING_KINGS:
        from tests.oracles.racing_kings import same_games  # python-chess is an extra

        return same_games(game, _WITH_CHESS, number)["positions"]
    playout = random_playout(game, num_games=_AT_ONCE, seed=number)
    if name in pgx_games.PGX:
        pgx_games.check_pgx(name, playout)
    return check_batch(name, game, playout)
