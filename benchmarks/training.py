"""Training: examples per second, and how much of the largest matrix-product rate that is.

The measured program is the learner's own epoch: minibatches drawn with replacement from a window,
symmetric images, batch norm, dropout and Adam. FLOP: three forward passes of the network for each
example, four with `measure=after_step`, whose extra forward pass measures the published losses.
Populations: seconds of all members as one program over those of the members one after another.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax

from benchmarks import cases as cases_lib
from benchmarks import setups, timing
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, interleave
from jaxzero.runs import flops, population
from jaxzero.training import learner, replay
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Replay
from jaxzero.training.spec import Hyper, Spec


class Point(NamedTuple):
    """One measurement: `steps` minibatches.

    members: 0 for one run; else a population, `mode` map or vmap.
    """

    channels: int
    steps: int
    measure: str = "in_step"
    network: str = "convnet"
    blocks: int = 0
    batch: int = 64
    game: str = "othello_6x6"
    members: int = 0
    mode: str = ""
    convolution: str = "auto"
    dtype: str = "auto"


def _resnet(blocks: int, steps: int) -> Point:
    return Point(128, steps, network="resnet", blocks=blocks, batch=256, game="connect_four_6x7")


def _populations(members: tuple[int, ...], channels: tuple[int, ...], steps: int) -> list[Point]:
    return [
        Point(c, steps, members=r, mode=mode)
        for r in members
        for c in channels
        for mode in ("map", "vmap")
    ]


CONVOLUTIONS = [
    Point(256, 60, members=r, mode="vmap", convolution=convolution, dtype=dtype)
    for r in (32, 8, 1)
    for convolution, dtype in (
        ("auto", "auto"),
        ("lax", "auto"),
        ("winograd", "float32"),
        ("patches", "float32"),
    )
]  # on a GPU "auto" is patches in bfloat16
_BOTH = ("in_step", "after_step")
_POINTS = {
    "cpu": [
        *(Point(c, s, how) for c, s in ((64, 40), (256, 6), (512, 2)) for how in _BOTH),
        Point(32, 80),
        _resnet(5, 1),
        _resnet(10, 1),
        *_populations((8,), (32, 64), 16),
    ],
    "gpu": [
        *CONVOLUTIONS,
        *(Point(c, 300, how) for c in (64, 256, 512) for how in _BOTH),
        Point(32, 300),
        *(Point(c, 300, convolution="lax") for c in (64, 256, 512)),
        Point(64, 60, members=8, mode="vmap", convolution="lax"),
        _resnet(5, 100),
        _resnet(10, 100),
        *(p for p in _populations((8, 32), (64, 256), 60) if p not in CONVOLUTIONS),
        *_populations((8, 32), (32, 512), 60),
    ],
    "tiny": [
        Point(4, 2, "after_step", batch=8, game="connect_four_5x5"),
        Point(4, 2, network="resnet", blocks=1, batch=8, game="connect_four_5x5"),
        Point(4, 2, batch=8, game="connect_four_5x5", members=2, mode="vmap"),
    ],
}
_EFFORT = {"cpu": Effort(30, 4.0), "gpu": Effort(20, 4.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """A case for each point."""
    for point in _POINTS[preset]:
        hidden = {"network.hidden": (8, 8)} if preset == "tiny" else {}
        yield Case(
            name(point),
            {**point._asdict(), **hidden},
            functools.partial(_measure, point, hidden, _EFFORT[preset]),
            guess=20.0 if point.members else 10.0,
            first=1 if point.members or point.channels == 32 else 0,
        )


def name(point: Point) -> str:
    """Of its case."""
    depth = f" {point.blocks} blocks" if point.blocks else ""
    words = [f"training/{point.network}{depth} {point.channels}ch batch {point.batch}"]
    words += [own for own in (point.convolution, point.dtype) if own != "auto"]
    words.append(f"{point.members} members {point.mode}" if point.members else point.measure)
    return " ".join(words)


def settings(point: Point) -> dict[str, Any]:
    """Keys of the config that differ from the papers' defaults."""
    changes: dict[str, Any] = {
        "game": point.game,
        "network.name": point.network,
        "network.channels": point.channels,
        "network.convolution": point.convolution,
        "network.dtype": point.dtype,
        "train.batch_size": point.batch,
        "train.measure": point.measure,
        "train.epochs": 1,
        "replay.window": 1,
        "selfplay.episodes": 100,
    }
    if point.network == "resnet":
        changes |= {"network.blocks": point.blocks, "network.value_head": "wdl"}
    return changes


def flop_per_example(spec: Spec) -> int:
    """Of a training step, the extra forward pass that measures included."""
    return (flops.TRAINING + (spec.train.measure == "after_step")) * flops.forward(spec)


def epoch(
    spec: Spec, hyper: Hyper, network: Learner, window: Replay, key: jax.Array
) -> tuple[Learner, Any]:
    """The learner's own epoch over a window of iteration 1."""
    return learner.fit(
        spec, hyper, network, replay.source(window, 1, hyper.window), jax.numpy.int32(1), key
    )


def _measure(point: Point, hidden: dict[str, Any], effort: Effort) -> Mapping[str, Measured]:
    spec, hyper = setups.make({**settings(point), **hidden})
    positions = -(-point.steps * point.batch // spec.num_images)
    examples = point.steps * point.batch * max(point.members, 1)
    one = jax.jit(functools.partial(epoch, spec, hyper))
    matmul = timing.matmul(setups.dtype(spec), small=effort.small)
    seeds = range(max(point.members, 1))
    members = [
        (setups.network(spec, seed), setups.window(spec, positions, seed), jax.random.key(seed))
        for seed in seeds
    ]
    thunks = {"matmul": matmul.thunk, "it": lambda: one(*members[0])}
    if point.members:
        together = jax.jit(
            population.over_members(functools.partial(epoch, spec, hyper), point.mode)
        )
        stacked = population.stack(members)
        thunks["alone"] = lambda: [one(*member) for member in members]
        thunks["it"] = lambda: together(*stacked)
    times = interleave(thunks, effort)
    ceiling = matmul.amount / times["matmul"]
    work = flop_per_example(spec) * examples
    details = {
        "examples_per_second": examples / times["it"],
        "mflop_per_example": flop_per_example(spec) / 1e6,
        "gflops": work / times["it"] / 1e9,
        "matmul_gflops": ceiling / 1e9,
        "matmul_fraction": work / times["it"] / ceiling,
        "dtype": setups.dtype(spec).name,
    }
    if point.members:
        details["over_floor_median"] = times.ratio("it", "alone")
        figure = cases_lib.seconds(times["it"], times["alone"], "one after another", **details)
    else:
        figure = cases_lib.rate(
            examples / times["it"],
            "examples/s",
            ceiling / flop_per_example(spec),
            "matmul rate",
            **details,
        )
    return {"": figure}
