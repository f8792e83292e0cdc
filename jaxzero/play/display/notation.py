"""Names of moves: one text for each action of a game, shown and typed alike.

Columns of Connect Four count from 1, as its literature does. Squares are a letter for the column
and a number for the row, a1 in the upper left corner as in Othello's transcripts. Racing Kings has
UCI's names, from and to (`a4b6`), a1 in the lower left corner. Games without any of these have the
numbers of their actions.
"""

import dataclasses
import functools
import string

import numpy as np

from jaxzero.games import ConnectFour, Game, Gobang, Othello, RacingKings, Reversi
from jaxzero.games.pgx_adapter import PgxGame
from jaxzero.games.racing_kings import uci_of

PASS = "pass"
_SHOWN = 40  # legal moves that a message lists

# Actions of pgx's environments that are squares in row-major order: (rows, columns, what follows).
_PGX_SQUARES = {
    "go_9x9": (9, 9, (PASS,)),
    "go_19x19": (19, 19, (PASS,)),
    "hex": (11, 11, ("steal",)),  # the second player takes over the first stone
    "othello": (8, 8, (PASS,)),
    "tic_tac_toe": (3, 3, ()),
}


@dataclasses.dataclass(frozen=True)
class Notation:
    """The names of a game's A actions, and where on its board they are."""

    names: tuple[str, ...]  # [A], all different, lower case
    form: str  # what they look like, e.g. `"a column, 1 to 7"`
    rows: int = 0  # of the board; 0 where actions are no squares and no columns
    columns: int = 0  # the same
    falls: bool = False  # an action is a column, the stone falls to its lowest empty square

    @functools.cached_property
    def _actions(self) -> dict[str, int]:
        return {name: action for action, name in enumerate(self.names)}

    def read(self, text: str) -> int | None:
        """The action of that name, legal or not; None for any other text."""
        return self._actions.get(text.strip().lower())

    def list_legal(self, legal: np.ndarray) -> str:
        """The names of the legal actions (bool[A]) in one line, the first 40 of them."""
        names = [self.names[action] for action in np.flatnonzero(legal)]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return " ".join(names[:_SHOWN]) + more

    def square(self, action: int, stones: np.ndarray) -> tuple[int, int] | None:
        """(row, column) that `action` fills on a board of stones [H, W] (0: empty).

        None for a move that fills no square.
        """
        if self.falls:
            empty = np.flatnonzero(stones[:, action] == 0)
            return (int(empty[-1]), action) if empty.size else None
        if action >= self.rows * self.columns:
            return None
        row, column = divmod(action, self.columns)
        return row, column

    @property
    def column_labels(self) -> tuple[str, ...]:
        """What stands above the board."""
        return self.names if self.falls else tuple(map(_letters, range(self.columns)))

    @property
    def row_labels(self) -> tuple[str, ...]:
        """What stands beside the board."""
        return tuple("" if self.falls else str(row + 1) for row in range(self.rows))

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Both."""
        return self.column_labels, self.row_labels


@functools.cache
def make_notation(game: Game) -> Notation:
    """The notation of a game, by its family."""
    return notation_of(game)


@functools.singledispatch
def notation_of(game: Game) -> Notation:
    """The notation of a kind of game; `notation_of.register` adds one for a new kind."""
    return _numbers(game.num_actions)


@notation_of.register
def _(game: ConnectFour) -> Notation:
    return _columns(game.rows, game.columns)


@notation_of.register(Gobang)
@notation_of.register(Reversi)
def _(game: Gobang | Reversi) -> Notation:
    return _squares(game.rows, game.columns)


@notation_of.register
def _(game: Othello) -> Notation:
    return _squares(game.rows, game.columns, (PASS,))


@notation_of.register
def _(game: RacingKings) -> Notation:
    names = tuple(map(uci_of, range(game.num_actions)))
    return Notation(names, "two squares, from and to, e.g. a4b6")


@notation_of.register
def _(game: PgxGame) -> Notation:
    if game.env_id == "connect_four":
        return _columns(6, 7)
    if game.env_id in _PGX_SQUARES:
        return _squares(*_PGX_SQUARES[game.env_id])
    return _numbers(game.num_actions)


def _columns(rows: int, columns: int) -> Notation:
    names = tuple(str(column + 1) for column in range(columns))
    return Notation(names, f"a column, 1 to {columns}", rows, columns, falls=True)


def _squares(rows: int, columns: int, others: tuple[str, ...] = ()) -> Notation:
    names = tuple(f"{_letters(c)}{r + 1}" for r in range(rows) for c in range(columns))
    form = f"a square, {names[0]} to {names[-1]}"
    return Notation((*names, *others), ", or ".join([form, *others]), rows, columns)


def _numbers(num_actions: int) -> Notation:
    names = tuple(str(action) for action in range(num_actions))
    return Notation(names, f"the number of an action, 0 to {num_actions - 1}")


def _letters(column: int) -> str:
    """a to z, then aa, ab, ...: boards have up to 32 columns."""
    first, last = divmod(column, 26)
    return (string.ascii_lowercase[first - 1] if first else "") + string.ascii_lowercase[last]
