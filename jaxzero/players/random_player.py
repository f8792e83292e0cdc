"""A player who plays any legal move."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games.base import Game, State
from jaxzero.players.base import Players, Turn, no_cost


def random_action(game: Game, key: jax.Array, state: State) -> jax.Array:
    """int32: a uniformly random legal action of one position. The key is consumed."""
    logits = jnp.where(game.legal_actions(state), 0.0, -1e9)
    return jax.random.categorical(key, logits).astype(jnp.int32)


def random_players(game: Game, count: int = 1) -> Players:
    """Uniformly random players."""

    def choose(params: Any, memory: Any, keys: jax.Array, states: State, live: jax.Array) -> Turn:
        del params, live
        action = jax.vmap(lambda key, state: random_action(game, key, state))(keys, states)
        return Turn(action, memory, no_cost())

    return Players(params=jnp.zeros((count,)), choose=choose)
