"""Racing Kings (West 2020): the first king on the eighth rank wins, and nobody may give check.

Rules as in python-chess's `RacingKingsBoard`: captures are allowed, a move may neither give check
nor leave one's own king in check. When White's king arrives, Black still has one move if it can
bring the black king to the eighth rank at once, which makes a draw. Having no move, 75 moves of
each side without a capture, and the limit of plies are draws. Repetition is none: positions would
have to remember the game.
"""

import dataclasses
import re
from typing import ClassVar

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import chess_moves, stones
from jaxzero.games.chess_moves import ABSENT, Army, Board
from jaxzero.games.fen import CLOCK, PIECES, read
from jaxzero.games.stones import unless_finished

# West 2020, Fig. 1a: all pieces on the fourth rank, which is nearer to the goal.
MODIFIED = "8/8/8/8/KRBNnbrk/8/8/8 w - - 0 1"
STANDARD = "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1"
MAX_PLIES = 300  # random games last 139 plies on average (West 2020's start), trained ones far less

FAMILY = "racing_kings"
NUM_MOVES = 64 * 64
# From and to squares of the 44 promotions, a knight's and a queen's each: 4184 actions (West 2020).
PROMOTIONS = tuple(
    (8 * rank + file, 8 * goal + other)
    for rank, goal in ((1, 0), (6, 7))
    for file in range(8)
    for other in (file - 1, file, file + 1)
    if 0 <= other < 8
)
_MARKS = dict(zip("KQRBN", "♔♕♖♗♘", strict=True)) | dict(zip("kqrbn", "♚♛♜♝♞", strict=True))
_NAME = re.compile(rf"{FAMILY}(_standard)?(?:_([1-9]\d*)plies)?(?::(\S+))?")


@flax.struct.dataclass
class RacingKingsState:
    """A position. Which piece is where: no piece ever changes its kind, for there are no pawns."""

    squares: jax.Array  # int8[2, P], of White and of Black, the king first; ABSENT if captured
    moves: jax.Array  # uint32[P, 2], where each piece of the player to move may go
    to_move: jax.Array  # int8, player 0 or 1
    status: jax.Array  # int8, see `stones`
    clock: jax.Array  # int16, plies since the last capture
    ply: jax.Array  # int16


@dataclasses.dataclass(frozen=True)
class RacingKings:
    """See `jaxzero.games.base.Game` for what each method promises.

    Player 0 is whoever moves first in `fen`. Action `64 * from + to` (a1 = 0, b1 = 1, h8 = 63);
    4096 and above are West 2020's promotions, which no position without pawns allows.
    """

    is_alternating: ClassVar[bool] = True
    num_actions: ClassVar[int] = NUM_MOVES + 2 * len(PROMOTIONS)
    observation_shape: ClassVar[tuple[int, int, int]] = (8, 8, 2 * len(PIECES))

    fen: str = MODIFIED
    max_plies: int = MAX_PLIES

    def __post_init__(self) -> None:
        read(self.fen)
        if not 1 <= self.max_plies <= 10_000:
            raise ValueError(
                f"{FAMILY} ends after 1 to 10000 plies, e.g. '{FAMILY}_{MAX_PLIES}plies'; "
                f"got {self.max_plies}"
            )

    @property
    def name(self) -> str:
        """`racing_kings`, `racing_kings_standard`, `racing_kings_200plies`, `racing_kings:FEN`."""
        name = FAMILY + ("_standard" if self.fen == STANDARD else "")
        if self.max_plies != MAX_PLIES:
            name += f"_{self.max_plies}plies"
        return name if self.fen in (MODIFIED, STANDARD) else f"{name}:{self.fen.replace(' ', '_')}"

    @property
    def pieces(self) -> np.ndarray:
        """int[2, P], index in `PIECES` of each piece of White and of Black; -1 beyond the last."""
        return read(self.fen)[0]

    @property
    def first_colour(self) -> int:
        """0 if White is player 0, else 1."""
        return read(self.fen)[2]

    def init(self) -> RacingKingsState:
        """The position of `fen`."""
        _, places, colour, clock = read(self.fen)
        squares = jnp.asarray(places, jnp.int8)
        moves, _ = self._moves(squares, jnp.int32(colour))
        return RacingKingsState(
            squares=squares,
            moves=moves,
            to_move=jnp.int8(0),
            status=jnp.int8(stones.GOING_ON),
            clock=jnp.int16(clock),
            ply=jnp.int16(0),
        )

    def step(self, state: RacingKingsState, action: jax.Array | int) -> RacingKingsState:
        """Moves from `action // 64` to `action % 64` (int32 scalar), maybe with a capture."""
        mover = self._colour(state)
        origin, goal = jnp.int8(action // 64), jnp.int8(action % 64)
        is_own = (jnp.arange(2) == mover)[:, None]
        moved = jnp.where(is_own & (state.squares == origin), goal, state.squares)
        squares = jnp.where(~is_own & (state.squares == goal), jnp.int8(ABSENT), moved)
        captured = (squares != moved).any()

        moves, black_arrives = self._moves(squares, 1 - mover)
        clock = jnp.where(captured, 0, state.clock + 1).astype(jnp.int16)
        ply = (state.ply + 1).astype(jnp.int16)
        kings = (jax.lax.slice_in_dim(side, 0, 1).reshape(()) for side in _sides(squares))
        white_home, black_home = (king >= 56 for king in kings)
        answers = (mover == 0) & white_home & ~black_home & black_arrives
        raced = (white_home | black_home) & ~answers
        drawn = (moves == 0).all() | (clock >= CLOCK) | (ply >= self.max_plies)
        first_home = black_home if self.first_colour else white_home
        winner = jnp.where(first_home, stones.FIRST_WON, stones.SECOND_WON)
        status = jnp.where(
            raced,
            jnp.where(white_home & black_home, stones.DRAWN, winner),
            jnp.where(drawn, stones.DRAWN, stones.GOING_ON),
        ).astype(jnp.int8)
        successor = RacingKingsState(
            squares=squares,
            moves=jnp.where(status == stones.GOING_ON, moves, jnp.uint32(0)),
            to_move=1 - state.to_move,
            status=status,
            clock=clock,
            ply=ply,
        )
        return unless_finished(state, successor)

    def to_move(self, state: RacingKingsState) -> jax.Array:
        """int32 scalar, 0 or 1."""
        return state.to_move.astype(jnp.int32)

    def legal_actions(self, state: RacingKingsState) -> jax.Array:
        """bool[4184]."""
        own = self._by_mover(state)[0]
        from_square = np.arange(64)[None] == own[:, None]  # [P, 64]
        words = jnp.where(from_square[:, :, None], state.moves[:, None], jnp.uint32(0))
        # At most one piece stands on a square. A sum, because XLA does not repeat one for each bit.
        words = words.sum(0, dtype=jnp.uint32)  # [64, 2]
        bits = (words[:, :, None] >> np.arange(32, dtype=np.uint32)[None, None]) & np.uint32(1)
        promotions = jnp.zeros((2 * len(PROMOTIONS),), bool)
        return jnp.concatenate([(bits != 0).reshape(-1), promotions])

    def is_terminal(self, state: RacingKingsState) -> jax.Array:
        """bool scalar."""
        return state.status != stones.GOING_ON

    def outcome(self, state: RacingKingsState) -> jax.Array:
        """float32[2]: result of player 0 and of player 1; zeros before the end."""
        first = (state.status == stones.FIRST_WON).astype(jnp.float32)
        second = (state.status == stones.SECOND_WON).astype(jnp.float32)
        return jnp.stack([first - second, second - first])

    def observe(self, state: RacingKingsState) -> jax.Array:
        """int8[8, 8, 12]: own pawns, knights, bishops, rooks, queens, king, then the opponent's.

        Row 0 is the eighth rank for both: White and Black run the same way.
        """
        planes = []
        colour = self._colour(state)
        for squares, side in zip(self._by_mover(state), (colour, 1 - colour), strict=True):
            kinds = self._kinds(side)
            on = np.arange(64)[None] == squares[:, None]
            of = np.arange(len(PIECES))[None] == kinds[:, None]
            planes.append((on[:, :, None] & of[:, None]).any(0))
        both = jnp.concatenate(planes, -1).astype(jnp.int8)
        return both.reshape(8, 8, -1)[::-1]

    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The identity and the mirror image, files a to h exchanged: K = 2."""
        moves = policy[:NUM_MOVES].reshape(8, 8, 8, 8)[:, ::-1, :, ::-1].reshape(-1)
        promotions = policy[NUM_MOVES:].reshape(-1, 2)
        # The promotions of each rank are in the order of their files, hence mirrored by reversal.
        promotions = promotions.reshape(2, -1, 2)[:, ::-1].reshape(-1)
        mirrored = jnp.concatenate([moves, promotions])
        return jnp.stack([observation, observation[:, ::-1]]), jnp.stack([policy, mirrored])

    def image(self, state: RacingKingsState, k: int) -> RacingKingsState:
        """The k-th symmetric image (0: the position itself)."""
        if k == 0:
            return state
        mirrored = jnp.where(state.squares == ABSENT, state.squares, state.squares ^ 7)
        moves, _ = self._moves(mirrored, self._colour(state))
        over = self.is_terminal(state)
        moves = jnp.where(over, jnp.uint32(0), moves)
        return dataclasses.replace(state, squares=mirrored, moves=moves)

    def material(self, state: RacingKingsState) -> jax.Array:
        """int32[2]: ranks of the two players' kings, from 0: further is better."""
        ranks = jax.lax.slice_in_dim(state.squares, 0, 1, axis=1).reshape(2) // 8
        return (ranks[::-1] if self.first_colour else ranks).astype(jnp.int32)

    def letters(self, state: RacingKingsState) -> list[str]:
        """Eight rows from the eighth rank down, FEN's letters for the pieces and dots."""
        rows = [["."] * 8 for _ in range(8)]
        squares = np.asarray(state.squares)
        for colour, kinds in enumerate(self.pieces):
            for kind, square in zip(kinds, squares[colour], strict=True):
                if kind >= 0 and square != ABSENT:
                    letter = PIECES[kind]
                    rows[7 - square // 8][square % 8] = letter.upper() if colour == 0 else letter
        return ["".join(row) for row in rows]

    def render(self, state: RacingKingsState) -> str:
        """The board, White's pieces in capitals."""
        rows = [f"{8 - i}  " + " ".join(letters) for i, letters in enumerate(self.letters(state))]
        return "\n".join([*rows, "   " + " ".join("abcdefgh"), self.caption(state)])

    @property
    def colours(self) -> tuple[str, str]:
        """Of player 0, who moves first, and player 1."""
        return ("Black", "White") if self.first_colour else ("White", "Black")

    def caption(self, state: RacingKingsState) -> str:
        """Who is to move, or how it ended, in the colours' names."""
        status = int(state.status)
        if status == stones.GOING_ON:
            return f"{self.colours[int(state.to_move)]} to move"
        return "draw" if status == stones.DRAWN else f"{self.colours[status - 1]} has won"

    def current_fen(self, state: RacingKingsState) -> str:
        """The position as engines read it."""
        rows = [re.sub(r"\.+", lambda m: str(len(m[0])), row) for row in self.letters(state)]
        colour = "wb"[(int(state.to_move) + self.first_colour) % 2]
        number = 1 + (int(state.ply) + self.first_colour) // 2
        return f"{'/'.join(rows)} {colour} - - {int(state.clock)} {number}"

    def _colour(self, state: RacingKingsState) -> jax.Array:
        """int32 scalar: 0 if White is to move."""
        colour = state.to_move.astype(jnp.int32)
        return 1 - colour if self.first_colour else colour

    def _by_mover(self, state: RacingKingsState) -> tuple[jax.Array, jax.Array]:
        """int8[P] twice: squares of the player to move, and of the other."""
        white, black = _sides(state.squares)
        is_white = self._colour(state) == 0
        return jnp.where(is_white, white, black), jnp.where(is_white, black, white)

    def _kinds(self, colour: jax.Array) -> jax.Array:
        """int32[P], index in `PIECES`."""
        white, black = self.pieces
        if (white == black).all():
            return jnp.asarray(white, jnp.int32)
        return jnp.where(colour == 0, white, black).astype(jnp.int32)

    def _army(self, squares: jax.Array, colour: jax.Array) -> Army:
        kinds = self._kinds(colour)
        knight, bishop, rook, queen = (PIECES.index(letter) for letter in "nbrq")
        return Army(
            at=chess_moves.at(squares),
            is_straight=(kinds == rook) | (kinds == queen),
            is_diagonal=(kinds == bishop) | (kinds == queen),
            is_knight=kinds == knight,
        )

    def _moves(self, squares: jax.Array, colour: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(uint32[P, 2] moves of a colour, bool: could its king step to the eighth rank?)."""
        white, black = _sides(squares)
        own, other = jnp.where(colour == 0, white, black), jnp.where(colour == 0, black, white)
        own_army, other_army = self._army(own, colour), self._army(other, 1 - colour)
        moves, attacked = chess_moves.quiet_moves(own_army, other_army)
        goal = Board(jnp.uint32(0), jnp.uint32(0xFF000000))
        steps = chess_moves.king_steps(own_army.at.one(0)) & goal
        arrives = (steps & ~own_army.at.union() & ~attacked).any
        return jnp.stack([moves.low, moves.high], -1), arrives


def make_racing_kings(name: str, observation: str) -> RacingKings:
    """The game of a name, see `RacingKings.name`.

    Raises:
      ValueError: in one line, for a name, a position or an encoding that does not exist.
    """
    match = _NAME.fullmatch(name)
    if match is None or (match[1] and match[3]):
        raise ValueError(
            f"unknown game {name!r}; '{FAMILY}', '{FAMILY}_standard', '{FAMILY}_200plies' and "
            f"'{FAMILY}:FEN' (its spaces as _) exist"
        )
    if observation != "planes":
        raise ValueError(
            f"{name!r} has its own observation; leave observation='planes', got {observation!r}"
        )
    fen = match[3].replace("_", " ") if match[3] else STANDARD if match[1] else MODIFIED
    return RacingKings(fen, int(match[2]) if match[2] else MAX_PLIES)


def action_of(uci: str) -> int:
    """The action of a move in UCI's notation, `a4b6`. ValueError: it is none that exists here."""
    match = re.fullmatch(r"([a-h][1-8])([a-h][1-8])([nq]?)", uci)
    if match is None:
        raise ValueError(f"{uci!r} is no move like 'a4b6'")
    origin, goal = (ord(s[0]) - ord("a") + 8 * (int(s[1]) - 1) for s in match.groups()[:2])
    if not match[3]:
        return 64 * origin + goal
    return NUM_MOVES + 2 * PROMOTIONS.index((origin, goal)) + (match[3] == "q")


def uci_of(action: int) -> str:
    """The move of an action in UCI's notation."""
    if action < NUM_MOVES:
        return square_name(action // 64) + square_name(action % 64)
    pair, is_queen = divmod(action - NUM_MOVES, 2)
    return "".join(map(square_name, PROMOTIONS[pair])) + "nq"[is_queen]


def square_name(square: int) -> str:
    """`a1` of 0, `h8` of 63."""
    return "abcdefgh"[square % 8] + str(square // 8 + 1)


def glyph(letter: str) -> str:
    """The chess symbol of a FEN letter."""
    return _MARKS[letter]


def _sides(squares: jax.Array) -> tuple[jax.Array, jax.Array]:
    """White's row and Black's, by static slices."""
    white, black = (jax.lax.index_in_dim(squares, i, keepdims=False) for i in (0, 1))
    return white, black
