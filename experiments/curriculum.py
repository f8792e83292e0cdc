"""Does learning the end of games first make AlphaZero learn faster? West 2020.

    python -m experiments.curriculum --config=experiments/configs/curriculum.py:quick \\
        --workdir=runs/curriculum

Trains a player with an end-game-first curriculum and one without, several seeds each, from the same
weights; plays the networks of all their iterations against one reference opponent; compares the win
ratios over minutes, training steps and epochs (Figures 4, 5 and 6), and writes `results.json` and
`report.html`.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.curriculum import KEYS
from experiments.endgame import claims, reference
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from jaxzero import files, runs, workdir
from jaxzero.runs import Member, processes
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import components
from jaxzero.training import spec as spec_lib

STUDY = "curriculum"
ARMS = "arms"  # folder of the players' run directories
TRAINED = "trained.json"  # in each of them, when it is: wall seconds
# What makes a player of `config.study.arms`, beside the settings that all share.
_CHANGES: dict[str, dict[str, Any]] = {
    "curriculum": {},
    "baseline": {"selfplay.curriculum": "none"},
    "trim": {"selfplay.curriculum_drop": "trim"},
    "horizon": {"selfplay.curriculum": "horizon"},
}


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """The settings of one player."""
    return config_lib.changed(config, _CHANGES[arm])


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS, "arms")
    arms = config.study.arms
    if config.selfplay.curriculum == "none" and set(arms) & {"curriculum", "trim"}:
        raise ConfigError(
            "config.selfplay.curriculum='none': the players with a curriculum need one, e.g. "
            "schedule"
        )
    reference.check(config, components.build_game(config))
    for arm in arms:
        spec_lib.make_spec(arm_config(config, arm))
    shell.refuse_equal_arms({arm: arm_config(config, arm) for arm in arms})


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate, over_hosts=True)
    seconds = train(study)
    processes.part()
    if jax.process_index() == 0:
        conclude(study, seconds)


def train(study: StudyRun) -> dict[str, float]:
    """Trains the players one after another, each alone on the devices: wall seconds by player."""
    seconds = {}
    for arm in study.config.study.arms:
        folder = study.directory / ARMS / arm
        saved = runs.saved_iteration(folder)
        if saved >= study.config.train.iterations and (folder / TRAINED).exists():
            seconds[arm] = files.read_json(folder / TRAINED)["seconds"]
            continue  # opening it again takes minutes
        (folder / TRAINED).unlink(missing_ok=True)  # of fewer iterations
        own = study.within(arm_config(study.config, arm), f"the player {arm}")
        seconds[arm] = study.train(arm, own, folder).seconds
        files.write_json(folder / TRAINED, {"seconds": seconds[arm]})
    return seconds


def conclude(study: StudyRun, seconds: Mapping[str, float]) -> None:
    """Plays against the reference, decides the claims, writes results and report."""
    started, config, directory = time.monotonic(), study.config, study.directory
    arms = {arm: runs.open_run(directory / ARMS / arm) for arm in config.study.arms}
    rows = reference.measure(config, directory, arms)
    metrics = {arm: files.read_rows(run.directory / workdir.METRICS) for arm, run in arms.items()}
    points = reference.points(rows, metrics)
    members = [Member(m.name, arm, m.seed, m.config) for arm, r in arms.items() for m in r.members]
    results = study.header(members) | {
        "reference": reference.described(config),
        "points": [{k: v for k, v in vars(p).items() if k != "x"} | dict(p.x) for p in points],
        "problems": sorted({text for row in rows for text in row["problems"]}),
        "claims": claims.as_json(claims.decide(config, points)),
        "cost": {
            "wall_seconds": sum(seconds.values()) + time.monotonic() - started,
            "phases": {f"training {arm}": s for arm, s in seconds.items()}
            | {"reference": time.monotonic() - started},
        },
    }
    study.conclude(results)


if __name__ == "__main__":
    cli.run(run, STUDY)
