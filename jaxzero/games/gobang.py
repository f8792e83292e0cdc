"""Gobang: stones are placed anywhere, a line of `line` or more wins."""

import dataclasses

import jax

from jaxzero.games import stones
from jaxzero.games.bitboard import either, without
from jaxzero.games.stones import StonesState

DEFAULT_LINE = 4  # Wang 2020, section 3: chains of 4, on 5x5 and 6x6 boards
MAX_SIDE = 32


@dataclasses.dataclass(frozen=True)
class Gobang(stones.SquareStonesGame):
    """An unbroken chain of `line` or more stones in any of the four directions wins.

    A full board without one is a draw (0; the papers' program scored it 1e-4). Actions are the
    squares in row-major order, `row * size + column`.
    """

    size: int = 5
    line: int = DEFAULT_LINE
    observation: str = "planes"

    def __post_init__(self) -> None:
        stones.check_observation(self.observation)
        if not 2 <= self.size <= MAX_SIDE:
            raise ValueError(
                f"gobang needs a board of 2x2 to {MAX_SIDE}x{MAX_SIDE}; got {self.size}x{self.size}"
            )
        if not 2 <= self.line <= self.size:
            raise ValueError(
                f"a line of {self.line} is impossible on a {self.size}x{self.size} gobang board; "
                f"it must be 2 to {self.size}, e.g. 'gobang_{self.size}x{self.size}"
                f"_line{min(self.size, DEFAULT_LINE)}'"
            )

    @property
    def name(self) -> str:
        """E.g. `gobang_5x5`, or `gobang_6x6_line5`."""
        suffix = "" if self.line == DEFAULT_LINE else f"_line{self.line}"
        return f"gobang_{self.size}x{self.size}{suffix}"

    @property
    def num_actions(self) -> int:
        """One per square. (The papers' program has a pass too, which is never legal.)"""
        return self.size * self.size

    def step(self, state: StonesState, action: jax.Array | int) -> StonesState:
        """Places a stone of the player to move on square `action` (int32 scalar)."""
        own, other = stones.own_and_other(state)
        own = either(own, without(self.grid.square_at(action), other))
        return stones.after_line_move(self.grid, self.line, state, own, other)

    def legal_actions(self, state: StonesState) -> jax.Array:
        """bool[size * size]: the empty squares."""
        occupied = self.grid.unpack(either(*stones.own_and_other(state)))
        return (occupied.reshape(-1) == 0) & ~self.is_terminal(state)
