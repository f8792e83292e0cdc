"""What every study does around its own work: directory begun, results and report written."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.pages import reports
from experiments.shell import next_command
from experiments.shell.summary import summary_of
from jaxzero import files, runs, workdir
from jaxzero.runs import Member, backend, learning, runner
from jaxzero.runs.processes import say
from jaxzero.runs.runner import Trained
from jaxzero.runs.stopping import minutes_left
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.settings.keys import Key
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import spec as spec_lib


@dataclasses.dataclass(frozen=True)
class StudyRun:
    """A study at work in a run directory."""

    name: str  # e.g. `"loss_ablation"`.
    config: ConfigDict  # its settings, valid
    directory: Path  # its run directory, claimed
    command: str | None = None  # how it was called; None: not from a command line
    # `time.monotonic()` that `--max-minutes` are counted from
    started: float = dataclasses.field(default_factory=time.monotonic)

    def header(self, members: Iterable[Member] = ()) -> dict[str, Any]:
        """What every `results.json` begins with; `members`: who was trained."""
        return {
            "study": self.name,
            "game": self.config.game,
            "preset": self.config.preset,
            "command": self.command,
            "config": self.config.to_dict(),
            "switches": vars(spec_lib.make_spec(self.config).switches),
            "environment": files.read_json(self.directory / workdir.ENVIRONMENT),
            "runs": [{"name": m.name, "target": m.target, "seed": m.seed} for m in members],
        }

    def within(self, config: ConfigDict, what: str) -> ConfigDict:
        """Settings of a part, with the minutes left. Stopped: there are none before `what`."""
        minutes = minutes_left(self.config.execution.max_minutes, self.started, what)
        return config_lib.changed(config, {"execution.max_minutes": minutes})

    def train(self, name: str, config: ConfigDict, directory: Path) -> Trained:
        """Trains a part of the study, all its seeds, in a run directory of its own, or goes on.

        Stopped, ConfigError, FloatingPointError: as `runner.train`; everything is saved.
        """
        claim(directory, config, self.name)
        with Tracker(directory, config, self.name) as tracker:
            members = runs.one_for_each_seed(config, name)
            trained = runner.train(config, members, directory, tracker)
            found = learning.curves(directory, [member.name for member in members])
            # the rest is the study's
            tracker.finish(StudySummary(config.train.iterations, found))
        return trained

    def finish(self, results: Mapping[str, Any]) -> StudySummary:
        """Writes `results.json` and the report, says what is next; returns what is tracked."""
        files.write_json(self.directory / workdir.RESULTS, results)
        say(f"report: {reports.write(self.directory)}")
        say(next_command.play_it(self.directory, self.config.game))
        return summary_of(workdir.read_results(self.directory), self.directory)

    def conclude(self, results: Mapping[str, Any]) -> None:
        """`finish`, sent to W&B and TensorBoard: for studies whose parts alone were tracked."""
        with Tracker(self.directory, self.config, self.name) as tracker:
            tracker.finish(self.finish(results))


def begin(
    name: str,
    config: ConfigDict,
    directory: Path,
    command: str | None,
    *,
    validate: Callable[[ConfigDict], Any],
    fixed: Sequence[str] = (),
    over_hosts: bool = False,
) -> StudyRun:
    """Makes a study's run directory, or resumes it.

    `validate` refuses settings before anything is written or compiled; `fixed`: see
    `workdir.claim`; `over_hosts`: several processes may train it together. ConfigError: settings
    that cannot work, or a directory of others.
    """
    started = time.monotonic()
    if config.execution.distributed and not over_hosts:
        raise ConfigError(
            f"config.execution.distributed=True: {name} trains in one process, leave it out"
        )
    backend.prepare(config)  # before anything looks for devices, as `validate` does for the dtype
    validate(config)
    devices.choose(config)
    claim(directory, config, name, fixed=fixed)
    return StudyRun(name, config, directory, command, started)


def claim(directory: Path, config: ConfigDict, name: str, *, fixed: Sequence[str] = ()) -> None:
    """Claims a run directory (`workdir.claim`), and notes what the numbers are made on."""
    workdir.claim(directory, config, name, fixed=fixed)
    if jax.process_index() == 0:
        files.write_json(directory / workdir.ENVIRONMENT, workdir.environment())


def is_finished(config: ConfigDict, directory: Path) -> bool:
    """Has the directory a report, the last to be written, of these settings but `execution`?"""
    path = directory / workdir.RESULTS
    if not path.exists() or not (directory / "report.html").exists():
        return False
    # A key that is younger than the directory had its default in it, as `workdir.claim` has it.
    done = config_lib.with_defaults(files.read_json(path)["config"])
    wanted = files.plain(config_lib.flatten(config))
    return all(
        done.get(key, value) == value
        for key, value in wanted.items()
        if not key.startswith("execution.")
    )


def check(config: ConfigDict, keys: Iterable[Key], *distinct: str) -> None:
    """Refuses what no study with these keys can do, before anything compiles.

    `distinct`: names of its keys whose values are listed, each once.
    """
    config_lib.validate(config, keys)
    config_lib.require_extras(config)
    for name in distinct:
        config_lib.require_distinct(config, f"study.{name}")


def refuse_equal_arms(configs: Mapping[str, ConfigDict]) -> None:
    """ConfigError: two arms, by name, have the same settings and would be one player twice."""
    seen: dict[str, dict[str, Any]] = {}
    for name, config in configs.items():
        settings = config_lib.flatten(config)
        for earlier, others in seen.items():
            if settings == others:
                raise ConfigError(
                    f"config.study.arms: {earlier!r} and {name!r} have the same settings here, "
                    "leave one out"
                )
        seen[name] = settings
