"""Do the four losses rank as they do because of the search? Arms beyond Wang 2019, 2020 and 2023.

    python -m experiments.arms --config=experiments/configs/arms.py:quick --workdir=runs/arms

Trains the loss ablation once for each arm (without root noise as in the papers, with Dirichlet
noise, with few simulations, with Gumbel search), with l_lambda at several lambdas among the losses.
Each arm is a run directory of its own in the workdir, a population that any command takes. At the
end all networks of all arms are measured with one and the same search against fixed opponents, on
one scale, and `results.json` and `report.html` say what each arm changed.

`arms.py:defects` asks which of the published programs' defects turns the order of the losses:
networks trained with each alone, and with all but it. Judging can turn it too, so those trained
with none and with all are judged both ways.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments import ladder, loss_ablation
from experiments.configs.arms import (
    ARMS,
    DEFECT_ARMS,
    KEYS,
    PLAIN,
    PUBLISHED,
    arm_config,
    defect_arms,
)
from experiments.losses import arms_effects
from experiments.pages import reports
from experiments.shell import cli, presets
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import fixed_opponents
from jaxzero import files, runs, workdir
from jaxzero.runs import Run
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import components
from jaxzero.training import spec as spec_lib

STUDY = "arms"


def validate(config: ConfigDict) -> None:
    """Refuses what an arm can't do, before anything compiles (ConfigError)."""
    shell.check(config, KEYS, "arms")
    for name in config.study.arms:
        try:
            loss_ablation.validate(arm_config(config, name))
            _check_defect(config, name)
        except ConfigError as error:
            raise ConfigError(
                f"arm {name!r} of config.study.arms: {error}, or leave the arm out"
            ) from error
    shell.refuse_equal_arms({name: arm_config(config, name) for name in config.study.arms})
    if config.study.ladder_games:
        board = components.build_game(config).name
        fixed_opponents.check(loss_ablation.ladder_settings(config), board, "config.study.ladder_")


def _check_defect(config: ConfigDict, name: str) -> None:
    """Refuses an arm of a defect that would not be compared with what its name says."""
    if name not in DEFECT_ARMS:
        return
    if config.semantics != "corrected" or any(v is not None for v in config.switches.values()):
        raise ConfigError(
            f"config.semantics={config.semantics}: it sets config.semantics and config.switches "
            "itself and is compared with the corrected ones; leave them as they are"
        )
    if name not in defect_arms(config.game):
        raise ConfigError(f"config.game={config.game}: its programs had no such defect")


resolve = loss_ablation.resolve


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """All arms, or the rest of them, and their comparison: results.json, report.html."""
    config = resolve(config)
    study = shell.begin(STUDY, config, directory, command, validate=validate)
    for name in config.study.arms:
        train(study, name)
    compare(study)


def train(study: StudyRun, name: str) -> None:
    """One arm in its own directory, or its rest. Stopped: by a signal, or the minutes are over."""
    own, place = arm_config(study.config, name), study.directory / name
    if shell.is_finished(own, place):
        shell.say(f"arm {name}: finished already")
        return
    shell.say(f"arm {name}: {ARMS[name].meaning}")
    command = presets.command(loss_ablation.STUDY, own, place)
    loss_ablation.run(study.within(own, f"arm {name}"), place, command)
    jax.clear_caches()  # other arms have other programs


def open_arms(config: ConfigDict, directory: Path, judge: str = PLAIN) -> dict[str, Run]:
    """The arms' runs, all with the search of one arm: arms train networks, not searches."""
    spec = spec_lib.make_spec(arm_config(config, judge))
    return {
        name: dataclasses.replace(runs.open_run(directory / name), spec=spec)
        for name in config.study.arms
    }


def compare(study: StudyRun) -> None:
    """Measures the networks of all arms on one scale; writes results.json and the pages."""
    config, directory = study.config, study.directory
    opened = open_arms(config, directory)
    results = study.header() | describe(config, directory, opened)
    if config.study.ladder_games:
        settings = dataclasses.replace(
            loss_ablation.ladder_settings(config), simulations=config.study.tournament_simulations
        )
        ladders = fixed_opponents.measure(list(opened.values()), settings)
        for (name, arm), rated in zip(opened.items(), ladders, strict=True):
            ladder.write(arm, rated)
            reports.write(directory / name)  # the arm's own page, now with its curves
        results |= _measured(opened, ladders, results["runs"])
        if {PLAIN, PUBLISHED} <= opened.keys():
            as_published = open_arms(config, directory, PUBLISHED)
            judged = {name: as_published[name] for name in (PLAIN, PUBLISHED)}
            settings = dataclasses.replace(settings, iterations="last", openings=0)
            ladders = fixed_opponents.measure(list(judged.values()), settings)
            results["judged_as_published"] = _measured(judged, ladders, results["runs"])
    study.conclude(results)


def _measured(
    opened: Mapping[str, Run], ladders: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A ladder of several arms as one, and what it says of them."""
    curves = {
        f"{name}/{run}": curve
        for name, rated in zip(opened, ladders, strict=True)
        for run, curve in rated["runs"].items()
    }
    strengths = arms_effects.final_strengths(runs, curves)
    return {"ladder": ladders[0] | {"runs": curves}, "effects": arms_effects.effects(strengths)}


def describe(config: ConfigDict, directory: Path, opened: dict[str, Run]) -> dict[str, Any]:
    """results.json below its header, without the comparison."""
    finished = {name: files.read_json(directory / name / workdir.RESULTS) for name in opened}
    plain = config_lib.flatten(arm_config(config, PLAIN))
    return {
        "arms": [
            {
                "name": name,
                "meaning": ARMS[name].meaning,
                "changes": {
                    key: value
                    for key, value in config_lib.flatten(arm_config(config, name)).items()
                    if value != plain[key]
                },
                "cost": finished[name]["cost"],
            }
            for name in opened
        ],
        "runs": [
            {"name": f"{name}/{m.name}", "arm": name, "target": m.target, "seed": m.seed}
            for name, arm in opened.items()
            for m in arm.members
        ],
    }


if __name__ == "__main__":
    cli.run(run, STUDY)
