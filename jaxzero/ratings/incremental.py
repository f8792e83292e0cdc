"""Plain incremental Elo: ratings that are updated after every game."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def expected_score(difference: ArrayLike) -> NDArray[np.float64]:
    """Expected score in [0, 1] of a player who is `difference` Elo stronger; any shape."""
    return 1 / (1 + 10.0 ** (-np.asarray(difference, np.float64) / 400))


def elo_of_score(wins: float, draws: float, losses: float) -> float:
    """How much stronger the points of a match make a player, in Elo.

    One drawn game is added, so that a clean sweep stays finite.

    Args:
      wins, draws, losses: of the player.
    """
    points = wins + (draws + 1) / 2
    share = points / (wins + draws + losses + 1)
    return float(400 * np.log10(share / (1 - share)))


def incremental_elo(
    games: ArrayLike,
    *,
    k_factor: float = 32.0,
    start: float | ArrayLike = 1600.0,
    num_players: int | None = None,
) -> NDArray[np.float64]:
    """Ratings after each game, in the order in which the games are given.

    The winner takes `k_factor` times the score it was not expected to make from the loser; in a
    draw the higher rated pays. Clausen 2021's leagues of evolving players use K = 32 from 1600.

    Args:
      games: `[G, 3]`, rows (player, opponent, score of player: 1, 1/2 or 0), numbered from 0.
      k_factor: Elo at stake in a game.
      start: first rating, of all players or `[P]`.
      num_players: P; None is the largest number in `games` plus 1.

    Returns:
      float64 `[G + 1, P]`; row g holds the ratings after g games.

    Raises:
      ValueError: the games are malformed.
    """
    rows = np.asarray(games, np.float64)
    if rows.size == 0:
        rows = rows.reshape(0, 3)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"games must be [G, 3], got {list(rows.shape)}")
    players, scores = rows[:, :2].astype(np.int64), rows[:, 2]
    if (players < 0).any() or (players != rows[:, :2]).any():
        raise ValueError("games must number the players with integers from 0")
    if (players[:, 0] == players[:, 1]).any():
        raise ValueError("a player can't play itself")
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("scores must be in [0, 1]")
    needed = int(np.max(players, initial=-1)) + 1
    count = needed if num_players is None else num_players
    if needed > count:
        raise ValueError(f"player {needed - 1} is out of range for num_players={count}")

    history = np.empty((len(rows) + 1, count))
    history[0] = start
    for g, ((player, opponent), score) in enumerate(zip(players, scores, strict=True)):
        history[g + 1] = history[g]
        surprise = score - expected_score(history[g, player] - history[g, opponent])
        history[g + 1, player] += k_factor * surprise
        history[g + 1, opponent] -= k_factor * surprise
    return history
