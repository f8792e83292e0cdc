"""The short Python loop around the compiled iteration: log, checkpoint, resume, stop."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict
from tqdm import tqdm

from jaxzero import files, runs, workdir
from jaxzero.networks import widening
from jaxzero.runs import Member, learning, memory, metrics, population, teachers
from jaxzero.runs.checkpoints import Checkpoints, to_plain, to_typed
from jaxzero.runs.failures import Failures
from jaxzero.runs.processes import say
from jaxzero.runs.stages import Stages
from jaxzero.runs.stopping import FINISHED_EARLY, Stopped, StopRequest
from jaxzero.runs.training_clock import TrainingClock
from jaxzero.settings import devices as devices_lib
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import Tracker
from jaxzero.training import components, growth, heldout
from jaxzero.training import spec as spec_lib
from jaxzero.training.iteration import RunState
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec


@dataclasses.dataclass(frozen=True)
class Trained:
    """A finished population.

    Attributes:
      spec: of all members, for one device.
      states: [R], on the default device.
      seconds: wall time of training, interrupted parts included.
      compile_seconds: tracing and compiling in this process.
      starting_seconds: of `seconds`, what was no training, see `TrainingClock`.
      examination_seconds: of examining the kept networks afterwards, in this process.
      failed: what happened to runs that `failures` noted, by name. Their states go on from the best
        network before that and count for nothing.
    """

    spec: Spec
    states: RunState
    seconds: float
    compile_seconds: float
    starting_seconds: float = 0.0
    examination_seconds: float = 0.0
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)


def _unchanged(_: int, hypers: Hyper, states: RunState) -> tuple[Hyper, RunState]:
    return hypers, states


class Observer(NamedTuple):
    """Somebody who looks at a population while it trains, and may change it.

    Attributes:
      every: iterations between looks, which are kept; also before the first and after the last.
      look: (iteration, networks [R] on the host) -> whether to end the training.
      change: (iterations done, settings [R], states [R]) -> those that the next iteration begins
        with. Checkpoints hold the states before: asked again where training resumes.
    """

    every: int
    look: Callable[[int, Any], bool]
    change: Callable[[int, Hyper, RunState], tuple[Hyper, RunState]] = _unchanged


class _Job(NamedTuple):
    """What does not change while a population trains."""

    config: ConfigDict
    members: Sequence[Member]
    directory: Path
    tracker: Tracker
    checkpoints: Checkpoints
    snapshots: Checkpoints
    failures: Failures | None
    observer: Observer | None

    def close(self) -> None:
        """Waits for what is still being written."""
        self.checkpoints.close()
        self.snapshots.close()


def train(
    config: ConfigDict,
    members: Sequence[Member],
    directory: Path,
    tracker: Tracker,
    *,
    failures: Failures | None = None,
    observer: Observer | None = None,
) -> Trained:
    """Trains a population for I iterations, or resumes where its workdir left off.

    Args:
      config: the study's; of m, E, rs, ep and n (`spec.CAPACITIES`) the largest of its members, or
        more.
      members: their specs must be equal, but for these.
      directory: a workdir that was claimed for this config.
      tracker: gets every iteration's rows.
      failures: notes runs with a loss that is not finite and leaves their rows out; by default such
        a loss stops the population.
      observer: looks at the networks, and may end the training.

    Raises:
      ConfigError: members that can't share a program; a disk that is full.
      FloatingPointError: a loss that is not finite (with `failures`: of all runs); what was saved
        stays.
      Stopped: Ctrl-C, SIGTERM or the limit of minutes; everything is saved.
    """
    started = time.monotonic()
    layout, devices = population.chosen(config, len(members))
    spec = _common_spec(config, members, layout.data_devices)
    teacher = teachers.of(config, members, spec, directory)
    mode = population.resolve_mode(config.execution.population)
    stages = Stages(spec, population.make_mesh(layout, devices), mode)
    job = _Job(
        config,
        members,
        directory,
        tracker,
        Checkpoints(directory / runs.CHECKPOINTS, keep=config.execution.keep_checkpoints),
        Checkpoints(directory / runs.SNAPSHOTS, keep=None),
        failures,
        observer,
    )
    total = config.train.iterations
    first = _newest(job)
    say(
        f"{len(members)} {'runs' if len(members) > 1 else 'run'} of {spec.game.name} on "
        f"{devices_lib.describe(devices)} "
        f"(devices: {layout.run_devices} for runs x {layout.data_devices} for each run; {mode})"
    )
    say(devices_lib.idle_accelerator())
    with StopRequest(config.execution.max_minutes, started, config.execution.grace) as stop:
        held = _play_heldout(config, spec)
        predicted = memory.forecast(
            spec,
            spec_lib.make_hyper(members[0].config),
            held,
            members=len(members) // layout.run_devices,
            together=mode == "vmap",
            platform=devices[0].platform,
        )
        say(memory.in_words(predicted, memory.capacity(devices)))
        hypers = population.stack([spec_lib.make_hyper(m.config) for m in members])
        hypers = dataclasses.replace(hypers, teacher=teacher)
        hypers = population.place(hypers, stages.program.sharding)
        held = population.place(held, stages.program.replicated)
        states = _begin_or_resume(job, stages, first)
        change = observer.change if observer else _unchanged
        if first < total:
            hypers, states = change(first, hypers, states)
            states = stages.prepare(first + 1, hypers, states, held)
            reason = stop.reason()
            if reason is not None and reason.status != FINISHED_EARLY:
                raise _stopped(reason, first, total)

        def iterate(number: int, states: RunState) -> tuple[RunState, dict[str, Any]]:
            nonlocal hypers
            if number > first + 1:
                hypers, states = change(number - 1, hypers, states)
            return stages.step(number, hypers, states, held)

        rows = files.read_rows(directory / workdir.METRICS)
        clock = TrainingClock(rows, started, lambda: stages.seconds)
        states = _iterate(job, iterate, states, first, clock, stop)
    job.close()
    network = components.build_network(members[0].config, spec.game)
    network = widening.fitting(network, states.learner.params)
    spec = dataclasses.replace(spec, data_devices=1, network=network)
    states = _on_one_device(states)
    return Trained(
        spec=spec,
        states=states,
        **clock.read(),
        compile_seconds=stages.seconds,
        examination_seconds=learning.update(directory, config, members, spec),
        failed={} if failures is None else failures.reasons,
    )


def _newest(job: _Job) -> int:
    """The iteration to go on from; 0: from the start.

    ConfigError: it is beyond the last one.
    """
    first = job.checkpoints.newest_whole(say) or 0
    if job.failures is not None:
        job.failures.forget_after(first)
    if first > job.config.train.iterations:
        raise ConfigError(
            f"config.train.iterations={job.config.train.iterations}: {job.directory} is at "
            f"iteration {first} already, choose at least {first} or another --workdir"
        )
    return first


def _play_heldout(config: ConfigDict, spec: Spec) -> tuple[Examples, jax.Array]:
    say(f"playing {config.evaluation.heldout_games} held-out games...")
    held = heldout.make(
        spec.game,
        num_games=config.evaluation.heldout_games,
        num_simulations=config.evaluation.heldout_simulations,
    )
    return jax.block_until_ready(held)  # minutes where games are long


def _iterate(
    job: _Job, iterate: Any, states: RunState, first: int, clock: TrainingClock, stop: StopRequest
) -> RunState:
    """The remaining iterations.

    The host logs an iteration while the device works on the next one; the device waits for the
    host only where states are saved.
    """
    config, total = job.config, job.config.train.iterations
    rows = files.read_rows(job.directory / workdir.METRICS)
    elo = metrics.newest_elo(job.members, rows)
    saved = first

    def log(number: int, measured: Any, took: float) -> None:
        values = population.fetch(measured)
        rows = metrics.make_rows(job.members, number, values, times=clock.read(), elo=elo)
        if job.failures is None:
            metrics.refuse_nan(rows, saved)
        else:
            rows = job.failures.sift(rows, saved)
        elo.update(metrics.newest_elo(job.members, rows))
        if jax.process_index() == 0:
            job.tracker.log(rows)
        evaluations = sum(r["count/evaluations"] for r in rows if r["iteration"] == number)
        rate = evaluations / max(took, 1e-9)
        bar.set_postfix_str(f"{metrics.summary(rows)} {rate:,.0f} evaluations/s", refresh=False)
        bar.update()

    pending: tuple[int, Any, float] | None = None
    quiet = jax.process_index() != 0
    with tqdm(total=total, initial=first, unit="it", desc="training", disable=quiet) as bar:
        ended = not first and _look(job, 0, states, clock)
        width = growth.channels(config.network, states.learner.params)
        for number in range(first + 1, total + 1):
            if ended:
                break
            begun = time.monotonic()
            states, measured = iterate(number, states)
            if pending is not None:
                log(*pending)
            jax.block_until_ready(measured)
            # Its own time: the one before may have been logged late, a moment ago.
            pending = (number, measured, time.monotonic() - begun)
            reason = stop.reason()
            due = number == total or reason is not None
            save = due or number % config.execution.checkpoint_every == 0
            look = job.observer and (number == total or number % job.observer.every == 0)
            keep = look or number == total or number % config.execution.snapshot_every == 0
            before, width = width, growth.channels(config.network, states.learner.params)
            keep = keep or width != before  # one of each width at least
            if save or keep:
                log(*pending)  # raises for losses that must not be saved
                pending = None
            if keep:
                job.snapshots.save(number, runs.without_optimiser(states.learner))
            ended = bool(look) and _look(job, number, states, clock)
            if save or ended:
                job.checkpoints.save(number, states)
                saved = number
            # A signal in the last iteration is obeyed too: the caller would go on with other work.
            if reason is not None and (number < total or reason.status != FINISHED_EARLY):
                job.close()
                raise _stopped(reason, number, total)
    return states


def _stopped(why: Stopped, saved: int, total: int) -> Stopped:
    """With what is saved."""
    return Stopped(
        f"{why}: saved at iteration {saved} of {total}; the same command resumes from there",
        why.status,
    )


def _look(job: _Job, number: int, states: RunState, clock: TrainingClock) -> bool:
    """What the observer says to the networks after an iteration; its time is no training's."""
    begun = time.monotonic()
    networks = runs.without_optimiser(states.learner)
    ends = job.observer is not None and job.observer.look(number, population.fetch(networks))
    clock.leave_out(time.monotonic() - begun)
    return ends


def _common_spec(config: ConfigDict, members: Sequence[Member], data_devices: int) -> Spec:
    sized = [spec_lib.with_capacity(m.config, config) for m in members]
    specs = [spec_lib.make_spec(each, data_devices=data_devices) for each in sized]
    for member, spec in zip(members, specs, strict=True):
        for name, mine, first in spec_lib.differences(spec, specs[0]):
            raise ConfigError(
                f"run {member.name!r} differs from {members[0].name!r} in {name} "
                f"({mine!r}, {first!r}): runs of one population share their shapes"
            )
    return specs[0]


def _begin_or_resume(job: _Job, stages: Stages, first: int) -> RunState:
    """The states after iteration `first`: fresh ones, or those of its checkpoint."""
    if jax.process_index() == 0:
        runs.write_members(job.directory, job.config, job.members)
        files.drop_rows_after(job.directory / workdir.METRICS, first if first else -1)
    for saved in (job.checkpoints, job.snapshots):  # what an interrupted process left half done
        saved.drop_after(first)
    seeds = np.array([m.seed for m in job.members], np.int32)
    seeds = population.place(seeds, stages.program.sharding)
    if first == 0:
        return stages.program.init(seeds)
    say(f"resuming from iteration {first} of {job.directory}")
    channels = runs.channels_after(job.directory, job.config, first)
    restored = job.checkpoints.restore(first, stages.shapes(seeds, channels, first))
    return population.place(restored, stages.program.sharding)


def _on_one_device(states: RunState) -> RunState:
    """The population's networks on the default device, from wherever they lie.

    What only training needs comes as NumPy: the windows of all runs may be more than a device has.
    """
    if jax.device_count() == 1:
        return states
    fetched = to_typed(population.fetch(to_plain(states)), states)
    return dataclasses.replace(fetched, learner=jax.tree.map(jnp.asarray, fetched.learner))
