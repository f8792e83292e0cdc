"""What a round robin says: its results without repeated games, and ratings.

Two deterministic players repeat themselves when an opening comes up again, and a repeated game says
nothing new. A game whose moves equal an earlier one's of the same ordered pair is therefore left
out of the counts, so that error bars do not pretend to more games than there are.
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from jaxzero.matches import arena
from jaxzero.ratings import DEFAULT_DRAW_ELO, Ratings, bayes_elo
from jaxzero.ratings.likelihood import UndeterminedError


@dataclasses.dataclass(frozen=True)
class Tournament:
    """A finished round robin, on the host."""

    # int64[M, 5] rows (first, second, wins of first, draws, losses of first) over distinct games;
    # "first" moved first
    results: np.ndarray
    ratings: Ratings  # Bayesian Elo of the P players, mover's advantage and draw rate fitted
    games: int  # games played
    distinct: int  # games counted
    actions: np.ndarray  # int16[max_plies, M, k], -1 after the end
    evaluations: float  # network evaluations made


def is_first_of_its_kind(
    actions: np.ndarray, played: np.ndarray, earlier: Sequence[set[bytes]] | None = None
) -> np.ndarray:
    """bool[M, k]: played games that no earlier game of the same ordered pair equals.

    Args:
      actions: int[max_plies, M, k].
      played: bool[M, k].
      earlier: the games of each pair in matches before this one; gets those of this one.
    """
    new = np.zeros_like(played)
    for m in range(played.shape[0]):
        seen: set[bytes] = set() if earlier is None else earlier[m]
        for g in np.flatnonzero(played[m]):
            moves = actions[:, m, g].tobytes()
            new[m, g] = moves not in seen
            seen.add(moves)
    return new


def result_rows(outcome: np.ndarray, counted: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """int64[M, 5] rows from results.

    Args:
      outcome: float[M, k, 2], for the player who moved first and for the other.
      counted: bool[M, k].
      pairs: int[M, 2], who moved first and who second.
    """
    columns = arena.wins_draws_losses(outcome[..., 0], counted)
    return np.concatenate([pairs, np.stack(columns, -1)], axis=1).astype(np.int64)


def rate(
    match: arena.Match,
    num_players: int,
    *,
    advantage: float | Literal["fit"] = "fit",
    draw_elo: float | Literal["fit"] = "fit",
    listed: Sequence[int] | None = None,
) -> Tournament:
    """Counts and rates a finished match.

    Args:
      match: on the host.
      num_players: P.
      advantage, draw_elo, listed: of `fit`.
    """
    actions, played = np.asarray(match.actions), np.asarray(match.played)
    counted = is_first_of_its_kind(actions, played)
    rows = result_rows(np.asarray(match.outcome), counted, arena.ordered_pairs(num_players))
    return Tournament(
        results=rows,
        ratings=fit(rows, num_players, advantage=advantage, draw_elo=draw_elo, listed=listed),
        games=int(played.sum()),
        distinct=int(counted.sum()),
        actions=actions,
        evaluations=float(match.cost.evaluations),
    )


def fit(
    rows: np.ndarray,
    num_players: int,
    *,
    advantage: float | Literal["fit"] = "fit",
    draw_elo: float | Literal["fit"] = "fit",
    listed: Sequence[int] | None = None,
) -> Ratings:
    """`bayes_elo`, with BayesElo's own draw_elo where the results don't say how likely draws are.

    That is so if one side never wins: advantage and draws cannot be told apart. And in a few games
    that ratings without bounds explain best, together with ever more draws.

    Args:
      rows: int[M, 5], as `Tournament.results`.
      num_players: P.
      advantage, draw_elo: of `ratings.bayes_elo`; the ones used stand in the ratings.
      listed: rate as Wang 2019, 2020, 2023 did: one row for each pair, whoever moved first, and
        the advantage to the player who comes first in this list of all players.
    """
    if listed is not None:
        rows = merge_colours(rows, listed)
    decided_both_ways = rows[:, 2].any() and rows[:, 4].any()
    if draw_elo == "fit" and decided_both_ways:
        with contextlib.suppress(UndeterminedError):
            return bayes_elo(rows, advantage=advantage, num_players=num_players, draw_elo="fit")
    draw_elo = DEFAULT_DRAW_ELO if draw_elo == "fit" else draw_elo
    return bayes_elo(rows, advantage=advantage, draw_elo=draw_elo, num_players=num_players)


def merge_colours(rows: np.ndarray, listed: Sequence[int]) -> np.ndarray:
    """int64[P (P - 1) / 2, 5]: both colours of a pair in one row, whom `listed` has earlier first.

    Args:
      rows: int[M, 5], as `Tournament.results`.
      listed: the P players in some order.
    """
    place = {player: n for n, player in enumerate(listed)}
    merged: dict[tuple[int, int], np.ndarray] = {}
    for first, second, *counts in rows.tolist():
        swapped = place[first] > place[second]
        pair = (second, first) if swapped else (first, second)
        seen = counts[::-1] if swapped else counts
        merged[pair] = merged.get(pair, np.zeros(3, np.int64)) + np.array(seen)
    return np.array([[*pair, *counts] for pair, counts in sorted(merged.items())], np.int64)
