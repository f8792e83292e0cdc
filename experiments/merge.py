"""Shares of a study, put together.

    python -m experiments.merge runs/a runs/b --workdir=runs/whole

For studies of many runs (`--shard=i/k`): copies the trained groups of all shares into one run
directory, plays the tournaments there and writes the report, the same as one machine's would be.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from experiments import hyperparameter_correlation, hyperparameter_sweep
from experiments.hyperparameters import group_training, setting_study
from experiments.hyperparameters.group_training import BROKEN, DONE, GROUPS
from experiments.shell.study import StudyRun
from jaxzero import arguments, files, runs, workdir
from jaxzero.runs import backend, hardware
from jaxzero.runs.processes import say
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import Tracker

STUDIES: Final[dict[str, Any]] = {
    study.STUDY: study for study in (hyperparameter_sweep, hyperparameter_correlation)
}


def merge(shares: Sequence[Path], directory: Path, command: str | None = None) -> None:
    """Puts shares together in a directory, made or resumed, and concludes the study.

    ConfigError: shares that do not go together, or are not all of the study.
    """
    stored = [_settings(share) for share in shares]
    name = stored[0]["study"]
    for share, other in zip(shares, stored, strict=True):
        differing = workdir.differing_keys(stored[0], other, setting_study.FIXED)
        if differing:
            raise ConfigError(
                f"{share} is another study than {shares[0]} ({'; '.join(differing)}): name shares "
                "of one study"
            )
    study, flat = STUDIES[name], {k: v for k, v in stored[0].items() if k != "study"}
    config = config_lib.from_flat(flat | {"execution.shard": "1/1", "execution.distributed": False})
    backend.prepare(config)
    config.execution.devices = min(config.execution.devices, hardware.look().count)
    study.validate(config)
    _refuse_twice(shares)
    if directory.resolve() in [share.resolve() for share in shares]:
        raise ConfigError(f"--workdir={directory} is a share: choose another directory")
    workdir.claim(directory, config, name, fixed=setting_study.FIXED)
    for share in shares:
        _copy_groups(share, directory)
    files.write_json(directory / workdir.ENVIRONMENT, _environment(shares))
    planned = setting_study.make_plan(config, study.make_settings(config))
    runs.write_members(directory, config, group_training.members_of(planned.trainings))
    say(f"merged: {directory}")
    with Tracker(directory, config, name) as tracker:
        tracker.finish(study.conclude(StudyRun(name, config, directory, command), planned))
    setting_study.refuse_failures(directory)


def _settings(share: Path) -> dict[str, Any]:
    if not (share / workdir.CONFIG).is_file():
        raise ConfigError(f"{share} is no run directory: give the --workdir of a share")
    stored = workdir.read_config(share)
    if (study := stored["study"]) not in STUDIES:
        raise ConfigError(f"{share} holds a {study}: shares are of {', '.join(STUDIES)}")
    return stored


def _refuse_twice(shares: Sequence[Path]) -> None:
    seen: dict[str, Path] = {}
    for share in shares:
        for name in group_training.places(share):
            if name in seen:
                raise ConfigError(
                    f"{share}: run {name} is in {seen[name]} too, name each share once"
                )
            seen[name] = share


def _copy_groups(share: Path, directory: Path) -> None:
    """Group by group, each whole or not at all; not what is still being trained.

    What an earlier call has copied is not copied again, but for a group that was broken then.
    """
    (directory / GROUPS).mkdir(exist_ok=True)
    for group in sorted((share / GROUPS).glob("*")):
        target = directory / GROUPS / group.name
        ended = (group / DONE).exists() or (group / BROKEN).exists()
        if not ended or (target / DONE).exists():
            continue
        part = target.with_name(f".{group.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        with files.writing(target):
            others = shutil.ignore_patterns(workdir.LOCK, runs.CHECKPOINTS)
            shutil.copytree(group, part, ignore=others)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(part, target)


def _environment(shares: Sequence[Path]) -> dict[str, Any]:
    """The first share's; devices of all."""
    paths = [share / workdir.ENVIRONMENT for share in shares]
    found = [files.read_json(path) for path in paths if path.is_file()]
    if not found:
        return {}
    return found[0] | {"device": "; ".join(dict.fromkeys(each["device"] for each in found))}


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.merge", description=__doc__)
    parser.add_runs("shares", "run directory of a share")
    parser.add_argument("--workdir", type=Path, required=True, help="directory of the whole study")
    given = parser.parse(words)
    try:
        merge(given.shares, given.workdir, parser.command)
    except FloatingPointError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    arguments.run(main)
