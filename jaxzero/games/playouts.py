"""Random games side by side, as one compiled program, and what the protocol shows of them.

Everything compiled here has the game as a static argument, so that equal games share programs.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxzero.games.base import Game

_IMPOSSIBLE = -1e9  # finite: a row of -inf would be NaN


class Playout(NamedTuple):
    """Random games side by side: `states` has leading axes [T + 1, B], T = max_plies."""

    states: Any  # at each ply, the start included; finished games stay as they are
    actions: jax.Array  # int32[T, B], arbitrary in finished games


class View(NamedTuple):
    """What the protocol shows of one position."""

    observation: jax.Array
    legal: jax.Array
    terminal: jax.Array
    outcome: jax.Array
    to_move: jax.Array


def random_playout(game: Game, *, num_games: int, seed: int = 0) -> Playout:
    """Games of uniformly random legal actions, played for `max_plies` plies."""
    return _playout(game, num_games, jax.random.key(seed))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _playout(game: Game, num_games: int, key: jax.Array) -> Playout:
    def play(states: Any, key: jax.Array) -> tuple[Any, tuple[Any, jax.Array]]:
        legal = jax.vmap(game.legal_actions)(states)
        logits = jnp.where(legal, 0.0, _IMPOSSIBLE)
        actions = jax.random.categorical(key, logits).astype(jnp.int32)
        successors = jax.vmap(game.step)(states, actions)
        return successors, (successors, actions)

    start = _batch_of_starts(game, num_games)
    _, (states, actions) = lax.scan(play, start, jax.random.split(key, game.max_plies))
    return Playout(_with_start(start, states), actions)


@functools.partial(jax.jit, static_argnums=0)
def replay(game: Game, actions: jax.Array) -> Any:
    """States [T + 1, B] of the games from the start with those actions, int32[T, B]."""

    def play(states: Any, actions: jax.Array) -> tuple[Any, Any]:
        successors = jax.vmap(game.step)(states, actions)
        return successors, successors

    start = _batch_of_starts(game, actions.shape[1])
    return _with_start(start, lax.scan(play, start, actions)[1])


def _batch_of_starts(game: Game, num_games: int) -> Any:
    return jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * num_games), game.init())


def _with_start(start: Any, states: Any) -> Any:
    return jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), start, states)


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
def views_of(game: Game, states: Any) -> View:
    """What the protocol shows of states with leading axes [T, B]."""
    return jax.vmap(jax.vmap(functools.partial(view_of, game)))(states)
