"""Boards as tuples of uint32 words: bit `row * columns + column`, lowest squares in word 0.

A search tree stores a position in every node, and the rules run once per simulation, so both are
made of a few words and of shifts on them: no gathers, no scatters, which `vmap` would turn into
slow loops on a CPU. Everything here acts on one board; `vmap` makes a batch, and XLA fuses the
scalar operations of a whole step into one kernel over that batch.

Masks are static (NumPy); a `Grid` is static too and is made once per board size by `grid`.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

WORD_BITS = 32

# One board: `num_words` uint32 scalars, each a jax.Array or, where static, a np.uint32.
Words = tuple[Any, ...]

# One of every pair of opposite directions, as (row step, column step).
LINE_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
ALL_DIRECTIONS = LINE_DIRECTIONS + tuple((-dr, -dc) for dr, dc in LINE_DIRECTIONS)


def both(a: Words, b: Words) -> Words:
    """Squares in a and in b."""
    return tuple(x & y for x, y in zip(a, b, strict=True))


def either(a: Words, b: Words) -> Words:
    """Squares in a or in b."""
    return tuple(x | y for x, y in zip(a, b, strict=True))


def without(a: Words, b: Words) -> Words:
    """Squares in a that are not in b."""
    return tuple(x & ~y for x, y in zip(a, b, strict=True))


def select(condition: jax.Array, a: Words, b: Words) -> Words:
    """a where the bool scalar `condition` holds, else b."""
    return tuple(jnp.where(condition, x, y) for x, y in zip(a, b, strict=True))


def any_square(words: Words) -> jax.Array:
    """bool scalar: is any square set?"""
    return functools.reduce(lambda x, y: x | y, words) != 0


def count(words: Words) -> jax.Array:
    """int32 scalar: number of squares set."""
    return sum(
        (lax.population_count(jnp.asarray(x)).astype(jnp.int32) for x in words), jnp.int32(0)
    )


def to_array(words: Words) -> jax.Array:
    """The words as one uint32[num_words]."""
    return jnp.stack([jnp.asarray(x, jnp.uint32) for x in words])


def from_array(array: jax.Array) -> Words:
    """The scalars of a uint32[num_words]; static slices, so that no gather appears."""
    return tuple(lax.index_in_dim(array, i, keepdims=False) for i in range(array.shape[0]))


def raise_bits(words: Words, amount: int) -> Words:
    """Moves every bit to the index `amount` (static, >= 0) higher; bits that leave are lost."""
    skip, rest = divmod(amount, WORD_BITS)
    moved = []
    for i in range(len(words)):
        word = words[i - skip] << rest if i >= skip else np.uint32(0)
        if rest and i > skip:
            word = word | (words[i - skip - 1] >> (WORD_BITS - rest))
        moved.append(word)
    return tuple(moved)


def lower_bits(words: Words, amount: int) -> Words:
    """Moves every bit to the index `amount` (static, >= 0) lower; bits that leave are lost."""
    skip, rest = divmod(amount, WORD_BITS)
    moved = []
    for i in range(len(words)):
        source = i + skip
        word = words[source] >> rest if source < len(words) else np.uint32(0)
        if rest and source + 1 < len(words):
            word = word | (words[source + 1] << (WORD_BITS - rest))
        moved.append(word)
    return tuple(moved)


@dataclasses.dataclass(frozen=True)
class Grid:
    """The geometry of a `rows` x `columns` board in words. Row 0 is on top."""

    rows: int
    columns: int

    @property
    def num_squares(self) -> int:
        """Number of squares on the board."""
        return self.rows * self.columns

    @property
    def num_words(self) -> int:
        """Number of uint32 words that hold them."""
        return -(-self.num_squares // WORD_BITS)

    @functools.cached_property
    def full(self) -> Words:
        """All squares."""
        return self.squares_where(lambda row, column: True)

    @functools.cached_property
    def inner_columns(self) -> Words:
        """All squares but those of the first and the last column."""
        return self.squares_where(lambda row, column: 0 < column < self.columns - 1)

    def squares_where(self, predicate: Callable[[int, int], bool]) -> Words:
        """Static: the squares for which `predicate(row, column)` holds."""
        squares = [divmod(i, self.columns) for i in range(self.num_squares)]
        return self.squares([square for square in squares if predicate(*square)])

    def squares(self, coordinates: Sequence[tuple[int, int]]) -> Words:
        """Static: the given (row, column) squares."""
        bits = sum(1 << (row * self.columns + column) for row, column in coordinates)
        return tuple(
            np.uint32((bits >> (WORD_BITS * i)) & 0xFFFFFFFF) for i in range(self.num_words)
        )

    def move(self, words: Words, direction: tuple[int, int]) -> Words:
        """Moves all squares one step; those that leave sideways wrap round to a neighbouring row.

        Cheap because unmasked: the caller masks, e.g. with `inner_columns`.
        """
        amount = direction[0] * self.columns + direction[1]
        return raise_bits(words, amount) if amount >= 0 else lower_bits(words, -amount)

    def square_at(self, index: jax.Array | int) -> Words:
        """The square of the row-major int32 scalar `index`; no square if it is off the board."""
        bit = jnp.uint32(1) << jnp.uint32(index % WORD_BITS)
        word = index // WORD_BITS
        chosen = tuple(jnp.where(word == i, bit, jnp.uint32(0)) for i in range(self.num_words))
        return both(chosen, self.full)

    def column_at(self, column: jax.Array | int) -> Words:
        """All squares of the int32 scalar `column`, 0 <= column < columns <= 32."""
        first = self.squares_where(lambda row, column: column == 0)
        amount = jnp.uint32(column)
        moved = [first[0] << amount]
        for below, word in itertools.pairwise(first):
            # Two shifts, because one by 32 (column 0) is not defined.
            moved.append((word << amount) | ((below >> 1) >> (WORD_BITS - 1 - amount)))
        return both(tuple(moved), self.full)

    def has_line(self, words: Words, length: int) -> jax.Array:
        """bool scalar: are `length` neighbouring squares set in any of the four directions?"""
        lines: Words = (jnp.uint32(0),) * self.num_words
        for dr, dc in LINE_DIRECTIONS:
            starts = self._line_starts(dr, dc, length)
            if not any(starts):
                continue
            run, reached = words, 1
            while reached < length:  # doubling: a run of r here and one r further make one of 2r
                further = min(reached, length - reached)
                run = both(run, lower_bits(run, further * (dr * self.columns + dc)))
                reached += further
            # Only starts whose whole line is on the board count, so wrapped bits are never read.
            lines = either(lines, both(run, starts))
        return any_square(lines)

    def _line_starts(self, dr: int, dc: int, length: int) -> Words:
        """Static: squares from which `length` steps of (dr, dc) stay on the board."""
        reach = length - 1
        return self.squares_where(
            lambda row, column: (
                row + reach * dr < self.rows and 0 <= column + reach * dc < self.columns
            )
        )

    def unpack(self, words: Words) -> jax.Array:
        """int8[rows, columns]: 1 where a square is set, else 0."""
        shifts = np.arange(WORD_BITS, dtype=np.uint32)[None, :]
        bits = (to_array(words)[:, None] >> shifts) & np.uint32(1)
        flat = bits.astype(jnp.int8).reshape(-1)
        return lax.slice(flat, (0,), (self.num_squares,)).reshape(self.rows, self.columns)

    def pack(self, plane: jax.Array) -> Words:
        """The inverse of `unpack`: the squares of [rows, columns] that are not 0."""
        bits = (plane != 0).astype(jnp.uint32).reshape(-1)
        bits = jnp.pad(bits, (0, self.num_words * WORD_BITS - self.num_squares))
        shifts = np.arange(WORD_BITS, dtype=np.uint32)[None, :]
        array = (bits.reshape(self.num_words, WORD_BITS) << shifts).sum(axis=1, dtype=jnp.uint32)
        return from_array(array)


@functools.cache
def grid(rows: int, columns: int) -> Grid:
    """The `Grid` of that size, made once, so that its masks are computed once."""
    return Grid(rows, columns)
