"""Words against plain NumPy boards."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import bitboard

SIZES = [(1, 4), (4, 1), (3, 3), (5, 5), (6, 6), (6, 7), (8, 8), (7, 11), (10, 10), (3, 32)]


def random_plane(rows, columns, seed=0, density=0.5):
    return np.random.default_rng(seed).random((rows, columns)) < density


@pytest.fixture(params=SIZES, ids=str)
def grid(request):
    return bitboard.grid(*request.param)


def test_pack_and_unpack_are_inverse(grid):
    plane = random_plane(grid.rows, grid.columns)
    unpacked = grid.unpack(grid.pack(jnp.asarray(plane)))
    assert unpacked.dtype == jnp.int8
    np.testing.assert_array_equal(unpacked, plane)
    array = bitboard.to_array(grid.pack(jnp.asarray(plane)))
    assert array.shape == (grid.num_words,)
    np.testing.assert_array_equal(grid.unpack(bitboard.from_array(array)), plane)


def test_count_and_any(grid):
    plane = random_plane(grid.rows, grid.columns)
    words = grid.pack(jnp.asarray(plane))
    assert int(bitboard.count(words)) == plane.sum()
    assert bool(bitboard.any_square(words)) == plane.any()
    assert not bool(bitboard.any_square(grid.squares([])))


def test_every_square_has_its_bit(grid):
    for index in (0, grid.num_squares // 2, grid.num_squares - 1):
        plane = np.asarray(grid.unpack(grid.square_at(jnp.int32(index)))).reshape(-1)
        assert np.flatnonzero(plane).tolist() == [index]
    for outside in (grid.num_squares, grid.num_squares + 32):
        assert not bool(bitboard.any_square(grid.square_at(jnp.int32(outside))))


def test_every_column_has_its_squares(grid):
    for column in range(grid.columns):
        plane = np.asarray(grid.unpack(grid.column_at(jnp.int32(column))))
        assert plane[:, column].all()
        assert plane.sum() == grid.rows


def test_moves_away_from_the_edge_shift_the_plane():
    grid = bitboard.grid(7, 11)
    plane = random_plane(7, 11)
    plane[[0, -1]], plane[:, [0, -1]] = False, False
    words = grid.pack(jnp.asarray(plane))
    for direction in bitboard.ALL_DIRECTIONS:
        moved = np.roll(plane, direction, axis=(0, 1))
        np.testing.assert_array_equal(grid.unpack(grid.move(words, direction)), moved)


@pytest.mark.parametrize("length", [2, 3, 4, 5, 7])
def test_lines_are_found_where_there_are_some(length):
    for rows, columns in SIZES:
        grid = bitboard.grid(rows, columns)
        for seed in range(3):
            plane = random_plane(rows, columns, seed, density=0.5 + 0.05 * length)
            found = grid.has_line(grid.pack(jnp.asarray(plane)), length)
            assert bool(found) == has_line(plane, length), (rows, columns, seed)


def has_line(plane, length):
    padded = np.pad(plane, length)
    starts = [tuple(start) for start in np.argwhere(padded)]
    return any(
        all(padded[row + i * dr, column + i * dc] for i in range(length))
        for row, column in starts
        for dr, dc in bitboard.LINE_DIRECTIONS
    )
