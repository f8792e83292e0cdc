"""The loss ablation from a notebook: the same run directory as from the command line."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from experiments import ablation_sizes, loss_ablation
from experiments.configs.loss_ablation import get_config
from experiments.costs import clock
from experiments.costs.clock import Cost
from jaxzero import workdir
from jaxzero.runs import runner
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import flatten
from jaxzero.tracking import Table

_TIMED = 2.0  # seconds of each phase


def words(config: ConfigDict, directory: Path) -> list[str]:
    """The command line's words for these settings, the program's name left out."""
    usual = flatten(get_config(config.preset))
    changes = [
        f"--config.{key}={value}"
        for key, value in flatten(config).items()
        if usual[key] != value and value is not None
    ]
    preset = f"--config=experiments/configs/loss_ablation.py:{config.preset}"
    return [preset, f"--workdir={directory}", *changes]


def command(config: ConfigDict, directory: Path) -> str:
    """The command line that does what these settings say in this run directory."""
    return shlex.join(["python", "-m", "experiments.loss_ablation", *words(config, directory)])


def is_finished(config: ConfigDict, directory: Path) -> bool:
    """Has the directory results of as many iterations as are wanted?"""
    path = directory / workdir.RESULTS
    if not path.exists():
        return False
    return workdir.read_json(path)["config"]["train"]["iterations"] == config.train.iterations


def run(config: ConfigDict, directory: Path) -> bool:
    """Runs the study, or the rest of it; says how to resume it.

    Args:
      config: its settings.
      directory: the run directory.

    Returns:
      Whether it is finished.

    Raises:
      ConfigError: settings that cannot work, or a directory of other ones.
    """
    print("the same from a terminal:")
    print(command(config, directory))
    runner.prepare(config)
    workdir.claim(directory, config, loss_ablation.STUDY)  # refuses a directory of another run
    if is_finished(config, directory):
        print(f"{directory} is finished: nothing left to do")
        return True
    try:
        loss_ablation.run(config, directory, command(config, directory))
    except Stopped as stopped:
        print(str(stopped).replace("the same command", "running this cell again"))
        return False
    return True


def estimate(config: ConfigDict, directory: Path) -> str:
    """How long the rest of the study takes here, in words: Equation 2, its units timed here."""
    if is_finished(config, directory):
        return f"{directory} is finished"
    runner.prepare(config)
    done = [row["iteration"] for row in workdir.read_rows(directory / workdir.METRICS)]
    timing = clock.of_members(config, loss_ablation.make_members(config), seconds=_TIMED)
    played = timing.selfplay()
    units = Cost(played.unit, timing.arena().unit, timing.training().unit)
    training = ablation_sizes.training_minutes(
        config,
        units,
        plies=float(played.metrics["selfplay/plies"].mean()),
        done=max(done, default=0),
    )
    matches = ablation_sizes.tournament_minutes(config, units.selfplay)
    return (
        f"about {_minutes(training)} of training and {_minutes(matches)} of tournaments, judged by "
        f"untrained networks: {units.selfplay:.2g} s an evaluation in self-play, {units.arena:.2g} "
        f"s in the arena, {units.training:.2g} s a minibatch"
    )


def _minutes(value: float) -> str:
    if value < 1:
        return f"{60 * value:.0f} seconds"
    return f"{value:.0f} minutes" if value < 90 else f"{value / 60:.1f} hours"


def ratings(results: Mapping[str, Any], number: int = 0) -> Table:
    """A tournament of `results.json`, strongest first: Elo and its standard error."""
    played = results["tournaments"][number]
    rated = zip(played["players"], played["elo"], played["stderr"], strict=True)
    rows = sorted(
        ((player["name"], round(elo), round(stderr)) for player, elo, stderr in rated),
        key=lambda row: -row[1],
    )
    return Table(("player", "Elo", "+-"), tuple(rows))
