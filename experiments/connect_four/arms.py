"""Arms of a study of Connect Four: trained beside each other, measured, with what they cost.

Each arm is a run directory, `arms/NAME`; what was found of it lies there in `accuracy.json`.
"""

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import jax
from ml_collections import ConfigDict

from experiments.configs.connect_four_extensions import POPULATIONS
from experiments.connect_four import baselines, solved_accuracy
from experiments.connect_four.solved_accuracy import Accuracies
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from jaxzero import files, runs, workdir
from jaxzero.runs import Member, Run, flops, learning, runner
from jaxzero.runs.runner import Observer
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.settings.keys import Key
from jaxzero.solvers import Labelled
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import episodes, growth
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner

ARMS = "arms"  # folder of the arms' run directories
ACCURACY = "accuracy.json"
_TIMED = 3  # self-play programs, of which the fastest counts

FIXED: Final = ("study.patience",)  # may not change on resuming: it has cut the curves
Changes = Mapping[str, Any]  # dotted keys that an arm sets
# (arm, its settings, its run directory, test positions) -> its members and who looks at them
Group = tuple[list[Member], Observer]
GroupOf = Callable[[str, ConfigDict, Path, Labelled], Group | None]


def check(
    config: ConfigDict,
    keys: Iterable[Key],
    arms_of: Callable[[ConfigDict], Mapping[str, Changes]],
    preset: ConfigDict,
    of_its_own: str = "",
) -> None:
    """Refuses what can't be trained or measured, before anything compiles (ConfigError).

    `arms_of`: settings -> what each arm sets, by name; `preset`: settings that `config` began from.
    A setting that is neither the preset's nor the arm's, and that the arm does not reckon with,
    would silently be changed back. `of_its_own`: an arm that is meant to differ from the others'
    settings, which is not refused.
    """
    if not config.replay.window_positions:
        raise ConfigError(
            "config.replay.window_positions=0: this study's windows are counted in positions, "
            "give a number"
        )
    start = baselines.slow_window_start(config)
    if not 0 < start < config.replay.window_positions:
        raise ConfigError(
            f"config.study.slow_window_share={config.study.slow_window_share}: a slow window of "
            f"{start} of {config.replay.window_positions} positions could not grow, choose between "
            "0 and 1"
        )
    for arm, changes in arms_of(config).items():
        for key, value in changes.items():
            own, before = config_lib.get(config, key), config_lib.get(preset, key)
            if own in (value, before) or arm == of_its_own:
                continue
            if arms_of(config_lib.changed(config, {key: before}))[arm][key] == value:
                raise ConfigError(
                    f"config.{key}={own!r}: the arm {arm} sets it to {value!r}, leave the setting "
                    "out, or the arm out of config.study.arms, or what sets it out of "
                    "config.study.extended"
                )
        changed = config_lib.changed(config, changes)
        config_lib.validate(changed, keys)
        spec_lib.make_spec(changed)
    shell.refuse_equal_arms(
        {
            arm: config_lib.changed(config, changes)
            for arm, changes in arms_of(config).items()
            if arm not in POPULATIONS  # which differ from the others in their members
        }
    )
    solved_accuracy.check(config)


def measure(
    study: StudyRun, arms: Mapping[str, Changes], group_of: GroupOf = lambda *_: None
) -> dict[str, Any]:
    """Trains and measures all arms, or the rest of them: the sections of `results.json`.

    `group_of`: of an arm whose members are no seeds of one run, which `study.patience` does not
    end. `positions` and `examination` are of the measurement, `arms` has for each its name, `arm`,
    and what `describe` found.
    """
    config, directory = study.config, study.directory
    test = solved_accuracy.test_positions(config, directory)
    measured = []
    for arm, changes in arms.items():
        place = directory / ARMS / arm
        path = place / ACCURACY
        if not is_done(config, place):
            own = config_lib.changed(config, changes)
            group = group_of(arm, own, place, test)
            if group:
                own = config_lib.changed(own, {"study.patience": 0})
            path.unlink(missing_ok=True)  # of fewer iterations
            accuracies = train(study, arm, own, place, test, group)
            description = describe(runs.open_run(place), accuracies, own.study.patience)
            files.write_json(path, description)
        measured.append({"arm": arm} | files.read_json(path))
    return {
        "positions": solved_accuracy.described(test),
        "examination": solved_accuracy.search_in_words(config),
        "arms": measured,
    }


def is_done(config: ConfigDict, directory: Path) -> bool:
    """Whether an arm was described after its last iteration, which may have been put off since."""
    path = directory / ACCURACY
    if not path.is_file():
        return False
    if all(run["ended"] for run in files.read_json(path)["runs"]):
        return True
    return runs.saved_iteration(directory) >= config.train.iterations


def train(
    study: StudyRun,
    arm: str,
    own: ConfigDict,
    directory: Path,
    test: Labelled,
    group: Group | None = None,
) -> Accuracies:
    """All members of an arm as one population, from the newest checkpoint on; its accuracies.

    With `study.patience` the training goes in stretches from one checkpoint to the next, and ends
    when no seed has improved for that many iterations. `test`: what the networks are measured on;
    `group`: its members and who looks at them, by default its seeds and nobody.
    """
    shell.claim(directory, own, study.name)
    with Tracker(directory, own, study.name) as tracker:
        for until in stretches(own, runs.saved_iteration(directory)):
            part = config_lib.changed(own, {"train.iterations": until})
            part = study.within(part, f"iteration {until} of {arm}")
            members, observer = group or (runs.one_for_each_seed(part, arm), None)
            runner.train(part, members, directory, tracker, observer=observer)
            accuracies = solved_accuracy.update(directory, test)
            if all(
                solved_accuracy.ended(accuracies, j, own.study.patience)
                for j in range(len(members))
            ):
                break
        curves = learning.curves(directory, [member.name for member in members])
        tracker.finish(StudySummary(until, curves))  # accuracies are the study's, not a run's
    return accuracies


def stretches(config: ConfigDict, saved: int) -> list[int]:
    """The iterations up to which an arm is trained at a time, ascending, when `saved` are done."""
    total, every = config.train.iterations, config.execution.checkpoint_every
    ends = [*range(every, total, every), total] if config.study.patience else [total]
    return [end for end in ends if end >= min(saved, total)]


def describe(opened: Run, accuracies: Accuracies, patience: int) -> dict[str, Any]:
    """The networks' accuracies beside what they had cost until then.

    Returns:
      `seconds_per_move` of the newest network; `seconds_per_search` by channels; `runs` with their
      `points` by kept iteration, as the text of `experiments.connect_four_extensions` says.
    """
    seconds = seconds_by_width(opened)
    flop = {w: flops.forward(growth.of_width(opened.spec, w)) for w in seconds}
    rows = files.read_rows(opened.directory / workdir.METRICS)
    width_of = functools.partial(runs.channels_after, opened.directory, opened.config)
    found = []
    for j, member in enumerate(opened.members):
        own = {r["iteration"]: r for r in rows if r["run"] == member.name and r["iteration"]}
        end = solved_accuracy.ended(accuracies, j, patience)
        points, before = [], 0
        names = ("hours", "seconds", "evaluations", "simulations", "flop", "asked", "searches")
        cost = dict.fromkeys(names, 0.0)
        by_width: dict[str, float] = {}
        for i in (i for i in accuracies if end is None or i <= end):
            for row in (own[step] for step in range(before + 1, i + 1)):
                asked = row["selfplay/positions"]
                made = row.get("count/searches", asked)  # a run directory may be older than it
                width = runs.channels_playing(opened.directory, opened.config, row["iteration"])
                cost["hours"] += made * seconds[width] / 3600
                cost["seconds"] = row["seconds"]
                by_width[str(width)] = by_width.get(str(width), 0.0) + made
                cost["evaluations"] += row["count/selfplay_evaluations"]
                cost["simulations"] += row["count/selfplay_simulations"]
                cost["flop"] += row["count/selfplay_evaluations"] * flop[width]
                cost["asked"] += asked
                cost["searches"] += made
            row, before = own.get(i, {}), i
            played = row.get("selfplay/positions")
            share = row["count/new_positions"] / played if played else None
            new = {"channels": width_of(i), "positions": played, "new_share": share}
            new |= {"searches_by_channels": dict(by_width)}
            league = {name: x for name, x in row.items() if name.startswith("league/")}
            points.append({"iteration": i} | cost | new | league | accuracies[i][j])
        found.append({"name": member.name, "seed": member.seed, "ended": end, "points": points})
    facts = {"seconds_per_move": seconds[width_of(opened.iterations[-1])]}
    return files.plain(facts | {"seconds_per_search": seconds, "runs": found})


def seconds_by_width(opened: Run) -> dict[int, float]:
    """Wall seconds of a search of the first run's newest network of each width, by channels."""
    width_of = functools.partial(runs.channels_after, opened.directory, opened.config)
    newest = {width_of(i): i for i in opened.iterations}
    return {
        width: seconds_per_search(opened, runs.networks(opened, i, alike=False))
        for width, i in newest.items()
    }


def seconds_per_search(opened: Run, networks: Learner) -> float:
    """Wall seconds of a search in self-play of the first run's network, compiled alone.

    Without shared searches, of a move. The paper measures it on one card that does nothing else.
    """
    spec, hyper = opened.spec, spec_lib.make_hyper(opened.members[0].config)
    network = jax.tree.map(lambda x: x[0], networks)
    play = jax.jit(functools.partial(episodes.self_play, spec))
    times = []
    for i in range(_TIMED + 1):  # the first one compiles
        started = time.monotonic()
        _, metrics = jax.block_until_ready(play(hyper, network, jax.random.key(i)))
        times.append((time.monotonic() - started) / float(metrics["count/searches"]))
    return min(times[1:])
