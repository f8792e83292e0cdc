"""A set of solved Connect Four positions: made by several processes, or made larger."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from pathlib import Path

from tqdm import tqdm

from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import Recipe, Solved, play_part
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import bitbully

ROOT = Path("runs/positions")


def default_directory(recipe: Recipe) -> Path:
    """`runs/positions/p0.5_one_per_game_seed0`."""
    kind = "one_per_game" if recipe.one_per_game else "all"
    return ROOT / f"p{recipe.best_move_probability:g}_{kind}_seed{recipe.seed}"


def place_of(recipe: Recipe, folder: Path) -> Path:
    """Where a recipe's set is looked for: a folder that holds a set, or one of its own in it."""
    if solved_positions.describe(folder) is not None:
        return folder
    return folder / default_directory(recipe).name


def make(recipe: Recipe, positions: int, directory: Path, *, processes: int = 0) -> None:
    """Makes a set of different positions, or what is missing of it; 0 `processes`: one a core.

    ConfigError: the directory holds another recipe's, or more; bitbully is not installed.
    """
    record = solved_positions.describe(directory)
    if record and record["recipe"] == recipe._asdict():
        held = record["positions"]
        if held > positions:
            raise ConfigError(
                f"{directory} holds {held} positions, {positions} are wanted: a set does not "
                "become smaller, choose another directory or at least as many"
            )
        if held == positions and (directory / solved_positions.POSITIONS).is_file():
            return
    bitbully.check_installed()
    solved_positions.check_recipe(directory, recipe)
    processes = processes or devices.cores()
    known: set[bytes] = set()
    with tqdm(total=positions, unit="position", desc="solving", smoothing=0.05) as bar:

        def enough(solved: Solved) -> bool:
            states = solved_positions.states_of(solved.moves)
            known.update(row.tobytes() for row in states.stones)
            bar.update(min(len(known), positions) - bar.n)
            return len(known) >= positions

        parts, done = 0, False
        for _, solved in solved_positions.recorded_parts(directory):
            parts, done = parts + 1, enough(solved)
            if done:
                break
        if not done:
            parts = _play_on(recipe, directory, parts, processes, enough)
    solved_positions.merge(directory, parts, positions, recipe)


def _play_on(
    recipe: Recipe, directory: Path, first: int, processes: int, enough: Callable[[Solved], bool]
) -> int:
    """Plays parts from `first` on until, in their order, they are enough; returns their number.

    Parts are counted in order although they finish out of order, so that the set does not depend
    on the number of processes. What is finished is on disk and is found by the next call.
    """
    # Fresh interpreters: a fork of a process in which JAX has threads may hang.
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_end_with_parent
    ) as pool:
        running: dict[int, Future[Solved]] = {}
        following, due = first, first
        try:
            while True:
                while len(running) < 2 * processes:
                    running[following] = pool.submit(_make_part, recipe, directory, following)
                    following += 1
                solved = running.pop(due).result()
                due += 1
                if enough(solved):
                    return due
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """In a process of the pool: a parent that is killed leaves none behind, waiting for work."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _make_part(recipe: Recipe, directory: Path, part: int) -> Solved:
    """In a process of the pool: one part, from disk if it is there."""
    solved = solved_positions.load_part(directory, part)
    if solved is None:
        solved = play_part(recipe, part)
        solved_positions.save_part(directory, part, solved)
    return solved
