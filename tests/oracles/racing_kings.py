"""Racing Kings by python-chess: positions, legal moves and results in the conventions of ours."""

import chess
import chess.variant

CLOCK, DRAW = 150, (0.0, 0.0)


class ChessRacingKings:
    """One game, changed in place; see `jaxzero.games.conformance.Reference`."""

    def __init__(self, fen: str, max_plies: int) -> None:
        self.board = chess.variant.RacingKingsBoard(fen)
        self.first, self.max_plies, self.plies = self.board.turn, max_plies, 0
        self._look()

    def _look(self) -> None:
        self.moves = {64 * m.from_square + m.to_square for m in self.board.legal_moves}
        raced = self.board.is_variant_end()
        drawn = not self.moves or self.board.halfmove_clock >= CLOCK or self.plies >= self.max_plies
        self.over = raced or drawn
        self.result = DRAW
        if raced and not self.board.is_variant_draw():
            white_won = self.board.turn == (
                chess.WHITE if self.board.is_variant_win() else chess.BLACK
            )
            won_by_first = white_won == (self.first == chess.WHITE)
            self.result = (1.0, -1.0) if won_by_first else (-1.0, 1.0)

    def legal(self) -> set[int]:
        """Actions that may be played; none at the end."""
        return set() if self.over else self.moves

    def step(self, action: int) -> None:
        """Plays a legal action."""
        self.board.push(chess.Move(action // 64, action % 64))
        self.plies += 1
        self._look()

    def to_move(self) -> int:
        """0: whoever moved first."""
        return int(self.board.turn != self.first)


def leaves(fen: str, depth: int) -> int:
    """Positions after `depth` plies; games that ended before are none."""
    board = chess.variant.RacingKingsBoard(fen)

    def count(left: int) -> int:
        if board.is_variant_end():
            return 0
        if left == 1:
            return board.legal_moves.count()
        total = 0
        for move in list(board.legal_moves):
            board.push(move)
            total += count(left - 1)
            board.pop()
        return total

    return count(depth)
