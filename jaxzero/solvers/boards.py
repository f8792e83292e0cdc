"""Positions of `jaxzero.games` as the integers that solvers take, and the solver of a game."""

from typing import Any, Protocol

import numpy as np

from jaxzero.games import ConnectFour, Game, Othello
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import connect_four, othello


class Solver(Protocol):
    """What solves the positions of one board; see `connect_four` and `othello` for scores."""

    @property
    def nodes(self) -> int:
        """Positions looked at so far."""
        ...

    def action_scores(self, own: int, other: int) -> list[int]:
        """The score of every action for the player to move; `ILLEGAL` where it is none.

        Args:
          own, other: stones of the player to move and of the opponent, as row-major bits.
        """
        ...

    def score(self, own: int, other: int) -> int:
        """The score of an unfinished position for the player to move; its sign is the result."""
        ...

    def result(self, own: int, other: int) -> int:
        """The sign of `score`, with less work."""
        ...


def solver_of(game: Game) -> Solver:
    """The solver of a game's board, which keeps what it has learnt as long as the program runs.

    Raises:
      ConfigError: there is none for that game.
    """
    if isinstance(game, ConnectFour) and game.line == connect_four.LINE:
        return connect_four.connect_four_solver(game.rows, game.columns)
    if isinstance(game, Othello):
        return othello.othello_solver(game.size)
    raise ConfigError(
        f"{game.name} has no solver: choose connect_four with a line of four, or othello"
    )


def stones_placed(states: Any) -> np.ndarray:
    """int[...]: stones on the boards of states with any leading axes."""
    words = np.asarray(states.stones)
    return np.bitwise_count(words).sum(axis=(-2, -1)).astype(int)


def own_and_other(states: Any) -> list[tuple[int, int]]:
    """For states [N]: stones of the player to move and of the opponent, as row-major bits."""
    words, movers = np.asarray(states.stones), np.asarray(states.to_move)
    boards = [tuple(map(_bits, pair)) for pair in words]
    return [(b[mover], b[1 - mover]) for b, mover in zip(boards, movers.tolist(), strict=True)]


def _bits(words: np.ndarray) -> int:
    return int.from_bytes(words.astype("<u4").tobytes(), "little")
