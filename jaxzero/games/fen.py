"""Positions of Racing Kings as text: Forsyth-Edwards notation, without pawns and castling."""

import functools
from collections.abc import Iterator

import numpy as np

from jaxzero.games.chess_moves import ABSENT

PIECES = "pnbrqk"  # kinds by their number; also the order of the observation's planes
CLOCK = 150  # plies without a capture that end a game: 75 moves of each side

_STRAIGHT, _DIAGONAL = ((1, 0), (0, 1), (-1, 0), (0, -1)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
_STEPS = {  # (ranks up, files across), of a king or knight once
    "n": ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)),
    "r": _STRAIGHT,
    "b": _DIAGONAL,
    "q": _STRAIGHT + _DIAGONAL,
    "k": _STRAIGHT + _DIAGONAL,
}


@functools.cache
def read(fen: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    """(kinds int[2, P], squares int[2, P], colour to move, clock) of a FEN, White first.

    Kinds are places in `PIECES`, the king first, -1 beyond a side's last piece.

    Raises:
      ValueError: in one line, for a position that this game cannot begin with.
    """
    words = fen.split(" ")
    rows = words[0].split("/")
    is_fen = len(words) == 6 and len(rows) == 8 and words[1] in ("w", "b")
    if not is_fen or words[2:4] != ["-", "-"]:
        raise ValueError(
            f"{fen!r} is no FEN without castling, like '8/8/8/8/KRBNnbrk/8/8/8 w - - 0 1'"
        )
    if not (words[4].isdigit() and words[5].isdigit() and int(words[4]) < CLOCK):
        raise ValueError(f"{fen!r}: the last two numbers count plies and moves, e.g. '0 1'")
    pieces: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for row, text in enumerate(rows):
        column = 0
        for letter in text:
            if letter in "12345678":
                column += int(letter)
                continue
            if letter.lower() not in PIECES[1:]:
                raise ValueError(f"{fen!r}: {letter!r} is none of K, Q, R, B, N (no pawns race)")
            kind = PIECES.index(letter.lower())
            pieces[letter.islower()].append((-kind, 8 * (7 - row) + column))
            column += 1
        if column != 8:
            raise ValueError(f"{fen!r}: the row {text!r} has {column} squares, not 8")
    king = -PIECES.index("k")
    for side, colour in zip(pieces, ("White", "Black"), strict=True):
        if sum(kind == king for kind, _ in side) != 1:
            raise ValueError(f"{fen!r}: {colour} needs one king")
        if any(kind == king and square >= 56 for kind, square in side):
            raise ValueError(f"{fen!r}: {colour}'s king has arrived already")
    most = max(map(len, pieces))
    kinds, squares = np.full((2, most), -1), np.full((2, most), ABSENT)
    for number, side in enumerate(pieces):
        for place, (kind, square) in enumerate(sorted(side)):
            kinds[number, place], squares[number, place] = -kind, square
    mover = "wb".index(words[1])
    if _is_check(kinds, squares):  # moves are found by relying on neither king being attacked
        raise ValueError(f"{fen!r}: a king is in check")
    if not _can_move(kinds, squares, mover):
        raise ValueError(f"{fen!r}: {('White', 'Black')[mover]} is to move and has no move")
    return kinds, squares, mover, int(words[4])


def _reached(kind: int, square: int, occupied: set[int]) -> Iterator[int]:
    """Squares that a piece attacks: in each direction those up to and including the first piece."""
    for up, across in _STEPS[PIECES[kind]]:
        row, column = square // 8 + up, square % 8 + across
        while 0 <= row < 8 and 0 <= column < 8:
            yield 8 * row + column
            if PIECES[kind] in "kn" or 8 * row + column in occupied:
                break
            row, column = row + up, column + across


def _is_check(kinds: np.ndarray, squares: np.ndarray) -> bool:
    """Whether a king is attacked: `squares` int[2, P] of both sides, the kings first."""
    occupied = set(squares[squares != ABSENT].tolist())
    return any(
        int(squares[1 - colour, 0]) in _reached(kind, square, occupied)
        for colour in (0, 1)
        for kind, square in zip(kinds[colour].tolist(), squares[colour].tolist(), strict=True)
        if square != ABSENT
    )


def _can_move(kinds: np.ndarray, squares: np.ndarray, colour: int) -> bool:
    """Whether a colour has a move after which no king is attacked."""
    occupied, own = set(squares[squares != ABSENT].tolist()), squares[colour].tolist()
    for place, (kind, square) in enumerate(zip(kinds[colour].tolist(), own, strict=True)):
        for goal in _reached(kind, square, occupied) if square != ABSENT else ():
            after = np.where(squares == goal, ABSENT, squares)
            after[colour, place] = goal
            if goal not in own and not _is_check(kinds, after):
                return True
    return False
