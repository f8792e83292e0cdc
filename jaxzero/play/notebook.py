"""A game against a player in a notebook: an object that is shown as its board.

match = BoardGame(run.spec.game, board_players.of_run(run, 0))
match.play("3")  # as the last line of a cell: the board after your move and the reply
"""

from typing import Self

import numpy as np

from jaxzero.games import Game
from jaxzero.play.board_players import BoardPlayer, analyse
from jaxzero.play.display import boards, drawing, position, session, svg
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.play.terminal import analysis_text

_CELL = 40  # side of a square in pixels
_LINE = 18  # height of a line of text
_RIM = "#8b949e"


class BoardGame:
    """You against a player. Every method returns the game itself, so that the board is shown.

    Attributes:
      session: the game so far.
      lines: what happened last, for people.
    """

    def __init__(self, game: Game, opponent: BoardPlayer, *, side: int = 0, seed: int = 0) -> None:
        """Begins a game; the opponent, whose first move compiles, moves at once if it is its turn.

        `side`: yours: 0 moves first, 1 second (ConfigError: neither); `seed`: of the opponent's
        random choices.
        """
        session.check_side(side)
        self.session: Session = session.begin(game)
        self.lines: list[str] = []
        self._opponent, self._side, self._seed = opponent, side, seed
        self._notation = make_notation(game)
        self._answer()

    def play(self, *moves: str) -> Self:
        """Plays your moves, e.g. `"3"` or `"d3"`, each answered by the opponent.

        ValueError: one is no move, or not legal now; it and those after it are not played.
        """
        for move in moves:
            action = self._notation.read(str(move))
            if action is None:
                legal = self._notation.list_legal(self.session.now.legal)
                raise ValueError(
                    f"{move!r} is no move, which is {self._notation.form}; legal: {legal}"
                )
            self.session = session.play(self.session, action)
            self._answer()
        return self

    def undo(self) -> Self:
        """Takes back your last move and what was answered; at your first move does nothing."""
        self.session = session.undo(self.session, self._side) or self.session
        self.lines = []
        return self

    def hint(self) -> Self:
        """Says what the opponent would do in your place."""
        if not self.session.now.is_terminal:
            analysis = analyse(self._opponent, self.session, self._seed)
            self.lines = [analysis_text.hint(self._opponent, self.session, analysis)]
        return self

    @property
    def moves(self) -> list[str]:
        """The names of what is legal now; none at the end."""
        return [self._notation.names[action] for action in np.flatnonzero(self.session.now.legal)]

    @property
    def result(self) -> float | None:
        """Yours: +1 won, 0 drawn, -1 lost; None while the game goes on."""
        now = self.session.now
        return now.outcome[self._side] if now.is_terminal else None

    def _answer(self) -> None:
        """The opponent's moves, and your passes where nothing else is legal."""
        self.lines = []
        names = self._notation.names
        while not self.session.now.is_terminal:
            if self.session.now.to_move != self._side:
                analysis = analyse(self._opponent, self.session, self._seed)
                value = ""
                if analysis.value is not None:
                    value = f" (for itself: {analysis_text.in_words(analysis.value)})"
                self.lines.append(f"{self._opponent.name} plays {names[analysis.action]}{value}")
                self.session = session.play(self.session, analysis.action)
            elif session.must_pass(self.session):
                self.lines.append("you have no move and pass")
                only = int(np.flatnonzero(self.session.now.legal)[0])
                self.session = session.play(self.session, only)
            else:
                return

    def _yours(self) -> str:
        """Where you stand, after your disc or letter."""
        now = self.session.now
        if self.result is None:
            return f"you, to move: {self._notation.list_legal(now.legal)}"
        end = (
            "a draw" if not self.result else "you have won" if self.result > 0 else "you have lost"
        )
        return f"you: {end} after {len(self.session.actions)} moves"

    def __repr__(self) -> str:
        """The board in characters."""
        yours = f"{boards.mark(self._side, self.session.game)} is {self._yours()}"
        return "\n".join([*boards.board(self.session), *self.lines, yours])

    def _repr_svg_(self) -> str | None:
        """The board for a notebook; None, so that the text is shown, for games without stones."""
        board = position.picture(self.session, _CELL)
        if board is None:
            return None
        disc = drawing.look_of(self.session.game).discs[self._side]
        return svg.page([svg.below([board, self._text(disc)], 14)])

    def _text(self, disc: str) -> svg.Picture:
        """What stands below the board, the last line after a disc of your colour."""
        lines = [*self.lines, self._yours()]
        height = _LINE * len(lines)
        parts = [
            f'<text x="22" y="{_LINE * row + 13}" class="ink" font-size="13">{svg.escaped(line)}'
            "</text>"
            for row, line in enumerate(lines)
        ]
        parts.append(f'<circle cx="8" cy="{height - 9}" r="7" fill="{disc}" stroke="{_RIM}"/>')
        return svg.Picture(22 + 7 * max(map(len, lines)), height, "".join(parts))
