"""How positions get their evaluations: what a search may be given, and what it asks of it."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxzero.games import scoring
from jaxzero.games.base import Game, State
from jaxzero.loops import repeat
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import NewNode, log_prior

# observation [B, H, W, C] -> (logits [B, A], value [B]) or (logits, value, draw_probability [B]);
# values from the player to move, in [-1, 1]. A `ChunkedEvaluate` is one too.
Evaluate = Callable[[jax.Array], tuple]


class StateEvaluate(NamedTuple):
    """Marks an evaluation that needs whole positions: fn(keys [B], states [B]) -> as `Evaluate`.

    The keys are consumed. Used by rollouts, which play on from the position.
    """

    fn: Callable[[jax.Array, State], tuple]


@dataclasses.dataclass(frozen=True)
class ChunkedEvaluate:
    """Marks an evaluation that is made only for the positions that need one, so many at a time.

    A search needs none for finished positions and games. Equal to `fn` of all to rounding.

    Attributes:
      fn: of a batch, as `Evaluate`; each row's result depends on that row alone.
      at_once: rows of a call, at most: all calls have equal sizes. The last one may hold rows that
        nobody asked for.
    """

    fn: Evaluate
    at_once: int

    def __call__(self, observation: jax.Array) -> tuple:
        """`fn`, of the whole batch at once."""
        return self.fn(observation)


class Position(NamedTuple):
    """An evaluated position [B]: zero-sum value and draw probability from the player to move."""

    state: State
    legal: jax.Array
    to_move: jax.Array
    logits: jax.Array
    value: jax.Array
    draw: jax.Array
    is_terminal: jax.Array


def evaluate_positions(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    states: State,
    needed: jax.Array,
    options: SearchOptions,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(logits float32[B, A], value float32[B], draw probability float32[B], evaluations made).

    From the player to move. Rows that are not `needed` (bool[B]) may hold anything finite.

    ValueError: the options need draw probabilities, and `evaluate` returns none.
    """
    batch = needed.shape[0]
    made = jnp.float32(batch)
    if isinstance(evaluate, StateEvaluate):
        out = evaluate.fn(keys, states)
    elif isinstance(evaluate, ChunkedEvaluate):
        out, made = _in_chunks(evaluate, jax.vmap(game.observe)(states), needed)
    else:
        out = evaluate(jax.vmap(game.observe)(states))
    logits, value = out[0], out[1]
    chex.assert_shape(logits, (batch, game.num_actions))
    chex.assert_shape(value, (batch,))
    draw = out[2] if len(out) > 2 else None
    if draw is None:
        worth = options.draw_value  # an array: of each game, which may be none
        if options.backs_up_draws or (isinstance(worth, (int, float)) and worth):
            raise ValueError(
                "draw_value and backs_up_draws need an evaluation that returns draw probabilities"
            )
        draw = jnp.zeros_like(value)
    return logits.astype(jnp.float32), value.astype(jnp.float32), draw.astype(jnp.float32), made


def _in_chunks(
    evaluate: ChunkedEvaluate, observation: jax.Array, needed: jax.Array
) -> tuple[tuple, jax.Array]:
    """What `evaluate` says of the needed rows, zeros elsewhere; evaluations made."""
    batch = needed.shape[0]
    size = -(-batch // -(-batch // evaluate.at_once))
    room = -(-batch // size) * size
    place = jnp.where(needed, jnp.cumsum(needed) - 1, room)
    rows = jnp.full((room,), batch).at[place].set(jnp.arange(batch), mode="drop")
    chunks = -(-needed.sum() // size)

    def body(i: jax.Array, out: tuple) -> tuple:
        # Beyond this member's own chunks all rows lie outside of the batch and are dropped.
        some = jax.lax.dynamic_slice_in_dim(rows, i * size, size)
        found = evaluate.fn(observation.at[some].get(mode="clip"))
        return jax.tree.map(lambda all_, part: all_.at[some].set(part, mode="drop"), out, found)

    shapes = jax.eval_shape(evaluate.fn, observation[:size])
    nothing = jax.tree.map(lambda x: jnp.zeros((batch, *x.shape[1:]), x.dtype), shapes)
    return repeat(chunks, body, nothing), (chunks * size).astype(jnp.float32)


def look_at(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    states: State,
    options: SearchOptions,
    needed: jax.Array | None = None,
) -> tuple[Position, jax.Array]:
    """Evaluates positions; finished ones get their true result in place of the network's word.

    Args:
      evaluate: see `Evaluate`.
      keys: [B], consumed.
      needed: bool[B], whose evaluation will be used, should they be unfinished; None: all.

    Returns:
      The positions, and how many evaluations were made, float32.
    """
    is_terminal = jax.vmap(game.is_terminal)(states)
    needed = ~is_terminal if needed is None else needed & ~is_terminal
    logits, value, draw, made = evaluate_positions(game, evaluate, keys, states, needed, options)
    to_move = jax.vmap(game.to_move)(states)
    outcome = jax.vmap(game.outcome)(states)
    result = scoring.result_for_mover(outcome, to_move, options.draw_for_asked)
    position = Position(
        state=states,
        legal=jax.vmap(game.legal_actions)(states),
        to_move=to_move,
        logits=logits,
        value=jnp.where(is_terminal, result, value),
        draw=jnp.where(is_terminal, scoring.draw_share(result), draw),
        is_terminal=is_terminal,
    )
    return position, made


def as_node(position: Position, options: SearchOptions) -> NewNode:
    """What the tree stores of a position."""
    return NewNode(
        log_prior=log_prior(position.logits, position.legal, renormalise=options.renormalise_prior),
        value=position.value + options.draw_value * position.draw,
        state=position.state,
        to_move=position.to_move,
        draw=position.draw,
    )
