"""Boards for people, in characters: stones, labels, the last move, and what can be played."""

import functools
import textwrap
from typing import Any

import jax
import numpy as np

from jaxzero.games import Game, Othello, RacingKings, Reversi
from jaxzero.games.base import State
from jaxzero.games.pgx_adapter import STONES_IN_PLANES, PgxGame
from jaxzero.games.stones import StonesGame
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Position, Session

MARKS = ".XO"  # empty, player 0 (moves first), player 1
_CAN_PLAY = "+"


def mark(player: int, game: Game) -> str:
    """X for player 0, who moves first, O for player 1; where there are pieces, White or Black."""
    return game.colours[player] if isinstance(game, RacingKings) else MARKS[1 + player]


@functools.singledispatch
def stones(game: object, state: State) -> np.ndarray | None:
    """int8[H, W]: 0 empty, 1 a stone of player 0, 2 of player 1; None for other kinds of games."""
    return None


@stones.register
def _(game: StonesGame, state: State) -> np.ndarray | None:
    words = np.ascontiguousarray(np.asarray(state.stones)).astype("<u4")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    squares = bits[:, : game.rows * game.columns].reshape(2, game.rows, game.columns)
    return (squares[0] + 2 * squares[1]).astype(np.int8)


@stones.register
def _(game: PgxGame, state: State) -> np.ndarray | None:
    if game.env_id not in STONES_IN_PLANES:
        return None
    planes, mover = jax.device_get(_observe(game, state))
    own, other = (planes[..., plane] != 0 for plane in (0, 1))
    return (own * (1 + mover) + other * (2 - mover)).astype(np.int8)


@functools.partial(jax.jit, static_argnums=0)
def _observe(game: Game, state: State) -> Any:
    return game.observe(state), game.to_move(state)


def placed(before: np.ndarray, after: np.ndarray) -> tuple[int, int] | None:
    """The square that a move filled, from the stones before and after it; None for none."""
    squares = np.argwhere((before == 0) & (after != 0))
    return (int(squares[0][0]), int(squares[0][1])) if len(squares) else None


def counts_stones(game: Game) -> bool:
    """Does whoever has more stones win?"""
    return isinstance(game, Othello | Reversi) or game.name == "pgx:othello"


def caption(game: Game, position: Position) -> str:
    """Who is to move, or how it ended; with the stones of both where they are counted."""
    if isinstance(game, RacingKings):
        return game.caption(position.state)
    text = f"{mark(position.to_move, game)} to move"
    if position.is_terminal:
        first = position.outcome[0]
        text = "a draw" if first == 0 else f"{mark(0 if first > 0 else 1, game)} has won"
    board = stones(game, position.state)
    if board is not None and counts_stones(game):
        text += f" (X {(board == 1).sum()}, O {(board == 2).sum()})"
    return text


def board(session: Session, marks: dict[int, str] | None = None) -> list[str]:
    """The newest position in lines, the last move in brackets, and its caption.

    `marks`: texts of up to 3 characters to stand on the squares that actions fill. By default a `+`
    where the player to move may play, in games in which not every empty square is open.
    """
    game, now, notation = session.game, session.now, make_notation(session.game)
    grid = stones(game, now.state)
    if grid is None or not notation.rows:
        rendered, end = game.render(now.state).split("\n"), caption(game, now)
        return rendered if rendered[-1].endswith(end) else [*rendered, end]
    cells = [[f" {MARKS[stone]} " for stone in row] for row in grid]
    if len(session.positions) > 1:
        before = stones(game, session.positions[-2].state)
        square = None if before is None else placed(before, grid)
        if square is not None:
            row, column = square
            cells[row][column] = f"[{MARKS[grid[row, column]]}]"
    end = caption(game, now)
    if marks is None and not notation.falls:
        legal = np.flatnonzero(now.legal)
        squares = [a for a in legal.tolist() if a < grid.size]
        if 0 < len(squares) < (grid == 0).sum():
            marks = dict.fromkeys(squares, _CAN_PLAY)
            end += f", to one of the squares {_CAN_PLAY}"
    for action, mark in (marks or {}).items():
        square = notation.square(action, grid)
        if square is not None:
            cells[square[0]][square[1]] = f"{mark:^3}"
    slant = " " if game.name == "pgx:hex" else ""  # each row half a square further to the right
    margin = max(map(len, notation.row_labels))
    lines = [" " * margin + " " + " ".join(f"{label:^3}" for label in notation.column_labels)]
    for number, (label, marks_of_row) in enumerate(zip(notation.row_labels, cells, strict=True)):
        lines.append(f"{slant * 2 * number}{label:>{margin}} " + " ".join(marks_of_row))
    return [line.rstrip() for line in lines] + [end]


def move_lines(session: Session, width: int = 76) -> list[str]:
    """The moves so far with their numbers, wrapped: `1. c4  2. c3 ...`."""
    names = make_notation(session.game).names
    words = [f"{n}.~{names[action]}" for n, action in enumerate(session.actions, 1)]
    return [line.replace("~", " ") for line in textwrap.wrap("  ".join(words), width)]
