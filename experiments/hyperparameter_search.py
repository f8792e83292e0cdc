"""A search instead of the grid: strength and cost of I, E, m and ep, proposed by Optuna.

    python -m experiments.hyperparameter_search \\
        --config=experiments/configs/hyperparameter_search.py:quick --workdir=runs/search

The correlation study of Wang 2020 and 2023 (section 6.2) with two goals, Elo against fixed
opponents and seconds of a run. Needs the extra `search`. Writes `results.json` and `report.html`
with the Pareto front; with `--config.study.grid=runs/correlation` the fronts of both play each
other. A search that was stopped resumes from its trials, which are kept in the run directory.
"""

import itertools
import math
from pathlib import Path
from typing import Any, Final

import jax
from ml_collections import ConfigDict

from experiments.configs.hyperparameter_search import KEYS
from experiments.costs import clock
from experiments.costs.clock import Cost
from experiments.hyperparameters import group_training, pareto, trials
from experiments.hyperparameters.groups import ProgramGroup
from experiments.hyperparameters.search_grid import against_grid, check_grid
from experiments.hyperparameters.settings import FIELDS, LETTERS, Training, make_setting
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import fixed_opponents
from jaxzero import files, runs, workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import components
from jaxzero.training import spec as spec_lib

STUDY: Final = "hyperparameter_search"
# By letter: what lets trials that differ in it share a program.
_SHARED: Final = {"m": "switches.keep_tree=False", "E": "selfplay.parts=1"}
_STARTUP: Final = 10  # random trials first, where the sampler is tpe


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS)
    trials.check_installed(STUDY)
    for field in FIELDS.values():
        bounds = config.study[field]
        if len(bounds) != 2 or bounds[0] > bounds[1]:
            raise ConfigError(f"config.study.{field}={bounds}: give the smallest and the largest")
    low, high = config.study.iterations
    if (high - low) % config.study.iterations_step:
        raise ConfigError(
            f"config.study.iterations_step={config.study.iterations_step}: {high - low} iterations "
            "between the smallest and the largest are no multiple of it"
        )
    config_lib.require_any_simulations(config)
    config_lib.require_one_width(config)
    board = components.build_game(config).name
    fixed_opponents.check(_measuring(config, "last"), board, "config.study.")
    for letter, remedy in _SHARED.items():
        bounds, key = config.study[FIELDS[letter]], LETTERS[letter]
        if bounds[0] < bounds[1] and key not in spec_lib.capacities(config):
            raise ConfigError(
                f"config.study.{FIELDS[letter]}={bounds}: all trials share one program, and these "
                f"settings have one for each config.{key}, set config.{remedy} or give one number "
                "twice"
            )
    for ends in itertools.product(*(config.study[field] for field in FIELDS.values())):
        own = make_setting(config, dict(zip(FIELDS, ends, strict=True))).config
        config_lib.validate(own, KEYS)
        spec_lib.make_spec(own)
    check_grid(config)


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole search, or the rest of it: (config, workdir) -> report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate)
    unit = _unit_seconds(config, directory)
    search = trials.open_study(directory, STUDY, directions=("maximize", "minimize"))
    with Tracker(directory, config, STUDY) as tracker:
        while batch := _next_batch(search, config):
            _evaluate(study, search, batch, tracker, unit)
        tracker.finish(conclude(study, search))


def _next_batch(search: Any, config: ConfigDict) -> list[Any]:
    """See `trials.next_batch`."""

    def suggest(trial: Any) -> None:
        low, high = config.study.iterations
        trial.suggest_int("I", low, high, step=config.study.iterations_step)
        for letter in ("E", "m", "ep"):
            low, high = config.study[FIELDS[letter]]
            trial.suggest_int(letter, low, high, log=True)

    def sampler_after(begun: int) -> Any:
        name = config.study.sampler
        return trials.sampler(name, seed=config.seed, begun=begun, startup=_STARTUP)

    return trials.next_batch(
        search,
        total=config.study.trials,
        at_once=config.study.batch,
        parameters=len(FIELDS),
        sampler_after=sampler_after,
        suggest=suggest,
    )


def _room(config: ConfigDict) -> ConfigDict:
    """The settings with the largest sizes that any trial may have: all share one program."""
    most = {letter: config.study[field][1] for letter, field in FIELDS.items()}
    return make_setting(config, most).config


def _group(config: ConfigDict, batch: list[Any]) -> ProgramGroup:
    """The population that trains a batch, each trial with its own seed."""
    trainings = []
    for trial in batch:
        own = make_setting(config, trial.params).config
        own = config_lib.changed(own, {"seed": config.seed + trial.number})
        iterations = int(trial.params["I"])
        name = f"trial_{trial.number}"
        trainings.append(Training(name, own.seed, own, ((name, iterations),)))
    room, lengths = _room(config), [t.config.train.iterations for t in trainings]
    every = math.gcd(*lengths, room.execution.snapshot_every)
    sized = config_lib.changed(
        room, {"train.iterations": max(lengths), "execution.snapshot_every": every}
    )
    name = f"trials_{batch[0].number}_to_{batch[-1].number}"
    return ProgramGroup(name, sized, tuple(trainings))


def _measuring(config: ConfigDict, iterations: str) -> fixed_opponents.LadderSettings:
    return fixed_opponents.LadderSettings(
        games=config.study.tournament_games,
        opponents=tuple(config.study.opponents),
        iterations=iterations,
        points=10**6,
        simulations=config.study.tournament_simulations,
        seed=config.seed,
    )


def _evaluate(study: StudyRun, search: Any, batch: list[Any], tracker: Tracker, unit: Cost) -> None:
    """Trains a batch, measures its strength and tells Optuna."""
    config, directory = study.config, study.directory
    group = _group(study.within(config, f"trial_{batch[0].number}"), batch)
    group_training.train_all([group], directory, tracker, study=STUDY, retry=False)
    places, failed = group_training.places(directory), group_training.failed_in(directory)
    lengths = sorted({t.config.train.iterations for t in group.trainings})
    settings = _measuring(config, ",".join(map(str, lengths)))
    done = [t.name for t in group.trainings if t.name in places]
    curves: dict[str, Any] = {}
    for at in dict.fromkeys(places[name].directory for name in done):
        curves |= fixed_opponents.measure([runs.open_run(at)], settings)[0]["runs"]
    for trial, training in zip(batch, group.trainings, strict=True):
        if training.name not in places:
            trials.fail(search, trial.number)
            shell.say(f"{training.name} failed: {failed.get(training.name)}")
            continue
        iterations, curve = training.config.train.iterations, curves[training.name]
        elo = curve["elo"][curve["iterations"].index(iterations)]
        rows = files.read_rows(places[training.name].directory / workdir.METRICS)
        own = [r for r in rows if r["run"] == training.name and r["iteration"] <= iterations]
        search.tell(trial.number, [elo, clock.seconds(own, unit).total])


def _unit_seconds(config: ConfigDict, directory: Path) -> Cost:
    """Measured once, with the geometric middle of E."""
    low, high = config.study.episodes
    middle = make_setting(config, {"E": round(math.sqrt(low * high))}).config
    return clock.unit_seconds(directory, {"middle": middle})["middle"]


def conclude(study: StudyRun, search: Any) -> StudySummary:
    """Plays against the grid, if there is one, and writes `results.json` and the report."""
    config, directory = study.config, study.directory
    reason = next(iter(group_training.failed_in(directory).values()), "")
    done = trials.finished(search, directory, reason)
    elo, seconds = [t.values[0] for t in done], [t.values[1] for t in done]
    front = set(pareto.front(seconds, elo))
    tried: list[dict[str, Any]] = [
        {
            "name": f"trial_{t.number}",
            "seed": config.seed + t.number,
            "values": {letter: t.params[letter] for letter in LETTERS if letter in t.params},
            "elo": t.values[0],
            "seconds": t.values[1],
            "on_front": i in front,
        }
        for i, t in enumerate(done)
    ]
    results = study.header() | {
        "runs": [
            {"name": one["name"], "target": config.train.loss, "seed": one["seed"]} for one in tried
        ],
        "settings": [{"name": t["name"], "values": t["values"]} for t in tried],
        "failed": group_training.failed_in(directory),
        "search": {"trials": tried},
    }
    group_training.write_rows(directory)
    if config.study.grid:
        key = jax.random.key(2 * config.seed + 1)
        results["tournaments"], results["search"]["grid"] = against_grid(
            config, directory, [t for t in tried if t["on_front"]], key
        )
    return study.finish(results)


if __name__ == "__main__":
    cli.run(run, STUDY)
