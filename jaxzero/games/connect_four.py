"""Connect Four on a board of any size, with a line of any length."""

import dataclasses

import jax
import jax.numpy as jnp

from jaxzero.games import bitboard, stones
from jaxzero.games.bitboard import both, either, without
from jaxzero.games.stones import StonesState

DEFAULT_LINE = 4
MAX_SIDE = 32


@dataclasses.dataclass(frozen=True)
class ConnectFour(stones.StonesGame):
    """A stone falls to the lowest empty square of its column; `line` in a row win.

    A full board without a line is a draw (0; Wang 2019, 2020 and 2023 scored it 1e-4). Actions are
    columns, row 0 is on top. The usual board is 6 rows x 7 columns.
    """

    rows: int = 6
    columns: int = 7
    line: int = DEFAULT_LINE
    observation: str = "planes"

    def __post_init__(self) -> None:
        stones.check_observation(self.observation)
        if not (1 <= self.rows <= MAX_SIDE and 2 <= self.columns <= MAX_SIDE):
            raise ValueError(
                f"connect_four needs 1 to {MAX_SIDE} rows and 2 to {MAX_SIDE} columns; "
                f"got {self.rows}x{self.columns}"
            )
        if not 2 <= self.line <= max(self.rows, self.columns):
            longest = max(self.rows, self.columns)
            raise ValueError(
                f"a line of {self.line} is impossible on a {self.rows}x{self.columns} connect_four "
                f"board; it must be 2 to {longest}, e.g. 'connect_four_{self.rows}x{self.columns}"
                f"_line{min(longest, DEFAULT_LINE)}'"
            )

    @property
    def name(self) -> str:
        """E.g. `connect_four_6x7`, or `connect_four_7x8_line5`."""
        suffix = "" if self.line == DEFAULT_LINE else f"_line{self.line}"
        return f"connect_four_{self.rows}x{self.columns}{suffix}"

    @property
    def num_actions(self) -> int:
        """One per column."""
        return self.columns

    def step(self, state: StonesState, action: jax.Array | int) -> StonesState:
        """Drops a stone of the player to move into column `action` (int32 scalar)."""
        own, other = stones.own_and_other(state)
        own = either(own, both(self._landings(own, other), self.grid.column_at(action)))
        return stones.after_line_move(self.grid, self.line, state, own, other)

    def _landings(self, own: bitboard.Words, other: bitboard.Words) -> bitboard.Words:
        """The lowest empty square of every column that has one."""
        occupied = either(own, other)
        floor = self.grid.squares_where(lambda row, column: row == self.rows - 1)
        supported = either(self.grid.move(occupied, (-1, 0)), floor)
        return both(without(supported, occupied), self.grid.full)

    def legal_actions(self, state: StonesState) -> jax.Array:
        """bool[columns]: the columns whose top square is empty."""
        occupied = self.grid.unpack(either(*stones.own_and_other(state)))
        return (occupied[0] == 0) & ~self.is_terminal(state)

    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The position and its left-right mirror image, board and policy both: K = 2."""
        return jnp.stack(self._plane_images(observation)), jnp.stack([policy, policy[::-1]])

    def _plane_images(self, plane: jax.Array) -> list[jax.Array]:
        return [plane, plane[:, ::-1]]
