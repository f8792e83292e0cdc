"""Makes a set of solved Connect Four positions, as paper 002's (section 3.2).

    python -m experiments.connect_four_data --positions=10000 --best-move-probability=0.5 \\
        --one-per-game

Plays games in which a move is perfect with the given probability and random otherwise, on several
processes; a set is finished, or made larger, by the same command. It lies in a directory of its own
with its check sum, see docs/connect_four.md. Needs the extra `solver`.
"""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import Recipe, Solved, play_part
from experiments.shell import arguments
from experiments.shell.arguments import Parser
from jaxzero.players import solver
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError

ROOT = Path("runs/positions")


def parser() -> Parser:
    """The command line."""
    made = Parser(prog="python -m experiments.connect_four_data", description=__doc__)
    made.add_argument(
        "--positions", type=int, default=10_000, metavar="N", help="how many (default 10000)"
    )
    made.add_argument(
        "--best-move-probability",
        type=float,
        default=0.5,
        metavar="P",
        help="of a perfect move; 0.5 is the paper's hard set (default), 0.9 the easy one",
    )
    made.add_argument(
        "--one-per-game",
        action="store_true",
        help="one random position of each game (version 2); else all of them (version 1)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the games (0)")
    made.add_argument(
        "--processes",
        type=int,
        default=0,
        metavar="N",
        help="at once; the positions do not depend on it (default: one for each core)",
    )
    made.add_argument(
        "--directory", type=Path, metavar="DIR", help=f"default: one for each recipe in {ROOT}"
    )
    return made


def default_directory(recipe: Recipe) -> Path:
    """`runs/positions/p0.5_one_per_game_seed0`."""
    kind = "one_per_game" if recipe.one_per_game else "all"
    return ROOT / f"p{recipe.best_move_probability:g}_{kind}_seed{recipe.seed}"


def make(recipe: Recipe, positions: int, directory: Path, *, processes: int = 0) -> None:
    """Makes a set, or what is missing of it.

    Args:
      recipe: how the games are played.
      positions: how many different ones.
      directory: of the set.
      processes: 0: one for each core.

    Raises:
      ConfigError: the directory holds another recipe's; bitbully is not installed.
    """
    record = solved_positions.describe(directory)
    if record and record["recipe"] == recipe._asdict() and record["positions"] == positions:
        return
    solver.check_installed()
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
    recipe: Recipe,
    directory: Path,
    first: int,
    processes: int,
    enough: Callable[[Solved], bool],
) -> int:
    """Plays parts from `first` on until, in their order, they are enough; returns their number.

    Parts are counted in order although they finish out of order, so that the set does not depend
    on the number of processes. What is finished is on disk and is found by the next call.
    """
    # Fresh interpreters: a fork of a process in which JAX has threads may hang.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
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


def _make_part(recipe: Recipe, directory: Path, part: int) -> Solved:
    """In a process of the pool: one part, from disk if it is there."""
    solved = solved_positions.load_part(directory, part)
    if solved is None:
        solved = play_part(recipe, part)
        solved_positions.save_part(directory, part, solved)
    return solved


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    given = parser().parse(words)
    arguments.check_at_least(given.positions, 1, "--positions")
    arguments.check_at_least(given.processes, 0, "--processes")
    if not 0.0 <= given.best_move_probability <= 1.0:
        raise ConfigError(
            f"--best-move-probability={given.best_move_probability}: choose from 0 to 1"
        )
    recipe = Recipe(given.best_move_probability, given.one_per_game, given.seed)
    directory = given.directory or default_directory(recipe)
    started = time.monotonic()
    make(recipe, given.positions, directory, processes=given.processes)
    record = solved_positions.describe(directory)
    assert record is not None
    found = record["statistics"]
    print(
        f"{record['positions']} positions, {found['best_moves']:.3f} best moves each; won "
        f"{found['won']:.1%}, lost {found['lost']:.1%}, drawn {found['drawn']:.1%}; "
        f"mean ply {found['mean_ply']:.1f}"
    )
    print(f"written: {directory} ({time.monotonic() - started:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    arguments.run(main)
