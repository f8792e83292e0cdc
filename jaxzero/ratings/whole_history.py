"""Whole-history rating: strengths that change over time, each point informed by all games.

A thin layer over the optional package `whole-history-rating` (3.7 or newer), an implementation of
Coulom, "Whole-History Rating", Computers and Games 2008.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

_FIRST = 1  # the package's category of games in which the first player has an advantage: all


def whole_history_ratings(
    games: ArrayLike,
    *,
    w2: float = 300.0,
    advantage: float | Literal["fit"] = 0.0,
    precision: float = 1e-4,
) -> list[NDArray[np.float64]]:
    """Rates players at each time at which they played.

    Args:
      games: `[G, 4]`, rows (first, second, score of first: 1, 1/2 or 0, time); players are
        numbered from 0, the time is an integer in any unit (an iteration, say).
      w2: variance, in Elo^2, that a player's strength gains per unit of time.
      advantage: Elo that playing first is worth, the same in all games, or "fit".
      precision: of the gradient at which the fit stops.

    Returns:
      For each player float64 `[K, 3]`, rows (time, Elo, its standard error) in order of time. Elo
      is relative to an average player's first appearance and rounded to integers by the package,
      whose errors take the opponents' ratings as known.

    Raises:
      ImportError: the package isn't installed.
      ValueError: the games are malformed.
    """
    rows = np.asarray(games, np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows):
        raise ValueError(f"games must be [G, 4] with G > 0, got {list(rows.shape)}")
    if not np.isin(rows[:, 2], (0.0, 0.5, 1.0)).all():
        raise ValueError("scores must be 1, 1/2 or 0")
    if (rows[:, :2] < 0).any() or (rows[:, (0, 1, 3)] % 1 != 0).any():
        raise ValueError("games must number players from 0 and give integer times")
    if (rows[:, 0] == rows[:, 1]).any():
        raise ValueError("a player can't play itself")
    if advantage != "fit" and not np.isfinite(advantage):
        raise ValueError(f'advantage must be a finite number or "fit", got {advantage!r}')
    pinned = {} if advantage == "fit" else {_FIRST: float(advantage)}
    settings = {"w2": w2, "display_uncertainty": "elo", "pinned_handicap": pinned}
    base = _package().WHR(settings)
    for first, second, score, time in rows:
        winner = {1.0: "B", 0.5: "D", 0.0: "W"}[score]  # the package's first player is black
        base.create_game(str(int(first)), str(int(second)), winner, int(time), _FIRST)
    base.auto_iterate(precision=precision)
    players = range(int(np.max(rows[:, :2])) + 1)
    seen = {int(player) for player in rows[:, :2].ravel()}
    return [
        np.array(base.ratings_for_player(str(p)), np.float64) if p in seen else np.empty((0, 3))
        for p in players
    ]


def _package() -> Any:
    try:
        import whr
    except ImportError as error:
        raise ImportError(
            "whole-history rating needs the optional package: pip install -e '.[whr]'"
        ) from error
    return whr
