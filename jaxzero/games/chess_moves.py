"""Where chess pieces can go, on boards of two uint32 words: bit `8 * rank + file`, a1 lowest.

Everything acts on arrays of boards at once, [N] pieces or [N, 8] rays, so that the program is as
long for sixteen pieces as for one. Nothing is gathered; the eight directions are a static axis.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

ABSENT = 64  # the square of a captured piece

_FULL = np.uint32(0xFFFFFFFF)
_NOT_A, _NOT_H = np.uint32(0xFEFEFEFE), np.uint32(0x7F7F7F7F)
_NOT_AB, _NOT_GH = np.uint32(0xFCFCFCFC), np.uint32(0x3F3F3F3F)

# Directions 0-3 raise the square's number (north, north-east, east, north-west), 4-7 are their
# opposites. Amounts, and what must be left out before the step so that nothing wraps round.
_AMOUNT = np.array([8, 9, 1, 7], np.uint32)
_KEEP_UP = np.array([_FULL, _NOT_H, _NOT_H, _NOT_A])
_KEEP_DOWN = np.array([_FULL, _NOT_A, _NOT_A, _NOT_H])
STRAIGHT = np.array([1, 0, 1, 0, 1, 0, 1, 0], bool)  # ranks and files; the others are diagonals


class Board(NamedTuple):
    """Sets of squares, any shape: `low` has the ranks 1 to 4, `high` the ranks 5 to 8."""

    low: jax.Array
    high: jax.Array

    def __and__(self, other: "Board") -> "Board":
        return Board(self.low & other.low, self.high & other.high)

    def __or__(self, other: "Board") -> "Board":
        return Board(self.low | other.low, self.high | other.high)

    def __invert__(self) -> "Board":
        return Board(~self.low, ~self.high)

    def part(self, begin: int, end: int, axis: int = 0) -> "Board":
        """A static slice along an axis: no gather appears."""
        return Board(
            *(jax.lax.slice_in_dim(x, begin, end, axis=axis) for x in (self.low, self.high))
        )

    def one(self, index: int) -> "Board":
        """The static `index` of the first axis."""
        return Board(
            *(jax.lax.index_in_dim(x, index, keepdims=False) for x in (self.low, self.high))
        )

    def widened(self, *axes: int) -> "Board":
        """With new axes of size 1."""
        return Board(*(jnp.expand_dims(x, axes) for x in (self.low, self.high)))

    @property
    def any(self) -> jax.Array:
        """bool of the same shape: is a square in it?"""
        return (self.low | self.high) != 0

    def where(self, condition: jax.Array | np.ndarray, other: "Board") -> "Board":
        """This where the condition holds, else the other."""
        return Board(
            jnp.where(condition, self.low, other.low), jnp.where(condition, self.high, other.high)
        )

    def only(self, condition: jax.Array | np.ndarray) -> "Board":
        """This where the condition holds, else nothing."""
        return Board(*(jnp.where(condition, x, jnp.uint32(0)) for x in (self.low, self.high)))

    def union(self, axis: int = -1) -> "Board":
        """All squares along an axis."""
        return Board(*(_reduce(x, jnp.bitwise_or, axis) for x in (self.low, self.high)))

    def common(self) -> "Board":
        """The squares that all along the last axis share."""
        return Board(*(_reduce(x, jnp.bitwise_and, -1) for x in (self.low, self.high)))


def _reduce(
    x: jax.Array, operation: Callable[[jax.Array, jax.Array], jax.Array], axis: int
) -> jax.Array:
    parts = [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]
    return functools.reduce(operation, parts)


def everywhere() -> Board:
    """All 64 squares."""
    return Board(jnp.uint32(_FULL), jnp.uint32(_FULL))


def at(squares: jax.Array) -> Board:
    """The squares by their numbers, int[...]; nothing for `ABSENT`."""
    number = squares.astype(jnp.uint32)
    bit = jnp.uint32(1) << (number & 31)
    zero = jnp.uint32(0)
    return Board(
        jnp.where(number < 32, bit, zero),
        jnp.where((number >= 32) & (number < ABSENT), bit, zero),
    )


def _up(board: Board, amount: np.ndarray | int) -> Board:
    """Every square to the number `amount` (1 to 31) higher."""
    n = np.asarray(amount, np.uint32)
    return Board(board.low << n, (board.high << n) | (board.low >> (np.uint32(32) - n)))


def _down(board: Board, amount: np.ndarray | int) -> Board:
    n = np.asarray(amount, np.uint32)
    return Board((board.low >> n) | (board.high << (np.uint32(32) - n)), board.high >> n)


def rays(origins: Board, empty: Board) -> Board:
    """Straight ahead in all directions up to and including the first piece.

    Args:
      origins: [N], one square each (none: no ray).
      empty: [N, 8] or [1, 8] or [1, 1], what can be passed over.

    Returns:
      [N, 8]; the origin is not in it.
    """
    shape = (*origins.low.shape, 4)
    start = Board(*(jnp.broadcast_to(x[..., None], shape) for x in origins))
    empty = Board(*(jnp.broadcast_to(x, (*origins.low.shape, 8)) for x in empty))
    last = empty.low.ndim - 1
    halves = []
    for step, keep, passing in (
        (_up, _KEEP_UP, empty.part(0, 4, last)),
        (_down, _KEEP_DOWN, empty.part(4, 8, last)),
    ):
        kept = Board(jnp.asarray(keep)[None], jnp.asarray(keep)[None])
        front = step(start & kept, _AMOUNT[None])
        reached = front
        for _ in range(6):
            front = step(front & passing & kept, _AMOUNT[None])
            reached = reached | front
        halves.append(reached)
    up, down = halves
    return Board(jnp.concatenate([up.low, down.low], -1), jnp.concatenate([up.high, down.high], -1))


def king_steps(origins: Board) -> Board:
    """The up to eight neighbours of each square, [...] -> [...]."""
    row = origins | _up(_kept(origins, _NOT_H), 1) | _down(_kept(origins, _NOT_A), 1)
    return (row | _up(row, 8) | _down(row, 8)) & ~origins


def knight_steps(origins: Board) -> Board:
    """Where a knight on each square goes, [...] -> [...]."""
    east, west = _kept(origins, _NOT_H), _kept(origins, _NOT_A)
    far_east, far_west = _kept(origins, _NOT_GH), _kept(origins, _NOT_AB)
    return functools.reduce(
        Board.__or__,
        [
            _up(east, 17), _up(west, 15), _up(far_east, 10), _up(far_west, 6),
            _down(west, 17), _down(east, 15), _down(far_west, 10), _down(far_east, 6),
        ],
    )  # fmt: skip


def _kept(board: Board, mask: np.uint32) -> Board:
    return Board(board.low & mask, board.high & mask)


class Army(NamedTuple):
    """One side's P pieces: squares, and bool[P] of what each is. Piece 0 is the king."""

    at: Board
    is_straight: jax.Array  # rooks and queens
    is_diagonal: jax.Array  # bishops and queens
    is_knight: jax.Array


def _slides(army: Army) -> jax.Array:
    """bool[P, 8]: the directions in which each piece slides."""
    straight = jnp.asarray(STRAIGHT)[None]
    return (army.is_straight[:, None] & straight) | (army.is_diagonal[:, None] & ~straight)


def _attacks(army: Army, seen: Board) -> Board:
    """[P]: what each piece attacks; `seen` [P, 8] are its rays."""
    slides = seen.only(_slides(army)).union()
    leaps = knight_steps(army.at).only(army.is_knight)
    is_king = jnp.arange(army.is_knight.shape[0]) == 0
    return slides | leaps | king_steps(army.at).only(is_king)


def quiet_moves(own: Army, other: Army) -> tuple[Board, Board]:
    """Moves and captures that leave no king in check, given that neither is in check now.

    Racing Kings' moves: a move may neither expose the own king nor give check. A piece that alone
    stands between the own king and an enemy slider, or between the enemy king and an own slider,
    stays on that line; other checks come from the moved piece itself.

    Returns:
      [P] destinations of each own piece, and the squares (a scalar board) that `other` attacks.
    """
    count = own.is_knight.shape[0]
    own_pieces, other_pieces = own.at.union(), other.at.union()
    occupied = own_pieces | other_pieces
    pieces = Board(*(jnp.concatenate(pair) for pair in zip(own.at, other.at, strict=True)))
    empty = ~occupied
    seen = rays(pieces, empty.widened(0, 1))

    attacks = _attacks(own, seen.part(0, count))
    attacked = _attacks(other, seen.part(count, 2 * count)).union()

    # Lines of sight from both kings, through the first piece to the second.
    occupied = occupied.widened(0, 1)
    first = _pair(seen, count) & occupied
    line = rays(_pair(pieces, count), ~occupied | first)
    second = line & occupied & ~first
    threat = _stacked(_sliders(other), _sliders(own))  # who threatens the own, the other king
    is_screen = (first & own_pieces.widened(0, 1)).any & (second & threat).any  # [2, 8]
    first, line = _flat(first), _flat(line)
    screens = is_screen.reshape(1, 16) & (own.at.widened(1) & first).any  # [P, 16]
    allowed = line.where(screens, everywhere().widened(0, 1)).common()

    # Squares from which a piece would attack the other king.
    sight = seen.one(count)
    giving_check = (
        sight.only(STRAIGHT).union().widened(0).only(own.is_straight)
        | sight.only(~STRAIGHT).union().widened(0).only(own.is_diagonal)
        | knight_steps(other.at.one(0)).widened(0).only(own.is_knight)
    )
    moves = attacks & ~own_pieces.widened(0) & allowed & ~giving_check
    is_king = jnp.arange(count) == 0
    return moves & ~attacked.widened(0).only(is_king), attacked


def _sliders(army: Army) -> Board:
    """[8]: the pieces that slide in each direction."""
    return army.at.widened(1).only(_slides(army)).union(0)


def _pair(boards: Board, count: int) -> Board:
    """[2, ...]: those of the two kings."""
    return _stacked(boards.one(0), boards.one(count))


def _stacked(a: Board, b: Board) -> Board:
    return Board(jnp.stack([a.low, b.low]), jnp.stack([a.high, b.high]))


def _flat(board: Board) -> Board:
    """[2, 8] -> [1, 16]."""
    return Board(board.low.reshape(1, -1), board.high.reshape(1, -1))
