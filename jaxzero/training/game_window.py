"""A window filled by games instead of iterations: at least so many, the oldest tenth leaving (004).

Games come in batches, one slot of the ring each, so numbers of games are met to within a batch.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.loops import masked, while_any
from jaxzero.training import replay
from jaxzero.training.replay import Examples, Replay


@dataclasses.dataclass(frozen=True)
class Filling:
    """Static settings.

    Attributes:
      games: games that the window must hold before training, in iteration 1, 2, ...; the last
        number holds from then on.
      leaving: share of the games, the oldest, that leaves after training.
    """

    games: tuple[int, ...]
    leaving: float


@struct.dataclass
class Filled:
    """What a run remembers of its window.

    Attributes:
      newest: int32, number of the newest batch, from 1; 0 before the first.
      oldest: int32, number of the oldest batch that is still in it.
      games: int32[W], games in each slot of the ring.
    """

    newest: jax.Array
    oldest: jax.Array
    games: jax.Array


@struct.dataclass
class Batch:
    """One batch of games.

    Attributes:
      examples: [P], packed to the front.
      count: int32, examples in use.
      games: int32, games that they are of.
      progress: of the curriculum after them; `()` without one.
      metrics: float32 scalars.
    """

    examples: Examples
    count: jax.Array
    games: jax.Array
    progress: Any
    metrics: dict[str, jax.Array]


def begin(slots: int) -> Filled:
    """An empty window of W slots."""
    return Filled(jnp.int32(0), jnp.int32(1), jnp.zeros((slots,), jnp.int32))


def batches(filled: Filled) -> jax.Array:
    """int32: batches in the window."""
    return filled.newest - filled.oldest + 1


def games_in(filled: Filled) -> jax.Array:
    """int32: games in the window."""
    return jnp.where(_age(filled) < batches(filled), filled.games, 0).sum(dtype=jnp.int32)


def _age(filled: Filled) -> jax.Array:
    """int32[W]: how many batches ago each slot was filled; 0 the newest."""
    slots = filled.games.shape[0]
    return (filled.newest - jnp.arange(slots)) % slots


def goal(plan: Filling, iteration: jax.Array) -> jax.Array:
    """int32: games that the window must hold in an iteration, from 1."""
    place = jnp.clip(iteration - 1, 0, len(plan.games) - 1)
    return jnp.where(jnp.arange(len(plan.games)) == place, jnp.asarray(plan.games), 0).sum()


def fill(
    plan: Filling,
    filled: Filled,
    window: Replay,
    progress: Any,
    iteration: jax.Array,
    play: Callable[[Any, jax.Array], Batch],
) -> tuple[Batch, Replay, Filled]:
    """Plays batches until the window holds enough games: at least one, at most the whole ring.

    Args:
      plan: settings.
      filled, window: before.
      progress: of the curriculum.
      iteration: int32, from 1.
      play: (progress, number of the batch) -> the batch.

    Returns:
      The last batch (its `count/*` metrics are sums over all), the window and what it holds.
    """
    slots = filled.games.shape[0]
    wanted = goal(plan, iteration)

    def going(carry: tuple) -> jax.Array:
        filled, _, _, played = carry
        return (played == 0) | ((games_in(filled) < wanted) & (played < slots))

    def body(carry: tuple) -> tuple:
        filled, window, batch, played = carry
        number = filled.newest + 1
        new = play(batch.progress, number)
        metrics = {
            name: value + batch.metrics[name] if name.startswith("count/") else value
            for name, value in new.metrics.items()
        }
        after = Filled(
            newest=number,
            oldest=jnp.maximum(filled.oldest, number - slots + 1),
            games=filled.games.at[number % slots].set(new.games),
        )
        ring = replay.add(window, new.examples, new.count, number)
        return masked(
            going(carry),
            (after, ring, dataclasses.replace(new, metrics=metrics), played + 1),
            carry,
        )

    shapes = jax.eval_shape(play, progress, jnp.int32(1))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    nothing = dataclasses.replace(nothing, progress=progress)
    filled, window, batch, _ = while_any(going, body, (filled, window, nothing, jnp.int32(0)))
    return batch, window, filled


def leave(plan: Filling, filled: Filled) -> Filled:
    """Without the oldest batches that make up the leaving share, to the nearest batch."""
    age = _age(filled)
    inside = age < batches(filled)
    games = jnp.where(inside, filled.games, 0)
    older = (age[None] > age[:, None]).astype(jnp.int32)  # of each slot, those filled before it
    before = (older * games[None]).sum(-1)
    leaves = inside & (before + games / 2 <= plan.leaving * games.sum()) & (age > 0)
    return dataclasses.replace(filled, oldest=filled.oldest + leaves.sum(dtype=jnp.int32))
