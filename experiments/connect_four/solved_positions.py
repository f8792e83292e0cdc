"""A set of solved Connect Four positions on disk: parts, the merged file, splits, statistics."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.connect_four.solved_games import NO_MOVE, Recipe, Solved
from jaxzero import files
from jaxzero.games import make_game
from jaxzero.games.stones import StonesState
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled

SET, POSITIONS, PARTS = "set.json", "positions.npz", "parts"
GAME = "connect_four_6x7"
_COLUMNS, _BITS = 7, 32
_MOMENTS, _MOMENT = 10, 0.1  # seconds, for a set that is being made larger
SHARES = (0.8, 0.1)  # of training and of validation; the rest tests (002, 3.2)
_SHUFFLING = 42  # seed


@dataclasses.dataclass(frozen=True)
class Positions:
    """Solved positions with the games that they are from."""

    labelled: Labelled  # [N] positions, unfinished, on the usual board, each once
    game: np.ndarray  # int32[N], number of the game
    sha256: str  # of the file
    recipe: Recipe  # how the games were played
    later: np.ndarray  # uint8[N, LATER], the next moves of the games

    def part(self, chosen: slice) -> "Positions":
        """Some of them."""
        labelled, game = self.labelled.take(chosen), self.game[chosen]
        return Positions(labelled, game, self.sha256, self.recipe, self.later[chosen])

    def __len__(self) -> int:
        return len(self.game)


def part_path(directory: Path, part: int) -> Path:
    """Where a part lies."""
    return directory / PARTS / f"{part:06d}.npz"


def save_part(directory: Path, part: int, solved: Solved) -> None:
    """Writes a part, whole or not at all."""
    files.write_arrays(part_path(directory, part), solved._asdict())


def load_part(directory: Path, part: int) -> Solved | None:
    """A part that was written before; None where there is none or it is damaged."""
    path = part_path(directory, part)
    try:
        return _solved(files.read_arrays(path, Solved._fields, "it is made again"))
    except ConfigError:
        return None  # it is made again from its number, to the same positions


def merge(directory: Path, parts: int, positions: int, recipe: Recipe) -> None:
    """Writes the set: the first `positions` different positions of the parts, in their order."""
    stacked = [load_part(directory, part) for part in range(parts)]
    whole = [part for part in stacked if part is not None]
    solved = Solved(*(np.concatenate(arrays) for arrays in zip(*whole, strict=True)))
    kept = first_of_each(states_of(solved.moves))[:positions]
    solved = Solved(*(array[kept] for array in solved))
    described = statistics(_labelled(solved))  # first: who reads waits between the two files
    files.write_arrays(directory / POSITIONS, solved._asdict())
    record = {
        "game": GAME,
        "recipe": recipe._asdict(),
        "positions": len(kept),
        "sha256": _digest(directory / POSITIONS),
        "statistics": described,
    }
    files.write_json(directory / SET, record)


def first_of_each(states: StonesState) -> np.ndarray:
    """int[M]: the first of each group of equal positions, in order."""
    _, first = np.unique(states.stones.reshape(len(states.stones), -1), axis=0, return_index=True)
    return np.sort(first)


def load(directory: Path) -> Positions:
    """A set that was made. ConfigError: there is none, or its file is not the one written."""
    path = directory / POSITIONS
    record = _record_of(path)
    if record is None or not path.is_file():
        what, words = "set of positions", ""
        if record is not None:
            recipe = Recipe(**record["recipe"])
            what, words = POSITIONS, f"--positions={record['positions']} {recipe.words} "
        raise ConfigError(
            f"{directory} holds no {what}: make it with "
            f"python -m experiments.connect_four_data {words}--directory={directory}"
        )
    if _digest(path) != record["sha256"]:
        raise ConfigError(
            f"{path} is damaged (its SHA-256 is not the recorded one): delete "
            f"{directory / SET} and make the set again, from the parts beside it"
        )
    solved = _solved(files.read_arrays(path, Solved._fields, "make the set again"))
    recipe = Recipe(**record["recipe"])
    return Positions(_labelled(solved), solved.game, record["sha256"], recipe, solved.later)


def _solved(arrays: Any) -> Solved:
    """From a file."""
    return Solved(**{name: arrays[name] for name in Solved._fields})


def observations(positions: Positions, index: np.ndarray) -> list[jax.Array]:
    """`[N, H, W, C]` of some positions t of a set, and of t + 2 and t + 4 of their games.

    Behind the end of a game, of its last position with the same player to move.
    """
    game, later = positions.labelled.game, jnp.asarray(positions.later[index], jnp.int32)
    step, observe = jax.vmap(game.step), jax.jit(jax.vmap(game.observe))
    state = jax.tree.map(lambda x: jnp.asarray(x[index]), positions.labelled.states)
    seen = [observe(state)]
    for ply in (0, 2):
        there = later[:, ply + 2] != NO_MOVE  # somebody moved in it: no game ended there
        after = jax.jit(lambda s, a, b: step(step(s, a), b))(
            state, later[:, ply], later[:, ply + 1]
        )
        state = jax.tree.map(
            lambda new, old, there=there: jnp.where(
                there.reshape(-1, *[1] * (new.ndim - 1)), new, old
            ),
            after,
            state,
        )
        seen.append(observe(state))
    return seen


def describe(directory: Path) -> dict[str, Any] | None:
    """What is recorded of a set; None where there is none."""
    path = directory / SET
    return files.read_json(path) if path.is_file() else None


def _record_of(path: Path) -> dict[str, Any] | None:
    """`describe` of a file's set; waits while another process is between the set's two files."""
    for _ in range(_MOMENTS):
        record = describe(path.parent)
        if record is None or not path.is_file() or _digest(path) == record["sha256"]:
            break
        time.sleep(_MOMENT)
    return record


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _labelled(solved: Solved) -> Labelled:
    states = states_of(solved.moves)
    plies = (solved.moves != NO_MOVE).sum(axis=1)
    return Labelled(make_game(GAME, observation="cells"), states, solved.scores, plies)


def states_of(moves: np.ndarray) -> StonesState:
    """The positions after moves uint8[N, 42], as states with NumPy leaves [N, ...]."""
    count = len(moves)
    stones = np.zeros((count, 2, 2), np.uint32)
    heights = np.zeros((count, _COLUMNS), int)
    rows = np.arange(count)
    for ply in range(moves.shape[1]):
        played = moves[:, ply] != NO_MOVE
        column = np.where(played, moves[:, ply], 0)
        square = (5 - heights[rows, column]) * _COLUMNS + column
        bit = np.where(played, np.uint32(1) << (square % _BITS).astype(np.uint32), 0)
        stones[rows, ply % 2, square // _BITS] |= bit.astype(np.uint32)
        heights[rows, column] += played
    plies = (moves != NO_MOVE).sum(axis=1)
    return StonesState(
        stones=jnp.asarray(stones),
        to_move=jnp.asarray(plies % 2, jnp.int8),
        status=jnp.zeros(count, jnp.int8),
    )


def split(positions: Positions, by: str) -> dict[str, np.ndarray]:
    """80 % to train on, 10 % to validate, 10 % to test.

    By `"position"`, as the authors, positions of one game fall on both sides if the set has several
    of each (version 1); by `"game"` all positions of a game on one side.

    Returns:
      `train`, `validation`, `test`: int arrays of indices, shuffled, disjoint, all together N.
    """
    rng = np.random.default_rng(_SHUFFLING)
    owner = np.arange(len(positions)) if by == "position" else positions.game
    groups = rng.permutation(np.unique(owner))
    rank = np.empty(int(np.max(owner)) + 1, np.int64)
    rank[groups] = np.arange(len(groups))
    order = rng.permutation(len(positions))
    share = rank[owner[order]] / len(groups)
    ends = (SHARES[0], SHARES[0] + SHARES[1])
    return {
        "train": order[share < ends[0]],
        "validation": order[(share >= ends[0]) & (share < ends[1])],
        "test": order[share >= ends[1]],
    }


def statistics(labelled: Labelled) -> dict[str, Any]:
    """What a set looks like, as the authors report theirs: mean best moves, results, plies."""
    plies, counts = np.unique(labelled.plies, return_counts=True)
    value = labelled.value
    return {
        "best_moves": float(labelled.strong.sum(axis=1).mean()),
        "won": float((value > 0).mean()),
        "lost": float((value < 0).mean()),
        "drawn": float((value == 0).mean()),
        "first_to_move_and_lost": float(((labelled.plies % 2 == 0) & (value < 0)).mean()),
        "mean_ply": float(labelled.plies.mean()),
        "by_ply": dict(zip(plies.tolist(), counts.tolist(), strict=True)),
    }


def recorded_parts(directory: Path) -> Iterator[tuple[int, Solved]]:
    """Parts from the first on, as far as they are there."""
    part = 0
    while (solved := load_part(directory, part)) is not None:
        yield part, solved
        part += 1


def check_recipe(directory: Path, recipe: Recipe) -> None:
    """Claims a directory for a recipe. ConfigError: it holds positions of another one."""
    path = directory / PARTS / "recipe.json"
    wanted = json.loads(json.dumps(recipe._asdict()))
    if path.is_file():
        held = files.read_json(path)
        if held != wanted:
            raise ConfigError(
                f"--directory={directory} holds positions made otherwise ({held}): choose another "
                "directory or the same settings"
            )
        return
    with files.writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, wanted)
