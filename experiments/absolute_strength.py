"""How often the networks of a run play perfectly, and how well they know who wins.

    python -m experiments.absolute_strength runs/quick --positions=500
    python -m experiments.absolute_strength runs/quick --file=positions.txt

Positions of random games, or those of a file, are solved exactly; the networks of all members,
alone and with search, plain MCTS and a random player are asked for a move in each of them. Unlike
ratings, the answers do not depend on who else was asked. Connect Four and Othello. Writes
absolute_strength.json and absolute_strength.npz (the solved positions, used again by the next
call) into the run's directory. See docs/solvers.md.
"""

import dataclasses
import functools
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

from experiments.pages.tables import Table
from experiments.pages.wording import plural
from experiments.shell import next_command
from experiments.strength import absolute_section, contestants, opponents
from jaxzero import arguments, files, runs, solvers, workdir
from jaxzero.arguments import Parser
from jaxzero.games import Game
from jaxzero.runs import Run, backend
from jaxzero.runs.processes import say
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config
from jaxzero.solvers import Labelled
from jaxzero.training import learner

FILE = "absolute_strength.json"
POSITIONS = "absolute_strength.npz"
_bar = functools.partial(tqdm, desc="solving", unit="position", mininterval=0.5)
OPPONENTS = ("mcts_200",)


@dataclasses.dataclass(frozen=True)
class AbsoluteSettings:
    """What is measured."""

    positions: int | None = None  # how many; None: 500, or all of a file
    # stones placed since the start, `LOW-HIGH`; None: see `solvers.default_plies`
    plies: str | None = None
    # of positions with scores, see `solvers.position_files`; in place of random games
    file: str | None = None
    simulations: int | None = None  # m of all networks; None: each its own run's
    iterations: str = "last"  # `last`, `all`, or numbers
    opponents: tuple[str, ...] = OPPONENTS  # names, see `opponents.NAMES`
    seed: int = 0  # of the positions, and of players who need chance

    @property
    def sampled(self) -> int:
        """How many positions of random games."""
        return 500 if self.positions is None else self.positions


def parser() -> Parser:
    made = Parser(prog="python -m experiments.absolute_strength", description=__doc__)
    made.add_argument("run", type=Path, metavar="RUN", help="run directory, finished or not")
    made.add_fields(
        AbsoluteSettings,
        {
            "positions": "how many are solved (default 500, of a file all)",
            "plies": "stones placed since the start, LOW-HIGH (default: as early as takes about a "
            "second a position)",
            "file": "Connect Four positions with scores, one a line: columns played, a space, the "
            "score (default: positions of random games)",
            "simulations": opponents.FLAGS["simulations"],
            "iterations": "last, all that the run kept, or numbers like 0,10,20",
            "opponents": f"any of {','.join(opponents.NAMES)} or another mcts_N; the random player "
            "is always there, computed exactly",
            "seed": "of the positions",
        },
    )
    return made


def plies_of(game: Game, text: str | None) -> range:
    """The plies that `LOW-HIGH` means. ConfigError: it means none, or more than the board has."""
    if text is None:
        return solvers.default_plies(game)
    match = re.fullmatch(r"(\d+)-(\d+)", text)
    most = int(np.prod(game.observation_shape[:2])) - int(solvers.stones_placed(game.init())) - 1
    if match is None or not int(match[1]) <= int(match[2]) <= most:
        raise ConfigError(
            f"--plies={text}: give LOW-HIGH with LOW at most HIGH and HIGH at most {most}, "
            f"e.g. {most // 2}-{most}"
        )
    return range(int(match[1]), int(match[2]) + 1)


def check(run: Run, settings: AbsoluteSettings) -> None:
    """Refuses what cannot be measured, before anything is solved or compiled (ConfigError)."""
    game = run.spec.game
    if settings.file is None:
        solvers.solver_of(game)
    for flag, given in (("--plies", settings.plies), ("--positions", settings.positions)):
        if settings.file is not None and given is not None:
            raise ConfigError(f"{flag}={given}: --file={settings.file} has its own, leave out one")
    arguments.check_at_least(settings.positions, 1, "--positions")
    arguments.check_at_least(settings.simulations, 1, "--simulations")
    arguments.check_seed(settings.seed)
    opponents.check(settings.opponents, "--opponents", game.name)
    contestants.choose_iterations(run, settings.iterations)
    plies_of(game, settings.plies)
    for i in contestants.finite_members(run):
        contestants.simulations_of(run, i, settings.simulations)


def labelled_positions(run: Run, settings: AbsoluteSettings) -> Labelled:
    """The positions of a file, or those of random games, which the run's directory keeps."""
    game, path = run.spec.game, run.directory / POSITIONS
    if settings.file is not None:
        return solvers.read_positions(Path(settings.file), game, progress=_bar)
    plies = plies_of(game, settings.plies)
    asked = {
        "positions": settings.sampled,
        "plies": [plies.start, plies.stop - 1],
        "seed": settings.seed,
    }

    def make() -> Labelled:
        states = solvers.sample(game, positions=settings.sampled, plies=plies, seed=settings.seed)
        return solvers.label(game, states, progress=_bar)

    return solvers.kept(path, game, asked, make)


def measure(run: Run, settings: AbsoluteSettings) -> dict[str, Any]:
    """What absolute_strength.json holds; says which members failed.

    Returns:
      `positions` (how many, by ply), `players` (the fixed ones: move accuracies), `networks` (for
      each member that did not fail and iteration: `network` and `search` move accuracies, `value`
      accuracy) and `targets` (for each target and iteration the mean over seeds and its standard
      error).
    """
    contestants.say_who_failed([run])
    labelled = labelled_positions(run, settings)
    key = jax.random.key(settings.seed)
    players = _fixed_players(labelled, settings, key) if labelled.contested.any() else {}
    networks = []
    for at in contestants.choose_iterations(run, settings.iterations):
        networks += _networks(run, labelled, settings, at, key)
    plies, counts = np.unique(labelled.plies, return_counts=True)
    measured = {
        "game": run.spec.game.name,
        "settings": dataclasses.asdict(settings),
        "positions": {
            "asked": len(labelled.plies) if settings.file else settings.sampled,
            "found": len(labelled.plies),
            "file": settings.file,
            "contested": int(labelled.contested.sum()),
            "constant_mse": float(labelled.value.var()),
            "by_ply": dict(zip(plies.tolist(), counts.tolist(), strict=True)),
            "results": {
                name: int((labelled.value == value).sum())
                for name, value in (("won", 1), ("drawn", 0), ("lost", -1))
            },
        },
        "players": players,
        "networks": networks,
        "targets": absolute_section.by_target(networks),
    }
    return files.plain(measured)


def _fixed_players(
    labelled: Labelled, settings: AbsoluteSettings, key: jax.Array
) -> dict[str, Any]:
    players = {"random": solvers.move_accuracy(labelled, solvers.uniform(labelled))}
    names = [name for name in settings.opponents if name != "random"]
    entries, kinds = opponents.build(labelled.game, names)
    rows = [row for kind in kinds for row in solvers.chosen_moves(kind, labelled.states, key)]
    for entry, actions in zip(entries, rows, strict=True):
        players[entry.name] = _moves(labelled, actions)
    return players


def _moves(labelled: Labelled, actions: np.ndarray) -> dict[str, dict[str, float]]:
    return solvers.move_accuracy(labelled, solvers.certain(labelled, actions))


def _networks(
    run: Run, labelled: Labelled, settings: AbsoluteSettings, at: int, key: jax.Array
) -> list[dict[str, Any]]:
    """All members that did not fail after one iteration; no moves where none is known to be bad."""
    members, groups = contestants.finite_members(run), contestants.label_members(run)
    players = contestants.players_of(run, members, at, settings.simulations)
    alone, values = solvers.network_choices(
        run.spec.game,
        functools.partial(learner.acting, run.spec),
        players.params.variables,
        labelled.states,
    )
    contested = labelled.contested.any()
    searched = solvers.chosen_moves(players, labelled.states, key) if contested else alone
    return [
        {
            "name": run.members[i].name,
            "target": groups[run.members[i].name],
            "seed": run.members[i].seed,
            "iteration": at,
            "simulations": contestants.simulations_of(run, i, settings.simulations),
            "network": _moves(labelled, alone[row]) if contested else {},
            "search": _moves(labelled, searched[row]) if contested else {},
            "value": solvers.value_accuracy(labelled, values[row]),
        }
        for row, i in enumerate(members)
    ]


def table(measured: dict[str, Any]) -> str:
    """Fixed players, members and targets, for people."""
    count = measured["positions"]
    rows = [
        (name, *absolute_section.cells({"search": m})) for name, m in measured["players"].items()
    ]
    rows += [
        (f"{n['name']}@{n['iteration']}", *absolute_section.cells(n)) for n in measured["networks"]
    ]
    for one in measured["targets"]:
        name = f"{one['target']}@{one['iteration']} ({plural(one['seeds'], 'seed')})"
        rows.append((name, *absolute_section.cells(one)))
    lines = [
        f"{measured['game']}: {count['found']} positions, {count['contested']} of them contested; "
        "share of moves that keep the result in those; of several seeds mean ± standard error",
        f"value error of the best constant: {count['constant_mse']:.3f}",
        "",
        Table("", ("player", *absolute_section.HEADERS), tuple(rows)).text(),
    ]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    given = vars(parser().parse(words))
    directory = given.pop("run")
    settings = AbsoluteSettings(**given)
    backend.prepare(default_config())
    run = runs.open_run(directory)
    contestants.refuse_shipped([run])
    check(run, settings)
    say(devices.idle_accelerator())
    started = time.monotonic()
    measured = measure(run, settings)
    measured |= {"seconds": time.monotonic() - started, "environment": workdir.environment()}
    files.write_json(directory / FILE, measured)
    print(table(measured))
    say(f"written: {directory / FILE}")
    next_command.after_measuring(run)


if __name__ == "__main__":
    arguments.run(main)
