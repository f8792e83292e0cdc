"""Which positions a run has seen: how new its games are."""

import jax
import jax.numpy as jnp

from jaxzero.games.distinct import hash_rows
from jaxzero.training import sharing
from jaxzero.training.sharing import Memory
from jaxzero.training.spec import SelfPlaySettings
from jaxzero.training.trajectory import Trajectory


def begin(own: SelfPlaySettings) -> Memory | None:
    """Nothing is seen yet; None where nobody asks."""
    return empty(own.seen_positions) if own.seen_positions else None


def empty(capacity: int) -> Memory:
    """Room for so many positions."""
    return Memory(
        searches=jnp.float32(0),
        stored=jnp.float32(0),
        owner=jnp.zeros((capacity,), jnp.int32),
        words=jnp.zeros((capacity, 2), jnp.uint32),
    )


def look(memory: Memory, games: Trajectory) -> tuple[Memory, jax.Array]:
    """With the positions of these games, [T, B]; float32[B]: how many of each were new.

    Equal are those that the network sees as equal, by 64-bit hash. Of equal ones in several games
    the first ply counts, there the first game. What finds no room stays new.
    """
    rows, batch = games.valid.shape
    boards = games.observation.reshape(rows * batch, *games.observation.shape[2:])
    memory, new = note(memory, hash_rows(boards), games.valid.reshape(-1))
    return memory, new.reshape(rows, batch).sum(0).astype(jnp.float32)


def note(memory: Memory, hashes: jax.Array, wanted: jax.Array) -> tuple[Memory, jax.Array]:
    """With what has these hashes, uint32[M, 2], where wanted; bool[M]: what was new, once each."""
    _, known = sharing.look_up(memory, hashes, hashes)
    first = sharing.first_of_equals(hashes, hashes, wanted)
    new = wanted & ~known & (first == jnp.arange(len(wanted)))
    return sharing.insert(memory, hashes, hashes, (), new), new


def describe(memory: Memory, games: Trajectory, new: jax.Array) -> dict[str, jax.Array]:
    """Metrics `selfplay/new_share` and `selfplay/seen_use`."""
    return {
        "selfplay/new_share": new.sum() / jnp.maximum(games.valid.sum(), 1),
        "selfplay/seen_use": memory.stored / memory.owner.shape[0],
    }
