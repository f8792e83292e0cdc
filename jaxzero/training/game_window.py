"""A window filled by games, not iterations: at least so many, the oldest tenth leaving (West 2020).

Games come in batches, one slot of the ring each, so numbers of games are met to within a batch.
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.loops import masked, while_any
from jaxzero.training import replay
from jaxzero.training.past import Past
from jaxzero.training.replay import Source
from jaxzero.training.spec import ReplaySettings
from jaxzero.training.windows import Batch, Held, Play, Window


@struct.dataclass
class GameWindowState:
    """What a run remembers of its window."""

    newest: jax.Array  # int32, number of the newest batch, from 1; 0 before the first
    oldest: jax.Array  # int32, number of the oldest batch that is still in it
    games: jax.Array  # int32[W], games in each slot of the ring


class GameWindow(Window):
    """At least `replay.minimum_games` games, of which the oldest share leaves after training."""

    def begin(self) -> Held:
        slots = self.spec.replay.window
        filled = GameWindowState(jnp.int32(0), jnp.int32(1), jnp.zeros((slots,), jnp.int32))
        return super().begin()._replace(filled=filled)

    def take_in(
        self, held: Held, play: Play, progress: Past, iteration: jax.Array, key: jax.Array
    ) -> tuple[Batch, Held]:
        """At least one batch, at most the whole ring; a key for each, folded by its number."""
        slots = self.spec.replay.window
        wanted = goal(self.spec.replay, iteration)

        def going(carry: tuple) -> jax.Array:
            held, _, played = carry
            return (played == 0) | ((games_in(held.filled) < wanted) & (played < slots))

        def body(carry: tuple) -> tuple:
            held, batch, played = carry
            number = held.filled.newest + 1
            new = play(batch.progress, jax.random.fold_in(key, number))
            metrics = {
                name: value + batch.metrics[name] if name.startswith("count/") else value
                for name, value in new.metrics.items()
            }
            filled = GameWindowState(
                newest=number,
                oldest=jnp.maximum(held.filled.oldest, number - slots + 1),
                games=held.filled.games.at[number % slots].set(new.games),
            )
            ring = replay.add(held.examples, new.examples, new.count, number)
            new = dataclasses.replace(new, metrics=metrics)
            return masked(going(carry), (Held(ring, filled), new, played + 1), carry)

        shapes = jax.eval_shape(play, progress, key)
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        nothing = dataclasses.replace(nothing, progress=progress)
        held, batch, _ = while_any(going, body, (held, nothing, jnp.int32(0)))
        return batch.with_metric("count/window_games", games_in(held.filled)), held

    def source(self, held: Held, iteration: jax.Array, last: jax.Array) -> Source:
        return super().source(held, held.filled.newest, batches(held.filled))

    def forget(self, held: Held) -> Held:
        """Without the oldest batches that make up the leaving share."""
        return held._replace(filled=leave(self.spec.replay, held.filled))


def batches(filled: GameWindowState) -> jax.Array:
    """int32: batches in the window."""
    return filled.newest - filled.oldest + 1


def games_in(filled: GameWindowState) -> jax.Array:
    """int32: games in the window."""
    return jnp.where(_age(filled) < batches(filled), filled.games, 0).sum(dtype=jnp.int32)


def _age(filled: GameWindowState) -> jax.Array:
    """int32[W]: how many batches ago each slot was filled; 0 the newest."""
    slots = filled.games.shape[0]
    return (filled.newest - jnp.arange(slots)) % slots


def goal(own: ReplaySettings, iteration: jax.Array) -> jax.Array:
    """int32: games that the window must hold in an iteration, from 1."""
    place = jnp.clip(iteration - 1, 0, len(own.minimum_games) - 1)
    return jnp.asarray(own.minimum_games)[place]


def leave(own: ReplaySettings, filled: GameWindowState) -> GameWindowState:
    """Without the oldest batches that make up the leaving share, to the nearest batch."""
    age = _age(filled)
    inside = age < batches(filled)
    games = jnp.where(inside, filled.games, 0)
    older = (age[None] > age[:, None]).astype(jnp.int32)  # of each slot, those filled before it
    before = (older * games[None]).sum(-1)
    leaves = inside & (before + games / 2 <= own.leaving * games.sum()) & (age > 0)
    return dataclasses.replace(filled, oldest=filled.oldest + leaves.sum(dtype=jnp.int32))
