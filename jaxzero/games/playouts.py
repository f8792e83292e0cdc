"""Random games side by side, as one compiled program, and what the protocol shows of them.

Everything compiled here has the game as a static argument, so that equal games share programs.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxzero.games.base import Game

_IMPOSSIBLE = -1e9  # finite: a row of -inf would be NaN
_RANDOM = -1  # no action
_GAMES = 64  # whose mean length is asked


class View(NamedTuple):
    """What the protocol shows of a position, or of many."""

    observation: jax.Array
    legal: jax.Array
    terminal: jax.Array
    outcome: jax.Array
    to_move: jax.Array


class Playout(NamedTuple):
    """Games side by side, as NumPy arrays: `states` has leading axes [T + 1, B], T = max_plies."""

    states: Any  # at each ply, the start included; finished games stay as they are
    views: View  # of those states
    actions: np.ndarray  # int32[T, B], arbitrary in finished games


def random_playout(game: Game, *, num_games: int, seed: int = 0) -> Playout:
    """Games of uniformly random legal actions, played for `max_plies` plies."""
    nothing_given = np.full((game.max_plies, num_games), _RANDOM, np.int32)
    return jax.device_get(_playout(game, nothing_given, jax.random.key(seed)))


def replay(game: Game, actions: np.ndarray) -> Playout:
    """The games from the start with those actions, int32[T, B]."""
    return jax.device_get(_playout(game, actions, jax.random.key(0)))


def views_of(game: Game, states: Any) -> View:
    """What the protocol shows of states with leading axes [T, B], as NumPy arrays.

    Checks compare on the host: each comparison would be one more program to compile.
    """
    return jax.device_get(_views(game, states))


def steps_of(game: Game, states: Any, actions: np.ndarray) -> Any:
    """Successors, NumPy, of states with leading axes [T, B] by actions int32[T, B]."""
    return jax.device_get(_steps(game, states, actions))


@functools.partial(jax.jit, static_argnums=0)
def _playout(game: Game, given: jax.Array, key: jax.Array) -> Playout:
    """Games with the actions `given`, int32[T, B], and random ones where they are `_RANDOM`.

    One program for both, because compiling the rules is what takes time here.
    """

    def play(states: Any, inputs: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
        given, key = inputs
        legal = jax.vmap(game.legal_actions)(states)
        drawn = jax.random.categorical(key, jnp.where(legal, 0.0, _IMPOSSIBLE))
        actions = jnp.where(given == _RANDOM, drawn, given).astype(jnp.int32)
        successors = jax.vmap(game.step)(states, actions)
        return successors, (successors, actions)

    num_plies, num_games = given.shape
    start = starts(game, num_games)
    _, (states, actions) = lax.scan(play, start, (given, jax.random.split(key, num_plies)))
    states = jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), start, states)
    return Playout(states, _views(game, states), actions)


def starts(game: Game, num_games: int) -> Any:
    """States [B] of games that have not begun."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (num_games, *jnp.shape(x))), game.init())


@functools.cache
def mean_random_plies(game: Game) -> float:
    """Mean length of games of uniformly random moves, always the same games."""
    return float(_random_plies(game))


@functools.partial(jax.jit, static_argnums=0)
def _random_plies(game: Game) -> jax.Array:
    def going(carry: tuple[Any, jax.Array, jax.Array]) -> jax.Array:
        return ~jax.vmap(game.is_terminal)(carry[0])

    def body(carry: tuple[Any, jax.Array, jax.Array]) -> tuple[Any, jax.Array, jax.Array]:
        states, ply, total = carry
        legal = jax.vmap(game.legal_actions)(states)
        key = jax.random.fold_in(jax.random.key(0), ply)
        actions = jax.random.categorical(key, jnp.where(legal, 0.0, _IMPOSSIBLE))
        total = total + going(carry).sum()
        return jax.vmap(game.step)(states, actions.astype(jnp.int32)), ply + 1, total

    carry = (starts(game, _GAMES), jnp.int32(0), jnp.int32(0))
    return lax.while_loop(lambda c: going(c).any(), body, carry)[2] / _GAMES


def view_of(game: Game, state: Any) -> View:
    """What the protocol shows of one state."""
    return View(
        observation=game.observe(state),
        legal=game.legal_actions(state),
        terminal=game.is_terminal(state),
        outcome=game.outcome(state),
        to_move=game.to_move(state),
    )


@functools.partial(jax.jit, static_argnums=0)
def _views(game: Game, states: Any) -> View:
    return jax.vmap(jax.vmap(functools.partial(view_of, game)))(states)


@functools.partial(jax.jit, static_argnums=0)
def _steps(game: Game, states: Any, actions: jax.Array) -> Any:
    return jax.vmap(jax.vmap(game.step))(states, actions)
