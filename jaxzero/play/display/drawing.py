"""Pictures of games as SVG: small pure functions, from stones to text.

A game whose stones stay where they were put is one board with the numbers of the moves on them.
Where stones change (Othello, Go), two large boards show who played where and how it ended, and a
strip of small ones every position between. Racing Kings is drawn by `pieces`; games without either
are drawn as text.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from jaxzero.games import Game, RacingKings
from jaxzero.games.bitboard import LINE_DIRECTIONS
from jaxzero.play.display import boards, pieces, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.settings.config import game_family

Square = tuple[int, int]

MIN_WIDTH = 400
MAX_BOARD, MAX_CELL, MIN_CELL = 460, 44, 18  # of a large board, in pixels
SMALL_BOARD = 92
_ENDINGS = {"first won": "the first player won", "second won": "the second player won"}


@dataclasses.dataclass(frozen=True)
class Look:
    """Colours of a board; discs and numbers as (first player's, second player's).

    kind: `"holes"` in a wall, `"squares"`, `"points"` where lines cross, or `"hexagons"`.
    """

    kind: str
    board: str
    line: str
    discs: tuple[str, str] = ("#16181b", "#f8f8f3")
    numbers: tuple[str, str] = ("#ffffff", "#16181b")
    mark: str = "#e4572e"  # rings and dots


_WALL = Look(
    "holes", "#2b5c9e", "#e6edf6", ("#f4c430", "#c8321f"), ("#2b2200", "#ffffff"), "#ffffff"
)
_CLOTH = Look("squares", "#2f7d4f", "#1d5635")
_WOOD = Look("points", "#dcb673", "#7b5b2b")
_CHESS = Look("squares", "#eadcc2", "#b58c66", ("#f8f8f3", "#16181b"))
_CHESS_BLACK_FIRST = dataclasses.replace(_CHESS, discs=_CHESS.discs[::-1])
_LOOKS = {
    "connect_four": _WALL,
    "pgx:connect_four": _WALL,
    "othello": _CLOTH,
    "reversi": _CLOTH,
    "pgx:othello": _CLOTH,
    "gobang": _WOOD,
    "pgx:go_9x9": _WOOD,
    "pgx:go_19x19": _WOOD,
    "pgx:hex": Look("hexagons", "#dcb673", "#7b5b2b"),
    "pgx:tic_tac_toe": Look("squares", "#dcb673", "#7b5b2b"),
}


def look_of(game: Game) -> Look:
    """How the game's board is drawn."""
    if isinstance(game, RacingKings):
        return _CHESS_BLACK_FIRST if game.first_colour else _CHESS
    return _LOOKS.get(game.name) or _LOOKS.get(game_family(game.name), _WOOD)


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where the squares of a board lie, in pixels."""

    rows: int
    columns: int
    cell: int
    left: float
    top: float
    slant: float  # how much further to the right each row stands
    edge: float  # of hexagons, on both sides

    @property
    def width(self) -> float:
        return self.columns * self.cell + self.slant * (self.rows - 1)

    @property
    def height(self) -> float:
        return self.rows * self.cell

    def centre(self, row: float, column: float) -> tuple[float, float]:
        x = self.left + (column + 0.5) * self.cell + self.slant * row
        return x, self.top + (row + 0.5) * self.cell

    def disc(self, square: Square) -> str:
        return svg.circle(*self.centre(*square), self.cell * 0.41)

    def squares(self) -> Iterable[Square]:
        return itertools.product(range(self.rows), range(self.columns))


def frame_of(
    stones: np.ndarray,
    look: Look,
    cell: int,
    labels: tuple[tuple[str, ...], tuple[str, ...]] | None,
) -> Frame:
    """Where `board_picture` draws the squares of stones [H, W]."""
    rows, columns = stones.shape
    slant, edge = (cell / 2, cell * 0.4) if look.kind == "hexagons" else (0.0, 0.0)
    left = (22 if labels and any(labels[1]) else 0) + edge
    return Frame(rows, columns, cell, left, 22 if labels else 0, slant, edge)


def board_picture(
    stones: np.ndarray,
    look: Look,
    cell: int,
    *,
    numbers: Mapping[Square, int] | None = None,
    marked: Iterable[Square] = (),
    labels: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
) -> svg.Picture:
    """One position.

    Args:
      stones: int[H, W], see `boards.stones`.
      cell: side of a square in pixels.
      numbers: of the moves, to stand on the stones.
      marked: stones with a ring round them.
      labels: above the columns and beside the rows.
    """
    frame = frame_of(stones, look, cell, labels)
    edge, slant, left = frame.edge, frame.slant, frame.left
    parts = [_empty_board(frame, look)]
    if labels:
        names = [
            svg.text(frame.centre(0, column)[0], frame.top / 2, label)
            for column, label in enumerate(labels[0])
        ]
        names += [
            svg.text((left - edge) / 2 + slant * row, frame.centre(row, 0)[1], label)
            for row, label in enumerate(labels[1])
            if label
        ]
        parts.append(svg.group(names, "faint", font_size=svg.short(min(13, cell * 0.4))))
    for player, name in enumerate(("first", "second")):
        own = [(row, column) for row, column in np.argwhere(stones == 1 + player).tolist()]
        parts.append(svg.group(map(frame.disc, own), name, fill=look.discs[player]))
        texts = [
            svg.text(*frame.centre(*square), str(numbers[square]))
            for square in own
            if numbers and square in numbers
        ]
        size = svg.short(cell * 0.38)
        parts.append(svg.group(texts, "numbers", fill=look.numbers[player], font_size=size))
    rings = map(frame.disc, marked)
    ring = svg.short(cell * 0.08)
    parts.append(svg.group(rings, "marked", fill="none", stroke=look.mark, stroke_width=ring))
    width = left + frame.width + edge
    return svg.Picture(width, frame.top + frame.height, "\n".join(filter(None, parts)))


def _empty_board(frame: Frame, look: Look) -> str:
    x, y, cell = frame.left, frame.top, frame.cell
    if look.kind == "hexagons":
        spots = svg.group(map(frame.disc, frame.squares()), "spots", fill="none", stroke=look.line)
        up, down = -0.5, frame.rows - 0.5
        low, high = -0.62, frame.columns - 0.38  # the slanting sides keep clear of the discs
        corners = ((up, low), (down, low), (down, high), (up, high))
        places = [map(svg.short, frame.centre(*corner)) for corner in corners]
        points = " ".join(",".join(place) for place in places)
        return f'<polygon points="{points}" fill="{look.board}"/>{spots}'
    wall = svg.rectangle(x, y, frame.width, frame.height, radius=cell * 0.15, fill=look.board)
    if look.kind == "holes":
        return wall + svg.group(map(frame.disc, frame.squares()), "spots", fill=look.line)
    on_points = look.kind == "points"
    inset = cell / 2 if on_points else 0.0
    start = 0 if on_points else 1
    lines = [
        svg.line(x + inset, y + inset + row * cell, across=frame.width - 2 * inset)
        for row in range(start, frame.rows)
    ]
    lines += [
        svg.line(x + inset + column * cell, y + inset, down=frame.height - 2 * inset)
        for column in range(start, frame.columns)
    ]
    return f'{wall}<path d="{"".join(lines)}" stroke="{look.line}" fill="none"/>'


def winning_squares(stones: np.ndarray, line: int) -> set[Square]:
    """All squares of lines of `line` or more equal stones."""
    rows, columns = stones.shape
    winning: set[Square] = set()
    for row, column in np.argwhere(stones != 0).tolist():
        for down, across in LINE_DIRECTIONS:
            squares = [(row + i * down, column + i * across) for i in range(line)]
            last = squares[-1]
            on_board = 0 <= last[0] < rows and 0 <= last[1] < columns
            if on_board and len({int(stones[square]) for square in squares}) == 1:
                winning.update(squares)
    return winning


def game_picture(session: Session, players: tuple[str, str], result: str) -> svg.Picture:
    """A whole game: who played, how it ended, and every move."""
    game = session.game
    maybe = [boards.stones(game, position.state) for position in session.positions]
    history = [stones for stones in maybe if stones is not None]
    if isinstance(game, RacingKings):
        body = pieces.game_picture(session)
    elif len(history) < len(maybe):
        body = _text_picture(session)
    else:
        squares = [boards.placed(a, b) for a, b in itertools.pairwise(history)]  # of each move
        stays = all(
            (history[-1][stones != 0] == stones[stones != 0]).all() for stones in history[:-1]
        )
        body = (
            _one_board(session, history[-1], squares)
            if stays
            else _two_boards(session, history, squares)
        )
    return with_heading(session, players, result, body)


def large_cell(columns: int) -> int:
    return int(np.clip(MAX_BOARD // columns, MIN_CELL, MAX_CELL))


def _one_board(session: Session, stones: np.ndarray, squares: list[Square | None]) -> svg.Picture:
    numbers = {square: n for n, square in enumerate(squares, 1) if square is not None}
    line = getattr(session.game, "line", None)
    return board_picture(
        stones,
        look_of(session.game),
        large_cell(stones.shape[1]),
        numbers=numbers,
        marked=sorted(winning_squares(stones, line)) if line else (),
        labels=make_notation(session.game).labels,
    )


def _two_boards(
    session: Session, history: list[np.ndarray], squares: list[Square | None]
) -> svg.Picture:
    look, notation = look_of(session.game), make_notation(session.game)
    labels = notation.labels
    cell = min(36, large_cell(history[0].shape[1]))
    moves, numbers = history[0].copy(), {}
    for n, square in enumerate(squares, 1):
        if square is not None:
            moves[square] = 1 + session.positions[n - 1].to_move
            numbers[square] = n
    who = board_picture(moves, look, cell, numbers=numbers, labels=labels)
    end = board_picture(history[-1], look, cell, labels=labels)
    large = svg.beside([svg.captioned(who, "who played where"), svg.captioned(end, "at the end")])
    small = max(5, SMALL_BOARD // history[0].shape[1])
    strip = []
    for n, (action, square) in enumerate(zip(session.actions, squares, strict=True), 1):
        marked = [] if square is None else [square]
        picture = board_picture(history[n], look, small, marked=marked)
        strip.append(svg.captioned(picture, f"{n}. {notation.names[action]}", size=11))
    each = strip[0].width + svg.GAP / 2
    in_row = max(1, int((max(large.width, MIN_WIDTH) + svg.GAP / 2) // each))
    rows = [svg.beside(strip[i : i + in_row], svg.GAP / 2) for i in range(0, len(strip), in_row)]
    return svg.below([large, *rows], svg.GAP / 2)


def _text_picture(session: Session) -> svg.Picture:
    """The newest position as the game renders it, and the moves."""
    lines = [*boards.board(session), "", *boards.move_lines(session, 64)]
    texts = "".join(
        f'<text x="0" y="{16 * i + 12}" xml:space="preserve">{svg.escaped(line)}</text>'
        for i, line in enumerate(lines)
    )
    width = 8 * max(map(len, lines))
    body = f'<g class="ink" font-family="monospace" font-size="13">{texts}</g>'
    return svg.Picture(width, 16 * len(lines), body)


def with_heading(
    session: Session, players: tuple[str, str], result: str, body: svg.Picture
) -> svg.Picture:
    look, plies = look_of(session.game), len(session.actions)
    width = max(body.width, MIN_WIDTH)
    title = 'x="0" y="16" class="ink" font-size="17" font-weight="600"'
    lines = [f"<text {title}>{svg.escaped(title_of(session.game.name))}</text>"]
    for player, name in enumerate(players):
        y = 42 + 22 * player
        disc = f'<circle cx="8" cy="{y - 5}" r="7" fill="{look.discs[player]}" stroke="#8b949e"/>'
        text = svg.escaped(_shortened(name, int((width - 24) / 6.8)))
        lines.append(f'{disc}<text x="24" y="{y}" class="ink" font-size="13">{text}</text>')
    how = f"{_ENDINGS.get(result, result)} after {plies} moves"
    final = boards.stones(session.game, session.now.state)
    if final is not None and boards.counts_stones(session.game):
        how += f", {(final == 1).sum()} to {(final == 2).sum()}"
    if session.opening:
        how += f", the first {session.opening} at random"
    lines.append(f'<text x="0" y="90" class="faint" font-size="13">{svg.escaped(how)}</text>')
    heading = svg.Picture(width, 94, "\n".join(lines))
    return svg.below([heading, body], svg.GAP)


def title_of(name: str) -> str:
    """`Connect Four 6x7` of a game's name; behind a colon the position that it begins with."""
    family, _, fen = name.removeprefix("pgx:").partition(":")
    words = filter(None, family.split("_"))
    title = " ".join(w if w[0].isdigit() else w.capitalize() for w in words)
    return f"{title}: {fen.replace('_', ' ')}" if fen else title


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
