"""Training a study's groups one after another: resumed, and going on where a setting fails.

Each group is a run directory of its own, `groups/NAME`, so that a study that was killed goes on
where it was, and a finished group is never compiled again.
"""

import dataclasses
import re
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
from ml_collections import ConfigDict

from experiments.hyperparameters.groups import ProgramGroup
from experiments.hyperparameters.settings import Training
from jaxzero import files, runs, workdir
from jaxzero.runs import Member, Run, population, runner, weights
from jaxzero.runs.failures import Failures
from jaxzero.runs.processes import say
from jaxzero.runs.stopping import Stopped, minutes_left
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import Tracker
from jaxzero.training.learner import Learner

GROUPS: Final = "groups"
DONE: Final = "done.json"  # of a group: seconds, and the reasons of members that failed
BROKEN: Final = "broken.json"  # of a group: why it broke off as a whole


class Place(NamedTuple):
    """Where a training's networks and rows are: a run directory and a member's number."""

    directory: Path
    member: int


class _Rows:
    """A group's tracker: rows go to the group's own file, and to the study's tracker."""

    def __init__(self, directory: Path, study: Tracker) -> None:
        self._path, self._study = directory / workdir.METRICS, study
        self._begun = False

    def log(self, rows: list[dict[str, Any]]) -> None:
        if not self._begun:
            self._forget()
        self._begun = True
        files.append_rows(self._path, rows)
        self._study.log(rows)

    def _forget(self) -> None:
        """Leaves the study's file no rows of iterations that the group does again."""
        path = self._path.parents[2] / workdir.METRICS
        own = _names(self._path.parent)
        rows = [row for row in files.read_rows(path) if row["run"] not in own]
        files.rewrite_rows(path, [*rows, *files.read_rows(self._path)])


def members_of(trainings: Sequence[Training]) -> list[Member]:
    """The members of a population."""
    return [Member(t.name, t.config.train.loss, t.seed, t.config) for t in trainings]


def train_all(
    groups: Sequence[ProgramGroup], directory: Path, tracker: Tracker, *, study: str, retry: bool
) -> None:
    """Trains all groups of this machine, or the rest of them. A group that fails is noted and left.

    With `retry` failed trainings are tried again, from the newest checkpoint where the whole group
    stopped, else from the start. ConfigError, Stopped: as `runner.train`; everything is saved.
    """
    started = None
    for number, group in enumerate(groups, 1):
        for at, todo in _attempts(group, directory, retry=retry):
            say(f"group {number} of {len(groups)}, {todo.name}: {len(todo.trainings)} runs")
            if started is None:  # the first group always gets on
                started = time.monotonic()
            else:
                limit = todo.config.execution.max_minutes  # of all groups together
                left = minutes_left(limit, started, f"group {todo.name}")
                config = config_lib.changed(todo.config, {"execution.max_minutes": left})
                todo = dataclasses.replace(todo, config=config)
            _train(todo, at, tracker, study)


def _attempts(
    group: ProgramGroup, directory: Path, *, retry: bool
) -> list[tuple[Path, ProgramGroup]]:
    """What is to be trained of a group: all of it, nothing, or what failed, in a place of its own.

    A retry that a signal stopped is resumed, asked for or not. What another group of
    the directory holds (after a merge of shares) is not done again.
    """
    at = directory / GROUPS / group.name
    lost, done = set(failed_in(directory)), set(places(directory))
    tries = [at, *_retries(at)]
    found = []
    for place in tries:
        if (place / DONE).exists() or ((place / BROKEN).exists() and not retry):
            continue
        fresh = {t.name for t in group.trainings} - lost - done if place == at else lost
        found.append((place, _names(place) or fresh))
    if retry and not found:
        found = [(at.with_name(f"{at.name}.retry{len(tries)}"), lost)]
    chosen = [
        (place, tuple(t for t in group.trainings if t.name in names)) for place, names in found
    ]
    return [(place, ProgramGroup(place.name, group.config, own)) for place, own in chosen if own]


def _retries(at: Path) -> list[Path]:
    """`NAME.retry1`, `NAME.retry2`, ..."""
    pattern = re.compile(re.escape(at.name) + r"\.retry(\d+)")
    numbers = {p: m for p in at.parent.glob("*") if (m := pattern.fullmatch(p.name))}
    return sorted(numbers, key=lambda p: int(numbers[p][1]))


def _names(place: Path) -> set[str]:
    path = place / workdir.MEMBERS
    return {member["name"] for member in files.read_list(path)} if path.exists() else set()


def _train(group: ProgramGroup, at: Path, tracker: Tracker, study: str) -> None:
    workdir.claim(at, group.config, study)
    members, failures = members_of(group.trainings), Failures(at)
    if jax.process_index() == 0:
        (at / BROKEN).unlink(missing_ok=True)
        runs.write_members(at, group.config, members)
    started = time.monotonic()
    try:
        trained = runner.train(
            group.config,
            members,
            at,
            _Rows(at, tracker),  # type: ignore[arg-type]
            failures=failures,
        )
    except (ConfigError, Stopped, KeyboardInterrupt):
        raise
    except Exception as error:  # memory, a compiler's limit: the other groups can still be trained
        if jax.process_count() > 1:
            raise  # the other processes would train another group than this one
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        traceback.print_exc()
        say(f"failed: group {group.name}: {reason}; the other groups go on")
        if jax.process_index() == 0:
            files.write_json(at / BROKEN, {"reason": reason})
        return
    if jax.process_index() == 0:
        seconds = {"seconds": trained.seconds, "compile_seconds": trained.compile_seconds}
        files.write_json(
            at / DONE,
            seconds | {"process_seconds": time.monotonic() - started, "failed": failures.reasons},
        )


def places(directory: Path) -> dict[str, Place]:
    """Where every finished training is, by name."""
    found = {}
    for at in _directories(directory):
        if not (at / DONE).exists():
            continue
        failed = files.read_json(at / DONE)["failed"]
        for i, member in enumerate(files.read_list(at / workdir.MEMBERS)):
            if member["name"] not in failed:
                found[member["name"]] = Place(at, i)
    return found


def failed_in(directory: Path) -> dict[str, str]:
    """Trainings that failed and have not been done since, with what happened."""
    found: dict[str, str] = {}
    for at in _directories(directory):
        if (at / BROKEN).exists():
            reason = str(files.read_json(at / BROKEN)["reason"])
            found |= dict.fromkeys(_names(at), reason)
        elif (at / DONE).exists():
            found |= files.read_json(at / DONE)["failed"]
    done = places(directory)
    return {name: reason for name, reason in found.items() if name not in done}


def timings(directory: Path) -> list[dict[str, Any]]:
    """Members, compilation and wall seconds of every group."""
    return [
        {"group": at.name, "runs": len(_names(at))}
        | {k: v for k, v in files.read_json(at / DONE).items() if k != "failed"}
        for at in _directories(directory)
        if (at / DONE).exists()
    ]


def rows_of(directory: Path) -> list[dict[str, Any]]:
    """The rows of all finished trainings, by iteration and then in their order of names."""
    found, done = [], places(directory)
    for at in {place.directory for place in done.values()}:
        own = {name for name, place in done.items() if place.directory == at}
        found += [row for row in files.read_rows(at / workdir.METRICS) if row["run"] in own]
    return sorted(found, key=lambda row: (row["iteration"], row["run"]))


def write_rows(directory: Path) -> list[dict[str, Any]]:
    """The study's metrics.jsonl from those of its groups, each row once."""
    rows = rows_of(directory)
    files.rewrite_rows(directory / workdir.METRICS, rows)
    return rows


def networks(wanted: Sequence[tuple[str, int]], found: Mapping[str, Place]) -> Learner:
    """The best networks of (training's name, iteration), leaves [P, ...], without optimiser."""
    opened: dict[Path, Run] = {}
    loaded: dict[tuple[Path, int], Learner] = {}
    picked = []
    for name, iteration in wanted:
        at, member = found[name]
        if at not in opened:
            opened[at] = runs.open_run(at)
        if (at, iteration) not in loaded:
            loaded[at, iteration] = runs.networks(opened[at], iteration)
        picked.append(population.member(loaded[at, iteration], member))
    return population.stack(picked)


def write_networks(
    config: ConfigDict, directory: Path, trainings: Sequence[Training], found: Mapping[str, Place]
) -> None:
    """Makes the study's directory a run directory of its own: the last network of each training.

    What opens run directories (playing, tournaments) opens it so. The networks are rounded, see
    `jaxzero.runs.weights`; those of the groups are not.
    """
    done = [t for t in trainings if t.name in found]
    folder = directory / weights.FOLDER
    folder.mkdir(exist_ok=True)
    for at in {found[t.name].directory for t in done}:  # each is read once
        own = [t for t in done if found[t.name].directory == at]
        last = networks([(t.name, t.config.train.iterations) for t in own], found)
        for i, training in enumerate(own):
            content = weights.to_bytes(population.member(last, i))
            files.write_bytes(folder / f"{training.name}.npz", content)
    runs.write_members(directory, config, members_of(done))
    last_of_all = max((t.config.train.iterations for t in done), default=0)
    index = weights.index([t.name for t in done], last_of_all)
    files.write_json(folder / weights.INDEX, index)


def _directories(directory: Path) -> list[Path]:
    """Groups in order, each before its retries; not those that are just being copied."""
    return sorted(p for p in (directory / GROUPS).glob("[!.]*") if p.is_dir())
