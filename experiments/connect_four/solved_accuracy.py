"""The accuracy of a run's networks on solved Connect Four positions, kept beside the run.

A network is measured once: `marks.json` has the accuracy of every kept iteration's networks, and
only iterations that are not in it are asked; and the positions and the search they were asked with.
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

from experiments.connect_four import solved_positions, solved_set
from experiments.connect_four.solved_games import Recipe
from jaxzero import runs, solvers, workdir
from jaxzero.games import ConnectFour
from jaxzero.players import solver
from jaxzero.runs import Run
from jaxzero.search import SearchOptions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.training import learner, parts
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

ACCURACIES = "marks.json"
RECIPE = Recipe(best_move_probability=0.5, one_per_game=True, seed=0)  # the paper's hard set
_AT_ONCE = 256  # positions searched together

Accuracies = dict[int, list[dict[str, float]]]  # by iteration, one for each member


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
        measuring_search(
            config, dataclasses.replace(asked, dirichlet_fraction=0, forced_playouts=0)
        )
    except ValueError as error:
        raise ConfigError(f"config.study.marked_with={_marked_with(config)!r}: {error}") from error
    if config.game != solved_positions.GAME:
        return
    count, folder = config.study.test_positions, Path(config.study.data)
    held = solved_positions.describe(folder)
    if held is None:
        made = solved_positions.describe(folder / solved_set.default_directory(RECIPE).name)
        if made is None or made["positions"] < count:
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
        folder = solved_set.place_of(RECIPE, Path(config.study.data))
        held = solved_positions.describe(folder)
        if held is None or held["positions"] < count:
            print(f"making {count} test positions in {folder}", file=sys.stderr)
            solved_set.make(RECIPE, count, folder)
        some = solved_positions.load(folder).labelled.take(slice(count))
        return dataclasses.replace(some, game=game)
    path = directory / "positions.npz"
    if not path.is_file():
        squares = int(np.prod(game.observation_shape[:2]))
        plies = solvers.default_plies(game)
        plies = range(max(plies.start, squares // 2), plies.stop)  # earlier ones take too long
        states = solvers.sample(game, positions=count, plies=plies, seed=0)
        solvers.save(path, solvers.label(game, states), {"positions": count})
    return dataclasses.replace(solvers.load(path)[0], game=game)


def described(test: Labelled) -> dict[str, Any]:
    """What results.json says of them: their `number`, and the accuracy of a `random` player."""
    return {
        "number": len(test.plies),
        "random": solvers.policy_accuracy(test, solvers.uniform(test))["all"],
    }


def update(directory: Path, test: Labelled) -> Accuracies:
    """The accuracies of all kept networks of a run directory; missing ones are measured now.

    Returns:
      By iteration, for each member: `search` and `network` (share of best moves with its search
      and alone), `weak` (share that keeps the result, with search), `result` (results known).

    Raises:
      ConfigError: earlier ones are of other positions, or of another search.
    """
    opened, path = runs.open_run(directory), directory / ACCURACIES
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
    stored = held["marks"]
    missing = [i for i in opened.iterations if str(i) not in stored]
    if missing:
        print(f"marking iterations {missing[0]} to {missing[-1]}...", file=sys.stderr)
        stored |= {str(i): of_members for i, of_members in _measure(opened, missing, test).items()}
        workdir.write_json(path, held)
    return {i: stored[str(i)] for i in opened.iterations}


def _digest(test: Labelled) -> str:
    """Of the positions, their order and their scores."""
    digest = hashlib.sha256()
    for array in (*jax.tree.leaves(test.states), test.scores):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _simulations(config: ConfigDict) -> int:
    """Of the measuring search; a run directory may be older than the key."""
    return int(config.study.get("simulations", 0) or config.search.num_simulations)


def _marked_with(config: ConfigDict) -> str:
    return str(config.study.get("marked_with", "selfplay"))


def measuring_search(config: ConfigDict, selfplay: SearchOptions) -> SearchOptions:
    """What networks are measured with; `selfplay` is the search of self-play, without its noise."""
    kind = _marked_with(config)
    capacity = _simulations(config) + 1
    if kind == "selfplay":
        return dataclasses.replace(selfplay, capacity=capacity)
    known = kind == "puct_known_results"
    return dataclasses.replace(
        selfplay, capacity=capacity, algorithm="puct", propagate_results=known
    )


def answers_of(
    spec: Spec,
    networks: Learner,
    labelled: Labelled,
    key: jax.Array,
    *,
    options: SearchOptions,
    num_simulations: int,
    c_puct: float,
) -> tuple[list[solvers.Answers], list[solvers.Answers]]:
    """What networks [P] answer about positions: alone, and with search (none for m = 0).

    Args:
      spec: of the networks.
      networks: leaves [P, ...].
      labelled: N positions.
      key: consumed.
      options: of the search, without noise.
      num_simulations: m.
      c_puct: c.
    """
    game = spec.game

    def alone(network: Learner) -> solvers.Respond:
        return solvers.network_alone(game, learner.acting(spec, network))

    def searching(network: Learner) -> solvers.Respond:
        evaluate, m = learner.acting(spec, network), num_simulations
        return solvers.with_search(game, evaluate, options, num_simulations=m, c_puct=c_puct)

    answers = solvers.ask(alone, networks, labelled.states, key)
    if not num_simulations:
        return answers, []
    return answers, solvers.ask(searching, networks, labelled.states, key, at_once=_AT_ONCE)


def _measure(opened: Run, iterations: list[int], test: Labelled) -> Accuracies:
    snapshots = [runs.networks(opened, i) for i in iterations]
    network, search = answers_of(
        opened.spec,
        jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *snapshots),  # [I x R]
        test,
        jax.random.key(opened.config.seed),
        options=measuring_search(opened.config, opened.spec.arena_search),
        num_simulations=_simulations(opened.config),
        c_puct=opened.members[0].config.search.c_puct,  # members differ in their seed alone
    )
    measured = []
    for alone_answers, search_answers in zip(network, search, strict=True):
        by_network = solvers.answer_accuracy(test, alone_answers)["all"]
        by_search = solvers.answer_accuracy(test, search_answers)["all"]
        measured.append(
            {
                "search": by_search["strong"],
                "weak": by_search["weak"],
                "network": by_network["strong"],
                "result": by_network["result"],
            }
        )
    count = len(opened.members)
    return {i: measured[k * count : (k + 1) * count] for k, i in enumerate(iterations)}


def best(accuracies: Accuracies, member: int) -> tuple[int, float]:
    """(iteration, accuracy with search) of a member's best trained network, the first of equals."""
    trained = [i for i in accuracies if i] or list(accuracies)
    first = max(trained, key=lambda i: (accuracies[i][member]["search"], -i))
    return first, accuracies[first][member]["search"]


def ended(accuracies: Accuracies, member: int, patience: int) -> int | None:
    """The iteration after which nothing was better for `patience` iterations; None: not yet.

    002 ends its runs so (authors' program: 10 iterations without a better accuracy with search).

    Args:
      accuracies: by iteration, ascending.
      member: whose.
      patience: 0: never.
    """
    for i in accuracies if patience else ():
        known = {k: v for k, v in accuracies.items() if k <= i}
        if i and i - best(known, member)[0] >= patience:
            return i
    return None
