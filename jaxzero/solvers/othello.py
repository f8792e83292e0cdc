"""Ends of Othello games solved exactly: alpha-beta on bitboards that are Python integers.

A *score* is the player to move's discs less the opponent's when the game ends, under best play of
both; empty squares belong to nobody, as in `jaxzero.games.othello`.
"""

import functools
from collections.abc import Iterator

from jaxzero.solvers.bounds import ILLEGAL, Bounds, score_between, sign_of_score

_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_FEW = 4  # with fewer empty squares ordering by the opponent's choices costs more than it saves

# (the line's squares, stones of either side on it -> stones turned over)
_Line = tuple[int, dict[tuple[int, int], int]]


class OthelloSolver:
    """Solves positions of one board; what it learns of one helps with the next.

    Attributes:
      size: n of an n x n board.
      nodes: positions looked at so far.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.nodes = 0
        self._full = (1 << size * size) - 1
        squares = range(size * size)
        self._lines = [_lines(size, square) for square in squares]
        self._around = [_around(size, square) for square in squares]
        self._quadrants = _quadrants(size)
        self._bounds: Bounds[tuple[int, int]] = Bounds()

    def action_scores(self, own: int, other: int) -> list[int]:
        """As `boards.Solver`, the pass last."""
        scores = [ILLEGAL] * (self.size * self.size + 1)
        for move, turned in self._moves(own, other):
            scores[move.bit_length() - 1] = -self.score(other & ~turned, own | move | turned)
        if all(score == ILLEGAL for score in scores) and self._can_move(other, own):
            scores[-1] = -self.score(other, own)
        return scores

    def score(self, own: int, other: int) -> int:
        """The score of a position for the player to move; arguments as in `action_scores`."""
        most = self.size * self.size
        return score_between(-most, most, lambda goal: self._reaches(own, other, goal))

    def result(self, own: int, other: int) -> int:
        """1 won, 0 drawn, -1 lost for the player to move: less work than `score`."""
        return sign_of_score(lambda goal: self._reaches(own, other, goal))

    def _can_move(self, own: int, other: int) -> bool:
        return next(self._moves(own, other), None) is not None

    def _moves(self, own: int, other: int) -> Iterator[tuple[int, int]]:
        """(square as a bit, discs turned over) of every move that places a disc."""
        empty = self._full & ~(own | other)
        while empty:
            move = empty & -empty
            empty ^= move
            square = move.bit_length() - 1
            if self._around[square] & other:
                turned = self._turned(square, own, other)
                if turned:
                    yield move, turned

    def _turned(self, square: int, own: int, other: int) -> int:
        """Discs of `other` that a disc of `own` on `square` turns over."""
        turned = 0
        for line, known in self._lines[square]:
            theirs = other & line
            if theirs:
                key = (own & line, theirs)
                in_line = known.get(key)
                if in_line is None:
                    in_line = known[key] = _turned_slowly(self.size, square, line, *key)
                turned |= in_line
        return turned

    def _reaches(self, own: int, other: int, goal: int, passed: bool = False) -> bool:
        """Whether the score is `goal` or more."""
        self.nodes += 1
        empty = self._full & ~(own | other)
        left = empty.bit_count()
        lead = own.bit_count() - other.bit_count()
        moves = list(self._moves(own, other))
        if not moves:
            if passed:
                return lead >= goal
            return not self._reaches(other, own, 1 - goal, passed=True)
        if left < _FEW:
            return any(self._move_reaches(own, other, move, goal) for move in moves)
        key = (own, other)
        known = self._bounds.reaches(key, goal)
        if known is not None:
            return known
        for move in self._ordered(own, other, moves, empty):
            if self._move_reaches(own, other, move, goal):
                self._bounds.at_least(key, goal)
                return True
        self._bounds.at_most(key, goal - 1)
        return False

    def _move_reaches(self, own: int, other: int, move: tuple[int, int], goal: int) -> bool:
        placed, turned = move
        return not self._reaches(other & ~turned, own | placed | turned, 1 - goal)

    def _ordered(
        self, own: int, other: int, moves: list[tuple[int, int]], empty: int
    ) -> list[tuple[int, int]]:
        """Moves that leave the opponent the fewest answers, then those into odd regions."""

        def worth(move: tuple[int, int]) -> tuple[int, bool]:
            placed, turned = move
            answers = sum(1 for _ in self._moves(other & ~turned, own | placed | turned))
            region = next(mask for mask in self._quadrants if mask & placed)
            return answers, (empty & region).bit_count() % 2 == 0

        return sorted(moves, key=worth)


def _lines(size: int, square: int) -> tuple[_Line, ...]:
    """The lines through a square that are long enough to enclose a disc."""
    row, column = divmod(square, size)
    lines: list[_Line] = []
    for down, right in _STEPS:
        line = 0
        for steps in range(-size, size + 1):
            r, c = row + steps * down, column + steps * right
            if 0 <= r < size and 0 <= c < size:
                line |= 1 << (r * size + c)
        if line.bit_count() > 2:
            lines.append((line, {}))
    return tuple(lines)


def _around(size: int, square: int) -> int:
    row, column = divmod(square, size)
    return sum(
        1 << (r * size + c)
        for r in range(max(row - 1, 0), min(row + 2, size))
        for c in range(max(column - 1, 0), min(column + 2, size))
        if (r, c) != (row, column)
    )


def _quadrants(size: int) -> tuple[int, ...]:
    """Four quarters of the board: who moves last in a region tends to gain by it."""
    half = (size + 1) // 2
    quadrants = [0] * 4
    for square in range(size * size):
        row, column = divmod(square, size)
        quadrants[2 * (row >= half) + (column >= half)] |= 1 << square
    return tuple(quadrants)


def _turned_slowly(size: int, square: int, line: int, own: int, other: int) -> int:
    """What a disc on `square` turns over along one line, step by step."""
    row, column = divmod(square, size)
    turned = 0
    for down, right in _STEPS + tuple((-d, -r) for d, r in _STEPS):
        run, r, c = 0, row + down, column + right
        while 0 <= r < size and 0 <= c < size and other >> (r * size + c) & 1:
            run |= 1 << (r * size + c)
            r, c = r + down, c + right
        if 0 <= r < size and 0 <= c < size and own >> (r * size + c) & 1:
            turned |= run
    return turned & line


@functools.cache
def othello_solver(size: int) -> OthelloSolver:
    """The solver of a board, made once: it keeps what it has learnt."""
    return OthelloSolver(size)
