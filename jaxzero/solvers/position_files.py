"""Connect Four positions with their scores, from files in the notation that is common for them.

A line is one unfinished position: the columns played from the empty board, counted from 1, as
digits, a space, and the score for the player to move as `connect_four` has it: `44444426 1`.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games import ConnectFour, Game
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes
from jaxzero.settings.config import ConfigError
from jaxzero.solvers.bounds import ILLEGAL
from jaxzero.solvers.labels import Labelled, Progress, label, solver_from

_LINE = re.compile(r"([1-9]*)\s+(-?\d+)")
_MOST_COLUMNS = 9  # a column is one digit


class _Position(NamedTuple):
    """A line of a file: its number, the columns played, from 0, and the score."""

    line: int
    moves: tuple[int, ...]
    score: int


def read(path: Path, game: Game, progress: Progress | None = None) -> Labelled:
    """The positions of a file, in its order; empty lines are passed over.

    Where a solver knows the board (`labels.solver_from`), every action gets its exact score, and
    the file's are compared with them. Else all have the position's own: `value` is true, and no
    position is contested.

    Args:
      game: Connect Four with at most nine columns.

    Raises:
      ConfigError: another game; no file; a line that is no such position: names it and says what is
        expected.
    """
    if not isinstance(game, ConnectFour) or game.columns > _MOST_COLUMNS:
        raise ConfigError(
            f"{path}: positions in this notation are of Connect Four with at most {_MOST_COLUMNS} "
            f"columns, not of {game.name}"
        )
    positions = _parsed(path, game)
    states, fine = _played(game, positions)
    if not fine.all():
        raise _refusal(path, positions[int(np.argmin(fine))], "an unfinished position is expected")
    plies = np.array([len(position.moves) for position in positions])
    given = np.array([position.score for position in positions], np.int16)
    solver = solver_from(game, int(plies.min()))
    if solver is None:
        legal = np.asarray(jax.vmap(game.legal_actions)(states))
        return Labelled(game, states, np.where(legal, given[:, None], ILLEGAL), plies)
    labelled = label(game, states, progress, solver)
    exact = labelled.scores.max(axis=1)
    if (exact != given).any():
        first = int(np.argmax(exact != given))
        raise _refusal(path, positions[first], f"its exact score is {exact[first]}")
    return labelled


def _parsed(path: Path, game: ConnectFour) -> list[_Position]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read as text: {error}") from error
    positions = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            positions.append(_position(path, game, number, line.strip("\r\n")))
    if not positions:
        raise ConfigError(f"{path} holds no position: a line is expected to be like `4455 3`")
    return positions


def _position(path: Path, game: ConnectFour, number: int, line: str) -> _Position:
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        raise ConfigError(
            f"{path}, line {number}: {line!r}: columns as digits from 1, a space and a score are "
            "expected, e.g. `4455 3`"
        )
    moves = tuple(int(digit) - 1 for digit in found[1])
    position = _Position(number, moves, int(found[2]))
    if max(moves, default=0) >= game.columns:
        raise _refusal(path, position, f"columns from 1 to {game.columns} are expected")
    if max(map(moves.count, moves), default=0) > game.rows:
        raise _refusal(path, position, f"at most {game.rows} stones in a column are expected")
    empty = game.rows * game.columns - len(moves)
    if not -(empty // 2) <= position.score <= (empty + 1) // 2:
        raise _refusal(
            path, position, f"a score from {-(empty // 2)} to {(empty + 1) // 2} is expected"
        )
    return position


def _refusal(path: Path, position: _Position, expected: str) -> ConfigError:
    written = "".join(str(move + 1) for move in position.moves)
    return ConfigError(f"{path}, line {position.line}: {written} {position.score}: {expected}")


def _played(game: ConnectFour, positions: list[_Position]) -> tuple[Any, np.ndarray]:
    """(states [N], bool[N] whether they are unfinished and no stone was played after a line)."""
    longest = max(len(position.moves) for position in positions)
    moves = np.full((len(positions), longest), -1, np.int32)
    for row, position in zip(moves, positions, strict=True):
        row[: len(position.moves)] = position.moves

    @jax.jit
    def play(moves: jax.Array) -> tuple[Any, jax.Array]:
        def ply(states: Any, actions: jax.Array) -> tuple[Any, None]:
            moved = jax.vmap(game.step)(states, jnp.maximum(actions, 0))
            going = (actions >= 0) & ~jax.vmap(game.is_terminal)(states)
            return where_lanes(going, moved, states), None

        states, _ = jax.lax.scan(ply, starts(game, moves.shape[0]), moves.T)
        return states, ~jax.vmap(game.is_terminal)(states)

    states, fine = play(jnp.asarray(moves))
    return jax.tree.map(np.asarray, states), np.asarray(fine)
