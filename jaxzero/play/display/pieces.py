"""Pictures of Racing Kings as SVG: boards with pieces, from positions to text."""

from collections.abc import Iterable, Sequence

from jaxzero.games.racing_kings import NUM_MOVES, RacingKings, glyph
from jaxzero.play.display import svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session

LARGE, SMALL = 40, 14  # side of a square in pixels
LIGHT, DARK, GOAL, MOVED = "#eadcc2", "#b58c66", "#a9c48a", "#e4572e"
EDGE = 22  # for the labels: ranks on the left, files below


def board_picture(
    letters: Sequence[str], cell: int, *, moved: Iterable[int] = (), labels: bool = False
) -> svg.Picture:
    """One position; the goal, the eighth rank, in another colour.

    `letters`: eight rows from the eighth rank down; `cell`: side of a square in pixels; `moved`:
    numbers of squares (a1 = 0) with a frame; `labels`: files and ranks.
    """
    left, height = (EDGE if labels else 0), 8 * cell
    parts, texts = [], []
    for row, text in enumerate(letters):
        for column, letter in enumerate(text):
            fill = DARK if (row + column) % 2 else LIGHT
            if row == 0 and fill == LIGHT:
                fill = GOAL
            x, y = left + column * cell, row * cell
            parts.append(svg.rectangle(x, y, cell, cell, radius=0, fill=fill))
            if letter != ".":
                texts.append(svg.text(x + cell / 2, y + cell / 2, glyph(letter)))
    for square in moved:
        x, y = left + square % 8 * cell, (7 - square // 8) * cell
        parts.append(
            f'<rect x="{svg.short(x + 1)}" y="{svg.short(y + 1)}" width="{cell - 2}" '
            f'height="{cell - 2}" fill="none" stroke="{MOVED}" stroke-width="2"/>'
        )
    size = svg.short(cell * 0.8)
    parts.append(svg.group(texts, "pieces", fill="#16181b", font_size=size))
    if labels:
        names = [svg.text(EDGE / 2, (7.5 - rank) * cell, str(rank + 1)) for rank in range(8)]
        names += [
            svg.text(left + (file + 0.5) * cell, height + EDGE / 2, "abcdefgh"[file])
            for file in range(8)
        ]
        parts.append(svg.group(names, "faint", font_size="12"))
    edge = EDGE if labels else 0
    return svg.Picture(left + height, height + edge, "\n".join(filter(None, parts)))


def game_picture(session: Session) -> svg.Picture:
    """The last position with its last move, a strip of all positions before, and the moves."""
    game = session.game
    if not isinstance(game, RacingKings):
        raise TypeError(f"{game.name} has no chess pieces")
    names = make_notation(game).names
    history = [game.letters(position.state) for position in session.positions]
    last = squares_of(session.actions[-1]) if session.actions else ()
    parts = [board_picture(history[-1], LARGE, moved=last, labels=True)]
    strip = []
    for n, action in enumerate(session.actions, 1):
        picture = board_picture(history[n], SMALL, moved=squares_of(action))
        strip.append(svg.captioned(picture, f"{n}. {names[action]}", size=11))
    in_row = 4
    parts += [svg.beside(strip[i : i + in_row], svg.GAP / 2) for i in range(0, len(strip), in_row)]
    return svg.below(parts, svg.GAP / 2)


def squares_of(action: int) -> tuple[int, ...]:
    """Numbers of the squares that a move leaves and reaches; none of a promotion."""
    return divmod(action, 64) if action < NUM_MOVES else ()
