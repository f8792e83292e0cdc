"""Search: one move of many games, over the bare network evaluations that it makes.

The floor is a compiled loop of the same m + 1 evaluations at the same batch, each of other
positions, which ones depending on the last results, so that no evaluation can be skipped, moved out
of the loop or merged with another. Positions are those of random games, from the start to the
middle; `sharp` networks have policy logits with a standard deviation of 3, as sure as trained ones.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import cases as cases_lib
from benchmarks import setups
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, Thunk, interleave
from jaxzero.loops import MEMBER_AXIS
from jaxzero.runs import flops, memory
from jaxzero.search import core
from jaxzero.search.result import Diagnostics
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Hyper, Spec

_SPREAD = 3.0  # of a sharp network's logits
_STACK = 4  # different batches of positions that the bare network is given


class Point(NamedTuple):
    """One measurement: `games` searches of `m` simulations at once.

    `members` networks each search for their own `games`; 0 is one network without that axis.
    `loop` is this package's over mctx's tree, the same with kernels of Pallas, or mctx's own.
    """

    algorithm: str
    m: int
    games: int
    game: str = "othello_6x6"
    channels: int = 64
    sharp: bool = False
    members: int = 0
    loop: str = "tree"


def _acceptance() -> list[Point]:
    return [Point(a, m, 50) for m in (100, 600) for a in ("puct", "gumbel")]


def _grid(ms: tuple[int, ...], batches: tuple[int, ...], games: tuple[str, ...]) -> list[Point]:
    return [
        Point(algorithm, m, batch, game)
        for game in games
        for batch in batches
        for m in ms
        for algorithm in ("puct", "gumbel")
    ]


_MCTX = [point._replace(loop="mctx") for point in _acceptance() if point.m == 100]
_CPU = [
    *_MCTX,
    *(point._replace(sharp=True) for point in _acceptance()),
    *_grid((25, 200), (50,), ("othello_6x6",)),
    *_grid((100,), (16,), ("othello_6x6",)),
    *_grid((100,), (64,), ("connect_four_6x7", "othello_8x8")),
    Point("puct", 100, 256),
    Point("puct", 25, 1024),
    Point("puct", 100, 50, channels=256),
]
LOOPS = {
    algorithm: [
        Point(algorithm, 100, games, channels=256, loop=loop)
        for games in (50, 400, 1600)
        for loop in ("tree", "kernels", "mctx")
    ]
    for algorithm in ("puct", "gumbel")
}  # all loops on a GPU, as the batch grows
POPULATIONS = [
    Point("puct", 100, 50, channels=256, members=32),
    Point("gumbel", 100, 50, channels=256, members=32),
    Point("puct", 100, 50, channels=64, members=32),
    Point("puct", 100, 50, channels=256, members=32, loop="kernels"),
]
_GPU_FIRST = [
    *_MCTX,
    *(point._replace(sharp=True) for point in _acceptance()),
    Point("puct", 100, 50, channels=512),
    *POPULATIONS,
    *(point for points in LOOPS.values() for point in points),
]
_GPU_GRID = _grid(
    (25, 100, 200, 600), (16, 64, 256, 1024), ("othello_6x6", "connect_four_6x7", "othello_8x8")
)
_TINY = [
    Point("puct", 3, 4, "connect_four_5x5", channels=4, sharp=True),
    Point("gumbel", 3, 4, "connect_four_5x5", channels=4),
    Point("puct", 3, 4, "connect_four_5x5", channels=4, members=2),
    Point("puct", 3, 4, "connect_four_5x5", channels=4, loop="mctx"),
    Point("gumbel", 3, 4, "connect_four_5x5", channels=4, loop="kernels"),
]
_EFFORT = {"cpu": Effort(30, 4.0), "gpu": Effort(20, 4.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """A case for each point; the acceptance points go first."""
    effort = _EFFORT[preset]
    groups: list[tuple[int, list[Point]]] = {
        "cpu": [(0, _acceptance()), (1, _CPU)],
        "gpu": [(0, _acceptance()), (1, _GPU_FIRST), (3, _GPU_GRID)],
        "tiny": [(0, _TINY)],
    }[preset]
    for first, points in groups:
        for point in points:
            guess = 20.0 if preset == "gpu" else _guess(point)
            changes = settings(point) | ({"network.hidden": (8, 8)} if preset == "tiny" else {})
            yield Case(
                name(point),
                {**point._asdict(), **({"preset": preset} if preset == "tiny" else {})},
                functools.partial(_measure, point, changes, effort),
                guess=guess,
                first=first,
            )


def name(point: Point) -> str:
    """Of its case."""
    words = [f"search/{point.algorithm} m={point.m} {point.game} {point.channels}ch"]
    words.append(f"{point.members}x{point.games}" if point.members else str(point.games))
    words += ["games", *(["sharp"] if point.sharp else [])]
    return " ".join([*words, *([] if point.loop == "tree" else [point.loop])])


def _guess(point: Point) -> float:
    evaluations = point.m * point.games * max(point.members, 1)
    return 6.0 + 5e-4 * evaluations * (point.channels / 64) ** 1.5


def settings(point: Point) -> dict[str, Any]:
    """Keys of the config that differ from the papers' defaults."""
    return {
        "game": point.game,
        "network.channels": point.channels,
        "search.algorithm": point.algorithm,
        "search.num_simulations": point.m,
        "search.loop": "mctx" if point.loop == "mctx" else "tree",
        "execution.tree_steps": "kernels" if point.loop == "kernels" else "loops",
        "execution.evaluate_at_once": 0,  # the bare network's batches; no game is over here
    }


def one_move(
    spec: Spec, hyper: Hyper, network: Learner, keys: jax.Array, states: Any
) -> tuple[jax.Array, jax.Array, Diagnostics]:
    """A search as self-play does it: (visits int32[B, A], actions int32[B], diagnostics)."""
    fixed = spec.search.fixes_simulations
    result = core.run(
        spec.game,
        learner.acting(spec, network),
        keys,
        states,
        options=spec.search,
        num_simulations=spec.num_simulations if fixed else hyper.num_simulations,
        c_puct=hyper.c_puct,
    )
    return result.visit_counts, result.action, result.diagnostics


def bare_network(
    spec: Spec, count: jax.Array | int, network: Learner, stack: jax.Array
) -> jax.Array:
    """`count` evaluations of a batch, in one loop.

    Args:
      spec: of the network.
      count: how many.
      network: acts.
      stack: [S, B, H, W, C], batches of positions, taken in turn.

    Returns:
      float32 scalar, a sum of everything that the network said.
    """
    evaluate = learner.acting(spec, network)

    def body(i: jax.Array, carry: tuple) -> tuple:
        shift, total = carry
        logits, value, _ = evaluate(stack[(i + shift) % stack.shape[0]])
        total = total + logits.sum() + value.sum()
        return jnp.isnan(total).astype(jnp.int32), total  # never 1, but who compiles can't know

    return jax.lax.fori_loop(0, count, body, (jnp.int32(0), jnp.float32(0)))[1]


class Prepared(NamedTuple):
    """One move and its floor, compiled when first called, with what they are given."""

    move: Thunk
    bare: Thunk
    tree_bytes: int


def prepare(
    spec: Spec, hyper: Hyper, games: int, *, members: int = 0, sharp: bool = False
) -> Prepared:
    """Programs and inputs of a point.

    Args:
      spec, hyper: of a run.
      games: B.
      members: R networks under one `vmap`, each with its own B games; 0 for one without.
      sharp: policy heads as sure as trained ones.
    """
    stack = setups.observations(spec.game, games, _STACK)
    states = setups.positions(spec.game, games, jax.random.key(3))
    keys = jax.random.split(jax.random.key(4), games)
    networks = [setups.network(spec, seed) for seed in range(max(members, 1))]
    networks = [dataclasses.replace(network, opt_state=()) for network in networks]
    if sharp:
        networks = [setups.sharpen(spec, network, stack[0], _SPREAD) for network in networks]
    move: Callable = functools.partial(one_move, spec, hyper)
    bare: Callable = functools.partial(bare_network, spec, spec.num_simulations + 1)
    network = networks[0]
    tree = jax.eval_shape(
        lambda n, k, s: core.start(spec.game, learner.acting(spec, n), k, s, spec.search)[0],
        network, keys, states,
    )  # fmt: skip
    if members:
        network = jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks)
        move = jax.vmap(move, (0, None, None), axis_name=MEMBER_AXIS)
        bare = jax.vmap(bare, (0, None), axis_name=MEMBER_AXIS)
    move, bare = jax.jit(move), jax.jit(bare)
    return Prepared(
        lambda: move(network, keys, states),
        lambda: bare(network, stack),
        memory.size_of(tree) * max(members, 1),
    )


def _measure(point: Point, changes: dict[str, Any], effort: Effort) -> Mapping[str, Measured]:
    spec, hyper = setups.make(changes)
    prepared = prepare(spec, hyper, point.games, members=point.members, sharp=point.sharp)
    times = interleave({"move": prepared.move, "bare": prepared.bare}, effort)
    _, _, seen = prepared.move()
    simulations = float(seen.simulations.sum())
    evaluations = (point.m + 1) * point.games * max(point.members, 1)
    work = evaluations * flops.forward(spec)
    figure = cases_lib.seconds(
        times["move"],
        times["bare"],
        "bare network",
        over_floor_median=times.ratio("move", "bare"),
        simulations_per_second=simulations / times["move"],
        depth_mean=float(seen.depth_sum.sum()) / simulations,
        depth_max=int(seen.depth_max.max()),
        tree_bytes=prepared.tree_bytes,
        network_gflops=work / times["bare"] / 1e9,
        dtype=setups.dtype(spec).name,
    )
    return {"": figure}
