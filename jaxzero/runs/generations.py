"""Population-based training: the worst runs go on as copies of the best, with other constants.

Jaderberg et al. 2017 (arXiv 1711.09846): from time to time all runs of a population are compared;
each of the worst fifth takes over the state of one of the best fifth, and constants near its own.
Constants are traced, so that no generation compiles.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from jaxzero import files
from jaxzero.runs import population
from jaxzero.runs.processes import say
from jaxzero.search.options import Numbers, SearchOptions
from jaxzero.settings.config import ConfigError
from jaxzero.training import league
from jaxzero.training.iteration import RunState
from jaxzero.training.league import Range
from jaxzero.training.spec import Hyper, Spec

FILE: Final = "generations.json"
_SHARE = 5  # one in so many is replaced, and one in so many is copied; at least one
_FACTORS = (0.8, 1.2)
_RESAMPLED = 0.25  # share of the copied constants that are drawn afresh instead
_RATE_RANGE = 4.0  # the learning rate, up to so many times larger and smaller

Constants = Mapping[str, Sequence[float]]  # by name, [R]


class Generation(NamedTuple):
    """A comparison of all R runs, and what came of it."""

    iteration: int  # after which
    # [R], of the networks of that iteration, larger is better; None before the first
    fitness: Sequence[float] | None
    donor: Sequence[int]  # [R], whose state each run goes on with
    constants: Constants  # that it goes on with


def ranges(names: Sequence[str], own: Mapping[str, float], spec: Spec) -> dict[str, Range]:
    """Where constants may lie: Clausen 2021's league's, made large enough for the settings' own."""
    rate = own["learning_rate"]
    known = league.ranges(spec.search)
    known["learning_rate"] = Range(rate / _RATE_RANGE, rate * _RATE_RANGE)
    return {
        name: Range(min(known[name].low, own[name]), max(known[name].high, own[name]))
        for name in names
    }


def drawn(bounds: Range, rng: np.random.Generator) -> float:
    """Uniform in a range; of one above 0, its logarithm."""
    if bounds.low > 0:
        return math.exp(rng.uniform(math.log(bounds.low), math.log(bounds.high)))
    return rng.uniform(bounds.low, bounds.high)


def perturbed(value: float, bounds: Range, rng: np.random.Generator) -> float:
    """0.8 or 1.2 times as far from 0, or from the low end if that is below; within the range."""
    zero = min(bounds.low, 0.0)
    moved = zero + (value - zero) * rng.choice(_FACTORS)
    return float(np.clip(moved, *bounds))


def begin(
    own: Mapping[str, float], within: Mapping[str, Range], runs: int, seed: int
) -> Generation:
    """The first generation: the settings' own constants, then drawn ones."""
    rng = np.random.default_rng(seed)
    constants = {
        name: [own[name], *(drawn(bounds, rng) for _ in range(runs - 1))]
        for name, bounds in within.items()
    }
    return Generation(0, None, list(range(runs)), constants)


def following(
    before: Generation,
    iteration: int,
    fitness: Sequence[float],
    within: Mapping[str, Range],
    rng: np.random.Generator,
) -> Generation:
    """The next generation: each of the worst fifth becomes a changed copy of one of the best.

    `before`: the last one; `iteration`: that has ended; `fitness`: of each run, [R], more is
    better; `within`: where the constants may lie; `rng`: for who copies whom, and the changes.
    """
    order = np.argsort(-np.asarray(fitness), kind="stable")
    count = max(1, len(order) // _SHARE)
    donor = list(range(len(order)))
    constants = {name: list(values) for name, values in before.constants.items()}
    for worse in order[-count:].tolist():
        better = int(rng.choice(order[:count]))
        if fitness[better] <= fitness[worse]:
            continue
        donor[worse] = better
        for name, bounds in within.items():
            value = before.constants[name][better]
            resampled = rng.random() < _RESAMPLED
            constants[name][worse] = (
                drawn(bounds, rng) if resampled else perturbed(value, bounds, rng)
            )
    return Generation(iteration, fitness, donor, constants)


def lineage(held: Sequence[Generation], run: int) -> list[int]:
    """Which run was what a run is at the end, before each generation but the first."""
    line = [run]
    for generation in held[-2:0:-1]:
        line.append(generation.donor[line[-1]])
    return line[::-1]


def read(directory: Path) -> list[dict[str, Any]]:
    """The generations of a population's run directory, as stored."""
    return files.read_list(directory / FILE)


class Generations:
    """The generations of a population: `look` and `change` of an `Observer`, kept in `FILE`."""

    def __init__(
        self,
        directory: Path,
        first: Generation,
        within: Mapping[str, Range],
        options: SearchOptions,
        fitness: Callable[[Any], Sequence[float]],
        *,
        every: int,
        copies: bool,
        seed: int,
    ) -> None:
        """Reads what an earlier process found.

        Args:
          within: where constants may lie.
          options: of the search of self-play, for what of it does not evolve.
          fitness: of networks [R].
          every: iterations of a generation.
          copies: False: fitness is noted, and all runs go on as they are.
          seed: for who copies whom.
        """
        self._path, self._within, self._options = directory / FILE, within, options
        self._fitness, self._every, self._copies, self._seed = fitness, every, copies, seed
        self.held = [first]  # by iteration, from 0
        if self._path.is_file():
            self.held = [Generation(**each) for each in read(directory)]

    def look(self, iteration: int, networks: Any) -> bool:
        """Compares the runs after an iteration; never ends the training."""
        if not iteration:
            return False
        before, fitness = self.held[-1], [float(x) for x in self._fitness(networks)]
        now = Generation(iteration, fitness, list(range(len(fitness))), before.constants)
        if self._copies and iteration % self._every == 0:
            rng = np.random.default_rng((self._seed, iteration))
            now = following(before, iteration, fitness, self._within, rng)
        self.held.append(now)
        copied = sum(i != donor for i, donor in enumerate(now.donor))
        say(f"\niteration {iteration}: best fitness {max(fitness):.4f}, {copied} runs replaced")
        if jax.process_index() == 0:
            files.write_json(self._path, [each._asdict() for each in self.held])
        return False

    def change(self, done: int, hypers: Hyper, states: RunState) -> tuple[Hyper, RunState]:
        """Settings and states [R] with which a population goes on after so many iterations.

        ConfigError: a generation until then is not known any more.
        """
        self.held = [each for each in self.held if each.iteration <= done]
        known = {each.iteration for each in self.held}
        for iteration in range(0, done + 1, self._every):
            if iteration not in known:
                raise ConfigError(
                    f"{self._path} does not say what came after iteration {iteration}: put back "
                    "a copy of it or choose another --workdir"
                )
        last = self.held[-1]
        if last.iteration == done and list(last.donor) != list(range(len(last.donor))):
            states = taken_over(states, np.array(last.donor))
        return with_constants(hypers, last.constants, self._options), states


_gather = jax.jit(population.member)


def taken_over(states: RunState, donor: np.ndarray) -> RunState:
    """States [R] of the donors int[R], each with its own random key, where they lay before."""
    taken = jax.tree.map(
        lambda new, old: jax.device_put(new, old.sharding), _gather(states, donor), states
    )
    return dataclasses.replace(taken, key=states.key)


def with_constants(hypers: Hyper, constants: Constants, options: SearchOptions) -> Hyper:
    """Traced settings [R] with these constants; numbers of the search are traced if one is one."""

    def place(values: Any) -> Any:
        return population.place(np.asarray(values, np.float32), hypers.c_puct.sharding)

    given = {name: place(values) for name, values in constants.items()}
    fields = {name: x for name, x in given.items() if name in ("c_puct", "learning_rate")}
    hypers = hypers.replace(**fields)  # type: ignore[attr-defined]
    if not any(name in Numbers._fields[1:] for name in given):
        return hypers
    others = options.numbers(0.0)._asdict()
    numbers = {n: given.get(n, place(np.full(len(hypers.c_puct), x))) for n, x in others.items()}
    numbers["c_puct"] = hypers.c_puct
    return hypers.replace(numbers=Numbers(**numbers))  # type: ignore[attr-defined]
