"""What a run takes alone: its work is counted, and multiplied by the measured seconds of one unit.

Members of a population have no clock of their own. What they do is counted: evaluations in
self-play and in the arena of positions that are not over, in games that go on (the same in any
company), minibatches, and iterations. What one of each takes is measured here, each phase compiled
alone and run for a short while. Members that go together (vmap) are timed together.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from jaxzero import files, runs
from jaxzero.runs import Member, Run, population
from jaxzero.runs.processes import say
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.training import episodes, gate, learner, replay, windows
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec

CALIBRATION: Final = "calibration.json"  # of a run directory: unit seconds by setting
SECONDS: Final = 10.0  # of each phase, about
_BRIEF: Final = 2.0  # the same, where many settings are timed
_LEAST: Final = 2  # simulations of the first trial
_REPEATS: Final = 10  # at most; the fastest counts
_SELFPLAY: Final = "count/selfplay_useful_evaluations"
_ARENA: Final = "count/arena_useful_evaluations"
_TRAINING: Final = "count/gradient_steps"
# What the seconds of one depend on, among settings that a study compares.
_DECIDED_BY: Final = {
    "selfplay": "selfplay.episodes",
    "arena": "arena.games",
    "training": "train.batch_size",
}


class Cost(NamedTuple):
    """A number for each phase of a run: units of work, seconds of one unit, or seconds in all."""

    selfplay: float  # evaluations of positions that are not over, in games that go on
    arena: float  # the same; 0 without a gate
    training: float  # minibatches
    # iterations, which measure losses on held-out and unseen games besides; 0 seconds where
    # settings are compared, as the papers' programs measured nothing
    measuring: float = 0.0

    def times(self, other: "Cost") -> "Cost":
        """Phase by phase."""
        return Cost(*(a * b for a, b in zip(self, other, strict=True)))

    def over(self, number: float) -> "Cost":
        """Every phase divided by it."""
        return Cost(*(value / number for value in self))

    @property
    def total(self) -> float:
        """All phases."""
        return sum(self)


def work(rows: Sequence[Mapping[str, Any]]) -> Cost:
    """Work of one run, counted, from its rows."""

    def count(name: str) -> float:
        return float(sum(row.get(name, 0.0) for row in rows))

    return Cost(count(_SELFPLAY), count(_ARENA), count(_TRAINING), float(len(rows)))


def seconds(rows: Sequence[Mapping[str, Any]], units: Cost) -> Cost:
    """Seconds of one run alone, from its rows and the seconds of one unit."""
    return work(rows).times(units)


class Timing(NamedTuple):
    """A phase that was timed."""

    unit: float  # seconds of one unit of one member; 0 of a phase that there is not
    size: int  # simulations of a move, or minibatches, that were timed
    metrics: Any  # of the fastest time


class Calibration(NamedTuple):
    """What was timed, and how."""

    units: Cost  # seconds of one unit
    # m that was timed, by phase; the run's own if that was quick enough
    simulations: dict[str, int]
    minibatches: int  # that were timed
    together: int  # members timed at once
    device: str  # in words


@dataclasses.dataclass(frozen=True)
class Clock:
    """Times the phases of members of one program on one device."""

    spec: Spec  # of the members
    hyper: Hyper  # of those that go together, [M]
    network: Learner  # of the same, [M], with an optimiser
    # for each phase, about: with large networks fewer simulations and minibatches are timed (never
    # fewer than 2 and 1), which changes the seconds of one only a little
    seconds: float = SECONDS

    @property
    def together(self) -> int:
        """M."""
        return len(self.hyper.num_simulations)

    def selfplay(self) -> Timing:
        """The games of an iteration."""

        def play(hyper: Hyper, network: Learner) -> Any:
            return episodes.self_play(self.spec, hyper, network, jax.random.key(1))[1]

        return self._searches(play, _SELFPLAY)

    def arena(self) -> Timing:
        """A match of the gate."""
        if not self.spec.arena.games:
            return Timing(0.0, 0, None)

        def match(hyper: Hyper, network: Learner) -> Any:
            return gate.gate(self.spec, hyper, network, network, jax.random.key(2))[1]

        return self._searches(match, _ARENA)

    def training(self) -> Timing:
        """Minibatches of an epoch; the window's length, which changes nothing of one, is short."""
        window = dataclasses.replace(self.spec.replay, window=1)
        spec = dataclasses.replace(self.spec, replay=window)
        most = max(spec.positions * spec.num_images // spec.train.batch_size, 1)
        program = self._compiled(functools.partial(epoch, spec, key=jax.random.key(3)))

        def steps(count: int) -> jax.Array:
            positions = min(-(-count * spec.train.batch_size // spec.num_images), spec.positions)
            return jnp.full((self.together,), positions, jnp.int32)

        first = min(4, most)
        _once(program, self.hyper, self.network, steps(first))
        taken, found = _once(program, self.hyper, self.network, steps(first))
        more = min(most, max(int(first * self.seconds / max(taken, 1e-6) / 4), 1))
        if more > first:
            taken, found = self._best(program, self.hyper, self.network, steps(more))
        done = float(found[_TRAINING].sum())
        return Timing(taken / done, round(done / self.together), found)

    def measuring(self, heldout_games: int) -> Timing:
        """Losses on an iteration's games and on the held-out games."""
        sizes = (self.spec.positions, heldout_games * self.spec.game.max_plies)

        def losses(hyper: Hyper, network: Learner) -> Any:
            return [
                learner.evaluate_losses(
                    self.spec,
                    network,
                    made_up(self.spec, size, hyper.epochs),
                    jnp.ones((size,), bool),
                )
                for size in sizes
            ]

        taken, found = self._best(self._compiled(losses), self.hyper, self.network)
        return Timing(taken / self.together, 1, found)

    def _searches(self, phase: Callable[..., Any], unit: str) -> Timing:
        """Seconds of what a phase with searches counts, with m as large as the time allows."""
        program = self._compiled(phase)
        wanted = int(self.hyper.num_simulations.max())

        def with_m(m: int) -> Hyper:
            fewer = jnp.minimum(self.hyper.num_simulations, m)
            return dataclasses.replace(self.hyper, num_simulations=fewer)

        m = wanted
        if not self.spec.search.fixes_simulations and wanted > _LEAST:
            _once(program, with_m(_LEAST), self.network)
            taken, found = _once(program, with_m(_LEAST), self.network)
            m = min(wanted, int(self.seconds / taken * (_LEAST + 1)) - 1)
            if m <= _LEAST:
                return Timing(taken / float(found[unit].sum()), _LEAST, found)
        taken, found = self._best(program, with_m(m), self.network)
        return Timing(taken / float(found[unit].sum()), m, found)

    def _compiled(self, phase: Callable[..., Any]) -> Callable[..., Any]:
        """(hypers, networks, ...) -> metrics of the members, compiled when it is first called."""
        if self.together > 1:
            return jax.jit(population.over_members(phase, "vmap"))
        return jax.jit(lambda *given: phase(*population.member(given, 0)))

    def _best(self, program: Callable[..., Any], *given: Any) -> tuple[float, Any]:
        """The shortest of several calls, the first of which compiles and does not count."""
        _once(program, *given)
        begun, found = time.perf_counter(), _once(program, *given)
        for _ in range(_REPEATS - 1):
            if time.perf_counter() - begun > self.seconds:
                break
            found = min(found, _once(program, *given), key=lambda one: one[0])
        return found


def _once(program: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """(wall seconds, what it returns)."""
    begun = time.perf_counter()
    found = jax.block_until_ready(program(*given))
    return time.perf_counter() - begun, found


def of_members(config: ConfigDict, members: Sequence[Member], *, seconds: float = SECONDS) -> Clock:
    """A clock for untrained members of a population, as many as a device computes together."""
    layout, _ = population.chosen(config, len(members))
    mode = population.resolve_mode(config.execution.population)
    own = members[: len(members) // layout.run_devices if mode == "vmap" else 1]
    spec = spec_lib.make_spec(own[0].config)
    return Clock(
        spec,
        population.stack([spec_lib.make_hyper(member.config) for member in own]),
        population.stack([learner.init(spec, jax.random.key(member.seed)) for member in own]),
        seconds,
    )


def of_run(run: Run, *, seconds: float = SECONDS) -> Clock:
    """A clock for a run that was opened: its newest networks play, with fresh optimisers."""
    clock = of_members(run.config, run.members, seconds=seconds)
    network = jax.tree.map(lambda x: x[: clock.together], runs.networks(run))
    start = jax.vmap(functools.partial(learner.with_optimiser, run.spec))
    network = start(network.params, network.batch_stats)
    return dataclasses.replace(clock, spec=run.spec, network=network)


def calibrate(clock: Clock, *, heldout_games: int) -> Calibration:
    """Times all phases."""
    selfplay, arena, training = clock.selfplay(), clock.arena(), clock.training()
    measuring = clock.measuring(heldout_games)
    return Calibration(
        Cost(selfplay.unit, arena.unit, training.unit, measuring.unit),
        {"selfplay": selfplay.size, "arena": arena.size},
        training.size,
        clock.together,
        devices.describe(),
    )


def unit_seconds(directory: Path, configs: Mapping[str, ConfigDict]) -> dict[str, Cost]:
    """`of_settings`, timed once for a run directory, in whose `CALIBRATION` it is kept."""
    path = directory / CALIBRATION
    if not path.exists():
        files.write_json(path, of_settings(configs))
    return {name: Cost(*unit) for name, unit in files.read_json(path).items()}


def of_settings(configs: Mapping[str, ConfigDict]) -> dict[str, Cost]:
    """Seconds of one unit in a run alone, by its settings' name; what agrees is timed once.

    The settings may differ in E, n, bs and in what changes nothing of one unit.
    """
    known: dict[tuple[str, Any], float] = {}
    found = {}
    for name, config in configs.items():
        clock = of_members(config, [Member(name, "", config.seed, config)], seconds=_BRIEF)
        units = []
        for phase, key in _DECIDED_BY.items():
            asked = phase, config_lib.get(config, key)
            if asked not in known:
                say(f"calibrating {phase} with {key}={asked[1]}...")
                known[asked] = getattr(clock, phase)().unit
            units.append(known[asked])
        found[name] = Cost(*units)
    return found


def epoch(
    spec: Spec, hyper: Hyper, network: Learner, positions: jax.Array, key: jax.Array
) -> dict[str, Any]:
    """One epoch over a window of made-up positions; counts in "count/gradient_steps".

    `positions`: in the window, int32, []; the hyper's epochs and window do not matter; `key`: of
    the minibatches. All that was computed is returned, so that no compiler leaves work out.
    """
    examples = made_up(spec, spec.positions, positions)
    empty = replay.empty(spec.replay.window, examples)
    window = replay.add(empty, examples, positions, jnp.int32(1))
    source = replay.source(window, jnp.int32(1), spec.replay.window)
    once = dataclasses.replace(hyper, epochs=jnp.int32(1))
    trained, metrics = learner.fit(spec, once, network, source, jnp.int32(1), key, positions)
    return metrics | {"trained": trained}


def made_up(spec: Spec, count: int, seed: jax.Array) -> Examples:
    """[count] examples whose contents do not matter to a clock, but which no compiler knows."""
    shape, actions = spec.game.observation_shape, spec.game.num_actions
    number = jnp.arange(count) * seed
    squares = jnp.arange(math.prod(shape)).reshape(shape)
    stones = (number.reshape(-1, *(1 for _ in shape)) + squares[None]) % 3 - 1
    room = windows.room(spec, count)
    return dataclasses.replace(
        room,
        observation=stones.astype(room.observation.dtype),
        policy=jax.nn.one_hot(number % actions, actions),
        value=(number % 3 - 1).astype(jnp.float32),
        legal=jnp.ones((count, actions), bool),
    )
