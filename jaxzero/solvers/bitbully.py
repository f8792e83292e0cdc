"""A solver of the usual Connect Four board, 6 rows x 7 columns, over `bitbully`.

`bitbully` (AGPL, extra `solver`) looks up a book of all positions with 12 stones, distances
included, and searches behind it: about a hundred positions a second, mean over all stages of a
game. It is imported here alone, when a solver is made. Its scores mean what those of our own
solver do.
"""

import functools
import random
from typing import Any

from jaxzero.settings.config import ConfigError
from jaxzero.solvers.bounds import ILLEGAL

BOARD = "connect_four_6x7"
ROWS, COLUMNS, SQUARES = 6, 7, 42
_BITS = 9  # of a column in bitbully's words: the squares from below, then empty ones


class PerfectSolver:
    """Exact scores of positions of the usual board; a `jaxzero.solvers.Solver`.

    A score is for the player to move: 0 is a draw, a player who wins with the k-th last of all
    stones that they could place scores k, and the loser -k. A quicker win is a higher score, a
    slower loss too ("strong" in Clausen 2021); its sign is the result ("weak").
    """

    def __init__(self) -> None:
        bitbully = _bitbully()
        self._core = bitbully.BitBully("12-ply-dist")._core
        self._new_board = bitbully.bitbully_core.BoardCore

    @property
    def nodes(self) -> int:
        """Positions looked at so far."""
        return int(self._core.getNodeCounter())

    def board(self, own: int = 0, other: int = 0) -> Any:
        """bitbully's board.

        Args:
          own, other: stones of the player to move and of the opponent, as row-major bits (row 0 on
            top), of a position without a line.
        """
        board = self._new_board()
        stones = own | other
        board.setRawState(_pack(stones), _pack(own), SQUARES - stones.bit_count())
        return board

    def action_scores(self, own: int, other: int) -> list[int]:
        """The score of every column for the player to move; `ILLEGAL` where it is full."""
        return self.board_scores(self.board(own, other))

    def board_scores(self, board: Any) -> list[int]:
        """`action_scores` of bitbully's board."""
        return [s if s > -SQUARES else ILLEGAL for s in self._core.scoreMoves(board)]

    def score(self, own: int, other: int) -> int:
        """The score of an unfinished position for the player to move."""
        return self._score(self.board(own, other))

    def result(self, own: int, other: int) -> int:
        """1 won, 0 drawn, -1 lost for the player to move."""
        score = self.score(own, other)
        return (score > 0) - (score < 0)

    def sample_best(self, board: Any, rng: random.Random) -> int:
        """A uniformly random one of the best columns, with less work than all scores.

        The first best one of a random order is uniform among the best, and whether a column is best
        takes one search with an empty window.
        """
        columns = legal_columns(board)
        wins = [column for column in columns if board.canWin(column)]
        if wins:
            return rng.choice(wins)
        rng.shuffle(columns)
        score = self._core.mtdf(board, 0) if len(columns) > 1 else 0
        for column in columns[:-1]:
            child = board.playMoveOnCopy(column)
            if self._core.negamax(child, -score, 1 - score, 0) <= -score:
                return column
        return columns[-1]

    def _score(self, board: Any) -> int:
        if board.canWin():
            return (SQUARES + 1 - board.countTokens()) // 2
        return int(self._core.mtdf(board, 0))


@functools.cache
def perfect_solver() -> PerfectSolver:
    """The solver, made once.

    Raises:
      ConfigError: bitbully is not installed.
    """
    return PerfectSolver()


def check_installed() -> None:
    """Refuses, in one line, what needs bitbully where it is not installed.

    Raises:
      ConfigError: with what to install.
    """
    _bitbully()


def legal_columns(board: Any) -> list[int]:
    """Columns of bitbully's board that are not full."""
    return [column for column in range(COLUMNS) if board.isLegalMove(column)]


def _pack(squares: int) -> int:
    """Row-major bits, row 0 on top, as bitbully's bits: columns of `_BITS`, from below."""
    packed = 0
    while squares:
        square = (squares & -squares).bit_length() - 1
        squares &= squares - 1
        row, column = divmod(square, COLUMNS)
        packed |= 1 << (column * _BITS + ROWS - 1 - row)
    return packed


def _bitbully() -> Any:
    try:
        import bitbully
        import bitbully_databases  # noqa: F401  # the book, a package of its own
    except ImportError as error:
        raise ConfigError(
            "perfect Connect Four play needs bitbully (AGPL), which is not installed: "
            'pip install -e ".[solver]"'
        ) from error
    return bitbully
