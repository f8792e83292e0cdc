"""Rules of players that evolve, in plain Python, and the settings of their tests."""

import functools
from typing import Any

from jaxzero.training.league import League
from jaxzero.training.spec import Spec
from tests import small

SETTINGS: dict[str, Any] = {
    "game": "connect_four_3x3_line3",
    "network.name": "resnet",
    "network.blocks": 1,
    "network.value_head": "wdl",
    "search.q_scale": "unit",
    "search.dirichlet_fraction": 0.25,
    "search.num_simulations": 6,
    "selfplay.episodes": 16,
    "selfplay.league": "wins",
    "selfplay.league_players": 6,
    "selfplay.league_parents": 2,
    "selfplay.league_games": 5.0,
    "selfplay.league_pairing": "skewed",
}


@functools.cache
def spec_of(changes: tuple[tuple[str, Any], ...] = ()) -> Spec:
    return small.small_spec(SETTINGS | dict(changes))


SPEC = spec_of()
OWN = SPEC.selfplay


def plain_elo(ratings: list[float], games: list[tuple[int, int, float]]) -> list[float]:
    """K = 32, a difference of 400 for odds of ten, one game after another."""
    ratings = list(ratings)
    for first, second, score in games:
        expected = 1 / (1 + 10 ** ((ratings[second] - ratings[first]) / 400))
        change = 32 * (score - expected)
        ratings[first] += change
        ratings[second] -= change
    return ratings


def plain_is_over(own: Any, one: League) -> bool:
    alive = [i for i in range(len(one.born)) if one.born[i] >= 0]
    best = sorted(alive, key=lambda i: -one.rating[i])[: own.league_players]
    newest = [i for i in best if one.born[i] == one.generation]
    share = 0.6 if one.generation == 0 else 1.0
    return sum(float(one.games[i]) for i in newest) >= share * own.league_games * len(newest)
