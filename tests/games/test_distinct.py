"""Counting distinct rows by their hashes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games.distinct import count_distinct, effective_size, hash_rows

count = jax.jit(lambda rows, valid: count_distinct(hash_rows(rows), valid))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_counts_equal_numpys(dtype: type) -> None:
    rng = np.random.default_rng(0)
    for high in (1, 2, 3, 100):
        rows = rng.integers(-high, high, (300, 2, 3)).astype(dtype)
        valid = rng.random(300) < 0.7
        expected = len(np.unique(rows[valid].reshape(-1, 6), axis=0))
        assert count(rows, valid) == expected


def test_the_effective_size_is_that_of_the_shares() -> None:
    effective = jax.jit(lambda rows, valid: effective_size(hash_rows(rows), valid))
    rng = np.random.default_rng(2)
    rows, valid = rng.integers(0, 3, (300, 2)).astype(np.int8), rng.random(300) < 0.7
    _, counts = np.unique(rows[valid], axis=0, return_counts=True)
    expected = 1 / ((counts / valid.sum()) ** 2).sum()
    np.testing.assert_allclose(effective(rows, valid), expected, rtol=1e-6)
    apart = np.arange(600, dtype=np.int8).reshape(300, 2)
    apart[:, 1] = np.arange(300) // 128
    assert len(np.unique(apart, axis=0)) == 300
    np.testing.assert_allclose(effective(apart, valid), valid.sum(), rtol=1e-6)


def test_nothing_valid_counts_nothing() -> None:
    assert count(np.zeros((5, 2), np.int32), np.zeros(5, bool)) == 0
    assert count(np.zeros((5, 2), np.int32), np.arange(5) == 3) == 1


@pytest.mark.parametrize("values", [(-1, 2), (0, 2), (-1, 25)])
def test_ten_thousand_boards_have_ten_thousand_hashes(values: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    rows = np.unique(rng.integers(*values, (10_500, 25)).astype(np.int8), axis=0)[:10_000]
    assert len(rows) == 10_000
    hashes = np.asarray(hash_rows(jnp.asarray(rows)))
    assert hashes.dtype == np.uint32
    assert len(np.unique(hashes, axis=0)) == 10_000


def test_neighbours_differ() -> None:
    # Boards that differ in one square, or in the order of two, as positions of a game do.
    board = np.zeros((64,), np.int8)
    rows = [board.copy() for _ in range(1 + 64 * 2)]
    for square in range(64):
        rows[1 + square][square] = 1
        rows[65 + square][square] = -1
    assert count(np.stack(rows), np.ones(129, bool)) == 129


@pytest.mark.parametrize("count", [1023, 1024, 1025, 2500])
def test_a_row_has_its_hash_in_whatever_part_it_is(count: int) -> None:
    rows = np.random.default_rng(2).integers(-1, 2, (count, 3, 3)).astype(np.int8)
    hashes = np.asarray(hash_rows(jnp.asarray(rows)))
    assert hashes.shape == (count, 2)
    some = [0, count // 2, count - 1]
    np.testing.assert_array_equal(hashes[some], hash_rows(jnp.asarray(rows[some])))
