"""Labels of plies, z: what happened in the game, or what a search was sure of before its end."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games import scoring
from jaxzero.games.base import Game
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import UNKNOWN


def of_plies(
    game: Game,
    states: Any,
    is_first: jax.Array,
    valid: jax.Array,
    *,
    options: SearchOptions,
    known: jax.Array | None,
    first_player_always_loses: bool,
) -> tuple[jax.Array, jax.Array]:
    """Labels of the T plies of B finished games.

    Args:
      states: [B], at the end of the games.
      is_first: bool[T, B], whether the first player is to move.
      valid: bool[T, B], plies that were played.
      options: of the search: worth of a draw, discount for each ply to the game's end.
      known: int8[T, B], what the searches were sure of, see `by_known`; None: games alone count.
      first_player_always_loses: published Gobang labels, see `scoring.labels`.

    Returns:
      float32[T, B], from the player to move; float32[T, B], the share of draws in it.
    """
    outcome = jax.vmap(game.outcome)(states)
    sides = scoring.labels(
        outcome,
        jax.vmap(game.to_move)(states),
        draw_for_asked=options.draw_for_asked,
        first_player_always_loses=first_player_always_loses,
    )
    value = jnp.where(is_first, sides[None, :, 0], sides[None, :, 1])
    if known is not None:
        value = by_known(value, jnp.where(valid, known, UNKNOWN), is_first)
    drawn = scoring.draw_share(value)
    if options.discount < 1:
        left = valid.sum(0, dtype=jnp.int32)[None] - jnp.arange(len(valid))[:, None]
        value *= options.discount ** jnp.maximum(left, 0)
    return value, drawn


def by_known(value: jax.Array, known: jax.Array, is_first: jax.Array) -> jax.Array:
    """Labels by what the searches knew: the first known result from a ply on, else the game's.

    A search may know a result before a player who explores gives it away.

    Args:
      value: float32[T, B], labels by the games' results, from the player to move.
      known: int8[T, B], results for the player to move, or `UNKNOWN`.
      is_first: bool[T, B], whether the first player is to move.

    Returns:
      float32[T, B], from the player to move.
    """
    sign = jnp.where(is_first, 1.0, -1.0)
    known = jnp.where(known == UNKNOWN, jnp.nan, known * sign)

    def back(later: jax.Array, ply: jax.Array) -> tuple[jax.Array, jax.Array]:
        label = jnp.where(jnp.isnan(ply), later, ply)
        return label, label

    _, by_known = jax.lax.scan(back, jnp.full(value.shape[1:], jnp.nan), known, reverse=True)
    return jnp.where(jnp.isnan(by_known), value, by_known * sign)
