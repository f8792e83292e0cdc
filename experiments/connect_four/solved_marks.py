"""Marks of a run's networks on solved Connect Four positions, kept beside the run.

A network is marked once: `marks.json` has what every kept iteration's networks were worth, and
only iterations that are not in it are asked; and which positions and search they were marked with.
"""

import dataclasses
import hashlib
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from experiments import connect_four_data
from experiments.connect_four import solved_positions
from experiments.connect_four.solved_games import Recipe
from jaxzero import runs, solvers, workdir
from jaxzero.games import ConnectFour
from jaxzero.players import solver
from jaxzero.runs import Run
from jaxzero.search import SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError, Key
from jaxzero.solvers import Labelled
from jaxzero.training import learner, parts
from jaxzero.training.learner import Learner

MARKS = "marks.json"
RECIPE = Recipe(best_move_probability=0.5, one_per_game=True, seed=0)  # the paper's hard set
_AT_ONCE = 256  # positions searched together

# Settings of every study that marks networks.
KEYS: tuple[Key, ...] = (
    Key("study.test_positions", 10_000, "solved positions that the networks are marked on", low=10),
    Key(
        "study.simulations",
        0,
        "of the search with which networks are marked; 0: as in self-play, the authors' way",
        low=0,
        high=100_000,
    ),
    Key(
        "study.marked_with",
        "selfplay",
        "search with which networks are marked: that of self-play without its noise, PUCT, or PUCT "
        "that carries up results that are sure",
        choices=("selfplay", "puct", "puct_known_results"),
    ),
    Key(
        "study.data",
        "runs/positions",
        "folder of solved positions, made on first use (extra solver), or one set's own",
    ),
)

Marks = dict[int, list[dict[str, float]]]  # by iteration, one for each member


def check(config: ConfigDict) -> None:
    """Refuses, before anything is written, what there are no solved positions of.

    Raises:
      ConfigError: in one line, with what to do: another game; positions that are too few or can't
        be made here.
    """
    if not isinstance(parts.build_game(config), ConnectFour):
        raise ConfigError(
            f"config.game={config.game!r}: this study is about Connect Four, choose one of its "
            f"boards, e.g. {solved_positions.GAME}"
        )
    asked = parts.search_options(config, config_lib.resolve_switches(config))
    try:
        search_of_marks(config, dataclasses.replace(asked, dirichlet_fraction=0, forced_playouts=0))
    except ValueError as error:
        raise ConfigError(f"config.study.marked_with={_marked_with(config)!r}: {error}") from error
    if config.game != solved_positions.GAME:
        return
    count, folder = config.study.test_positions, Path(config.study.data)
    held = solved_positions.describe(folder)
    if held is None:
        own = solved_positions.describe(folder / connect_four_data.default_directory(RECIPE).name)
        if own is None or own["positions"] < count:
            solver.check_installed()
    elif held["positions"] < count:
        raise ConfigError(
            f"config.study.test_positions={count}: {folder} holds {held['positions']}, choose "
            "fewer, or make the set larger with python -m experiments.connect_four_data"
        )


def test_positions(config: ConfigDict, directory: Path) -> Labelled:
    """Solved positions: of the paper's recipe on the usual board, of random games on others.

    Args:
      config: with `study.test_positions`, how many, and `study.data`, where those of the usual
        board are kept.
      directory: the study's, which keeps those of other boards.
    """
    game = parts.build_game(config)
    count = config.study.test_positions
    if config.game == solved_positions.GAME:
        folder = Path(config.study.data)
        if solved_positions.describe(folder) is None:
            folder /= connect_four_data.default_directory(RECIPE).name
            held = solved_positions.describe(folder)
            if held is None or held["positions"] < count:
                print(f"making {count} test positions in {folder}", file=sys.stderr)
                connect_four_data.make(RECIPE, count, folder)
        found = solved_positions.load(folder).labelled
        some = np.arange(count)
        states = jax.tree.map(lambda x: x[some], found.states)
        return Labelled(game, states, found.scores[some], found.plies[some])
    path = directory / "positions.npz"
    if not path.is_file():
        squares = int(np.prod(game.observation_shape[:2]))
        plies = solvers.default_plies(game)
        plies = range(max(plies.start, squares // 2), plies.stop)  # earlier ones take too long
        states = solvers.sample(game, positions=count, plies=plies, seed=0)
        solvers.save(path, solvers.label(game, states), {"positions": count})
    labelled, _ = solvers.load(path)
    return Labelled(game, labelled.states, labelled.scores, labelled.plies)


def described(test: Labelled) -> dict[str, Any]:
    """What results.json says of them: their `number`, and the marks of a `random` player."""
    return {
        "number": len(test.plies),
        "random": solvers.mark_policy(test, solvers.uniform(test))["all"],
    }


def update(directory: Path, test: Labelled) -> Marks:
    """The marks of all kept networks of a run directory; those that are missing are given now.

    Returns:
      By iteration, for each member: `search` and `network` (share of best moves with its search
      and alone), `weak` (share that keeps the result, with search), `result` (results known).

    Raises:
      ConfigError: earlier ones were given on other positions, or with another search.
    """
    opened, path = runs.open_run(directory), directory / MARKS
    now: dict[str, Any] = {
        "positions": _digest(test),
        "simulations": _simulations(opened.config),
        "marked_with": _marked_with(opened.config),
    }
    held: dict[str, Any] = now | {"marks": {}}
    if path.is_file():  # what older ones do not say was that of self-play
        older = {"simulations": opened.config.search.num_simulations, "marked_with": "selfplay"}
        held = older | workdir.read_json(path)
    other = [name for name, value in now.items() if held[name] != value]
    if other:
        raise ConfigError(
            f"{path}: marks with other {' and '.join(other)} than now, restore these or remove it "
            "and what was made of it (accuracy.json)"
        )
    marks = held["marks"]
    missing = [i for i in opened.iterations if str(i) not in marks]
    if missing:
        print(f"marking iterations {missing[0]} to {missing[-1]}...", file=sys.stderr)
        marks |= {str(i): found for i, found in _mark(opened, missing, test).items()}
        workdir.write_json(path, held)
    return {i: marks[str(i)] for i in opened.iterations}


def _digest(test: Labelled) -> str:
    """Of the positions, their order and their scores."""
    found = hashlib.sha256()
    for array in (*jax.tree.leaves(test.states), test.scores):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _simulations(config: ConfigDict) -> int:
    """Of the marks' search; a run directory may be older than the key."""
    return int(config.study.get("simulations", 0) or config.search.num_simulations)


def _marked_with(config: ConfigDict) -> str:
    return str(config.study.get("marked_with", "selfplay"))


def search_of_marks(config: ConfigDict, selfplay: SearchOptions) -> SearchOptions:
    """What networks are marked with; `selfplay` is the search of self-play, without its noise."""
    kind = _marked_with(config)
    capacity = _simulations(config) + 1
    if kind == "selfplay":
        return dataclasses.replace(selfplay, capacity=capacity)
    known = kind == "puct_known_results"
    return dataclasses.replace(
        selfplay, capacity=capacity, algorithm="puct", propagate_results=known
    )


def _mark(opened: Run, iterations: list[int], test: Labelled) -> Marks:
    spec, game = opened.spec, opened.spec.game
    own = opened.members[0].config  # members differ in their seed alone
    snapshots = [runs.networks(opened, i) for i in iterations]
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *snapshots)  # [I x R]
    key = jax.random.key(opened.config.seed)
    simulations = _simulations(opened.config)
    options = search_of_marks(opened.config, spec.arena_search)

    def alone(network: Learner) -> solvers.Respond:
        return solvers.network_alone(game, learner.acting(spec, network))

    def searching(network: Learner) -> solvers.Respond:
        return solvers.with_search(
            game,
            learner.acting(spec, network),
            options,
            num_simulations=simulations,
            c_puct=own.search.c_puct,
        )

    network = solvers.ask(alone, stacked, test.states, key)
    search = solvers.ask(searching, stacked, test.states, key, at_once=_AT_ONCE)
    found = []
    for one, other in zip(network, search, strict=True):
        by_network, by_search = solvers.mark(test, one)["all"], solvers.mark(test, other)["all"]
        found.append(
            {
                "search": by_search["strong"],
                "weak": by_search["weak"],
                "network": by_network["strong"],
                "result": by_network["result"],
            }
        )
    count = len(opened.members)
    return {i: found[k * count : (k + 1) * count] for k, i in enumerate(iterations)}


def best(marks: Marks, member: int) -> tuple[int, float]:
    """(iteration, accuracy with search) of a member's best trained network, the first of equals."""
    trained = [i for i in marks if i] or list(marks)
    first = max(trained, key=lambda i: (marks[i][member]["search"], -i))
    return first, marks[first][member]["search"]


def ended(marks: Marks, member: int, patience: int) -> int | None:
    """The iteration after which nothing was better for `patience` iterations; None: not yet.

    002 ends its runs so (authors' program: 10 iterations without a better accuracy with search).

    Args:
      marks: by iteration, ascending.
      member: whose.
      patience: 0: never.
    """
    for i in marks if patience else ():
        known = {k: v for k, v in marks.items() if k <= i}
        if i and i - best(known, member)[0] >= patience:
            return i
    return None
