"""Which constants of the search suit Connect Four? Clausen 2021's Bayesian search, with Optuna.

    python -m experiments.connect_four_search \\
        --config=experiments/configs/connect_four_search.py:quick --workdir=runs/constants

Each trial is a short training of the authors' plain AlphaZero with other constants (exploration,
first-play urgency, root noise, worth of a draw); it is worth the best accuracy with search on
solved positions that any of its kept networks reached. Trials are run directories, `trials/NAME`,
kept by Optuna (extra `search`): the same command resumes where it stopped. Writes
`results.json` and `report.html`.

Three of the four constants are part of the compiled program, so that each trial compiles its own.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from ml_collections import ConfigDict

from experiments.configs.connect_four_search import KEYS
from experiments.connect_four import claims, solved_accuracy
from experiments.connect_four.solved_accuracy import Accuracies
from experiments.hyperparameters import trials
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from jaxzero import files
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
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
    return config_lib.changed(
        config,
        {
            "search.c_puct": values["c_puct"],
            "search.unvisited_q": values["unvisited_q"],
            "search.dirichlet_alpha": values["dirichlet_alpha"],
            "search.draw_value": 2 * values["draw"] - 1,
        },
    )


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS)
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


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole search, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate, fixed=BUDGET)
    test = solved_accuracy.test_positions(config, directory)
    search = trials.open_study(directory, STUDY, directions=("maximize",))

    def sampler_after(begun: int) -> Any:
        startup = 1 + config.study.random_trials  # the first is the settings' own
        name = config.study.sampler
        return trials.sampler(name, seed=config.seed, begun=begun, startup=startup)

    def suggest(trial: Any) -> None:
        for name in PARAMETERS:
            low, high = config.study[name]
            trial.suggest_float(name, low, high)

    while batch := trials.next_batch(
        search,
        total=config.study.trials,
        at_once=1,
        parameters=len(PARAMETERS),
        sampler_after=sampler_after,
        suggest=suggest,
        first=constants(config),
    ):
        for trial in batch:
            evaluate(study, search, trial, test)
    conclude(study, search, test)


def evaluate(study: StudyRun, search: Any, trial: Any, test: Labelled) -> None:
    """Trains and measures one trial, or the rest of it, and tells Optuna its worth.

    Stopped: Ctrl-C, SIGTERM or the limit of minutes; everything is saved.
    """
    name = f"trial_{trial.number}"
    place = study.directory / TRIALS / name
    own = study.within(with_constants(study.config, trial.params), name)
    shown = ", ".join(f"{key} {value:.4g}" for key, value in constants(own).items())
    shell.say(f"{name} of {own.study.trials}: {shown}")
    try:
        study.train(name, own, place)
    except FloatingPointError as error:  # constants that cannot learn: the others can
        shell.say(f"{name} failed: {error}")
        lost = failed_in(study.directory) | {name: str(error)}
        files.write_json(study.directory / FAILED, lost)
        trials.fail(search, trial.number)
        return
    search.tell(trial.number, accuracy(solved_accuracy.update(place, test)))


def failed_in(directory: Path) -> dict[str, str]:
    """Trials that came to nothing, and why."""
    path = directory / FAILED
    return files.read_json(path) if path.is_file() else {}


def accuracy(accuracies: Accuracies) -> float:
    """A trial's worth: best accuracy with search of its kept networks, mean over its seeds."""
    seeds = len(next(iter(accuracies.values())))
    return float(np.mean([solved_accuracy.best(accuracies, j)[1] for j in range(seeds)]))


def conclude(study: StudyRun, search: Any, test: Labelled) -> None:
    """Writes `results.json` and the report."""
    directory = study.directory
    tried = []
    for trial in trials.finished(search, directory, f"see {FAILED}"):
        accuracies = solved_accuracy.update(directory / TRIALS / f"trial_{trial.number}", test)
        best = [solved_accuracy.best(accuracies, j) for j in range(study.config.study.seeds)]
        tried.append(
            {
                "name": f"trial_{trial.number}",
                "constants": {name: trial.params[name] for name in PARAMETERS},
                "accuracy": trial.value,
                "seeds": [value for _, value in best],
                "iterations": [iteration for iteration, _ in best],
                "untrained": float(np.mean([one["search"] for one in accuracies[0]])),
            }
        )
    results = study.header() | {
        "positions": solved_accuracy.described(test),
        "examination": solved_accuracy.search_in_words(study.config),
        "failed": failed_in(directory),
        "trials": tried,
    }
    study.conclude(results | {"claims": claims.rows(results)})


if __name__ == "__main__":
    cli.run(run, STUDY)
