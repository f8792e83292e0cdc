"""Which extensions make AlphaZero cheaper on Connect Four? Paper 002, sections 3.3 and 3.4.

    python -m experiments.connect_four_efficiency \\
        --config=experiments/configs/connect_four_efficiency.py:quick --workdir=runs/efficiency

Trains the authors' plain AlphaZero, each extension alone and all together, measures the network of
every iteration with its search on solved positions, and counts cost as the paper does: positions
played times the time of a move, training free. Writes `results.json` and `report.html`.
"""

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.connect_four_efficiency import KEYS, WITHOUT_ARMS, get_config
from experiments.connect_four import efficiency_report as report
from experiments.connect_four import solved_accuracy
from experiments.connect_four.solved_accuracy import Accuracies
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from jaxzero import runs, workdir
from jaxzero.runs import Run, learning, runner
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import episodes
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner

STUDY = "connect_four_efficiency"
ARMS = "arms"  # folder of the arms' run directories
ACCURACY = "accuracy.json"
_TIMED = 3  # self-play programs, of which the fastest counts


def extensions(
    config: ConfigDict, *, grows: Sequence[float], anneal_to: float, anneal_iterations: int
) -> dict[str, dict[str, Any]]:
    """Dotted keys by extension of the plain baseline (002, sections 3.3 and 2.4).

    Args:
      config: the study's.
      grows: how the slow window grows.
      anneal_to, anneal_iterations: of the cyclic learning rate.
    """
    start = round(config.study.slow_window_share * config.replay.window_positions)
    return {
        "dedupe": {"replay.duplicate_weight": 0.8},
        "cyclic": {
            "train.schedule": "cyclic",
            "train.anneal_to": anneal_to,
            "train.anneal_iterations": anneal_iterations,
        },
        "slow_window": {"replay.window_start": start, "replay.window_grows": tuple(grows)},
        "reply": {"train.reply_weight": 0.35},
        "squeeze_excite": {"network.squeeze_excite": True},
        # Those that the paper's extended baseline does not have.
        "playout_caps": {
            "selfplay.fast_share": 0.75,
            "selfplay.fast_simulations": min(30, config.search.num_simulations),
        },
        "move_values": {"train.move_value_weight": 0.01},
        "mixed_values": {"train.root_value_share": 0.5},
        "forced_playouts": {"search.forced_playouts": 2.0},
        "known_results": {"search.propagate_results": True},
        "symmetric_images": {"replay.images": "all"},
    }


def ingredients(config: ConfigDict) -> dict[str, dict[str, Any]]:
    """What the extended baseline is made of: dotted keys by ingredient (002, section 3.3).

    As they are there: the cycle annealed, the slow window growing for longer than alone.
    """
    s = config.study
    grows, to = s.extended_window_grows, s.extended_anneal_to
    possible = extensions(config, grows=grows, anneal_to=to, anneal_iterations=20)
    return {name: possible[name] for name in s.extended}


def changes(config: ConfigDict, arm: str) -> dict[str, Any]:
    """What an arm does otherwise than the baseline, dotted keys (002, section 3.3)."""
    if arm == "extended" or arm in WITHOUT_ARMS:
        made_of = ingredients(config)
        kept = [name for name in made_of if arm != f"without_{name}"]
        return {key: value for name in kept for key, value in made_of[name].items()}
    # The authors' single run of the cycle was annealed to 0.5 in iteration 25.
    grows = config.study.slow_window_grows
    known = extensions(config, grows=grows, anneal_to=0.5, anneal_iterations=25)
    known |= {f"dedupe_{weight}": {"replay.duplicate_weight": weight} for weight in (0.2, 0.5)}
    return (known | {"baseline": {}})[arm]


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """An arm's settings, locked."""
    return config_lib.changed(config, changes(config, arm))


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS, "arms", "extended")
    arms = config.study.arms
    for arm in set(arms) & set(WITHOUT_ARMS):
        if arm.removeprefix("without_") not in config.study.extended:
            raise ConfigError(
                f"config.study.arms={arm}: the arm extended does not have it, add it to "
                f"config.study.extended={','.join(config.study.extended)}"
            )
    if not config.replay.window_positions:
        raise ConfigError(
            "config.replay.window_positions=0: this study's windows are counted in positions, "
            "give a number"
        )
    for arm in arms:
        _refuse_overwritten(config, arm)
        own = arm_config(config, arm)
        config_lib.validate(own, KEYS)
        spec_lib.make_spec(own)
    solved_accuracy.check(config)
    devices.choose(config)


def _refuse_overwritten(config: ConfigDict, arm: str) -> None:
    """Refuses a setting other than the preset's that an arm would silently change back.

    Raises:
      ConfigError: one line with key, value and remedy.
    """
    preset = get_config(config.preset)
    for key, value in changes(config, arm).items():
        own = config_lib.get(config, key)
        if own not in (value, config_lib.get(preset, key)):
            raise ConfigError(
                f"config.{key}={own!r}: the arm {arm} sets it to {value!r}, leave the setting out, "
                "or the arm out of config.study.arms, or what sets it out of config.study.extended"
            )


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate)
    test = solved_accuracy.test_positions(config, directory)
    found = []
    for arm in config.study.arms:
        place = directory / ARMS / arm
        path = place / ACCURACY
        if not is_done(config, place):
            accuracies = train(study, arm, place, test)
            told = describe(runs.open_run(place), accuracies, config.study.patience)
            workdir.write_json(path, told)
        found.append({"arm": arm} | workdir.read_json(path))
    results = {
        "positions": solved_accuracy.described(test),
        "examination": solved_accuracy.search_in_words(config),
        "arms": found,
    }
    print(report.accuracy_and_cost({arm["arm"]: arm for arm in found}, {}).text())
    study.finish(study.header() | results, report.write_report)


def is_done(config: ConfigDict, directory: Path) -> bool:
    """Whether an arm was described after its last iteration, which may have been put off since."""
    path = directory / ACCURACY
    if not path.is_file():
        return False
    if all(run["ended"] for run in workdir.read_json(path)["runs"]):
        return True
    saved = max(Checkpoints.steps(directory / "checkpoints"), default=0)
    return saved >= config.train.iterations


def train(study: StudyRun, arm: str, directory: Path, test: Labelled) -> Accuracies:
    """All seeds of an arm as one population, from the newest checkpoint on; its accuracies.

    With `study.patience` the training goes in stretches from one checkpoint to the next, and ends
    when no seed has improved for that many iterations.

    Args:
      study: that it is part of.
      arm: its name.
      directory: its run directory.
      test: what the networks are measured on.
    """
    own = arm_config(study.config, arm)
    shell.claim(directory, own, STUDY)
    with Tracker(directory, own, STUDY) as tracker:
        for until in stretches(own, max(Checkpoints.steps(directory / "checkpoints"), default=0)):
            part = config_lib.changed(own, {"train.iterations": until})
            part = study.within(part, f"iteration {until} of {arm}")
            members = runs.one_for_each_seed(part, arm)
            runner.train(part, members, directory, tracker)
            accuracies = solved_accuracy.update(directory, test)
            if all(
                solved_accuracy.ended(accuracies, j, own.study.patience)
                for j in range(len(members))
            ):
                break
        found = learning.curves(directory, [member.name for member in members])
        tracker.finish(StudySummary(until, found))  # accuracies are the study's, not a run's
    return accuracies


def stretches(config: ConfigDict, saved: int) -> list[int]:
    """The iterations up to which an arm is trained at a time, ascending.

    Args:
      config: an arm's.
      saved: iterations done already.
    """
    total, every = config.train.iterations, config.execution.checkpoint_every
    ends = [*range(every, total, every), total] if config.study.patience else [total]
    return [end for end in ends if end >= min(saved, total)]


def describe(opened: Run, accuracies: Accuracies, patience: int) -> dict[str, Any]:
    """The networks' accuracies beside what they had cost until then.

    Returns:
      `seconds_per_move`, `runs`: for each its `name`, `seed`, `ended` (the iteration after which it
      had not improved for `patience` iterations, where its points end; None: it went to the
      last) and `points`, by iteration: `hours`, `evaluations`, `positions`, `new_share`, and the
      accuracies of `solved_accuracy.update`.
    """
    seconds = seconds_per_move(opened, runs.networks(opened))
    rows = workdir.read_rows(opened.directory / workdir.METRICS)
    found = []
    for j, member in enumerate(opened.members):
        own = {r["iteration"]: r for r in rows if r["run"] == member.name and r["iteration"]}
        end = solved_accuracy.ended(accuracies, j, patience)
        points, hours, evaluations, before = [], 0.0, 0.0, 0
        for i in (i for i in accuracies if end is None or i <= end):
            for step in range(before + 1, i + 1):
                hours += own[step]["selfplay/positions"] * seconds / 3600
                evaluations += own[step]["count/selfplay_evaluations"]
            row, before = own.get(i, {}), i
            played = row.get("selfplay/positions")
            points.append(
                {
                    "iteration": i,
                    "hours": hours,
                    "evaluations": evaluations,
                    "positions": played,
                    "new_share": row["count/new_positions"] / played if played else None,
                }
                | accuracies[i][j]
            )
        found.append({"name": member.name, "seed": member.seed, "ended": end, "points": points})
    return workdir.plain({"seconds_per_move": seconds, "runs": found})


def seconds_per_move(opened: Run, networks: Learner) -> float:
    """Wall seconds of a move in self-play of the first run's newest network, compiled alone.

    The paper measures the time of a move on one card that does nothing else.
    """
    spec, hyper = opened.spec, spec_lib.make_hyper(opened.members[0].config)
    network = jax.tree.map(lambda x: x[0], networks)
    play = jax.jit(functools.partial(episodes.self_play, spec))
    times = []
    for i in range(_TIMED + 1):  # the first one compiles
        started = time.monotonic()
        _, metrics = jax.block_until_ready(play(hyper, network, jax.random.key(i)))
        times.append((time.monotonic() - started) / float(metrics["selfplay/positions"]))
    return min(times[1:])


if __name__ == "__main__":
    cli.run(run, STUDY)
