"""What a finished game counts as: the truth, and what the published programs made of it.

A game's `outcome` is always true. The programs behind Wang 2019, 2020, 2023 scored some results
differently, in ways that differ between search, value labels and arena (facts: section 4.1 and
1.1). Everything that turns an outcome into a training signal goes through this file.
"""

import jax
import jax.numpy as jnp


def is_drawn(outcome: jax.Array) -> jax.Array:
    """bool[...] for a *finished* game's outcome float32[..., 2]."""
    return outcome[..., 0] == outcome[..., 1]


def result_for_mover(outcome: jax.Array, to_move: jax.Array, draw_for_asked: float) -> jax.Array:
    """The result of finished games, from the player to move.

    Args:
      outcome: float32[..., 2] of finished games.
      to_move: int32[...], whose turn it would be.
      draw_for_asked: what a draw is worth to the side that is asked, i.e. to move: 0 (true),
        -1 (alpha-zero-general's Othello: a tie is lost by whoever is asked), 1e-4 (its Connect
        Four and Gobang).

    Returns:
      float32[...] in [-1, 1], from the player to move.
    """
    result = jnp.where(to_move == 0, outcome[..., 0], outcome[..., 1])
    return jnp.where(is_drawn(outcome), jnp.float32(draw_for_asked), result)


def draw_share(result: jax.Array) -> jax.Array:
    """What part of a result float32[...] in [-1, 1] is a draw, the rest being a win or a loss."""
    return 1.0 - jnp.abs(result)


def labels(
    outcome: jax.Array,
    to_move_at_end: jax.Array,
    *,
    draw_for_asked: float = 0.0,
    first_player_always_loses: bool = False,
) -> jax.Array:
    """Value targets of finished games, for player 0 and player 1.

    Args:
      outcome: float32[..., 2] of finished games.
      to_move_at_end: int32[...].
      draw_for_asked: see `result_for_mover`; the other side gets the negative.
      first_player_always_loses: the Gobang defect of alpha-zero-general: its `getGameEnded` returns
        the absolute colour where the relative one is expected, so that the positions of the first
        player are labelled -1 in every decisive game, won or lost.

    Returns:
      float32[..., 2] in [-1, 1].
    """
    asked = result_for_mover(outcome, to_move_at_end, draw_for_asked)
    first = jnp.where(to_move_at_end == 0, asked, -asked)
    if first_player_always_loses:
        first = jnp.where(is_drawn(outcome), first, -1.0)
    return jnp.stack([first, -first], axis=-1)


def arena_outcome(outcome: jax.Array, draw_for_asked: float) -> jax.Array:
    """Results as the arena counts them: it asks for player 0.

    Only a draw worth a whole point changes a count (Othello's -1: the second mover wins ties);
    1e-4 stays a draw.

    Args:
      outcome: float32[..., 2] of finished games.
      draw_for_asked: see `result_for_mover`.

    Returns:
      float32[..., 2] in {-1, 0, 1}.
    """
    if abs(draw_for_asked) < 1.0:
        return outcome
    tie = jnp.stack([jnp.float32(draw_for_asked), jnp.float32(-draw_for_asked)])
    tie = jnp.broadcast_to(tie, outcome.shape)
    return jnp.where(is_drawn(outcome)[..., None], tie, outcome)
