"""What games with stones of two colours on a grid share: state, outcome, encodings, symmetries."""

import abc
from typing import Any, ClassVar

import flax.struct
import jax
import jax.numpy as jnp

from jaxzero.games import bitboard

OBSERVATIONS = ("planes", "signed", "cells", "planes_ones")

GOING_ON, FIRST_WON, SECOND_WON, DRAWN = range(4)  # values of `StonesState.status`


@flax.struct.dataclass
class StonesState:
    """A position; 8 bytes per 32 squares and two more."""

    stones: jax.Array  # uint32[2, num_words], of player 0 and of player 1
    to_move: jax.Array  # int8, player 0 or 1
    status: jax.Array  # int8: GOING_ON, FIRST_WON, SECOND_WON or DRAWN


class StonesGame(abc.ABC):
    """A game whose position is the stones of two players; see `base.Game` for the methods.

    Subclasses are frozen dataclasses and have `rows`, `columns` and `observation`, the encoding:

    * `"planes"`: [H, W, 2], own stones and the opponent's (West 2020 and Clausen 2021's symmetric
      form);
    * `"planes_ones"`: [H, W, 3], the same and a plane of ones, without which a network that pads
      with zeros sees no difference between the board's edge and empty squares;
    * `"signed"`: [H, W, 1], +1 own, -1 the opponent's, 0 empty (Wang 2019, 2020 and 2023);
    * `"cells"`: [H, W, 1], 1 own, 2 the opponent's, 3 empty (Clausen 2021).

    All are int8 and seen from the player to move.
    """

    is_alternating: ClassVar[bool] = True
    observation: str

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """H."""

    @property
    @abc.abstractmethod
    def columns(self) -> int:
        """W."""

    @property
    def grid(self) -> bitboard.Grid:
        """The board's geometry."""
        return bitboard.grid(self.rows, self.columns)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of `observe`."""
        return (self.rows, self.columns, {"planes": 2, "planes_ones": 3}.get(self.observation, 1))

    @property
    def max_plies(self) -> int:
        """Every ply fills a square."""
        return self.rows * self.columns

    def init(self) -> Any:
        """The empty board, player 0 to move."""
        return StonesState(
            stones=jnp.zeros((2, self.grid.num_words), jnp.uint32),
            to_move=jnp.int8(0),
            status=jnp.int8(GOING_ON),
        )

    def to_move(self, state: Any) -> jax.Array:
        """int32 scalar, 0 or 1."""
        return state.to_move.astype(jnp.int32)

    def is_terminal(self, state: Any) -> jax.Array:
        """bool scalar."""
        return state.status != GOING_ON

    def outcome(self, state: Any) -> jax.Array:
        """float32[2]: result of player 0 and of player 1; zeros before the end."""
        first = (state.status == FIRST_WON).astype(jnp.float32)
        second = (state.status == SECOND_WON).astype(jnp.float32)
        return jnp.stack([first - second, second - first])

    def observe(self, state: Any) -> jax.Array:
        """int8[H, W, C] in the game's encoding, from the player to move."""
        own, other = (self.grid.unpack(words) for words in own_and_other(state))
        if self.observation == "planes":
            return jnp.stack([own, other], axis=-1)
        if self.observation == "planes_ones":
            return jnp.stack([own, other, jnp.ones_like(own)], axis=-1)
        if self.observation == "signed":
            return (own - other)[:, :, None]
        return (3 - 2 * own - other)[:, :, None]

    @abc.abstractmethod
    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """([H, W, C], [A]) -> ([K, H, W, C], [K, A]), the identity first."""

    def image(self, state: Any, k: int) -> Any:
        """The k-th symmetric image (static k, in the order of `symmetries`) of a position."""
        own, other = (
            self.grid.pack(self._plane_images(self.grid.unpack(bitboard.from_array(words)))[k])
            for words in state.stones
        )
        return state.replace(stones=jnp.stack([bitboard.to_array(own), bitboard.to_array(other)]))

    @abc.abstractmethod
    def _plane_images(self, plane: jax.Array) -> list[jax.Array]:
        """The K images of a [H, W, ...] array."""

    def flip_colours(self, state: Any) -> Any:
        """The same position with the two players exchanged."""
        status = state.status
        exchanged = jnp.where((status == FIRST_WON) | (status == SECOND_WON), 3 - status, status)
        return state.replace(stones=state.stones[::-1], to_move=1 - state.to_move, status=exchanged)

    def render(self, state: Any) -> str:
        """The board: X is player 0, O is player 1; rows and columns are numbered from 0."""
        planes = [self.grid.unpack(bitboard.from_array(words)) for words in state.stones]
        lines = ["   " + " ".join(f"{column:>2}" for column in range(self.columns))]
        for row in range(self.rows):
            marks = [
                "X" if planes[0][row, column] else "O" if planes[1][row, column] else "."
                for column in range(self.columns)
            ]
            lines.append(f"{row:>2} " + " ".join(f"{mark:>2}" for mark in marks))
        return "\n".join([*lines, self._caption(state)])

    def _caption(self, state: Any) -> str:
        mover = "XO"[int(state.to_move)]
        return (f"{mover} to move", "X has won", "O has won", "draw")[int(state.status)]


class SquareStonesGame(StonesGame):
    """One on `size` x `size` squares, with their eight rotations and reflections."""

    size: int

    @property
    def rows(self) -> int:
        """H."""
        return self.size

    @property
    def columns(self) -> int:
        """W."""
        return self.size

    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The eight images of board and policy, K = 8: of the rules, if not of every start."""
        return square_symmetries(observation, policy)

    def _plane_images(self, plane: jax.Array) -> list[jax.Array]:
        return square_images(plane)


def check_observation(observation: str) -> None:
    """Raises ValueError unless `observation` is an encoding that `StonesGame` knows."""
    if observation not in OBSERVATIONS:
        known = ", ".join(map(repr, OBSERVATIONS))
        raise ValueError(f"observation must be one of {known}; got {observation!r}")


def own_and_other(state: Any) -> tuple[bitboard.Words, bitboard.Words]:
    """Stones of the player to move and of the other one."""
    first, second = players(state.stones)
    first_moves = state.to_move == 0
    return (
        bitboard.select(first_moves, first, second),
        bitboard.select(first_moves, second, first),
    )


def by_player(to_move: jax.Array, own: bitboard.Words, other: bitboard.Words) -> jax.Array:
    """uint32[2, num_words] from the stones of `to_move` (int8 scalar) and of the other one."""
    first_moves = to_move == 0
    first = bitboard.select(first_moves, own, other)
    second = bitboard.select(first_moves, other, own)
    return jnp.stack([bitboard.to_array(first), bitboard.to_array(second)])


def players(stones: jax.Array) -> tuple[bitboard.Words, bitboard.Words]:
    rows = [jax.lax.index_in_dim(stones, player, keepdims=False) for player in (0, 1)]
    return bitboard.from_array(rows[0]), bitboard.from_array(rows[1])


def after_line_move(
    grid: bitboard.Grid, line: int, state: StonesState, own: bitboard.Words, other: bitboard.Words
) -> StonesState:
    """`state` after the player to move came to have the stones `own`; itself if it was finished.

    A line of `line` wins, also on the very last square; a full board without one is a draw.
    """
    won = grid.has_line(own, line)
    full = ~bitboard.any_square(bitboard.without(grid.full, bitboard.either(own, other)))
    status = jnp.where(won, FIRST_WON + state.to_move, jnp.where(full, DRAWN, GOING_ON))
    successor = StonesState(
        stones=by_player(state.to_move, own, other),
        to_move=1 - state.to_move,
        status=status.astype(jnp.int8),
    )
    return unless_finished(state, successor)


def unless_finished(state: Any, successor: Any) -> Any:
    """`successor`, or `state` itself where the game was finished before the step."""
    finished = state.status != GOING_ON
    return jax.tree.map(lambda old, new: jnp.where(finished, old, new), state, successor)


def square_images(array: jax.Array) -> list[jax.Array]:
    """The eight images of an [n, n, ...] array: four rotations, then those of its mirror image."""
    mirrored = array[:, ::-1]
    return [jnp.rot90(x, k) for x in (array, mirrored) for k in range(4)]


def square_symmetries(observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The eight symmetries of a square board ([n, n, C], [A]) -> ([8, n, n, C], [8, A]).

    Actions are squares in row-major order; what follows them (the pass) maps to itself.
    """
    size = observation.shape[0]
    squares = policy[: size * size].reshape(size, size)
    rest = policy[size * size :]
    policies = [jnp.concatenate([x.reshape(-1), rest]) for x in square_images(squares)]
    return jnp.stack(square_images(observation)), jnp.stack(policies)
