"""Does learning the end of games first make AlphaZero learn faster? Paper 004.

    python -m experiments.curriculum --config=experiments/configs/curriculum.py:quick \\
        --workdir=runs/curriculum

Trains a player with an end-game-first curriculum and one without, several seeds each, from the same
weights; plays the networks of all their iterations against one reference opponent; compares the win
ratios over minutes, training steps and epochs (Figures 4, 5 and 6), and writes `results.json` and
`report.html`.
"""

import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.curriculum import KEYS
from experiments.curriculum import claims, reference
from experiments.curriculum.report import write_report
from experiments.shell.summary import summary_of
from jaxzero import runs, workdir
from jaxzero.runs import runner
from jaxzero.runs.stopping import minutes_left
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import parts
from jaxzero.training import spec as spec_lib

STUDY = "curriculum"
ARMS = "arms"  # folder of the players' run directories
COMPILED = "compiled.json"  # in each of them: seconds that are no training
# What makes a player of `config.study.arms`, beside the settings that all share.
_CHANGES: dict[str, dict[str, Any]] = {
    "curriculum": {},
    "baseline": {"selfplay.curriculum": "none"},
    "trim": {"selfplay.curriculum_drop": "trim"},
    "horizon": {"selfplay.curriculum": "horizon"},
}


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """The settings of one player."""
    own = config.copy_and_resolve_references()
    own.update_from_flattened_dict(_CHANGES[arm])
    return own.lock()


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    config_lib.validate(config, KEYS)
    config_lib.require_extras(config)
    arms = config.study.arms
    config_lib.require_distinct(config, "study.arms")
    if config.selfplay.curriculum == "none" and set(arms) & {"curriculum", "trim"}:
        raise ConfigError(
            "config.selfplay.curriculum='none': the players with a curriculum need one, e.g. "
            "schedule"
        )
    reference.check(config, parts.build_game(config))
    for arm in arms:
        spec_lib.make_spec(arm_config(config, arm))
    devices.choose(config)


def run(config: ConfigDict, directory: Path) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    runner.prepare(config)  # before anything looks for devices, as `validate` does for the dtype
    validate(config)
    workdir.claim(directory, config, STUDY)
    workdir.write_json(directory / workdir.ENVIRONMENT, workdir.environment())
    seconds = train(config, directory)
    if jax.process_index() == 0:
        conclude(config, directory, seconds)


def train(config: ConfigDict, directory: Path) -> dict[str, float]:
    """Trains the players one after another, each alone on the devices: wall seconds by player."""
    started, limit = time.monotonic(), config.execution.max_minutes
    seconds = {}
    for arm in config.study.arms:
        own = ConfigDict(arm_config(config, arm))
        own.execution.max_minutes = minutes_left(limit, started, f"the player {arm}")
        own.lock()
        folder = directory / ARMS / arm
        workdir.claim(folder, own, STUDY)
        with Tracker(folder, own, f"{STUDY}_{arm}") as tracker:
            trained = runner.train(own, runs.one_for_each_seed(own, arm), folder, tracker)
            tracker.finish(StudySummary(own.train.iterations))
        if not (folder / COMPILED).exists():
            workdir.write_json(folder / COMPILED, {"compile_seconds": trained.compile_seconds})
        seconds[arm] = trained.seconds
    return seconds


def conclude(config: ConfigDict, directory: Path, seconds: Mapping[str, float]) -> None:
    """Plays against the reference, decides the claims, writes results and report."""
    started = time.monotonic()
    arms = {arm: runs.open_run(directory / ARMS / arm) for arm in config.study.arms}
    rows = reference.measure(config, directory, arms)
    metrics = {arm: workdir.read_rows(run.directory / workdir.METRICS) for arm, run in arms.items()}
    compiling = {
        arm: workdir.read_json(run.directory / COMPILED)["compile_seconds"]
        for arm, run in arms.items()
    }
    points = reference.points(rows, metrics, compiling)
    results = {
        "study": STUDY,
        "game": config.game,
        "preset": config.preset,
        "command": shlex.join(["python", "-m", "experiments.curriculum", *sys.argv[1:]]),
        "config": config.to_dict(),
        "switches": vars(next(iter(arms.values())).spec.switches),
        "environment": workdir.environment(),
        "runs": [
            {"name": member.name, "target": arm, "seed": member.seed}
            for arm, run in arms.items()
            for member in run.members
        ],
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
    workdir.write_json(directory / workdir.RESULTS, results)
    report = write_report(directory)
    with Tracker(directory, config, STUDY) as tracker:
        tracker.finish(summary_of(workdir.read_json(directory / workdir.RESULTS), directory))
    print(f"report: {report}", file=sys.stderr)
