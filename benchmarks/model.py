"""What a GPU should reach, predicted from counts: operations, bytes, kernels and ends of loops.

    python -m benchmarks.model --json=docs/performance/model.json

Counted: FLOP from shapes; kernels and the bytes that they move in the HLO that XLA compiles for an
H100 (no GPU is needed, see `deviceless.py`); levels of the tree by searching on this machine. A
time is the sum of kernels x start, ends of loops x round trip (whether a `while` goes on is read
back by the host), FLOP / reached rate and bytes / reached bandwidth. Nothing here was timed.
"""

import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding

from benchmarks import deviceless, iteration, launches, search, setups, training
from benchmarks.launches import Loop
from jaxzero import arguments, files, workdir
from jaxzero.loops import MEMBER_AXIS
from jaxzero.runs import flops, population
from jaxzero.search import core, rules
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Hyper, Spec


@dataclasses.dataclass(frozen=True)
class Machine:
    """What is assumed of a GPU."""

    name: str
    matmul: float  # FLOP/s that large bfloat16 matrix products reach (0.6 of the data sheet's)
    bandwidth: float  # bytes/s that kernels reach (0.8 of the data sheet's)
    start: float = 2.5e-6  # seconds from one small kernel to the next
    round_trip: float = 12e-6  # seconds until the host has read whether a loop goes on


MACHINES = (
    Machine("H100", 0.6 * 989e12, 0.8 * 3.35e12),
    Machine("H200", 0.6 * 989e12, 0.8 * 4.8e12),
)


class Work(NamedTuple):
    """Of one call: kernels started, ends of loops asked for, FLOP, bytes moved."""

    kernels: float
    ends: float
    flop: float
    traffic: float

    def on(self, machine: Machine) -> float:
        """Seconds."""
        return (
            self.kernels * machine.start
            + self.ends * machine.round_trip
            + self.flop / machine.matmul
            + self.traffic / machine.bandwidth
        )

    def times(self, factor: float) -> "Work":
        """So many calls."""
        return Work(*(factor * part for part in self))


def search_work(move: Loop, simulations: int, levels: float, flop: float) -> Work:
    """Of a move.

    Args:
      move: the program; its loop over simulations holds two loops, down and up the tree, or none
        where these are a kernel each.
      simulations: m.
      levels: of a simulation's longest descent, mean.
      flop: of all evaluations.
    """
    loop = max(move.walk(), key=lambda loop: loop.kernels if loop != move else -1)
    steps = list(zip(loop.inner, (max(levels - 1, 0.0), levels), strict=False))
    kernels = loop.kernels + sum(turns * step.kernels for step, turns in steps)
    traffic = loop.traffic + sum(turns * step.traffic for step, turns in steps)
    ends = 1 + sum(turns + 1 for _, turns in steps)  # one more than turns, of the simulations' too
    return Work(kernels, ends, 0.0, traffic).times(simulations)._replace(flop=flop)


def longest_descents(
    spec: Spec, hyper: Hyper, network: Learner, keys: jax.Array, states: Any
) -> jax.Array:
    """float32: the mean over the simulations of a search of its deepest lane's edges."""
    options, m = spec.search, spec.num_simulations
    evaluate = learner.acting(spec, network)
    trees, _ = core.start(spec.game, evaluate, keys, states, options)
    root = select = rules.puct(hyper.c_puct, options, None)
    if options.algorithm == "gumbel":
        shape = trees.root_invalid_actions.shape[1:]
        noise = jax.vmap(lambda key: jax.random.gumbel(key, shape))(keys)
        root = rules.gumbel_root(noise, m, options)
        select = functools.partial(rules.gumbel_interior, options=options)

    def body(_: jax.Array, carry: tuple) -> tuple:
        trees, total = carry
        active = jnp.ones(keys.shape, bool)
        trees, leaf, *_ = core.simulate(
            spec.game, evaluate, keys, trees, active, root, select, options
        )
        return trees, total + leaf.depth.max()

    return jax.lax.fori_loop(0, m, body, (trees, jnp.float32(0)))[1] / m


# What the keys' own values for this machine would hide.
_ON_A_GPU = {"network.dtype": "bfloat16", "execution.evaluate_at_once": 0}


def count_levels(point: search.Point) -> float:
    """Of a search point, by searching with one network; kernels go the same way as loops."""
    point = point._replace(loop="tree")
    spec, hyper = setups.make({**search.settings(point), "network.channels": 16})
    games = point.games * max(point.members, 1)
    network = setups.network(spec)
    states = setups.positions(spec.game, games, jax.random.key(3))
    keys = jax.random.split(jax.random.key(4), games)
    counted = jax.jit(functools.partial(longest_descents, spec, hyper))
    return float(counted(network, keys, states))


def _spec_of(changes: dict[str, Any]) -> tuple[Spec, Hyper]:
    return setups.make({**changes, **_ON_A_GPU})


def _network(spec: Spec, members: int) -> Any:
    """Shapes of a network, or of a population's."""
    one = jax.eval_shape(lambda: learner.init(spec, jax.random.key(0)))
    if not members:
        return one
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((members, *x.shape), x.dtype), one)


class Predicted(NamedTuple):
    """A search or a training step: its work, that of its network alone, and what was counted."""

    work: Work
    bare: Work
    counted: dict[str, Any]


def predict_search(device: NamedSharding, point: search.Point) -> Predicted:
    """Of one move of a point."""
    _say(search.name(point))
    spec, hyper = _spec_of(search.settings(point))
    network = dataclasses.replace(_network(spec, point.members), opt_state=())
    states = jax.eval_shape(lambda: setups.positions(spec.game, point.games, jax.random.key(3)))
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(4), point.games))
    stack = jax.eval_shape(lambda: setups.observations(spec.game, point.games, 4))
    move: Any = functools.partial(search.one_move, spec, hyper)
    bare: Any = functools.partial(search.bare_network, spec, point.m + 1)
    if point.members:
        move = jax.vmap(move, (0, None, None), axis_name=MEMBER_AXIS)
        bare = jax.vmap(bare, (0, None), axis_name=MEMBER_AXIS)
    program = launches.read(deviceless.compile_text(device, move, network, keys, states))
    alone = launches.read(deviceless.compile_text(device, bare, network, stack)).inner[-1]
    evaluations = (point.m + 1) * point.games * max(point.members, 1)
    flop, levels = evaluations * flops.forward(spec), count_levels(point)
    work = search_work(program, point.m, levels, flop)
    per_call = Work(alone.kernels, 0, 0.0, alone.traffic).times(point.m + 1)
    counted = {
        "kernels_per_simulation": work.kernels / point.m,
        "loop_ends_per_simulation": work.ends / point.m,
        "network_kernels": alone.kernels,
        "levels": levels,
    }
    return Predicted(work, per_call._replace(flop=flop), counted)


def predict_training(device: NamedSharding, point: training.Point) -> Predicted:
    """Of one minibatch of a point (of all members)."""
    _say(training.name(point))
    spec, hyper = _spec_of(training.settings(point))
    window = jax.eval_shape(lambda: setups.window(spec, spec.train.batch_size))
    key = jax.eval_shape(lambda: jax.random.key(0))
    program: Any = functools.partial(training.epoch, spec, hyper)
    if point.members:
        program = population.over_members(program, point.mode)
        window, key = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct((point.members, *x.shape), x.dtype), (window, key)
        )
    text = deviceless.compile_text(device, program, _network(spec, point.members), window, key)
    step = max(launches.read(text).walk(), key=lambda loop: loop.kernels if not loop.inner else -1)
    flop = training.flop_per_example(spec) * point.batch * max(point.members, 1)
    work = Work(step.kernels, 1, flop, step.traffic)
    return Predicted(work, Work(0, 0, flop, 0), {"kernels_per_step": step.kernels})


# What the papers' 32 runs on 6x6 Othello consist of.
RUNS_SEARCH = search.Point("puct", 100, 50, channels=256, members=32)
RUNS_TRAINING = training.Point(256, 1, "after_step", members=32, mode="vmap")
SEARCHES = (
    search.Point("puct", 100, 50),
    search.Point("gumbel", 100, 50),
    search.Point("puct", 600, 50),
    search.Point("puct", 100, 50, channels=512),
    search.Point("puct", 100, 1600),
    search.Point("puct", 100, 1600, channels=256),
    RUNS_SEARCH,
    search.Point("puct", 100, 50, loop="kernels"),
    search.Point("gumbel", 100, 50, loop="kernels"),
    RUNS_SEARCH._replace(loop="kernels"),
)
TRAININGS = (
    training.Point(64, 1),
    training.Point(256, 1),
    training.Point(512, 1),
    training.Point(256, 1, "after_step"),
    training.Point(256, 1, members=32, mode="vmap"),
    RUNS_TRAINING,
)


def predict(device: NamedSharding) -> list[dict[str, Any]]:
    """All figures: name, counts, and value by machine."""
    rows = []
    moves = {point: predict_search(device, point) for point in SEARCHES}
    for point, move in moves.items():
        simulations = point.m * point.games * max(point.members, 1)
        rows.append(_row(search.name(point), move))
        for machine in MACHINES:
            taken = move.work.on(machine)
            rows[-1][machine.name] = {
                "seconds": taken,
                "over_bare_network": taken / move.bare.on(machine),
                "simulations_per_second": simulations / taken,
            }
    steps = {point: predict_training(device, point) for point in TRAININGS}
    for training_point, step in steps.items():
        examples = training_point.batch * max(training_point.members, 1)
        measure = f" {training_point.measure}" if training_point.members else ""
        rows.append(_row(training.name(training_point) + measure, step))
        for machine in MACHINES:
            taken = step.work.on(machine)
            rows[-1][machine.name] = {
                "examples_per_second": examples / taken,
                "matmul_fraction": step.bare.on(machine) / taken,
            }
    rows.append(_hours(moves[RUNS_SEARCH], steps[RUNS_TRAINING], members=RUNS_SEARCH.members))
    return rows


def _row(name: str, found: Predicted) -> dict[str, Any]:
    """A figure's name and counts, its values still missing."""
    work = {"flop": found.work.flop, "bytes": found.work.traffic}
    return {"figure": name, "counted": {**found.counted, **work}}


def _hours(move: Predicted, step: Predicted, *, members: int) -> dict[str, Any]:
    """Of the papers' 32 runs on 6x6 Othello, all together. Arena moves count as self-play's."""
    spec, hyper = setups.make({"network.channels": 32})
    counts = iteration.count(spec, hyper)
    examples = counts.positions * spec.num_images  # of one iteration
    steps = [
        iteration.steps_of(spec, hyper, examples * min(i, spec.replay.window))
        for i in range(1, 101)
    ]
    moves = 100 * (counts.selfplay_ticks + 2 * counts.arena_ticks)
    found: dict[str, Any] = {
        "figure": f"hours of {members} runs together, othello_6x6 256ch, 100 iterations",
        "counted": {"moves": moves, "steps": sum(steps)},
    }
    for machine in MACHINES:
        play, train = moves * move.work.on(machine), sum(steps) * step.work.on(machine)
        found[machine.name] = {
            "hours": (play + train) / 3600,
            "hours_playing": play / 3600,
            "hours_training": train / 3600,
        }
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> None:
    """Predicts and writes."""
    parser = arguments.Parser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("--json", required=True, metavar="FILE", help="where the figures go")
    given = parser.parse(words)
    jax.config.update("jax_platforms", "cpu")  # of what runs; the GPU is only compiled for
    found = {
        "machines": [dataclasses.asdict(machine) for machine in MACHINES],
        "packages": workdir.environment()["packages"],
        "figures": predict(deviceless.h100()),
    }
    files.write_json(Path(given.json), found)


if __name__ == "__main__":
    arguments.run(main)
