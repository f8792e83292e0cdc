"""The games of a batch, ply by ply: what is noted as they are played, and learned from."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import UNKNOWN


@struct.dataclass
class Trajectory:
    """T plies of B games; rows of finished games are not `valid`.

    Attributes:
      observation: [T, B, H, W, C], from the player to move.
      policy: float32[T, B, A], the policy target.
      legal: bool[T, B, A].
      to_move: int8[T, B].
      action: int32[T, B], -1 where not valid.
      root_value: float32[T, B], of the search, from the player to move; zero-sum with `root_draw`.
      value: float32[T, B], the label z, from the player to move, times the search's discount for
        each ply to the game's end.
      drawn: float32[T, B], share of draws in that result.
      valid: bool[T, B].
      recorded: bool[T, B], valid plies that are learned from: those with a full search.
      outcome: float32[B, 2], true results.
      plies: int32[B].
      active: bool[B], games that were asked for.
      start: int32[B], plies before the first row of each game; None where all games begin at the
        start.
      rolled_back: bool[B], games that random play had ended; None as `start`.
      begun: states [B] before the first rows; None as `start`.
      root_draw: float32[T, B], draw probability that the search found; None without
        `SearchOptions.backs_up_draws`.
    """

    observation: jax.Array
    policy: jax.Array
    legal: jax.Array
    to_move: jax.Array
    action: jax.Array
    root_value: jax.Array
    value: jax.Array
    drawn: jax.Array
    valid: jax.Array
    recorded: jax.Array
    outcome: jax.Array
    plies: jax.Array
    active: jax.Array
    start: jax.Array | None = None
    rolled_back: jax.Array | None = None
    begun: Any = None
    root_draw: jax.Array | None = None


# Fields of `Trajectory` without an axis of plies.
BY_GAME = ("outcome", "plies", "active", "start", "rolled_back", "begun")


def along_games(fn: Callable[[jax.Array, int], jax.Array], games: Trajectory) -> Trajectory:
    """`fn` of each array and its axis of games."""
    fields: dict[str, Any] = {
        name: jax.tree.map(lambda x, axis=int(name not in BY_GAME): fn(x, axis), value)
        for name, value in vars(games).items()
    }
    return Trajectory(**fields)


def empty_record(
    game: Game, batch: int, options: SearchOptions, known: bool = False
) -> dict[str, jax.Array]:
    """What is noted of T plies of B games, all empty: [T, B, ...] by field of `Trajectory`, and, if
    asked for, `known`: int8, what `SearchResult.known` said.
    """
    plies, actions = game.max_plies, game.num_actions
    observation = jax.eval_shape(lambda: game.observe(game.init()))
    shape = (plies, batch)
    record = {
        "observation": jnp.zeros((*shape, *observation.shape), observation.dtype),
        "policy": jnp.zeros((*shape, actions), jnp.float32),
        "legal": jnp.zeros((*shape, actions), bool),
        "to_move": jnp.zeros(shape, jnp.int8),
        "action": jnp.full(shape, -1, jnp.int32),
        "root_value": jnp.zeros(shape, jnp.float32),
        "valid": jnp.zeros(shape, bool),
        "recorded": jnp.zeros(shape, bool),
    }
    if options.backs_up_draws:
        record["root_draw"] = jnp.zeros(shape, jnp.float32)
    return record | ({"known": jnp.full(shape, UNKNOWN, jnp.int8)} if known else {})
