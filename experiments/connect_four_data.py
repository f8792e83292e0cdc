"""Makes a set of solved Connect Four positions, as Clausen 2021's (section 3.2).

    python -m experiments.connect_four_data --positions=10000 --best-move-probability=0.5 \\
        --one-per-game

Plays games in which a move is perfect with the given probability and random otherwise, on several
processes; a set is finished, or made larger, by the same command. It lies in a directory of its own
with its check sum, see docs/connect_four.md. Needs the extra `solver`.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import Recipe
from experiments.connect_four.solved_set import ROOT, default_directory, make
from experiments.shell.next_command import suggest
from jaxzero import arguments
from jaxzero.arguments import Parser
from jaxzero.settings.config import ConfigError


def parser() -> Parser:
    made = Parser(prog="python -m experiments.connect_four_data", description=__doc__)
    add = made.add_argument
    add("--positions", type=int, default=10_000, metavar="N", help="how many (default 10000)")
    chance = "of a perfect move; 0.5 is the paper's hard set (default), 0.9 the easy one"
    add("--best-move-probability", type=float, default=0.5, metavar="P", help=chance)
    one = "one random position of each game (version 2); else all of them (version 1)"
    add("--one-per-game", action="store_true", help=one)
    add("--seed", type=int, default=0, metavar="N", help="of the games (0)")
    processes = "at once; the positions do not depend on it (default: one for each core)"
    add("--processes", type=int, default=0, metavar="N", help=processes)
    place = f"default: one for each recipe in {ROOT}"
    add("--directory", type=Path, metavar="DIR", help=place)
    return made


def main(words: Sequence[str] | None = None) -> None:
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
    statistics = record["statistics"]
    print(
        f"{record['positions']} positions, {statistics['best_moves']:.3f} best moves each; won "
        f"{statistics['won']:.1%}, lost {statistics['lost']:.1%}, drawn {statistics['drawn']:.1%}; "
        f"mean ply {statistics['mean_ply']:.1f}"
    )
    print(f"written: {directory} ({time.monotonic() - started:.0f} s)", file=sys.stderr)
    study = "connect_four_supervised"
    preset = f"--config=experiments/configs/{study}.py:quick"
    suggest("to learn from such", f"experiments.{study}", preset, "--workdir=runs/supervised")


if __name__ == "__main__":
    arguments.run(main)
