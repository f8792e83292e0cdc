"""A game as a moving picture: an SVG that shows one position after another, for ever."""

import itertools

import numpy as np

from jaxzero.games import RacingKings
from jaxzero.play.display import boards, drawing, pieces, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session

_SECONDS, _REST = 0.7, 5  # a position is shown; the last one for so many positions' time


def game_film(session: Session, players: tuple[str, str], result: str) -> svg.Picture:
    """A whole game: who played, how it ended, and its positions in turn.

    A game of neither stones nor pieces is drawn as `drawing.game_picture` does.
    """
    game = session.game
    if isinstance(game, RacingKings):
        letters = [game.letters(position.state) for position in session.positions]
        frames = [pieces.board_picture(rows, pieces.LARGE, labels=True) for rows in letters]
    else:
        maybe = [boards.stones(game, position.state) for position in session.positions]
        history = [stones for stones in maybe if stones is not None]
        if not history:
            return drawing.game_picture(session, players, result)
        pairs = itertools.pairwise([history[0], *history])
        frames = [_frame(session, before, after) for before, after in pairs]
    return drawing.with_heading(session, players, result, _in_turn(frames))


def _frame(session: Session, before: np.ndarray, after: np.ndarray) -> svg.Picture:
    """A position of stones, a ring round the newest."""
    square = boards.placed(before, after)
    return drawing.board_picture(
        after,
        drawing.look_of(session.game),
        drawing.large_cell(after.shape[1]),
        marked=[] if square is None else [square],
        labels=make_notation(session.game).labels,
    )


def _in_turn(frames: list[svg.Picture]) -> svg.Picture:
    """One at a time; where pictures don't move, the last. The empty board is drawn once."""
    bodies = [frame.body.split("\n") for frame in frames]
    equal = itertools.takewhile(lambda lines: len(set(lines)) == 1, zip(*bodies, strict=False))
    same = [lines[0] for lines in equal]
    last, total = len(frames) - 1, len(frames) - 1 + _REST
    parts = [*same]
    for n, lines in enumerate(bodies):
        times = f"0;{n / total:.4f};{1 if n == last else (n + 1) / total:.4f}"
        animation = (
            '<animate attributeName="visibility" calcMode="discrete" '
            f'values="hidden;visible;{"visible" if n == last else "hidden"}" keyTimes="{times}" '
            f'dur="{svg.short(total * _SECONDS)}s" repeatCount="indefinite"/>'
        )
        shown = "visible" if n == last else "hidden"
        parts.append(f'<g visibility="{shown}">{animation}{"".join(lines[len(same) :])}</g>')
    return svg.Picture(frames[0].width, frames[0].height, "\n".join(parts))
