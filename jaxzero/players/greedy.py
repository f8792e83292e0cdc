"""A player who looks one ply ahead and takes what it sees."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games.base import CountsMaterial, Game, State
from jaxzero.players.base import Players, Turn, no_cost

_AT_ONCE = 1 << 14  # positions looked at together; games with many actions take turns


def greedy_action(game: Game, key: jax.Array, state: State) -> jax.Array:
    """int32: the best move of one position by what the board shows right after it.

    A move that wins; else the one that leaves the mover furthest ahead in material (the same for
    all where a game does not count any, see `CountsMaterial`); a move that ends the game lost only
    where every other does too. Random among equals. The key is consumed.
    """
    mover = game.to_move(state)

    def worth(action: jax.Array) -> jax.Array:
        after = game.step(state, action)
        result = jnp.where(game.is_terminal(after), game.outcome(after)[mover], 0.0)
        ahead = jnp.int32(0)
        if isinstance(game, CountsMaterial):
            material = game.material(after)
            ahead = material[mover] - material[1 - mover]
        most = jnp.int32(1 << 16)  # more than any board holds: a result outweighs material
        return ahead + most * jnp.sign(result).astype(jnp.int32)

    worths = jax.vmap(worth)(jnp.arange(game.num_actions, dtype=jnp.int32))
    legal = game.legal_actions(state)
    best = jnp.where(legal, worths, jnp.iinfo(jnp.int32).min)
    is_best = legal & (best == best.max())
    return jax.random.categorical(key, jnp.where(is_best, 0.0, -1e9)).astype(jnp.int32)


def greedy_players(game: Game, count: int = 1) -> Players:
    """Greedy players; they differ in nothing but their keys."""
    at_once = max(1, _AT_ONCE // game.num_actions)

    def choose(params: Any, memory: Any, keys: jax.Array, states: State, live: jax.Array) -> Turn:
        del params, live
        action = jax.lax.map(
            lambda x: greedy_action(game, *x), (keys, states), batch_size=min(at_once, len(keys))
        )
        return Turn(action, memory, no_cost())

    return Players(params=jnp.zeros((count,)), choose=choose)
