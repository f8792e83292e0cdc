"""Players who beat each other in a circle, which no rating can tell, and how many luck explains.

A beats B, B beats C and C beats A, each by more than half of the points of their games. A rating
puts everyone in a line, so true circles are what it leaves out; with few games, luck alone makes
some, and they are counted by playing the same games again with the ratings' own chances.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from jaxzero.ratings.bayes_elo import Ratings, displayed_scale
from jaxzero.ratings.likelihood import NATURAL

_REPLAYS = 200  # enough for the mean of a count; its spread is shown beside it


class Triple(NamedTuple):
    """Three players, each of whom beats the next and the last the first."""

    players: tuple[int, int, int]  # numbers, the lowest first
    scores: tuple[float, float, float]  # share of the points of each against the next, above 0.5


@dataclass(frozen=True)
class Intransitivity:
    """The circles of a tournament.

    Attributes:
      triples: all of them, the one with the highest lowest score first.
      compared: triples of players who all met.
      expected, spread: mean and standard deviation of the number of circles if the ratings were
        the whole truth, over replays of the same games.
    """

    triples: tuple[Triple, ...]
    compared: int
    expected: float
    spread: float


def shares(results: ArrayLike, num_players: int) -> NDArray[np.float64]:
    """`[P, P]`: share of the points of the row's player against the column's, NaN without games.

    Args:
      results: `int[M, 5]` rows (first, second, wins of first, draws, losses of first).
      num_players: P.
    """
    rows = np.asarray(results, np.float64).reshape(-1, 5)
    first, second = rows[:, :2].astype(np.int64).T
    wins, draws, losses = rows[:, 2:].T
    points, games = np.zeros((2, num_players, num_players))
    for i, j, scored in ((first, second, wins), (second, first, losses)):
        np.add.at(points, (i, j), scored + draws / 2)
        np.add.at(games, (i, j), wins + draws + losses)
    with np.errstate(invalid="ignore"):
        return points / games


def find(results: ArrayLike, num_players: int) -> tuple[Triple, ...]:
    """All circles, the clearest first.

    Args:
      results: `int[M, 5]`, see `shares`.
      num_players: P.
    """
    share = shares(results, num_players)
    beats = share > 0.5
    found = []
    for a in range(num_players):  # a < b and a < c, so that each circle is found once
        rest = np.arange(num_players) > a
        circles = (beats[a] & rest)[:, None] & beats & (beats[:, a] & rest)[None, :]
        for b, c in np.argwhere(circles).tolist():
            scores = (float(share[a, b]), float(share[b, c]), float(share[c, a]))
            found.append(Triple((a, b, c), scores))
    return tuple(sorted(found, key=lambda triple: (-min(triple.scores), triple.players)))


def intransitivity(results: ArrayLike, ratings: Ratings) -> Intransitivity:
    """The circles of a tournament, and how many there would be by luck; always the same answer.

    Args:
      results: `int[M, 5]`, see `shares`.
      ratings: of these results, the first player of a row having the advantage.
    """
    count = len(ratings.elo)
    rows = np.asarray(results, np.int64).reshape(-1, 5)
    met = (~np.isnan(shares(rows, count))).astype(np.float64)
    replayed = _replays(rows, ratings, np.random.default_rng(0))
    counts = [_count(shares(again, count) > 0.5) for again in replayed]
    return Intransitivity(
        triples=find(rows, count),
        compared=round(float(np.trace(met @ met @ met)) / 6),
        expected=float(np.mean(counts)),
        spread=float(np.std(counts, ddof=1)),
    )


def _count(beats: NDArray[np.bool_]) -> float:
    """Number of circles: closed walks of three steps, each found from its three players."""
    one = beats.astype(np.float64)
    return float(np.trace(one @ one @ one)) / 3


def _replays(
    rows: NDArray[np.int64], ratings: Ratings, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """The same games with results drawn from the ratings' chances, `_REPLAYS` times."""
    elo = ratings.elo / displayed_scale(ratings.draw_elo)
    ahead = elo[rows[:, 0]] - elo[rows[:, 1]] + ratings.advantage
    wins = expit((ahead - ratings.draw_elo) * NATURAL)
    losses = expit((-ahead - ratings.draw_elo) * NATURAL)
    chances = np.stack([wins, 1 - wins - losses, losses], axis=1)
    chances = np.maximum(chances, 0)  # rounding, where there are no draws
    games = rows[:, 2:].sum(axis=1)
    return [
        np.concatenate([rows[:, :2], rng.multinomial(games, chances)], axis=1)
        for _ in range(_REPLAYS)
    ]
