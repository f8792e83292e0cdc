"""Where a device's time goes: the kernels of one call by their time, from JAX's own profiler."""

import functools
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax

from benchmarks import search, setups, training
from benchmarks.cases import Case, Measured
from benchmarks.timing import Thunk
from jaxzero.runs import population

_MOST = 25  # kernels that are listed
_NOT = ("while", "call", "conditional", "end: ")  # loops last as long as what is in them


class Point(NamedTuple):
    """A move of `search`, or an epoch of `training`."""

    of: search.Point | training.Point
    changes: tuple[tuple[str, Any], ...] = ()


def case(point: Point) -> Case:
    """Of a point."""
    searches = isinstance(point.of, search.Point)
    named = search.name(point.of) if searches else training.name(point.of)  # type: ignore[arg-type]
    settings = {**point.of._asdict(), **dict(point.changes)}
    return Case(f"kernels/{named}", settings, functools.partial(_measure, point), guess=60.0)


class Kernel(NamedTuple):
    """How often one ran, and for how many nanoseconds."""

    name: str
    times: int
    nanoseconds: float


def profile(thunk: Thunk) -> tuple[list[Kernel], float]:
    """(kernels of one call, the slowest first; its wall seconds); the thunk ran before."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            begun = time.perf_counter()
            jax.block_until_ready(thunk())
            taken = time.perf_counter() - begun
        [path] = Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(path))
        found: dict[str, list[float]] = defaultdict(list)
        for name, nanoseconds in _events(data):
            if not name.startswith(_NOT):
                found[name].append(nanoseconds)
    kernels = [Kernel(name, len(all_), sum(all_)) for name, all_ in found.items()]
    return sorted(kernels, key=lambda kernel: -kernel.nanoseconds), taken


def _events(data: Any) -> Iterator[tuple[str, float]]:
    """What the device ran: a GPU's streams; on a CPU, what the program's threads carry out."""
    planes = list(data.planes)
    devices = [plane for plane in planes if plane.name.startswith("/device:")]
    for plane in devices or planes:
        for line in plane.lines:
            if devices and not line.name.startswith("Stream"):
                continue  # sums of the streams
            for event in line.events:
                if devices or any(name == "hlo_op" for name, _ in event.stats):
                    yield event.name, event.duration_ns


def _measure(point: Point) -> Mapping[str, Measured]:
    thunk = _search(point) if isinstance(point.of, search.Point) else _training(point)
    jax.block_until_ready(thunk())
    kernels, taken = profile(thunk)
    busy = sum(kernel.nanoseconds for kernel in kernels)
    return {
        "": Measured(
            value=1e-9 * busy,
            unit="s",
            floor=taken,
            against="wall",
            fraction=1e-9 * busy / taken,
            details={
                "kernels": sum(kernel.times for kernel in kernels),
                "mean_us": 1e-3 * busy / max(sum(kernel.times for kernel in kernels), 1),
                "slowest": [
                    {
                        "kernel": kernel.name,
                        "times": kernel.times,
                        "us": 1e-3 * kernel.nanoseconds / kernel.times,
                        "share": kernel.nanoseconds / busy,
                    }
                    for kernel in kernels[:_MOST]
                ],
            },
        )
    }


def _search(point: Point) -> Thunk:
    of = point.of
    assert isinstance(of, search.Point)
    spec, hyper = setups.make({**search.settings(of), **dict(point.changes)})
    return search.prepare(spec, hyper, of.games, members=of.members, sharp=of.sharp).move


def _training(point: Point) -> Thunk:
    of = point.of
    assert isinstance(of, training.Point)
    spec, hyper = setups.make({**training.settings(of), **dict(point.changes)})
    positions = -(-of.steps * of.batch // spec.num_images)
    members = [
        (setups.network(spec, seed), setups.window(spec, positions, seed), jax.random.key(seed))
        for seed in range(max(of.members, 1))
    ]
    program = jax.jit(
        population.over_members(functools.partial(training.epoch, spec, hyper), of.mode or "map")
    )
    given = population.stack(members)
    return lambda: program(*given)
