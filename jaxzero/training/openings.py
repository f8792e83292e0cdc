"""Games that begin with random moves instead of searched ones (West 2020 section II-B2)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes, while_any
from jaxzero.players import random_action

_STREAM = 0x7FFFFFFF  # folded into a game's key; its plies fold in their own small numbers
_LENGTH = 0x7FFFFFFD  # folded into a game's key for the length of its opening
TAKEN_BACK = 0.3  # share of its plies that an opening of `lengths` gives up if it ended the game


def at_start(game: Game, batch: int) -> "Openings":
    """Games that begin as the rules say."""
    return Openings(starts(game, batch), jnp.zeros((batch,), jnp.int32), jnp.zeros((batch,), bool))


@struct.dataclass
class Openings:
    """Where the search takes over in each of B games."""

    states: Any  # [B] positions, unfinished in active games
    plies: jax.Array  # int32[B], plies before them
    rolled_back: jax.Array  # bool[B], games that random play had ended


def lengths(keys: jax.Array, most: int) -> jax.Array:
    """int32[B]: 0 to `most` random plies for each game, each number as likely.

    keys: [B], one for each game; another stream of the same keys than moves and search use.
    """
    own = jax.vmap(jax.random.fold_in, (0, None))(keys, _LENGTH)
    return jax.vmap(lambda key: jax.random.randint(key, (), 0, most + 1))(own)


def random_openings(
    game: Game,
    keys: jax.Array,
    active: jax.Array,
    *,
    plies: jax.Array | int,
    kept: jax.Array | float,
) -> Openings:
    """Plays the first plies of every game at random.

    A game that ends meanwhile is taken back by the share `kept` of its plies (at least one),
    "rolled back zeta% ply" (West 2020): so much of its own length is left to the search.

    Args:
      keys: [B], one for each game; another stream of the same keys than the search uses.
      active: bool[B]; the other games stay at their start.
      plies: int32 scalar or [B], may be traced.
      kept: zeta, in (0, 1], may be traced.
    """
    batch = active.shape[0]
    stream = jax.vmap(jax.random.fold_in, (0, None))(keys, _STREAM)

    def advance(goal: jax.Array) -> tuple[Any, jax.Array]:
        """The games after `goal` (int32[B]) plies or at their end, and how many they had."""

        def going(carry: tuple[Any, jax.Array]) -> jax.Array:
            states, played = carry
            return active & (played < goal) & ~jax.vmap(game.is_terminal)(states)

        def body(carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
            states, played = carry
            live = going(carry)
            ply_keys = jax.vmap(jax.random.fold_in)(stream, played)
            action = jax.vmap(lambda key, state: random_action(game, key, state))(ply_keys, states)
            moved = jax.vmap(game.step)(states, action)
            return where_lanes(live, moved, states), played + live

        return while_any(going, body, (starts(game, batch), jnp.zeros((batch,), jnp.int32)))

    wanted = jnp.broadcast_to(jnp.asarray(plies, jnp.int32), (batch,))
    states, played = advance(wanted)
    ended = active & jax.vmap(game.is_terminal)(states)
    taken_back = jnp.maximum(jnp.round(kept * played).astype(jnp.int32), 1)
    goal = jnp.where(ended, jnp.maximum(played - taken_back, 0), 0)
    # The same keys play the same moves again: nothing but the key had to be remembered.
    shortened, replayed = advance(goal)
    return Openings(
        states=where_lanes(ended, shortened, states),
        plies=jnp.where(ended, replayed, played),
        rolled_back=ended,
    )
