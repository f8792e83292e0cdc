"""What a run inside a population would have cost alone: counted work times measured unit seconds.

Members of a population have no clock of their own. Their evaluations, gradient steps and games are
counted; what one of each takes is measured here, each phase compiled alone for one run, with the
run's own games at a time and minibatch.
"""

import dataclasses
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from experiments.costs import phases
from jaxzero.training import learner
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

_SIMULATIONS: Final = 10  # at most, a move: an evaluation takes as long in a longer search
_STEPS: Final = 60  # of training
_REPEATS: Final = 5  # the fastest counts


class UnitSeconds(NamedTuple):
    """Seconds of one useful evaluation in self-play and in the arena, and of a gradient step."""

    selfplay: float
    arena: float
    training: float


class Cost(NamedTuple):
    """Seconds of one run alone, by phase."""

    selfplay: float
    arena: float
    training: float

    @property
    def total(self) -> float:
        """All phases."""
        return self.selfplay + self.arena + self.training


def measure(configs: Mapping[str, ConfigDict]) -> dict[str, UnitSeconds]:
    """Unit seconds of runs by their settings' names; settings that share a phase share its clock.

    Args:
      configs: they may differ in E, n, bs and in what costs nothing.
    """
    phases: dict[tuple[str, int], float] = {}
    timers: dict[str, tuple[str, Callable[[ConfigDict], float]]] = {
        "selfplay": ("selfplay.episodes", _time_selfplay),
        "arena": ("arena.games", _time_arena),
        "training": ("train.batch_size", _time_training),
    }
    found = {}
    for name, config in configs.items():
        units = []
        for phase, (key, timer) in timers.items():
            value = config[key.split(".")[0]][key.split(".")[1]]
            if (phase, value) not in phases:
                print(f"calibrating {phase} with {key}={value}...", file=sys.stderr, flush=True)
                phases[phase, value] = timer(config)
            units.append(phases[phase, value])
        found[name] = UnitSeconds(*units)
    return found


def cost(rows: Sequence[Mapping[str, Any]], unit: UnitSeconds) -> Cost:
    """Of one run, from its rows."""

    def count(name: str) -> float:
        return float(sum(row.get(f"count/{name}", 0.0) for row in rows))

    return Cost(
        unit.selfplay * count("selfplay_useful_evaluations"),
        unit.arena * count("arena_useful_evaluations"),
        unit.training * count("gradient_steps"),
    )


def _small(config: ConfigDict) -> tuple[Spec, Any]:
    """The run's programs, with few simulations; and its traced settings."""
    own = config.copy_and_resolve_references()
    own.search.num_simulations = min(_SIMULATIONS, config.search.num_simulations)
    own.replay.window, own.train.epochs = 1, 1
    own.lock()
    return spec_lib.make_spec(own), spec_lib.make_hyper(own)


def _time_selfplay(config: ConfigDict) -> float:
    spec, hyper = _small(config)
    return _seconds_each(
        lambda network, key: phases.selfplay(spec, hyper, network, key),
        learner.init(spec, jax.random.key(0)),
        "count/selfplay_useful_evaluations",
    )


def _time_arena(config: ConfigDict) -> float:
    spec, hyper = _small(config)
    if spec.arena_games == 0:
        return 0.0
    return _seconds_each(
        lambda network, key: phases.arena(spec, hyper, network, key),
        learner.init(spec, jax.random.key(0)),
        "count/arena_useful_evaluations",
    )


def _time_training(config: ConfigDict) -> float:
    spec, hyper = _small(config)
    positions = -(-_STEPS * spec.batch_size // spec.num_images)
    spec = dataclasses.replace(spec, window=1, positions=positions)

    def fit(given: tuple[Learner, jax.Array], key: jax.Array) -> Any:
        return phases.epoch(spec, hyper, *given, key)

    network = learner.init(spec, jax.random.key(0))
    return _seconds_each(fit, (network, jnp.int32(positions)), "count/gradient_steps")


def _seconds_each(work: Callable[[Any, jax.Array], Any], given: Any, unit: str) -> float:
    """Seconds for each unit of what `work` counts, the fastest of a few times."""
    program = jax.jit(work).lower(given, jax.random.key(1)).compile()
    best = float("inf")
    for repeat in range(_REPEATS):
        started = time.perf_counter()
        done = jax.block_until_ready(program(given, jax.random.key(repeat)))
        seconds = time.perf_counter() - started
        best = min(best, seconds / float(done[unit]))
    return best
