"""What perfect play makes of every move, in lines of text: the solvers at a board."""

from typing import NamedTuple

import jax
import numpy as np

from jaxzero import solvers
from jaxzero.games import ConnectFour, Game
from jaxzero.play.display import boards
from jaxzero.play.display.notation import make_notation
from jaxzero.play.display.session import Session
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Solver, bitbully
from jaxzero.solvers.connect_four import connect_four_solver


class SolvedMove(NamedTuple):
    """How a game ends after a move, under best play of both."""

    action: int  # the move
    score: int  # of the solver, for the player to move; the best moves have the highest
    # Connect Four: stones that the winner still has to place, the move included where it is the
    # winner's; Othello: discs ahead. 0 for a draw.
    margin: int


def solved_moves(now: Session) -> list[SolvedMove]:
    """Of all legal moves of an unfinished game, the best first.

    ConfigError: no solver knows the game, it is too early, or a package is missing.
    """
    solvers.solver_of(now.game)  # refuses a game that nobody solves
    game, state = now.game, jax.tree.map(lambda x: np.asarray(x)[None], now.now.state)
    stones = int(solvers.stones_placed(state)[0])
    [pair] = solvers.own_and_other(state)
    scores = _solver(game, stones).action_scores(*pair)
    moves = [
        SolvedMove(action, score, _margin(game, score, stones))
        for action, score in enumerate(scores)
        if score != solvers.ILLEGAL
    ]
    return sorted(moves, key=lambda move: (-move.score, move.action))


def _solver(game: Game, stones: int) -> Solver:
    """The solver of a board that will not keep a person waiting."""
    start = int(solvers.stones_placed(game.init()))
    if (solver := solvers.solver_from(game, stones - start)) is not None:
        return solver
    if game.name == bitbully.BOARD:
        bitbully.check_installed()
    first = solvers.default_plies(game).start + start
    raise ConfigError(
        f"{game.name} is solved from stone {first} on, here are {stones}: ask again later"
    )


def _margin(game: Game, score: int, stones: int) -> int:
    if score == 0 or not isinstance(game, ConnectFour):
        return abs(score)
    plies = connect_four_solver(game.rows, game.columns).last_stone(score, stones) - stones
    return (plies + 1) // 2 if score > 0 else plies // 2


def lines(now: Session) -> list[str]:
    """The board, each playable square marked, and the moves by result; see `solved_moves`."""
    solved, names = solved_moves(now), make_notation(now.game).names
    by_result: dict[str, list[str]] = {}
    for move in solved:
        by_result.setdefault(in_words(now.game, move), []).append(names[move.action])
    marks = {move.action: _mark(move) for move in solved}
    drawn = boards.board(now, marks) if make_notation(now.game).rows else []
    return [*drawn, *(f"{words}: {' '.join(moves)}" for words, moves in by_result.items())]


def in_words(game: Game, move: SolvedMove) -> str:
    """`win in 3`, `draw`, `loss in 2` (stones of the winner); Othello: `win by 6`."""
    if move.score == 0:
        return "draw"
    word = "in" if isinstance(game, ConnectFour) else "by"
    return f"{'win' if move.score > 0 else 'loss'} {word} {move.margin}"


def _mark(move: SolvedMove) -> str:
    sign = "=" if move.score == 0 else "+" if move.score > 0 else "-"
    return sign if move.score == 0 else f"{sign}{move.margin}"
