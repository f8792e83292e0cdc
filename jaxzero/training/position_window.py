"""The window counted in positions: the newest so many, equal ones merged if asked (002, 3.3).

`replay` counts a window in iterations and keeps repeated positions. Here a position that comes
again may update the targets of the one that is there and make it new again:

    z_new = z_old (1 - w) + z_duplicate w                                          (002, equation 4)
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.distinct import hash_rows
from jaxzero.training.replay import Examples, Symmetries, with_legal

MERGED = ("policy", "value", "draw", "reply", "played")  # targets; the rest is the position itself


@struct.dataclass
class PositionWindow:
    """Positions, the newest first.

    Attributes:
      examples: [C], of which the first `count` are in use.
      hashes: uint32[C, 2] of their observations.
      seen: int32[C], number of the position when it was last seen; -1 for none.
      count: int32, positions in use.
      total: int32, positions seen so far, repeated ones included.
    """

    examples: Examples
    hashes: jax.Array
    seen: jax.Array
    count: jax.Array
    total: jax.Array


def empty(
    capacity: int,
    observation: jax.ShapeDtypeStruct,
    num_actions: int,
    extras: tuple[str, ...] = (),
) -> PositionWindow:
    """A window without positions.

    Args:
      capacity: C, the most positions it can hold.
      observation: shape [H, W, C] and dtype.
      num_actions: A.
      extras: optional fields of `Examples` that are kept.
    """
    return PositionWindow(
        examples=Examples.zeros((capacity,), observation, num_actions, extras),
        hashes=jnp.zeros((capacity, 2), jnp.uint32),
        seen=jnp.full((capacity,), -1, jnp.int32),
        count=jnp.int32(0),
        total=jnp.int32(0),
    )


def add(
    window: PositionWindow,
    examples: Examples,
    count: jax.Array,
    *,
    size: jax.Array | int,
    duplicate_weight: float,
) -> tuple[PositionWindow, jax.Array]:
    """Takes in an iteration's positions in their order, then forgets all but the newest.

    Args:
      window: before.
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
    together = PositionWindow(
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
        PositionWindow(
            examples=jax.tree.map(lambda x: x[order], together.examples),
            hashes=together.hashes[order],
            seen=jnp.where(used, together.seen[order], -1),
            count=after,
            total=together.total,
        ),
        (kept - window.count).astype(jnp.int32),
    )


def _merged(window: PositionWindow, weight: float) -> PositionWindow:
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

    fields = {n: merge(x) for n in MERGED if (x := getattr(examples, n)) is not None}
    return dataclasses.replace(
        window,
        examples=dataclasses.replace(examples, **fields),
        hashes=hashes,
        seen=jnp.where(is_last, seen, -1),
    )


def size_at(
    iteration: jax.Array, *, start: int, final: int, grows: tuple[int, int]
) -> jax.Array | int:
    """Positions that the window keeps in an iteration: the slow window (002, 3.3).

    Args:
      iteration: int32, from 1.
      start: until the first iteration of `grows`; 0: `final` from the beginning.
      final: from its last iteration on; equal steps between.
      grows: the two iterations.
    """
    if start == 0:
        return final
    first, last = grows
    share = jnp.clip((iteration - first) / max(last - first, 1), 0.0, 1.0)
    return jnp.round(start + share * (final - start)).astype(jnp.int32)


def take(
    window: PositionWindow, index: jax.Array, symmetries: Symmetries, num_images: int
) -> Examples:
    """Examples by their number, int32[b] in [0, K count); see `replay.take`."""
    position, image = index // num_images, index % num_images
    stored = jax.tree.map(lambda x: x[position], window.examples)
    if num_images == 1:
        return stored
    images = jax.vmap(with_legal(symmetries))(stored)
    rows = jnp.arange(index.shape[0])
    return jax.tree.map(lambda x: x[rows, image], images)
