"""Arms whose runs have constants of their own, compared on solved positions after each generation.

`population` copies the best (`jaxzero.runs.generations`); `population_alone` begins alike, costs as
much and does not. Fitness is the accuracy on positions that are no test positions, with the search
that measures all networks.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.connect_four_extensions import CONSTANTS, KEYS, POPULATIONS
from experiments.connect_four import arms, solved_accuracy
from jaxzero import runs, solvers
from jaxzero.runs import generations
from jaxzero.runs.generations import Generations
from jaxzero.runs.runner import Observer
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.settings.league import EVOLVING
from jaxzero.solvers import Labelled
from jaxzero.training import learner
from jaxzero.training import spec as spec_lib
from jaxzero.training.spec import Spec


def check(config: ConfigDict) -> None:
    """Refuses what these arms can't do, before anything compiles."""
    if not {*POPULATIONS} & {*config.study.arms}:
        return
    solved_accuracy.check(config, beside=config.study.fitness_positions)
    if config.study.marked_with == "selfplay":
        raise ConfigError(
            "config.study.marked_with='selfplay': the runs of a population are compared with one "
            "search, set 'puct' or leave the arms "
            f"{' and '.join(POPULATIONS)} out of config.study.arms"
        )
    if config.arena.gate != "none":
        raise ConfigError(
            f"config.arena.gate={config.arena.gate!r}: the runs of a population copy each other "
            "and have no ratings of their own, set it to 'none' or leave the arms "
            f"{' and '.join(POPULATIONS)} out of config.study.arms"
        )
    searched = tuple(name for name in config.study.evolves if name in EVOLVING)
    alike = {"selfplay.league": "wins", "selfplay.league_evolves": searched}
    if searched:
        try:
            config_lib.validate(config_lib.changed(config, alike), KEYS)
        except ConfigError as error:
            raise ConfigError(
                "config.study.evolves: the runs of a population search with numbers of their own, "
                f"as players of a league do: {error}"
            ) from error


def group_of(arm: str, own: ConfigDict, directory: Path, test: Labelled) -> arms.Group | None:
    """The members of an arm and who compares them; None of arms without a population.

    The fitness positions lie beside the arms, and are the same for all.
    """
    if arm not in POPULATIONS:
        return None
    study = own.study
    members = runs.one_for_each_seed(
        config_lib.changed(own, {"study.seeds": study.population}), arm
    )
    spec = spec_lib.make_spec(own)
    begun_with = {
        name: float(
            config_lib.get(own, f"{'train' if name == 'learning_rate' else 'search'}.{name}")
        )
        for name in CONSTANTS
    }
    within = generations.ranges(study.evolves, begun_with, spec)
    others = solved_accuracy.fitness_positions(own, directory.parent, test)
    found = Generations(
        directory,
        generations.begin(begun_with, within, len(members), own.seed),
        within,
        spec.search,
        fitness(own, spec, others),
        every=study.generation,
        copies=arm == POPULATIONS[0],
        seed=own.seed,
    )
    return members, Observer(study.generation, found.look, found.change)


def fitness(own: ConfigDict, spec: Spec, positions: Labelled) -> Callable[[Any], list[float]]:
    """Of networks [R]: the share of positions in which the measuring search plays a best move."""
    options = solved_accuracy.measuring_search(own, spec.arena_search)

    def searching(network: Any) -> solvers.Respond:
        return solvers.with_search(
            spec.game,
            learner.acting(spec, network),
            options,
            num_simulations=options.capacity - 1,
            c_puct=solved_accuracy.C_PUCT,
        )

    ask = solvers.asker(searching, positions.states, jax.random.key(own.seed), at_once=256)

    def measured(networks: Any) -> list[float]:
        return [solvers.answer_accuracy(positions, one)["all"]["strong"] for one in ask(networks)]

    return measured
