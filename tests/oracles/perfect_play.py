"""Perfect play of small games, by looking at everything."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from tests.oracles.mcts_games import OracleGame, State


def solve(game: OracleGame, state: State, memo: dict[Hashable, float] | None = None) -> float:
    """Value of a position under perfect play to its player to move, by looking at everything.

    For zero-sum games of a few thousand positions. `memo` may be passed along from call to call.
    """
    memo = {} if memo is None else memo
    mover = game.to_move(state)
    if game.terminal(state):
        return game.outcome(state)[mover]
    key = game.key(state)
    if key not in memo:
        best = -np.inf
        for action in np.flatnonzero(game.legal(state)):
            child = game.step(state, int(action))
            value = solve(game, child, memo)
            best = max(best, value if game.to_move(child) == mover else -value)
        memo[key] = float(best)
    return memo[key]


def best_actions(game: OracleGame, state: State) -> list[int]:
    """The actions that keep the value of `solve`."""
    memo: dict[Hashable, float] = {}
    mover, target = game.to_move(state), solve(game, state, memo)
    best = []
    for action in np.flatnonzero(game.legal(state)):
        child = game.step(state, int(action))
        value = solve(game, child, memo)
        if (value if game.to_move(child) == mover else -value) == target:
            best.append(int(action))
    return best
