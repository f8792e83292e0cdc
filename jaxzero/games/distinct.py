"""Hashes of positions and games, and counting distinct ones by them, on the device."""

import jax
import jax.numpy as jnp
import numpy as np

# Rows hashed at once: XLA writes out all products on a CPU, eight bytes a word. Of a whole window
# that is more than the window, and takes ten times as long as in parts.
_AT_ONCE = 1024


def _weights(size: int) -> np.ndarray:
    """uint32[2, size]: fixed random odd multipliers."""
    return np.random.default_rng(0x5EED).integers(0, 2**31, (2, size), np.uint32) * 2 + 1


def words_of(rows: jax.Array) -> jax.Array:
    """uint32[M, W]: rows [M, ...] of integers, or of floats by their bits, a word for each."""
    flat = rows.reshape(rows.shape[0], -1)
    if jnp.issubdtype(flat.dtype, jnp.floating):
        flat = jax.lax.bitcast_convert_type(flat.astype(jnp.float32), jnp.uint32)
    return flat.astype(jnp.uint32)


def hash_rows(rows: jax.Array) -> jax.Array:
    """Two 32-bit hashes of each row.

    Args:
      rows: [M, ...], integers or floats (taken by their bits).

    Returns:
      uint32[M, 2].
    """
    if rows.shape[0] <= _AT_ONCE:
        return _hash_rows(rows)
    return jax.lax.map(lambda row: _hash_rows(row[None])[0], rows, batch_size=_AT_ONCE)


def _hash_rows(rows: jax.Array) -> jax.Array:
    words = words_of(rows)
    words = (words ^ (words >> 16)) * jnp.uint32(0x45D9F3B) + jnp.uint32(0x9E3779B9)
    hashes = (words[:, None, :] * jnp.asarray(_weights(words.shape[1]))[None]).sum(
        -1, dtype=jnp.uint32
    )
    return (hashes ^ (hashes >> 15)) * jnp.uint32(0x2C1B3C6D)


def count_distinct(hashes: jax.Array, valid: jax.Array) -> jax.Array:
    """int32: how many different rows of hashes (uint32[M, 2]) stand where `valid` (bool[M])."""
    order = jnp.lexsort(
        (hashes[:, 1], hashes[:, 0], ~valid)
    )  # valid rows first, equal ones together
    ordered = hashes[order]
    is_new = jnp.any(ordered[1:] != ordered[:-1], axis=-1)
    is_new = jnp.concatenate([jnp.ones((1,), bool), is_new])
    return (is_new & valid[order]).sum(dtype=jnp.int32)


def effective_size(hashes: jax.Array, valid: jax.Array) -> jax.Array:
    """float32: 1 / sum of squared shares of different rows; as many as are valid if none is twice.

    Args:
      hashes: uint32[M, 2], of which the first half is taken: two rows in four billion are mixed up.
      valid: bool[M], at least one.
    """
    order = jnp.argsort(jnp.where(valid, hashes[:, 0], jnp.uint32(0xFFFFFFFF)))
    ordered, counted = hashes[order, 0], valid[order]
    place = jnp.arange(valid.shape[0])
    is_new = jnp.concatenate([jnp.ones((1,), bool), ordered[1:] != ordered[:-1]])
    equal_before = place - jax.lax.cummax(jnp.where(is_new, place, 0))
    squares = jnp.where(counted, 2.0 * equal_before + 1.0, 0.0).sum()  # c^2 = 1 + 3 + ... (2c - 1)
    total = counted.sum().astype(jnp.float32)
    return total**2 / squares
