"""The accuracy of a run's networks on solved Connect Four positions, kept beside the run.

A network is measured once: `marks.json` has the accuracy of every kept iteration's networks, and
only iterations that are not in it are asked; and the positions and the search they were asked with.
"""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from experiments.connect_four import solved_positions, solved_set
from experiments.connect_four.solved_games import Recipe
from jaxzero import files, runs, solvers
from jaxzero.games import ConnectFour
from jaxzero.runs import Run
from jaxzero.runs.processes import say
from jaxzero.search import SearchOptions
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled, bitbully
from jaxzero.training import components, learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

ACCURACIES = "marks.json"
RECIPE = Recipe(best_move_probability=0.5, one_per_game=True, seed=0)  # the paper's hard set
# The search of all networks: the authors' constants, but for their worth of a draw.
EXAMINATION = SearchOptions(
    unvisited_q=0.8545,
    q_scale="unit",
    exploration="sqrt_total_plus",
    renormalise_prior=False,
    ties="random",
)
C_PUCT = 1.545
_AT_ONCE = 256  # positions searched together

Accuracies = dict[int, list[dict[str, float]]]  # by iteration, one for each member


def check(config: ConfigDict, *, beside: int = 0) -> None:
    """Refuses, before anything is written, what there are no solved positions of (ConfigError).

    They may be too few, also for those needed `beside` the test positions, or can't be made here.
    """
    if not isinstance(components.build_game(config), ConnectFour):
        raise ConfigError(
            f"config.game={config.game!r}: this study is about Connect Four, choose one of its "
            f"boards, e.g. {solved_positions.GAME}"
        )
    if config.game != solved_positions.GAME:
        return
    count, folder = config.study.test_positions + beside, files.from_home(config.study.data)
    held = solved_positions.describe(folder)
    if held is None:
        made = solved_positions.describe(folder / solved_set.default_directory(RECIPE).name)
        if made is None or made["positions"] < count:
            bitbully.check_installed()
    elif held["recipe"] != RECIPE._asdict():
        raise ConfigError(
            f"config.study.data={config.study.data}: these positions were made with "
            f"{Recipe(**held['recipe']).words}, the test set with {RECIPE.words}, choose a folder "
            f"of such a set, or {solved_set.ROOT}, where it is looked for and made"
        )
    elif held["positions"] < count:
        others = f" and config.study.fitness_positions={beside}" if beside else ""
        raise ConfigError(
            f"config.study.test_positions={count - beside}{others}: {folder} holds "
            f"{held['positions']}, choose fewer, or make the set larger with python -m "
            "experiments.connect_four_data"
        )


def test_positions(config: ConfigDict, directory: Path) -> Labelled:
    """`study.test_positions` solved positions: of the paper's recipe on the usual board, from
    `study.data`; of random games on others, kept in the study's directory.
    """
    count = config.study.test_positions
    if config.game == solved_positions.GAME:
        return _of_recipe(config, slice(count))
    return _of_random_games(config, directory / "positions.npz", count, seed=0)


def fitness_positions(config: ConfigDict, directory: Path, test: Labelled) -> Labelled:
    """Others than the test positions, made as these: `study.fitness_positions`, or a few fewer."""
    first, count = config.study.test_positions, config.study.fitness_positions
    if config.game == solved_positions.GAME:
        return _of_recipe(config, slice(first, first + count))
    some = _of_random_games(config, directory / "fitness.npz", count, seed=1)
    known = {stones.tobytes() for stones in test.states.stones}
    return some.take(np.array([one.tobytes() not in known for one in some.states.stones]))


def _of_recipe(config: ConfigDict, chosen: slice) -> Labelled:
    folder = solved_set.place_of(RECIPE, files.from_home(config.study.data))
    held = solved_positions.describe(folder)
    if held is None or held["positions"] < chosen.stop:
        say(f"making {chosen.stop} solved positions in {folder}")
        solved_set.make(RECIPE, chosen.stop, folder)
    some = solved_positions.load(folder).labelled.take(chosen)
    return dataclasses.replace(some, game=components.build_game(config))


def _of_random_games(config: ConfigDict, path: Path, count: int, *, seed: int) -> Labelled:
    game = components.build_game(config)

    def make() -> Labelled:
        squares = int(np.prod(game.observation_shape[:2]))
        plies = solvers.default_plies(game)
        plies = range(max(plies.start, squares // 2), plies.stop)  # earlier ones take too long
        states = solvers.sample(game, positions=count, plies=plies, seed=seed)
        return solvers.label(game, states)

    asked = {"positions": count, "seed": seed}
    return solvers.kept(path, game, asked, make)


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
    now: dict[str, Any] = {"positions": _digest(test), "search": search_in_words(opened.config)}
    held: dict[str, Any] = now | {"marks": {}}
    if path.is_file():
        held = files.read_json(path)
    other = [name for name, value in now.items() if held.get(name) != value]
    if other:
        raise ConfigError(
            f"{path}: accuracies with other {' and '.join(other)} than now, restore these or "
            "remove it and what was made of it (accuracy.json)"
        )
    stored = held["marks"]
    missing = [i for i in opened.iterations if str(i) not in stored]
    if missing:
        say(f"measuring iterations {missing[0]} to {missing[-1]}...")
        stored |= {str(i): of_members for i, of_members in _measure(opened, missing, test).items()}
        files.write_json(path, held)
    return {i: stored[str(i)] for i in opened.iterations}


def _digest(test: Labelled) -> str:
    """Of the positions, their order and their scores."""
    digest = hashlib.sha256()
    for array in (*jax.tree.leaves(test.states), test.scores):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _simulations(config: ConfigDict) -> int:
    """Of the measuring search."""
    return int(config.study.simulations or config.search.num_simulations)


def search_in_words(config: ConfigDict) -> str:
    """The examination search of the networks, for reports; accuracies of one have equal words."""
    simulations, kind = _simulations(config), config.study.marked_with
    if kind == "selfplay":
        return (
            f"each network's search of self-play, without its noise, {simulations} simulations: "
            "searches differ where settings of search do"
        )
    sure = ", proven results carried up" if kind == "puct_known_results" else ""
    return (
        f"one search for all: PUCT, {simulations} simulations, c {C_PUCT}, first-play urgency "
        f"{EXAMINATION.unvisited_q} of a win, a draw worth 0{sure}"
    )


def measuring_search(config: ConfigDict, selfplay: SearchOptions) -> SearchOptions:
    """What networks are measured with; `selfplay` is the search of self-play, without its noise."""
    kind = config.study.marked_with
    known = kind == "puct_known_results"
    search = (
        selfplay
        if kind == "selfplay"
        else dataclasses.replace(EXAMINATION, propagate_results=known)
    )
    # Every search is as long, whatever ends them in self-play.
    return dataclasses.replace(search, capacity=_simulations(config) + 1, kld_step=0)


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
    """What networks, leaves [P, ...], answer about N positions: alone, and with search.

    Two lists of P answers, the second empty for m = 0. `options`: of the search, without noise; the
    key is consumed.
    """
    game = spec.game

    def alone(network: Learner) -> solvers.Respond:
        evaluate, discount = learner.acting(spec, network), spec.search.discount
        return solvers.network_alone(game, evaluate, discount=discount)

    def searching(network: Learner) -> solvers.Respond:
        evaluate, m = learner.acting(spec, network), num_simulations
        return solvers.with_search(game, evaluate, options, num_simulations=m, c_puct=c_puct)

    answers = solvers.ask(alone, networks, labelled.states, key)
    if not num_simulations:
        return answers, []
    return answers, solvers.ask(searching, networks, labelled.states, key, at_once=_AT_ONCE)


def _measure(opened: Run, iterations: list[int], test: Labelled) -> Accuracies:
    snapshots = [runs.networks(opened, i) for i in iterations]
    own_c = opened.members[0].config.search.c_puct  # members differ in their seed alone
    network, search = answers_of(
        opened.spec,
        jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *snapshots),  # [I x R]
        test,
        jax.random.key(opened.config.seed),
        options=measuring_search(opened.config, opened.spec.arena_search),
        num_simulations=_simulations(opened.config),
        c_puct=own_c if opened.config.study.marked_with == "selfplay" else C_PUCT,
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
    """The iteration after which nothing was better for `patience` ones (0: never); None: not yet.

    002 ends its runs so (authors' program: 10 iterations without a better accuracy with search).
    `accuracies`: by iteration, ascending.
    """
    for i in accuracies if patience else ():
        known = {k: v for k, v in accuracies.items() if k <= i}
        if i and i - best(known, member)[0] >= patience:
            return i
    return None
