"""The device itself: the floors that other figures are compared with."""

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp

from benchmarks import timing
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, interleave

_EFFORT = {"cpu": Effort(10, 5.0), "gpu": Effort(20, 5.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """One case: matrix products, copies, turns of a loop."""
    effort = _EFFORT[preset]
    dtypes = ("float32", "bfloat16") if preset == "gpu" else ("float32",)
    yield Case(
        "device/rates", {"dtypes": dtypes}, lambda: _rates(dtypes, effort), guess=8.0, first=0
    )


def _rates(dtypes: tuple[str, ...], effort: Effort) -> Mapping[str, Measured]:
    floors = {
        f"matmul {name}": timing.matmul(jnp.dtype(name), small=effort.small) for name in dtypes
    }
    floors["copy"] = timing.copy(small=effort.small)
    count = 10 if effort.small else 2000
    many = 8
    floors["none"], floors["many"] = timing.turns(count, 0), timing.turns(count, many)
    times = interleave({name: floor.thunk for name, floor in floors.items()}, effort)
    found = {}
    for name, floor in floors.items():
        if name.startswith("matmul"):
            size = "x".join(map(str, jax.eval_shape(floor.thunk).shape))
            found[name] = Measured(
                value=floor.amount / times[name] / 1e9, unit="GFLOP/s", details={"size": size}
            )
    found["copy"] = Measured(value=floors["copy"].amount / times["copy"] / 1e9, unit="GB/s")
    turn = times["none"] / count
    kernel = (times["many"] / count - turn) / many
    found["turn of a loop"] = Measured(value=1e6 * turn, unit="us")
    found["tiny kernel in a loop"] = Measured(value=1e6 * max(kernel, 0.0), unit="us")
    return found
