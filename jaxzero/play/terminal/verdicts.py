"""What perfect play makes of every move, in lines of text: the solvers at a board."""

from typing import NamedTuple

import jax
import numpy as np

from jaxzero import solvers
from jaxzero.games import ConnectFour, Game
from jaxzero.play.display import boards
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.players import solver as perfect
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Solver
from jaxzero.solvers.connect_four import connect_four_solver


class Verdict(NamedTuple):
    """How a game ends after a move, under best play of both.

    Attributes:
      action: the move.
      score: of the solver, for the player to move; the best moves have the highest.
      margin: Connect Four: stones that the winner still has to place, the move included where it is
        the winner's; Othello: discs ahead. 0 for a draw.
    """

    action: int
    score: int
    margin: int


def verdicts(now: Session) -> list[Verdict]:
    """Of all legal moves of an unfinished game, the best first.

    Raises:
      ConfigError: in one line: no solver knows the game, it is too early, or a package is missing.
    """
    game, state = now.game, jax.tree.map(lambda x: np.asarray(x)[None], now.now.state)
    stones = int(solvers.stones_placed(state)[0])
    [pair] = solvers.own_and_other(state)
    scores = _solver(game, stones).action_scores(*pair)
    found = [
        Verdict(action, score, _margin(game, score, stones))
        for action, score in enumerate(scores)
        if score != solvers.ILLEGAL
    ]
    return sorted(found, key=lambda verdict: (-verdict.score, verdict.action))


def _solver(game: Game, stones: int) -> Solver:
    """The solver of a board that will not keep a person waiting."""
    if _is_usual_board(game) and (solver := _book()) is not None:
        return solver
    own = solvers.solver_of(game)
    first = solvers.default_plies(game).start + int(solvers.stones_placed(game.init()))
    if stones >= first:
        return own
    if _is_usual_board(game):
        perfect.check_installed()
    raise ConfigError(
        f"{game.name} is solved from {first} stones on, here are {stones}: ask again later"
    )


def _is_usual_board(game: Game) -> bool:
    return isinstance(game, ConnectFour) and (game.rows, game.columns, game.line) == (6, 7, 4)


def _book() -> Solver | None:
    """bitbully, which knows the usual board from its first move; None where it is not installed."""
    try:
        return perfect.perfect_solver()
    except ConfigError:
        return None


def _margin(game: Game, score: int, stones: int) -> int:
    if score == 0 or not isinstance(game, ConnectFour):
        return abs(score)
    plies = connect_four_solver(game.rows, game.columns).last_stone(score, stones) - stones
    return (plies + 1) // 2 if score > 0 else plies // 2


def lines(now: Session) -> list[str]:
    """The board with a mark on each square that can be played, and the moves by verdict.

    Raises:
      ConfigError: as `verdicts`.
    """
    found, names = verdicts(now), make_notation(now.game).names
    told: dict[str, list[str]] = {}
    for verdict in found:
        told.setdefault(in_words(now.game, verdict), []).append(names[verdict.action])
    marks = {verdict.action: _mark(verdict) for verdict in found}
    drawn = boards.board(now, marks) if make_notation(now.game).rows else []
    return [*drawn, *(f"{words}: {' '.join(moves)}" for words, moves in told.items())]


def in_words(game: Game, verdict: Verdict) -> str:
    """`win in 3`, `draw`, `loss in 2` (stones of the winner); Othello: `win by 6`."""
    if verdict.score == 0:
        return "draw"
    word = "in" if isinstance(game, ConnectFour) else "by"
    return f"{'win' if verdict.score > 0 else 'loss'} {word} {verdict.margin}"


def _mark(verdict: Verdict) -> str:
    sign = "=" if verdict.score == 0 else "+" if verdict.score > 0 else "-"
    return sign if verdict.score == 0 else f"{sign}{verdict.margin}"
