"""Whatever can choose a move inside a compiled match."""

from jaxzero.players.base import Cost, Players, Turn, no_cost
from jaxzero.players.greedy import greedy_action, greedy_players
from jaxzero.players.random_player import random_action, random_players
from jaxzero.players.search_player import (
    Searcher,
    rollout_evaluate,
    rollouts_of,
    search_players,
)

__all__ = [
    "Cost",
    "Players",
    "Searcher",
    "Turn",
    "greedy_action",
    "greedy_players",
    "no_cost",
    "random_action",
    "random_players",
    "rollout_evaluate",
    "rollouts_of",
    "search_players",
]
