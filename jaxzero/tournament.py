"""Everyone against everyone: a compiled round robin, its results without repeated games, ratings.

Two deterministic players repeat themselves when an opening comes up again, and a repeated game says
nothing new. A game whose moves equal an earlier one's of the same ordered pair is therefore left
out of the counts, so that error bars do not pretend to more games than there are.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import numpy as np

from jaxzero import arena
from jaxzero.games.base import Game
from jaxzero.players import Players
from jaxzero.ratings import Ratings, bayes_elo

DEFAULT_DRAW_ELO = 97.3  # BayesElo's


@dataclasses.dataclass(frozen=True)
class Tournament:
    """A finished round robin, on the host.

    Attributes:
      results: int64[M, 5] rows (first, second, wins of first, draws, losses of first) over distinct
        games; "first" moved first.
      ratings: Bayesian Elo of the P players, mover's advantage and draw rate fitted.
      games: games played.
      distinct: games counted.
      actions: int16[max_plies, M, k], -1 after the end.
      evaluations: network evaluations made.
    """

    results: np.ndarray
    ratings: Ratings
    games: int
    distinct: int
    actions: np.ndarray
    evaluations: float


def is_first_of_its_kind(actions: np.ndarray, played: np.ndarray) -> np.ndarray:
    """bool[M, k]: played games that no earlier game of the same ordered pair equals.

    Args:
      actions: int[max_plies, M, k].
      played: bool[M, k].
    """
    new = np.zeros_like(played)
    for m in range(played.shape[0]):
        seen: set[bytes] = set()
        for g in np.flatnonzero(played[m]):
            moves = actions[:, m, g].tobytes()
            new[m, g] = moves not in seen
            seen.add(moves)
    return new


def result_rows(outcome: np.ndarray, counted: np.ndarray, num_players: int) -> np.ndarray:
    """int64[M, 5] rows from results.

    Args:
      outcome: float[M, k, 2], for the player who moved first and for the other.
      counted: bool[M, k].
      num_players: P, M = P (P - 1).
    """
    first = outcome[..., 0]
    columns = [(counted & (first == result)).sum(-1) for result in (1, 0, -1)]
    pairs = arena.ordered_pairs(num_players)
    return np.concatenate([pairs, np.stack(columns, -1)], axis=1).astype(np.int64)


def rate(
    match: arena.Match,
    num_players: int,
    *,
    advantage: float | Literal["fit"] = "fit",
    draw_elo: float | Literal["fit"] = "fit",
    first_listed: bool = False,
) -> Tournament:
    """Counts and rates a finished match.

    Args:
      match: on the host.
      num_players: P.
      advantage, draw_elo: of `ratings.bayes_elo`. Where one side never wins, "fit" keeps draw_elo
        at BayesElo's default (the one used stands in the ratings).
      first_listed: rate as papers 000/001/003 did: one row for each pair, whoever moved first, and
        the advantage to the player with the lower number.
    """
    actions, played = np.asarray(match.actions), np.asarray(match.played)
    counted = is_first_of_its_kind(actions, played)
    rows = result_rows(np.asarray(match.outcome), counted, num_players)
    rated = merge_colours(rows) if first_listed else rows
    decided_both_ways = rated[:, 2].any() and rated[:, 4].any()
    if draw_elo == "fit" and not decided_both_ways:
        draw_elo = DEFAULT_DRAW_ELO  # one side never wins: advantage and draws can't be told apart
    return Tournament(
        results=rows,
        ratings=bayes_elo(rated, advantage=advantage, draw_elo=draw_elo, num_players=num_players),
        games=int(played.sum()),
        distinct=int(counted.sum()),
        actions=actions,
        evaluations=float(match.cost.evaluations),
    )


def merge_colours(rows: np.ndarray) -> np.ndarray:
    """int64[P (P - 1) / 2, 5]: both colours of a pair in one row, the lower number first."""
    merged: dict[tuple[int, int], np.ndarray] = {}
    for first, second, *counts in rows.tolist():
        swapped = first > second
        pair = (second, first) if swapped else (first, second)
        seen = counts[::-1] if swapped else counts
        merged[pair] = merged.get(pair, np.zeros(3, np.int64)) + np.array(seen)
    return np.array([[*pair, *counts] for pair, counts in sorted(merged.items())], np.int64)


def compile_round_robin(
    game: Game,
    kinds: Sequence[Players],
    *,
    games_per_direction: int,
    opening_plies: int,
    draw_for_asked: float = 0.0,
) -> Callable[[Sequence[Any], jax.Array], arena.Match]:
    """A round robin as a function of its players' params, compiled at its first call.

    Args:
      game: the rules.
      kinds: players by kind, numbered in this order.
      games_per_direction: games of each ordered pair, so a pair plays twice as many.
      opening_plies: random plies before each colour-swapped pair of games.
      draw_for_asked: see `scoring.arena_outcome`.

    Returns:
      (params of each kind, key) -> the match, on the host.
    """

    @jax.jit
    def run(params: Sequence[Any], key: jax.Array) -> arena.Match:
        given = [players._replace(params=p) for players, p in zip(kinds, params, strict=True)]
        return arena.play_match(
            game,
            given,
            key,
            games_per_direction=games_per_direction,
            opening_plies=opening_plies,
            draw_for_asked=draw_for_asked,
        )

    def play(params: Sequence[Any], key: jax.Array) -> arena.Match:
        return jax.tree.map(np.asarray, run(params, key))

    return play
