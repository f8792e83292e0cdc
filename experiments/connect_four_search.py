"""Which constants of the search suit Connect Four? Paper 002's Bayesian search, with Optuna.

    python -m experiments.connect_four_search \\
        --config=experiments/configs/connect_four_search.py:quick --workdir=runs/constants

Each trial is a short training of the authors' plain AlphaZero with other constants (exploration,
first-play urgency, root noise, worth of a draw); it is worth the best accuracy with search on
solved positions that any of its kept networks reached. Trials are run directories, `trials/NAME`,
kept by Optuna (extra `search`): the same command goes on where it was stopped. Writes
`results.json` and `report.html`.

Three of the four constants are part of the compiled program, so that each trial compiles its own.
"""

import shlex
import sys
import time
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from ml_collections import ConfigDict

from experiments.configs.connect_four_search import KEYS
from experiments.connect_four import solved_accuracy
from experiments.connect_four.search_report import write_report
from experiments.connect_four.solved_accuracy import Accuracies
from experiments.hyperparameters import trials
from experiments.shell import cli
from jaxzero import runs, workdir
from jaxzero.runs import runner
from jaxzero.runs.stopping import minutes_left
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import spec as spec_lib

STUDY: Final = "connect_four_search"
TRIALS: Final = "trials"  # folder of the trials' run directories
FAILED: Final = "failed.json"  # in the study's directory: why trials came to nothing
BUDGET: Final = ("train.iterations", "execution.snapshot_every")  # the same for all trials
PARAMETERS: Final = ("c_puct", "unvisited_q", "dirichlet_alpha", "draw")


def constants(config: ConfigDict) -> dict[str, float]:
    """The four of some settings; a draw as 002 counts it, between a loss, 0, and a win, 1."""
    s = config.search
    return {
        "c_puct": s.c_puct,
        "unvisited_q": s.unvisited_q,
        "dirichlet_alpha": s.dirichlet_alpha,
        "draw": (1 + s.draw_value) / 2,
    }


def with_constants(config: ConfigDict, values: dict[str, float]) -> ConfigDict:
    """Settings with other constants, locked."""
    own = config.copy_and_resolve_references()
    own.search.c_puct = values["c_puct"]
    own.search.unvisited_q = values["unvisited_q"]
    own.search.dirichlet_alpha = values["dirichlet_alpha"]
    own.search.draw_value = 2 * values["draw"] - 1
    return own.lock()


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    config_lib.validate(config, KEYS)
    config_lib.require_extras(config)
    trials.check_installed(STUDY)
    if config.search.algorithm != "puct" or not config.search.dirichlet_fraction:
        raise ConfigError(
            "config.search: the constants that are searched for are those of PUCT with root noise, "
            "set config.search.algorithm='puct' and config.search.dirichlet_fraction above 0"
        )
    own = constants(config)
    for name in PARAMETERS:
        bounds = config.study[name]
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            raise ConfigError(f"config.study.{name}={bounds}: give the smallest and the largest")
        if not bounds[0] <= own[name] <= bounds[1]:
            raise ConfigError(
                f"config.study.{name}={bounds}: the first trial has the settings' own "
                f"{own[name]:g}, which lies outside"
            )
        for bound in bounds:
            spec_lib.make_spec(with_constants(config, own | {name: float(bound)}))
    solved_accuracy.check(config)
    devices.choose(config)


def run(config: ConfigDict, directory: Path) -> None:
    """The whole search, or the rest of it: (config, workdir) -> results.json, report.html."""
    started = time.monotonic()
    runner.prepare(config)
    validate(config)
    workdir.claim(directory, config, STUDY, fixed=BUDGET)
    workdir.write_json(directory / workdir.ENVIRONMENT, workdir.environment())
    test = solved_accuracy.test_positions(config, directory)
    study = trials.open_study(
        directory,
        STUDY,
        sampler=config.study.sampler,
        seed=config.seed,
        directions=("maximize",),
        startup=1 + config.study.random_trials,  # the first is the settings' own
    )

    def suggest(trial: Any) -> None:
        for name in PARAMETERS:
            low, high = config.study[name]
            trial.suggest_float(name, low, high)

    while batch := trials.next_batch(
        study,
        total=config.study.trials,
        at_once=1,
        parameters=len(PARAMETERS),
        suggest=suggest,
        first=constants(config),
    ):
        for trial in batch:
            evaluate(study, trial, config, directory, test, started)
    conclude(config, directory, study, test)


def evaluate(
    study: Any, trial: Any, config: ConfigDict, directory: Path, test: Labelled, started: float
) -> None:
    """Trains and measures one trial, or the rest of it, and tells Optuna its worth.

    Raises:
      Stopped: Ctrl-C, SIGTERM or the limit of minutes; everything is saved.
    """
    name = f"trial_{trial.number}"
    place = directory / TRIALS / name
    own = with_constants(config, trial.params).copy_and_resolve_references()
    limit = config.execution.max_minutes
    own.execution.max_minutes = minutes_left(limit, started, name)
    own.lock()
    told = ", ".join(f"{key} {value:.4g}" for key, value in constants(own).items())
    print(f"{name} of {config.study.trials}: {told}", file=sys.stderr)
    workdir.claim(place, own, STUDY)
    workdir.write_json(place / workdir.ENVIRONMENT, workdir.environment())
    try:
        with Tracker(place, own, STUDY) as tracker:
            runner.train(own, runs.one_for_each_seed(own, name), place, tracker)
            tracker.finish(StudySummary(iteration=own.train.iterations))
    except FloatingPointError as error:  # constants that cannot learn: the others can
        print(f"{name} failed: {error}", file=sys.stderr)
        path = directory / FAILED
        lost = workdir.read_json(path) if path.is_file() else {}
        workdir.write_json(path, lost | {name: str(error)})
        trials.fail(study, trial.number)
        return
    study.tell(trial.number, accuracy(solved_accuracy.update(place, test)))


def accuracy(accuracies: Accuracies) -> float:
    """A trial's worth: best accuracy with search of its kept networks, mean over its seeds."""
    seeds = len(next(iter(accuracies.values())))
    return float(np.mean([solved_accuracy.best(accuracies, j)[1] for j in range(seeds)]))


def conclude(config: ConfigDict, directory: Path, study: Any, test: Labelled) -> None:
    """Writes `results.json` and the report."""
    done = [t for t in study.get_trials(deepcopy=False) if t.values]
    if not done:
        raise ConfigError(f"--workdir={directory}: every trial has failed, see {FAILED}")
    found = []
    for trial in done:
        accuracies = solved_accuracy.update(directory / TRIALS / f"trial_{trial.number}", test)
        best = [solved_accuracy.best(accuracies, j) for j in range(config.study.seeds)]
        found.append(
            {
                "name": f"trial_{trial.number}",
                "constants": {name: trial.params[name] for name in PARAMETERS},
                "accuracy": trial.value,
                "seeds": [value for _, value in best],
                "iterations": [iteration for iteration, _ in best],
                "untrained": float(np.mean([one["search"] for one in accuracies[0]])),
            }
        )
    failed = directory / FAILED
    results = {
        "study": STUDY,
        "game": config.game,
        "preset": config.preset,
        "command": shlex.join(["python", "-m", f"experiments.{STUDY}", *sys.argv[1:]]),
        "config": config.to_dict(),
        "environment": workdir.read_json(directory / workdir.ENVIRONMENT),
        "positions": solved_accuracy.described(test),
        "failed": workdir.read_json(failed) if failed.is_file() else {},
        "trials": found,
    }
    if jax.process_index() == 0:
        workdir.write_json(directory / workdir.RESULTS, results)
        print(f"report: {write_report(directory)}", file=sys.stderr)


if __name__ == "__main__":
    cli.run(run, f"experiments/configs/{STUDY}.py:quick")
