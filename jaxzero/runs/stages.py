"""The iterations of a population whose network may grow: one compiled program for each width."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxzero.runs import memory, population
from jaxzero.runs.opened import CHANNELS
from jaxzero.runs.processes import say
from jaxzero.training import growth
from jaxzero.training.iteration import RunState
from jaxzero.training.spec import Spec

_GROWS = 1 << 21  # folded into a run's key, which its iterations split


class Stages:
    """What an iteration is by its number; compiled when it is due, and kept while it is."""

    def __init__(self, spec: Spec, mesh: Mesh, mode: str) -> None:
        """As `population.make_program`; compiles nothing yet."""
        self._spec, self._mesh, self._mode = spec, mesh, mode
        self.program = self._program(spec)  # of a population that does not grow
        self.seconds = 0.0  # of tracing and compiling until now
        self._kind: tuple[int, int, bool] | None = None
        self._compiled: Callable[..., Any] | None = None

    def shapes(self, seeds: Any, channels: int, done: int) -> RunState:
        """Of the states after so many iterations, when the networks have so many channels."""
        spec = self._spec
        if not spec.growth.grow_at:
            return jax.eval_shape(self.program.init, seeds)
        states = jax.eval_shape(self._program(growth.of_width(spec, channels)).init, seeds)
        return jax.eval_shape(lambda states: self._with_beside(states, done), states)

    def prepare(self, number: int, hypers: Any, states: RunState, held: Any) -> RunState:
        """The states that iteration `number` begins with; compiles it, if it is unlike the last."""
        states = self._widened(states, number)
        restart = self._goal(states, number - 1, "random")
        kind = (self._channels(states), restart, states.beside is not None)
        if kind == self._kind:
            return states
        started = time.monotonic()
        memory.trim()
        say("compiling...")
        program = self._program(self._spec, restart=restart)
        self._compiled = program.iterate.lower(hypers, states, held).compile()
        memory.trim()
        self._kind = kind
        self.seconds += time.monotonic() - started
        say(f"compiled in {time.monotonic() - started:.1f} s")
        return states

    def step(
        self, number: int, hypers: Any, states: RunState, held: Any
    ) -> tuple[RunState, dict[str, Any]]:
        """Iteration `number` of all runs: (states, metrics); the states given are donated."""
        states = self.prepare(number, hypers, states, held)
        assert self._compiled is not None
        states, measured = self._compiled(hypers, states, held)
        if not self._spec.growth.grow_at:
            return states, measured
        if states.beside is not None and _is_better(measured):
            states = dataclasses.replace(states, learner=states.beside, beside=None)
        width = np.full(len(states.iteration), self._channels(states), np.float32)
        measured |= {CHANNELS: population.place(width, self.program.sharding)}
        return self._with_beside(states, number), measured

    def _program(self, spec: Spec, **options: Any) -> population.Program:
        return population.make_program(spec, self._mesh, self._mode, **options)

    def _channels(self, states: RunState) -> int:
        return growth.channels(self._spec.growth, states.learner.params)

    def _goal(self, states: RunState, done: int, by: str) -> int:
        """Channels that are due after so many iterations, if networks grow in this way; else 0."""
        own = self._spec.growth
        return growth.goal(own, done, self._channels(states)) if own.grow_by == by else 0

    def _widened(self, states: RunState, number: int) -> RunState:
        """Before iteration `number`."""
        to = self._goal(states, number - 1, "net2net")
        if not to:
            return states

        def widen(learner: Any, key: jax.Array) -> Any:
            return growth.widened(self._spec, learner, to, jax.random.fold_in(key, _GROWS))

        wider = self.program.each(widen)(states.learner, states.key)
        return dataclasses.replace(states, learner=wider)

    def _with_beside(self, states: RunState, done: int) -> RunState:
        """After so many iterations: with the network that will learn beside, if one is due."""
        to = self._goal(states, done, "parallel")
        if not to or states.beside is not None:
            return states

        def begin(key: jax.Array) -> Any:
            return growth.fresh(self._spec, to, jax.random.fold_in(key, _GROWS))

        return dataclasses.replace(states, beside=self.program.each(begin)(states.key))


def _is_better(measured: dict[str, Any]) -> bool:
    """Whether the networks beside have the lower loss on the window, in the mean of all runs whose
    losses are finite in this iteration."""
    ours, theirs = population.fetch((measured["growth/loss"], measured["growth/loss_beside"]))
    return bool(np.nanmean(theirs - ours) < 0)
