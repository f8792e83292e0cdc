"""Positions solved without any thought: everything that `game.step` reaches, backed up.

Knows the rules from `jaxzero.games` alone and no bitboards, pruning or order of moves.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import ConnectFour, Game
from jaxzero.solvers import ILLEGAL, stones_placed

_AT_ONCE = 2048


def action_scores(game: Game, states: Any) -> np.ndarray:
    """int[N, A]: the score of every action in unfinished states [N], `ILLEGAL` where it is none."""
    return _solve(game, states, [])


def reachable(game: Game, states: Any) -> tuple[Any, np.ndarray, int]:
    """Everything that distinct `states` lead to.

    Returns:
      The unfinished positions, themselves included, [N]; their scores by action, int[N, A]; and the
      number of finished ones.
    """
    layers: list[tuple[Any, np.ndarray, int]] = []
    _solve(game, states, layers)
    found, scores, finished = zip(*layers, strict=True)
    together = jax.tree.map(lambda *x: np.concatenate(x), *found)
    return together, np.concatenate(scores), sum(finished)


def _solve(game: Game, states: Any, layers: list[tuple[Any, np.ndarray, int]]) -> np.ndarray:
    """`action_scores`; adds every layer of positions to `layers`, see `reachable`."""
    successors, legal, terminal, score = _expand(game, states)
    values = np.where(legal, -score, ILLEGAL)
    going = legal & ~terminal
    if going.any():
        children, back = _distinct(successors, going)
        values[going] = -_solve(game, children, layers).max(axis=1)[back]
    finished = legal & terminal
    ended = len(_distinct(successors, finished)[0].to_move) if finished.any() else 0
    layers.append((states, values, ended))
    return values


def _distinct(states: Any, which: np.ndarray) -> tuple[Any, np.ndarray]:
    """The different ones among chosen states, and for each chosen one where it is."""
    chosen = jax.tree.map(lambda x: x[which], states)
    stones = chosen.stones.reshape(len(chosen.to_move), -1)
    identity = np.concatenate([stones, chosen.to_move[:, None]], axis=1)
    _, first, back = np.unique(identity, axis=0, return_index=True, return_inverse=True)
    return jax.tree.map(lambda x: x[first], chosen), back.reshape(-1)


def _expand(game: Game, states: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Successors [N, A, ...], legal, terminal, and scores of finished successors' movers."""
    count = len(states.to_move)
    parts = []
    for start in range(0, count, _AT_ONCE):
        place = np.minimum(np.arange(start, start + _AT_ONCE), count - 1)
        part = jax.device_get(_step(game, jax.tree.map(lambda x, i=place: x[i], states)))
        parts.append(jax.tree.map(lambda x, n=count - start: x[:n], part))
    successors, legal, terminal, result = jax.tree.map(lambda *x: np.concatenate(x), *parts)
    return successors, legal, terminal, _score(game, successors, result)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, states: Any) -> tuple:
    def one(state: Any) -> tuple:
        actions = jnp.arange(game.num_actions, dtype=jnp.int32)
        after = jax.vmap(lambda a: game.step(state, a))(actions)
        result = jax.vmap(lambda s: game.outcome(s)[game.to_move(s)])(after)
        return after, game.legal_actions(state), jax.vmap(game.is_terminal)(after), result

    return jax.vmap(one)(states)


def _score(game: Game, states: Any, result: np.ndarray) -> np.ndarray:
    """Of finished games, for the player who would be to move."""
    if isinstance(game, ConnectFour):
        squares = game.rows * game.columns
        return result.astype(int) * ((squares + 2 - stones_placed(states)) // 2)
    discs = np.bitwise_count(states.stones).sum(axis=-1).astype(int)
    own = np.take_along_axis(discs, states.to_move[..., None].astype(int), axis=-1)[..., 0]
    return 2 * own - discs.sum(axis=-1)
