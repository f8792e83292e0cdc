"""Networks against a UCI engine: the networks' moves in one batch, the engine's side by side."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import RacingKings
from jaxzero.games.racing_kings import action_of
from jaxzero.loops import where_lanes
from jaxzero.matches.arena import random_opening
from jaxzero.matches.uci import Engines
from jaxzero.players import Players


@dataclasses.dataclass(frozen=True)
class EngineMatch:
    """B games of one player against the engine."""

    # float[B], result of the player: 1, 0, -1; NaN for a game that was given up because the engine
    # had no answer
    outcome: np.ndarray
    first: np.ndarray  # bool[B], games in which the player moved first
    actions: np.ndarray  # int16[max_plies, B], opening included, -1 after the end


def compile_player(game: RacingKings, players: Players) -> tuple[Callable, Callable, Callable]:
    """(start, choose, push) of one player of a kind, compiled at their first call.

    start(keys [B], plies) -> (states, actions of the openings); choose(params, memory, key, states,
    live) -> Turn; push(memory, states, actions, live) -> (memory, states, whose turn it is, which
    games are over, results [B, 2]).
    """

    @jax.jit
    def choose(params: Any, memory: Any, key: jax.Array, states: Any, live: jax.Array) -> Any:
        keys = jax.random.split(key, live.shape[0])
        return players.choose(params, memory, keys, states, live)

    @jax.jit
    def push(memory: Any, states: Any, actions: jax.Array, live: jax.Array) -> Any:
        memory = players.notice(memory, actions, live) if jax.tree.leaves(memory) else memory
        moved = jax.vmap(game.step)(states, actions)
        states = where_lanes(live, moved, states)
        over, result = jax.vmap(game.is_terminal)(states), jax.vmap(game.outcome)(states)
        return memory, states, jax.vmap(game.to_move)(states), over, result

    @functools.partial(jax.jit, static_argnums=1)
    def start(keys: jax.Array, plies: int) -> Any:
        return jax.vmap(lambda key: random_opening(game, key, plies))(keys)

    return start, choose, push


def play_match(
    game: RacingKings,
    players: Players,
    params: Any,
    engines: Engines,
    key: jax.Array,
    *,
    pairs: int,
    opening_plies: int = 0,
    compiled: tuple[Callable, Callable, Callable] | None = None,
) -> EngineMatch:
    """Plays colour-swapped pairs of games.

    Args:
      players: a kind of player.
      params: of one player of that kind.
      key: consumed; the engine's own randomness is its own.
      pairs: of games, each from its own opening.
      opening_plies: random plies of an opening.
      compiled: of `compile_player`, to be used again.
    """
    start, choose, push = compiled or compile_player(game, players)
    opening_key, play_key = jax.random.split(key)
    keys = jnp.repeat(jax.random.split(opening_key, pairs), 2)
    states, openings = start(keys, opening_plies)
    first = np.arange(2 * pairs) % 2 == 0
    count = 2 * pairs
    actions = np.full((game.max_plies, count), -1, np.int16)
    actions[:] = np.asarray(openings).T
    plies = (actions >= 0).sum(0)
    memory = players.remember(count)
    to_move = np.asarray(jax.vmap(game.to_move)(states))
    over = np.asarray(jax.vmap(game.is_terminal)(states))
    result, given_up = np.zeros((count, 2), np.float32), np.zeros(count, bool)
    tick = 0
    while not (over | given_up).all():
        live = ~over & ~given_up
        ours = live & ((to_move == 0) == first)
        theirs = np.flatnonzero(live & ~ours)
        host = jax.device_get(states)
        fens = [game.current_fen(jax.tree.map(lambda x, i=i: x[i], host)) for i in theirs]
        waiting = engines.ask(fens)
        chosen = np.zeros(count, np.int32)
        if ours.any():  # while the engines think
            tick_key = jax.random.fold_in(play_key, tick)
            turn = choose(params, memory, tick_key, states, jnp.asarray(ours))
            memory, chosen = turn.memory, np.array(turn.action)
        for i, future in zip(theirs, waiting, strict=True):
            move = future.result()
            if move is None:
                given_up[i] = True
            else:
                chosen[i] = action_of(move)
        live &= ~given_up
        memory, states, to_move, over, result = push(
            memory, states, jnp.asarray(chosen), jnp.asarray(live)
        )
        to_move, over = np.asarray(to_move), np.asarray(over)
        rows = np.flatnonzero(live)
        actions[plies[rows], rows] = chosen[rows]
        plies[rows] += 1
        tick += 1
    outcome = np.where(first, np.asarray(result)[:, 0], np.asarray(result)[:, 1])
    return EngineMatch(np.where(given_up, np.nan, outcome), first, actions)
