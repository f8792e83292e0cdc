"""One position of a game as a picture, and where on it moves are."""

from typing import NamedTuple

import numpy as np

from jaxzero.games import Game, RacingKings
from jaxzero.play.display import boards, drawing, pieces, svg
from jaxzero.play.display.notation import Notation, make_notation
from jaxzero.play.display.session import Session

Labels = tuple[tuple[str, ...], tuple[str, ...]]


class Target(NamedTuple):
    """A part of the picture that stands for a move, or for a square of a piece's move."""

    name: str  # of the move, see `notation`; of the square (`a4`) where moves go between squares
    box: tuple[float, float, float, float]  # left, top, width and height, in pixels
    # centre of the square that a stone would fill; None where the column is full
    spot: tuple[float, float] | None


def picture(session: Session, cell: int) -> svg.Picture | None:
    """The newest position in squares of `cell` pixels, its last move marked.

    None for games of neither stones nor pieces.
    """
    game, now = session.game, session.now
    if isinstance(game, RacingKings):
        moved = pieces.squares_of(session.actions[-1]) if session.actions else ()
        return pieces.board_picture(game.letters(now.state), cell, moved=moved, labels=True)
    grid = boards.stones(game, now.state)
    if grid is None:
        return None
    look, labels = drawing.look_of(game), _labels(game, grid)
    return drawing.board_picture(grid, look, cell, marked=_moved(session, grid), labels=labels)


def targets(session: Session, cell: int) -> list[Target]:
    """Where on `picture` moves are, legal or not; none where actions are no squares."""
    game = session.game
    if isinstance(game, RacingKings):
        return [_of_piece(square, cell) for square in range(64)]
    grid, notation = boards.stones(game, session.now.state), make_notation(game)
    if grid is None or not notation.rows:
        return []
    frame = drawing.frame_of(grid, drawing.look_of(game), cell, _labels(game, grid))
    count = frame.columns if notation.falls else frame.rows * frame.columns
    found = []
    for action, name in enumerate(notation.names[:count]):
        row, column = (0, action) if notation.falls else divmod(action, frame.columns)
        x, y = frame.centre(row, column)
        height = frame.height if notation.falls else cell
        square = notation.square(action, grid)
        spot = None if square is None else frame.centre(*square)
        found.append(Target(name, (x - cell / 2, y - cell / 2, cell, height), spot))
    return found


def _of_piece(square: int, cell: int) -> Target:
    rank, file = divmod(square, 8)
    x, y = pieces.EDGE + file * cell, (7 - rank) * cell
    centre = (x + cell / 2, y + cell / 2)
    return Target(f"{'abcdefgh'[file]}{rank + 1}", (x, y, cell, cell), centre)


def _moved(session: Session, grid: np.ndarray) -> list[drawing.Square]:
    """Where the last move put a stone, on an empty square or on one that was taken."""
    if not session.actions:
        return []
    before = boards.stones(session.game, session.positions[-2].state)
    if before is None:
        return []
    square = boards.placed(before, grid)
    if square is not None:
        return [square]
    return [(row, column) for row, column in np.argwhere((grid != before) & (grid != 0)).tolist()]


def _labels(game: Game, grid: np.ndarray) -> Labels:
    """Above the columns and beside the rows, also where actions are no squares."""
    shown = make_notation(game)
    return shown.labels if shown.rows else Notation((), "", *grid.shape).labels
