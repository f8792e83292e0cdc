"""The window counted in positions: the newest so many, equal ones merged if asked.

Clausen 2021, section 3.3.

`replay` counts a window in iterations and keeps repeated positions. Here a position that comes
again may update the targets of the one that is there and make it new again:

    z_new = z_old (1 - w) + z_duplicate w                                 (Clausen 2021, equation 4)
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.distinct import hash_rows
from jaxzero.training.past import Past
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import ReplaySettings
from jaxzero.training.windows import Batch, Held, Play, Window

_ITSELF = ("observation", "legal")  # of a position; its other fields are targets, which are merged


@struct.dataclass
class PositionWindowState:
    """Positions, the newest first."""

    examples: Examples  # [C], of which the first `count` are in use
    hashes: jax.Array  # uint32[C, 2] of their observations
    seen: jax.Array  # int32[C], number of the position when it was last seen; -1 for none
    count: jax.Array  # int32, positions in use
    total: jax.Array  # int32, positions seen so far, repeated ones included


class PositionWindow(Window):
    """The newest `replay.window_positions` positions, fewer at first if the window is slow."""

    def begin(self) -> Held:
        return Held(empty(self.room(self.spec.replay.window_positions)))

    def take_in(
        self, held: Held, play: Play, progress: Past, iteration: jax.Array, key: jax.Array
    ) -> tuple[Batch, Held]:
        batch, own = play(progress, key), self.spec.replay
        window, new = add(
            held.examples,
            batch.examples,
            batch.count,
            size=size_at(own, iteration),
            duplicate_weight=own.duplicate_weight,
        )
        return batch.with_metric("count/new_positions", new), Held(window)

    def source(self, held: Held, iteration: jax.Array, last: jax.Array) -> Source:
        return source(held.examples)


def source(window: PositionWindowState) -> Source:
    """All positions in use."""
    return Source(window.count, lambda index: jax.tree.map(lambda x: x[index], window.examples))


def empty(like: Examples) -> PositionWindowState:
    """A window without positions: room for C like these."""
    capacity = like.value.shape[0]
    return PositionWindowState(
        examples=jax.tree.map(jnp.zeros_like, like),
        hashes=jnp.zeros((capacity, 2), jnp.uint32),
        seen=jnp.full((capacity,), -1, jnp.int32),
        count=jnp.int32(0),
        total=jnp.int32(0),
    )


def add(
    window: PositionWindowState,
    examples: Examples,
    count: jax.Array,
    *,
    size: jax.Array | int,
    duplicate_weight: float,
) -> tuple[PositionWindowState, jax.Array]:
    """Takes in an iteration's positions in their order, then forgets all but the newest.

    Args:
      examples: [P] positions of which the first `count` are in use.
      count: int32.
      size: positions to keep, at most C; may be traced. Newest by when they were last seen.
      duplicate_weight: w of equation 4, applied for each duplicate in turn; 0 keeps duplicates.

    Returns:
      The window, and int32, how many of the positions were not in it before (all if kept apart).
    """
    capacity, incoming = window.seen.shape[0], examples.value.shape[0]
    is_new = jnp.arange(incoming) < count
    seen = jnp.where(is_new, window.total + jnp.arange(incoming), -1)
    together = PositionWindowState(
        examples=jax.tree.map(lambda a, b: jnp.concatenate([a, b]), window.examples, examples),
        hashes=jnp.concatenate([window.hashes, hash_rows(examples.observation)]),
        seen=jnp.concatenate([window.seen, seen]),
        count=window.count,
        total=window.total + count,
    )
    if duplicate_weight > 0:
        together = _merged(together, duplicate_weight)
    kept = (together.seen >= 0).sum()
    order = jnp.argsort(-together.seen)[:capacity]  # unused ones last
    after = jnp.minimum(kept, jnp.minimum(size, capacity)).astype(jnp.int32)
    used = jnp.arange(capacity) < after
    return (
        PositionWindowState(
            examples=jax.tree.map(lambda x: x[order], together.examples),
            hashes=together.hashes[order],
            seen=jnp.where(used, together.seen[order], -1),
            count=after,
            total=together.total,
        ),
        (kept - window.count).astype(jnp.int32),
    )


def _merged(window: PositionWindowState, weight: float) -> PositionWindowState:
    """Equal positions as one, in the place of the newest of them; the others are unused.

    Sorted by hash and then by age, equal positions are neighbours. They count as equal only if
    their observations are, so that two positions with one hash stay apart.
    """
    unused = window.seen < 0
    order = jnp.lexsort((window.seen, window.hashes[:, 1], window.hashes[:, 0], unused))
    sorted_ = jax.tree.map(lambda x: x[order], (window.examples, window.hashes, window.seen))
    examples, hashes, seen = sorted_
    board = examples.observation.reshape(seen.shape[0], -1)
    same = (board[1:] == board[:-1]).all(-1) & (seen[1:] >= 0) & (seen[:-1] >= 0)
    same &= (hashes[1:] == hashes[:-1]).all(-1)
    follows = jnp.concatenate([jnp.zeros((1,), bool), same])  # is a duplicate of the one before
    is_last = jnp.concatenate([~same, jnp.ones((1,), bool)])
    group = jnp.cumsum(~follows) - 1
    # z after k duplicates is (1 - w)^k z_0 + sum_i w (1 - w)^(k - i) z_i: each is discounted by
    # those that come behind it in its group.
    place = jnp.arange(seen.shape[0])
    last = jax.ops.segment_max(place, group, num_segments=seen.shape[0])
    behind = (last[group] - place).astype(jnp.float32)
    share = jnp.where(follows, weight, 1.0) * (1.0 - weight) ** behind

    def merge(x: jax.Array) -> jax.Array:
        weighted = x * share.reshape((-1,) + (1,) * (x.ndim - 1))
        return jax.ops.segment_sum(weighted, group, num_segments=seen.shape[0])[group]

    targets = {n: x for n, x in vars(examples).items() if n not in _ITSELF and x is not None}
    fields = jax.tree.map(merge, targets)
    return dataclasses.replace(
        window,
        examples=dataclasses.replace(examples, **fields),
        hashes=hashes,
        seen=jnp.where(is_last, seen, -1),
    )


def size_at(own: ReplaySettings, iteration: jax.Array) -> jax.Array | int:
    """Positions that the window keeps in an iteration (int32, from 1): the slow window.

    Clausen 2021, section 3.3.

    `window_start` until the first iteration of `window_grows`, `window_positions` from its last one
    on, equal steps between.
    """
    start, final = own.window_start, own.window_positions
    if start == 0:
        return final
    first, last = own.window_grows
    share = jnp.clip((iteration - first) / max(last - first, 1), 0.0, 1.0)
    return jnp.round(start + share * (final - start)).astype(jnp.int32)
