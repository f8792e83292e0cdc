"""Connect Four games played partly at random, partly perfectly, and solved (Clausen 2021, 3.2).

At every ply the player to move takes, with probability p, a uniformly random one of the best moves
(quickest win, slowest loss), and otherwise a uniformly random legal one. Of a game either all
positions are kept (version 1) or one random one (version 2). Positions in which every legal move is
best are left out, and repeated ones. As the authors' generator.
"""

import random
from typing import Any, NamedTuple

import numpy as np

from jaxzero.solvers import bitbully

NO_MOVE = 255  # behind the last move of a row of `Solved.moves`
LATER = 5  # moves that are kept behind a position, with which two more of its player are reached
_REMEMBERED = 8  # stones; the scores of earlier positions are asked for again and again

_known: dict[int, list[int]] = {}  # scores by position, of this process


class Recipe(NamedTuple):
    """What makes a set of positions what it is."""

    best_move_probability: float  # p
    one_per_game: bool  # version 2; else version 1
    seed: int  # of the games

    @property
    def words(self) -> str:
        """What asks `experiments.connect_four_data` for it."""
        one = " --one-per-game" if self.one_per_game else ""
        return f"--best-move-probability={self.best_move_probability:g}{one} --seed={self.seed}"

    @property
    def games_per_part(self) -> int:
        """Games that are played and kept together: seconds of work."""
        return 100 if self.one_per_game else 20


class Solved(NamedTuple):
    """N positions of solved games."""

    moves: np.ndarray  # uint8[N, 42], columns played so far, then `NO_MOVE`
    scores: np.ndarray  # int16[N, 7], of every column for the player to move, see `PerfectSolver`
    game: np.ndarray  # int32[N], number of the game
    later: np.ndarray  # uint8[N, LATER], the next columns of the game, then `NO_MOVE`


def play_part(recipe: Recipe, part: int) -> Solved:
    """The positions of some games: the same for the same recipe and number of the part, from 0."""
    rng = random.Random(f"{recipe.seed} {part}")
    perfect = bitbully.perfect_solver()
    seen: set[int] = set()
    rows: list[tuple[int, list[int], list[int], int]] = []
    for i in range(recipe.games_per_part):
        number = part * recipe.games_per_part + i
        play = _play_one if recipe.one_per_game else _play_all
        rows += [(*row, number) for row in play(perfect, rng, recipe.best_move_probability, seen)]
    return _as_arrays(rows)


def _play_all(
    perfect: bitbully.PerfectSolver, rng: random.Random, p: float, seen: set[int]
) -> list[tuple[int, list[int], list[int]]]:
    """(ply, moves of the game, scores) of all its new positions that have a wrong move."""
    board, moves, contested = perfect.board(), list[int](), []
    while True:
        scores = _scores(perfect, board)
        if board.uid() not in seen and _has_wrong_move(scores):
            contested.append((len(moves), moves, scores))
        seen.add(board.uid())
        best = [c for c in range(bitbully.COLUMNS) if scores[c] == max(scores)]
        column = rng.choice(best if rng.random() < p else bitbully.legal_columns(board))
        moves.append(column)
        if _ends_game(board, column):
            return contested


def _play_one(
    perfect: bitbully.PerfectSolver, rng: random.Random, p: float, seen: set[int]
) -> list[tuple[int, list[int], list[int]]]:
    """The same of one of them, each as likely; nothing if there is none."""
    board, moves, new = perfect.board(), list[int](), []
    while True:
        if board.uid() not in seen:
            new.append((len(moves), board.copy()))
            seen.add(board.uid())
        legal = bitbully.legal_columns(board)
        column = perfect.sample_best(board, rng) if rng.random() < p else rng.choice(legal)
        moves.append(column)
        if _ends_game(board, column):
            break
    rng.shuffle(new)
    for ply, candidate in new:
        scores = _scores(perfect, candidate)
        if _has_wrong_move(scores):
            return [(ply, moves, scores)]
    return []


def _scores(perfect: bitbully.PerfectSolver, board: Any) -> list[int]:
    if board.countTokens() > _REMEMBERED:
        return perfect.board_scores(board)
    key = board.uid()
    if key not in _known:
        _known[key] = perfect.board_scores(board)
    return _known[key]


def _has_wrong_move(scores: list[int]) -> bool:
    return any(bitbully.ILLEGAL < score < max(scores) for score in scores)


def _ends_game(board: Any, column: int) -> bool:
    board.play(column)
    return board.hasWin() or board.countTokens() == bitbully.SQUARES


def _as_arrays(rows: list[tuple[int, list[int], list[int], int]]) -> Solved:
    moves = np.full((len(rows), bitbully.SQUARES), NO_MOVE, np.uint8)
    later = np.full((len(rows), LATER), NO_MOVE, np.uint8)
    for i, (ply, played, _, _) in enumerate(rows):
        moves[i, :ply] = played[:ply]
        following = played[ply : ply + LATER]
        later[i, : len(following)] = following
    scores = np.array([scores for _, _, scores, _ in rows], np.int16)
    return Solved(
        moves,
        scores.reshape(-1, bitbully.COLUMNS),
        np.array([number for *_, number in rows], np.int32),
        later,
    )
