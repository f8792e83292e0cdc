"""Seconds of the units of work of a run, each phase compiled alone and timed for a short while.

Runs that share a program have no clock of their own: their work is counted (evaluations,
minibatches) and multiplied by these seconds. Members that go together (vmap) are timed together.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from experiments.costs import phases
from jaxzero import runs
from jaxzero.runs import Run, population
from jaxzero.settings import devices
from jaxzero.training import learner
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Hyper, Spec

SECONDS = 10.0  # of each phase, about
_LEAST = 2  # simulations of the first trial


class Units(NamedTuple):
    """Seconds of one unit of one run.

    Attributes:
      selfplay: of an evaluation in self-play.
      training: of a minibatch.
      arena: of an evaluation in the arena; 0 without a gate.
      measuring: of what an iteration measures besides (held-out and unseen losses).
    """

    selfplay: float
    training: float
    arena: float
    measuring: float


class Calibration(NamedTuple):
    """What was timed, and how.

    Attributes:
      units: seconds.
      simulations: m that was timed, by phase; the run's own if that was quick enough.
      minibatches: that were timed.
      together: members timed at once.
      device: in words.
    """

    units: Units
    simulations: dict[str, int]
    minibatches: int
    together: int
    device: str


Phase = Callable[[Any, Any], Any]  # (hypers, networks) -> metrics


def calibrate(run: Run, *, seconds: float = SECONDS) -> Calibration:
    """Times self-play, arena, training and measuring of a run's program on one device.

    Args:
      run: opened; its newest networks play.
      seconds: for each phase, about: with large networks fewer simulations and minibatches are
        timed (never fewer than 2 and 1), which changes the seconds of one only a little.
    """
    spec = run.spec
    layout = population.plan(len(run.members), len(devices.choose(run.config)))
    mode = population.resolve_mode(run.config.execution.population)
    together = len(run.members) // layout.run_devices if mode == "vmap" else 1
    hyper, network = _stacked(run, together)

    playing = _Timed(functools.partial(phases.selfplay, spec, key=jax.random.key(1)), together)
    rate, m_play = _rate(playing, spec, hyper, network, "count/selfplay_evaluations", seconds)
    gating, m_arena = 0.0, 0
    if spec.arena_games:
        arena = _Timed(functools.partial(phases.arena, spec, key=jax.random.key(2)), together)
        gating, m_arena = _rate(arena, spec, hyper, network, "count/arena_evaluations", seconds)
    step, minibatches = _training(spec, hyper, network, together, seconds)
    measuring = _Timed(functools.partial(_measuring, run), together)
    measured = measuring.best(hyper, network, seconds)[0] / together
    return Calibration(
        Units(rate, step, gating, measured),
        {"selfplay": m_play, "arena": m_arena},
        minibatches,
        together,
        devices.describe(),
    )


class _Timed:
    """A phase of the members, compiled when it is first called."""

    def __init__(self, phase: Phase, together: int) -> None:
        if together > 1:
            self._call = jax.jit(population.over_members(phase, "vmap"))
        else:
            self._call = jax.jit(lambda *given: phase(*population.member(given, 0)))

    def once(self, *given: Any) -> tuple[float, Any]:
        """(wall seconds, what it returns)."""
        begun = time.perf_counter()
        found = jax.block_until_ready(self._call(*given))
        return time.perf_counter() - begun, found

    def best(self, hyper: Any, network: Any, limit: float, rest: tuple = ()) -> tuple[float, Any]:
        """The shortest of several calls, the first of which compiles and does not count."""
        self.once(hyper, network, *rest)
        begun, found = time.perf_counter(), self.once(hyper, network, *rest)
        for _ in range(9):
            if time.perf_counter() - begun > limit:
                break
            found = min(found, self.once(hyper, network, *rest), key=lambda one: one[0])
        return found


def _stacked(run: Run, together: int) -> tuple[Hyper, Learner]:
    """Settings and newest networks of the first members, [together], fresh optimisers."""
    members = run.members[:together]
    hyper = population.stack([spec_lib.make_hyper(member.config) for member in members])
    network = jax.tree.map(lambda x: x[:together], runs.networks(run))
    start = jax.vmap(spec_lib.make_optimizer(run.spec).init)
    return hyper, dataclasses.replace(network, opt_state=start(network.params))


def _rate(
    timed: _Timed, spec: Spec, hyper: Hyper, network: Learner, name: str, seconds: float
) -> tuple[float, int]:
    """(seconds of an evaluation, m that was timed): m as large as the time allows."""
    wanted = int(hyper.num_simulations.max())
    if spec.search.algorithm == "gumbel" or wanted <= _LEAST:
        taken, found = timed.best(hyper, network, seconds)
        return taken / float(found[name].sum()), wanted
    few = dataclasses.replace(hyper, num_simulations=jnp.full_like(hyper.num_simulations, _LEAST))
    timed.once(few, network)
    taken, found = timed.once(few, network)
    affordable = int(seconds / taken * (_LEAST + 1)) - 1
    if affordable <= _LEAST:
        return taken / float(found[name].sum()), _LEAST
    m = min(wanted, affordable)
    some = dataclasses.replace(hyper, num_simulations=jnp.minimum(hyper.num_simulations, m))
    taken, found = timed.best(some, network, seconds)
    return taken / float(found[name].sum()), m


def _training(
    spec: Spec, hyper: Hyper, network: Learner, together: int, seconds: float
) -> tuple[float, int]:
    """(seconds of a minibatch of one run, minibatches that were timed)."""
    most = max(spec.positions * spec.num_images // spec.batch_size, 1)
    timed = _Timed(functools.partial(phases.epoch, spec, key=jax.random.key(3)), together)

    def steps(count: int) -> tuple:
        positions = -(-count * spec.batch_size // spec.num_images)
        return (jnp.full((together,), min(positions, spec.positions), jnp.int32),)

    first = min(4, most)
    timed.once(hyper, network, *steps(first))
    taken, found = timed.once(hyper, network, *steps(first))
    more = min(most, max(int(first * seconds / max(taken, 1e-6) / 4), 1))
    if more > first:
        taken, found = timed.best(hyper, network, seconds, steps(more))
    done = float(found["count/gradient_steps"].sum())
    return taken / done, round(done / together)


def _measuring(run: Run, hyper: Hyper, network: Learner) -> Any:
    """Losses on an iteration's games and on the held-out games."""
    spec, evaluation = run.spec, run.config.evaluation
    sizes = (spec.positions, evaluation.heldout_games * spec.game.max_plies)
    return [
        learner.evaluate_losses(
            spec, network, phases.made_up(spec, size, hyper.epochs), jnp.ones((size,), bool)
        )
        for size in sizes
    ]
