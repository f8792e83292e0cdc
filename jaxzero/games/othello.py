"""Othello with passes, and Reversi, which gives the turn back instead."""

import abc
import dataclasses
from typing import ClassVar

import flax.struct
import jax
import jax.numpy as jnp

from jaxzero.games import bitboard, stones
from jaxzero.games.bitboard import any_square, both, either, select, without

MIN_SIZE, MAX_SIZE = 4, 10


@flax.struct.dataclass
class OthelloState:
    """A position with the squares that are open to the player to move.

    `step` needs those squares to see whether the game is over, so it keeps them for
    `legal_actions`: finding them costs as much as turning the stones over.
    """

    stones: jax.Array  # uint32[2, num_words], of player 0 and of player 1
    moves: jax.Array  # uint32[num_words], where the player to move may place a stone
    to_move: jax.Array  # int8, player 0 or 1
    status: jax.Array  # int8, see `stones`


class _TurningGame(stones.SquareStonesGame):
    """Placing a stone turns over the opponent's stones that it encloses in straight lines."""

    def _check_size(self, family: str) -> None:
        stones.check_observation(self.observation)
        if not MIN_SIZE <= self.size <= MAX_SIZE:
            nearest = min(max(self.size, MIN_SIZE), MAX_SIZE)
            raise ValueError(
                f"{family} needs a board of {MIN_SIZE}x{MIN_SIZE} to {MAX_SIZE}x{MAX_SIZE}, "
                f"e.g. '{family}_{nearest}x{nearest}'; got {self.size}x{self.size}"
            )

    def init(self) -> OthelloState:
        """The central block; on odd boards it is off-centre to the upper left.

        Player 0 owns its upper right and lower left stone (Wang 2019, 2020, 2023 and West 2020's
        program), or the other two (see `Reversi.mirrored`).
        """
        low, high = self.size // 2 - 1, self.size // 2
        own = self.grid.squares([(low, high), (high, low)])
        other = self.grid.squares([(low, low), (high, high)])
        if getattr(self, "mirrored", False):
            own, other = other, own
        return OthelloState(
            stones=stones.by_player(jnp.int8(0), own, other),
            moves=bitboard.to_array(self._moves(own, other)),
            to_move=jnp.int8(0),
            status=jnp.int8(stones.GOING_ON),
        )

    def step(self, state: OthelloState, action: jax.Array | int) -> OthelloState:
        """Places a stone of the player to move on square `action` (int32 scalar), or passes."""
        own, other = stones.own_and_other(state)
        placed = without(self.grid.square_at(action), either(own, other))
        turned = self._turned(placed, own, other)
        own, other = either(either(own, placed), turned), without(other, turned)

        replies, again = self._moves(other, own), self._moves(own, other)
        over = ~any_square(either(replies, again))
        keeps_turn = self._keeps_turn(replies)
        successor = OthelloState(
            stones=stones.by_player(state.to_move, own, other),
            moves=bitboard.to_array(select(keeps_turn, again, replies)),
            to_move=jnp.where(keeps_turn, state.to_move, 1 - state.to_move),
            status=_majority(state.to_move, own, other, over),
        )
        return stones.unless_finished(state, successor)

    def material(self, state: OthelloState) -> jax.Array:
        """int32[2]: discs of player 0 and of player 1."""
        return jnp.stack([bitboard.count(words) for words in stones.players(state.stones)])

    @abc.abstractmethod
    def _keeps_turn(self, replies: bitboard.Words) -> jax.Array:
        """bool scalar: does the mover play again when the opponent has these replies?"""

    def _through(self, other: bitboard.Words, direction: tuple[int, int]) -> bitboard.Words:
        """The opponent's stones that a straight line in `direction` can pass over.

        Those in the outer columns end any line with a sideways part; without them, unmasked moves
        cannot wrap round into the next row.
        """
        return both(other, self.grid.inner_columns) if direction[1] else other

    def _runs(
        self, start: bitboard.Words, through: bitboard.Words, direction: tuple[int, int]
    ) -> bitboard.Words:
        """Squares of `through` reached from `start` by steps in `direction` over `through`."""
        reached = both(self.grid.move(start, direction), through)
        for _ in range(self.size - 3):  # an enclosed run has at most size - 2 stones
            reached = either(reached, both(self.grid.move(reached, direction), through))
        return reached

    def _moves(self, own: bitboard.Words, other: bitboard.Words) -> bitboard.Words:
        """Empty squares from which `own` would enclose at least one stone of `other`."""
        enclosing = self.grid.squares([])
        for direction in bitboard.ALL_DIRECTIONS:
            runs = self._runs(own, self._through(other, direction), direction)
            enclosing = either(enclosing, self.grid.move(runs, direction))
        return both(without(enclosing, either(own, other)), self.grid.full)

    def _turned(
        self, placed: bitboard.Words, own: bitboard.Words, other: bitboard.Words
    ) -> bitboard.Words:
        """Stones of `other` between `placed` (one square or none) and stones of `own`."""
        turned = self.grid.squares([])
        for direction in bitboard.ALL_DIRECTIONS:
            runs = self._runs(placed, self._through(other, direction), direction)
            enclosed = any_square(both(self.grid.move(runs, direction), own))
            turned = either(turned, select(enclosed, runs, self.grid.squares([])))
        return turned

    def _open_squares(self, state: OthelloState) -> jax.Array:
        """bool[size * size]: where the player to move may place a stone."""
        return self.grid.unpack(bitboard.from_array(state.moves)).reshape(-1) != 0

    def image(self, state: OthelloState, k: int) -> OthelloState:
        """The k-th symmetric image (static k, in the order of `symmetries`) of a position."""
        moves = self.grid.unpack(bitboard.from_array(state.moves))
        image = self.grid.pack(self._plane_images(moves)[k])
        return super().image(state, k).replace(moves=bitboard.to_array(image))


@dataclasses.dataclass(frozen=True)
class Othello(_TurningGame):
    """A player without a move passes; the game ends when neither has one; more stones win.

    Actions are the squares in row-major order, then the pass, which is legal only where no other
    action is. Equal counts are a draw (Wang 2019, 2020 and 2023's program never gave one).
    """

    size: int = 6
    observation: str = "planes"

    def __post_init__(self) -> None:
        self._check_size("othello")

    @property
    def name(self) -> str:
        """E.g. `othello_6x6`."""
        return f"othello_{self.size}x{self.size}"

    @property
    def num_actions(self) -> int:
        """One per square, and the pass."""
        return self.size * self.size + 1

    @property
    def max_plies(self) -> int:
        """Four squares are filled at the start; a pass follows a stone, and none the last one."""
        return 2 * (self.size * self.size - 4) - 1

    def legal_actions(self, state: OthelloState) -> jax.Array:
        """bool[size * size + 1]."""
        squares = self._open_squares(state)
        # `moves` of a finished game is empty, so only the pass needs the status.
        must_pass = ~squares.any() & ~self.is_terminal(state)
        return jnp.concatenate([squares, must_pass[None]])

    def _keeps_turn(self, replies: bitboard.Words) -> jax.Array:
        return jnp.bool_(False)


@dataclasses.dataclass(frozen=True)
class Reversi(_TurningGame):
    """Othello in which the mover plays again when the opponent has no move (West 2020).

    `mirrored` begins with the colours of the centre exchanged, as West 2020's Fig. 1b shows it.
    """

    is_alternating: ClassVar[bool] = False

    size: int = 8
    observation: str = "planes"
    mirrored: bool = False

    def __post_init__(self) -> None:
        self._check_size("reversi")

    @property
    def name(self) -> str:
        """E.g. `reversi_8x8`, or `reversi_8x8_mirrored`."""
        return f"reversi_{self.size}x{self.size}" + ("_mirrored" if self.mirrored else "")

    @property
    def num_actions(self) -> int:
        """One per square; there is no pass."""
        return self.size * self.size

    @property
    def max_plies(self) -> int:
        """Every ply fills a square, and four are filled at the start."""
        return self.size * self.size - 4

    def legal_actions(self, state: OthelloState) -> jax.Array:
        """bool[size * size]."""
        return self._open_squares(state)

    def _keeps_turn(self, replies: bitboard.Words) -> jax.Array:
        return ~any_square(replies)


def _majority(
    to_move: jax.Array, own: bitboard.Words, other: bitboard.Words, over: jax.Array
) -> jax.Array:
    """int8 status: who has more stones, once the game is `over`; `own` is of `to_move`."""
    lead = bitboard.count(own) - bitboard.count(other)
    winner = jnp.where(lead > 0, to_move, 1 - to_move)
    decided = jnp.where(lead == 0, stones.DRAWN, stones.FIRST_WON + winner)
    return jnp.where(over, decided, stones.GOING_ON).astype(jnp.int8)
