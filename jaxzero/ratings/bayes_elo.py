"""Bayesian Elo: ratings with error bars from the results of games.

The model of Rémi Coulom's BayesElo program, https://www.remi-coulom.fr/Bayesian-Elo/, with
which Wang 2019, 2020 and 2023 rate their networks. For a first player of Elo e1 against a second of
e2,

    P(first wins)  = f(e1 - e2 + advantage - draw_elo)
    P(second wins) = f(e2 - e1 - advantage - draw_elo)        f(x) = 1 / (1 + 10^(-x / 400))

and the rest is the probability of a draw, which comes out as (10^(draw_elo / 200) - 1) times the
product of the two. So a draw moves ratings as a win and a loss together do, and the log-likelihood
is concave in ratings, advantage and draw_elo: Newton's method finds its only maximum.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from jaxzero.ratings.likelihood import NATURAL, Float, Likelihood, covariance_at, maximise

Fit = Literal["fit"]
DEFAULT_ADVANTAGE, DEFAULT_DRAW_ELO = 32.8, 97.3  # the program's, of chess


@dataclass(frozen=True, eq=False)
class Ratings:
    """Elo ratings of P players, all on the scale that the BayesElo program displays.

    The displayed scale is the model's times 4x / (1 + x)^2 with x = 10^(-draw_elo / 400), 0.925 at
    the default draw_elo: near equality, an Elo is then worth as many points as without draws.
    The factor is taken as exact, also where draw_elo was fitted.

    Attributes:
      elo: `[P]`, mean 0.
      covariance: `[P, P]`, of ratings whose mean is held at 0: the inverse of the observed
        information of games and prior, fitted advantage and draw_elo included.
      advantage, draw_elo: as given or fitted, on the model's scale.
      advantage_stderr, draw_elo_stderr: on the model's scale; 0 where the value was given.
    """

    elo: Float
    covariance: Float
    advantage: float
    draw_elo: float
    advantage_stderr: float = 0.0
    draw_elo_stderr: float = 0.0

    @property
    def stderr(self) -> Float:
        """`[P]`: standard error of each rating against the mean of all."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def superiority(self) -> Float:
        """`[P, P]`: probability that the row's player is stronger than the column's."""
        variance = np.diag(self.covariance)
        spread = variance[:, None] + variance[None, :] - 2 * self.covariance
        difference = self.elo[:, None] - self.elo[None, :]
        np.fill_diagonal(spread, 1.0)
        return ndtr(difference / np.sqrt(spread))

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """(elo of i minus elo of j, its standard error)."""
        covariance = self.covariance
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        return float(self.elo[i] - self.elo[j]), float(np.sqrt(max(variance, 0.0)))


def displayed_scale(draw_elo: float) -> float:
    """What BayesElo multiplies its model's ratings by before it prints them."""
    x = 10.0 ** (-draw_elo / 400)
    return 4 * x / (1 + x) ** 2


def bayes_elo(
    results: ArrayLike,
    advantage: float | Fit = DEFAULT_ADVANTAGE,
    draw_elo: float | Fit = DEFAULT_DRAW_ELO,
    prior: float = 2.0,
    num_players: int | None = None,
) -> Ratings:
    """Rates players by the results of their games.

    Args:
      results: `int[M, 5]`, rows (first, second, wins of first, draws, losses of first). "First" is
        who gets the advantage, usually the player who moves first. Players are numbered from 0;
        pairs may be repeated and be given in both orders. Counts may be fractional weights.
      advantage: Elo that playing first is worth, or "fit". The default is BayesElo's, of chess.
      draw_elo: at least 0, the larger the more draws, or "fit". Fitted, it is 0 (draws never
        happen) if there is no draw at all, neither played nor virtual.
      prior: virtual draws per player, as BayesElo spreads them: for each player, prior / 4 with
        either colour, shared among the opponents by the number of games against them; a pair gets
        those of both players. They keep perfect scores finite. 0 is maximum likelihood.
      num_players: P; None is the largest number in `results` plus 1.

    Returns:
      `Ratings`.

    Raises:
      ValueError: the results are malformed, or they don't determine all ratings: players fall into
        groups that never met or, without a prior, one group never took a point from another.
    """
    rows, count = _check_results(results, num_players)
    for name, value in (("advantage", advantage), ("draw_elo", draw_elo)):
        if value != "fit" and not (isinstance(value, Real) and np.isfinite(value)):
            raise ValueError(f'{name} must be a finite number or "fit", got {value!r}')
    if draw_elo != "fit" and draw_elo < 0:
        raise ValueError(f"draw_elo must be at least 0, got {draw_elo}")
    if not (np.isfinite(prior) and prior >= 0):
        raise ValueError(f"prior must be at least 0, got {prior}")
    _check_connected(rows, count, needs_points=prior == 0)

    rows = _with_virtual_draws(rows, count, prior)
    if draw_elo == "fit" and not rows[:, 3].any():
        draw_elo = 0.0
    start = np.zeros(count + 2)
    start[count:] = [
        0.0 if advantage == "fit" else advantage * NATURAL,
        100 * NATURAL if draw_elo == "fit" else draw_elo * NATURAL,
    ]
    free = np.append(np.ones(count, bool), [advantage == "fit", draw_elo == "fit"])
    model = Likelihood(rows, count)
    solution = maximise(model, start, free)
    covariance = covariance_at(model, solution, free) / NATURAL**2
    fitted_advantage, fitted_draw_elo = (float(x) for x in solution[count:] / NATURAL)
    scale = displayed_scale(fitted_draw_elo)
    errors = np.sqrt(np.diag(covariance)[count:])
    return Ratings(
        elo=scale * solution[:count] / NATURAL,
        covariance=scale**2 * covariance[:count, :count],
        advantage=fitted_advantage,
        draw_elo=fitted_draw_elo,
        advantage_stderr=float(errors[0]),
        draw_elo_stderr=float(errors[1]),
    )


def _with_virtual_draws(rows: Float, count: int, prior: float) -> Float:
    """Rows for the prior's draws after the given ones (BayesElo: CCondensedResults::AddPrior)."""
    if prior == 0:
        return rows
    first, second = rows[:, :2].astype(np.int64).T
    games = rows[:, 2:].sum(axis=1)
    played = np.bincount(first, games, count) + np.bincount(second, games, count)
    share = prior / 4 * games * (1 / played[first] + 1 / played[second])
    virtual = np.zeros((2, len(rows), 5))
    virtual[0, :, :2] = rows[:, :2]
    virtual[1, :, :2] = rows[:, 1::-1]  # the same with colours swapped
    virtual[:, :, 3] = share
    return np.concatenate([rows, *virtual])


def _check_results(results: ArrayLike, num_players: int | None) -> tuple[Float, int]:
    """Rows with games as float64 `[M, 5]`, and the number of players."""
    rows = np.asarray(results)
    if rows.ndim != 2 or rows.shape[1] != 5 or rows.dtype.kind not in "iuf":
        raise ValueError(f"results must be int[M, 5], got {rows.dtype}{list(rows.shape)}")
    rows = rows.astype(np.float64)
    players, counts = rows[:, :2], rows[:, 2:]
    if not np.isfinite(rows).all() or (counts < 0).any():
        raise ValueError("results must have finite counts of at least 0")
    if (players < 0).any() or (players != np.round(players)).any():
        raise ValueError("results must number the players with integers from 0")
    if (players[:, 0] == players[:, 1]).any():
        raise ValueError(
            f"player {int(players[players[:, 0] == players[:, 1]][0, 0])} plays itself"
        )
    rows = rows[counts.sum(axis=1) > 0]
    if not len(rows):
        raise ValueError("results hold no game")
    largest = int(players.max())
    count = largest + 1 if num_players is None else num_players
    if largest >= count:
        raise ValueError(f"player {largest} is out of range for num_players={count}")
    return rows, count


def _check_connected(rows: Float, count: int, *, needs_points: bool) -> None:
    """Raises unless games (if `needs_points`, points both ways) connect all players."""
    first, second = rows[:, :2].astype(np.int64).T
    wins, draws, losses = rows[:, 2:].T
    ends = np.append(first, second), np.append(second, first)
    scored = np.append(wins + draws, losses + draws) > 0
    met = _graph(np.ones(2 * len(rows)), ends, count)
    groups, group = connected_components(met, directed=False)
    if groups > 1:
        raise ValueError(
            f"players {np.argmax(group != group[0])} and 0 are in groups that never met: "
            f"{groups} groups can't share one scale"
        )
    won = _graph(scored.astype(float), ends, count)
    if needs_points and connected_components(won, connection="strong")[0] > 1:
        raise ValueError(
            "without a prior each group of players must take a point from the others; "
            "use a prior > 0"
        )


def _graph(weights: Float, ends: tuple[np.ndarray, np.ndarray], count: int) -> sparse.csr_array:
    """Edges between players. Summed up: SciPy 1.13 loops for ever over repeated edges."""
    graph = sparse.csr_array((weights, ends), shape=(count, count))
    graph.sum_duplicates()
    graph.eliminate_zeros()
    return graph
