"""What the hyper-parameter studies share: the plan, its training, its shares, its players."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
from ml_collections import ConfigDict

from experiments.costs import clock
from experiments.costs.clock import Cost
from experiments.hyperparameters import group_training, groups, settings
from experiments.hyperparameters.group_training import Place
from experiments.hyperparameters.groups import ProgramGroup
from experiments.hyperparameters.settings import Setting, Training
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import pool
from experiments.strength.opponents import Entry
from experiments.strength.pool import Pool
from jaxzero import runs
from jaxzero.runs import population
from jaxzero.runs.processes import say
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError, Key
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import spec as spec_lib

FIXED = ("train.iterations",)  # networks are taken at it, and a training of it is done


class Plan(NamedTuple):
    """A study before anything is trained."""

    settings: tuple[Setting, ...]  # all that are compared
    trainings: tuple[Training, ...]  # the runs that they need, of all seeds
    groups: tuple[ProgramGroup, ...]  # of the trainings, of all shares
    together: bool  # whether members of a group are computed at the same time


class Player(NamedTuple):
    """A setting's network of one seed."""

    name: str  # unique
    setting: str
    seed: int  # of the training
    training: str
    iterations: int  # after how many the network is taken


def make_plan(config: ConfigDict, compared: Sequence[Setting]) -> Plan:
    """Settings -> trainings -> groups. ConfigError: one cannot work, or is there twice."""
    for setting in compared:
        config_lib.validate(setting.config)
        spec_lib.make_spec(setting.config)
    seeds = range(config.seed, config.seed + config.study.seeds)
    wanted = settings.trainings(compared, seeds)
    together = population.resolve_mode(config.execution.population) == "vmap"
    cut = groups.partition(wanted, programs=config.study.programs, together=together)
    return Plan(tuple(compared), tuple(wanted), tuple(cut), together)


def validate(config: ConfigDict, keys: Iterable[Key]) -> None:
    """Refuses what no hyper-parameter study can do, before anything compiles."""
    shell.check(config, keys)
    config_lib.require_one_width(config)
    groups.parse_shard(config.execution.shard)


def train(study: StudyRun, plan: Plan, tracker: Tracker) -> bool:
    """Trains this machine's share of a plan; whether all of the whole plan is done or has failed.

    ConfigError, Stopped: as `runner.train`; everything is saved.
    """
    config, directory = study.config, study.directory
    if jax.process_index() == 0:
        runs.write_members(directory, config, group_training.members_of(plan.trainings))
    mine = groups.share(plan.groups, config.execution.shard, together=plan.together)
    say(
        f"{len(plan.settings)} settings, {len(plan.trainings)} runs in {len(plan.groups)} "
        f"programs; share {config.execution.shard}: {sum(len(g.trainings) for g in mine)} runs"
    )
    group_training.train_all(
        mine, directory, tracker, study=study.name, retry=config.execution.retry_failed
    )
    for timing in group_training.timings(directory):
        say(
            f"  {timing['group']}: {timing['runs']} runs, compiled in "
            f"{timing['compile_seconds']:.1f} s, {timing['seconds']:.1f} s in all"
        )
    settled = {*group_training.places(directory), *group_training.failed_in(directory)}
    return all(t.name in settled for t in plan.trainings)


def run(
    name: str,
    config: ConfigDict,
    directory: Path,
    command: str | None,
    validate: Callable[[ConfigDict], None],
    make_settings: Callable[[ConfigDict], Sequence[Setting]],
    conclude: Callable[[StudyRun, Plan], StudySummary],
) -> None:
    """A whole study, this machine's share, or the rest of it; concluded once everything is trained.

    Raises:
      ConfigError, Stopped: as `runner.train`.
      FloatingPointError: settings failed; the report, without them, is written.
    """

    def check(config: ConfigDict) -> None:
        validate(config)
        make_plan(config, make_settings(config))

    study = shell.begin(
        name, config, directory, command, validate=check, fixed=FIXED, over_hosts=True
    )
    planned = make_plan(config, make_settings(config))
    with Tracker(directory, config, name) as tracker:
        whole = train(study, planned, tracker)
        if jax.process_count() > 1:
            say("trained; the same command in one process, not distributed, concludes the study")
        elif whole:
            tracker.finish(conclude(study, planned))
        else:
            say(
                f"share {config.execution.shard} is done; python -m experiments.merge puts shares "
                "together"
            )
    refuse_failures(directory)


def finished(
    study: StudyRun, plan: Plan
) -> tuple[dict[str, Place], list[dict[str, Any]], list[Player], list[Cost]]:
    """What a study is concluded from: places of the networks, rows, players, their costs.

    ConfigError: runs are missing, or all have failed.
    """
    directory = study.directory
    settled = {*group_training.places(directory), *group_training.failed_in(directory)}
    missing = [t.name for t in plan.trainings if t.name not in settled]
    if missing:
        raise ConfigError(
            f"{directory} lacks {len(missing)} of {len(plan.trainings)} runs ({missing[0]} is the "
            "first): merge all shares, or run the study's command in it to train them"
        )
    places = group_training.places(directory)
    if not places:
        reason = next(iter(group_training.failed_in(directory).values()))
        raise ConfigError(
            f"--workdir={directory}: every run has failed ({reason}); "
            "--config.execution.retry_failed=True tries them again"
        )
    rows = group_training.write_rows(directory)
    group_training.write_networks(study.config, directory, plan.trainings, places)
    listed = players(plan, places)
    return places, rows, listed, costs(plan, listed, rows, directory)


def refuse_failures(directory: Path) -> None:
    """At the very end: a study with failed settings has its report, but not status 0.

    FloatingPointError: names the failed trainings and the remedy.
    """
    lost = group_training.failed_in(directory)
    if lost:
        raise FloatingPointError(
            f"{len(lost)} runs failed and were left out of the report ({', '.join(lost)}; first: "
            f"{next(iter(lost.values()))}); --config.execution.retry_failed=True tries them again"
        )


def players(plan: Plan, places: dict[str, Place]) -> list[Player]:
    """Every setting and seed that was trained, in the order of the settings, then of the seeds."""
    order = {setting.name: i for i, setting in enumerate(plan.settings)}
    listed = [
        Player(f"{setting}_seed{t.seed}", setting, t.seed, t.name, iterations)
        for t in plan.trainings
        if t.name in places
        for setting, iterations in t.serves
    ]
    return sorted(listed, key=lambda player: (order[player.setting], player.seed))


def make_pool(
    config: ConfigDict,
    listed: Sequence[Player],
    places: Mapping[str, Place],
    *,
    untrained: Sequence[int] = (),
    most: int,
) -> Pool:
    """The round robin of the players' networks in the order given, then untrained ones, and random.

    `untrained`: seeds whose untrained networks play too; `most`: the largest number of simulations.
    """
    spec = spec_lib.make_spec(config)
    networks = group_training.networks([(p.training, p.iterations) for p in listed], places)
    entries = [Entry(p.name, "trained", p.setting, p.seed, iteration=p.iterations) for p in listed]
    if untrained:
        entries, networks = pool.with_untrained(spec, entries, networks, untrained)
    return Pool(config, spec, entries, networks, ("random",), most=most)


def costs(
    plan: Plan, listed: Sequence[Player], rows: Sequence[dict], directory: Path
) -> list[Cost]:
    """Seconds of each player's run alone, by phase; calibrates once for a run directory."""
    units = clock.unit_seconds(directory, {s.name: s.config for s in plan.settings})
    by_run: dict[str, list[dict]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    return [
        clock.seconds(
            [row for row in by_run[p.training] if row["iteration"] <= p.iterations],
            units[p.setting],
        )
        for p in listed
    ]


def described(study: StudyRun, plan: Plan) -> dict[str, Any]:
    """What results.json says of the plan and how it was done."""
    timings = group_training.timings(study.directory)
    return study.header(group_training.members_of(plan.trainings)) | {
        "settings": [{"name": s.name, "values": dict(s.values)} for s in plan.settings],
        "failed": group_training.failed_in(study.directory),
        "cost": {
            "compile_seconds": sum(t["compile_seconds"] for t in timings),
            "wall_seconds": sum(t["seconds"] for t in timings),
            "programs": timings,
        },
    }


def record(player: Player, cost: Cost) -> dict[str, Any]:
    """A player and the seconds of its run, for results.json."""
    phases = {phase: getattr(cost, phase) for phase in ("selfplay", "arena", "training")}
    return player._asdict() | {"seconds": phases | {"total": cost.total}}
