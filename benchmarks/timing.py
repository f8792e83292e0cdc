"""Clocks and floors. Machines change their speed from minute to minute (shared cores, clocks that
rise and fall), so a floor is measured in turns with what is compared with it, and the best counts.
"""

import functools
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Thunk = Callable[[], Any]


class Effort(NamedTuple):
    """How long to measure: so many turns, but after two of them no longer than so many seconds.

    `small` floors are for trying the suite out: they mean nothing, and take no time.
    """

    rounds: int
    seconds: float
    small: bool = False


class Times:
    """Wall seconds of things that were done in turns: `times[name]` is the best of one."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all: dict[str, list[float]] = {name: [] for name in names}

    def __getitem__(self, name: str) -> float:
        return min(self.all[name])

    def ratio(self, name: str, floor: str) -> float:
        """Median of the turns' ratios: steadier than that of the bests while the speed changes."""
        pairs = zip(self.all[name], self.all[floor], strict=True)
        return statistics.median(a / b for a, b in pairs)


def interleave(thunks: Mapping[str, Thunk], effort: Effort) -> Times:
    """Times all of them, one after the other and again from the first.

    Args:
      thunks: each starts work on the device and returns its results. Called once before the clock
        starts, which compiles it.
      effort: how long.

    Returns:
      Seconds until the results are ready.
    """
    for thunk in thunks.values():
        jax.block_until_ready(thunk())
    gc.collect()
    times = Times(thunks)
    started = time.perf_counter()
    for number in range(effort.rounds):
        if number >= 2 and time.perf_counter() - started > effort.seconds:
            break
        for name, thunk in thunks.items():
            begun = time.perf_counter()
            jax.block_until_ready(thunk())
            times.all[name].append(time.perf_counter() - begun)
    return times


class Floor(NamedTuple):
    """Work whose size is known: `amount` (FLOP, bytes) in one call of `thunk`."""

    thunk: Thunk
    amount: float


@functools.partial(jax.jit, static_argnums=2)
def _products(x: jax.Array, y: jax.Array, count: int) -> jax.Array:
    """x y y ... y; y keeps the size of the numbers, and no product can be skipped."""
    return jax.lax.fori_loop(0, count, lambda _, x: x @ y, x)


def _product(size: int, dtype: Any, count: int) -> Floor:
    x = jax.random.normal(jax.random.key(0), (size, size), jnp.float32).astype(dtype)
    y = (jax.random.normal(jax.random.key(1), (size, size)) / size**0.5).astype(dtype)
    return Floor(lambda: _products(x, y, count), 2.0 * size**3 * count)


@functools.cache
def matmul(dtype: Any, *, small: bool = False) -> Floor:
    """The square matrix product with the largest rate on this device, several in a row."""
    accelerated = jax.default_backend() != "cpu"
    sizes = [2048, 4096, 8192] if accelerated else [512, 1024, 2048]
    work = 5e12 if accelerated else 2e10
    if small:
        sizes, work = [64], 1e6
    best: tuple[float, Floor] | None = None
    for size in sizes:
        floor = _product(size, dtype, max(1, round(work / (2.0 * size**3))))
        taken = interleave({"it": floor.thunk}, Effort(4, 2.0))["it"]
        if best is None or floor.amount / taken > best[0]:
            best = floor.amount / taken, floor
    assert best is not None
    return best[1]


@functools.cache
def copy(*, small: bool = False) -> Floor:
    """Reads an array and writes another, larger than the caches; both count."""
    size = 2**30 if jax.default_backend() != "cpu" else 2**28
    size = 2**16 if small else size
    x = jnp.zeros((size // 4,), jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return Floor(lambda: add(x), 2.0 * size)


def turns(count: int, kernels: int) -> Floor:
    """Turns of a loop whose end the device decides, `kernels` tiny ones in each; counts turns."""

    @jax.jit
    def run(x: jax.Array) -> jax.Array:
        def body(carry: tuple) -> tuple:
            turn, x = carry
            for _ in range(kernels):  # a sort is not fused with its neighbours
                x = jnp.sort(x)[::-1]
            return turn + (x[0] >= 0).astype(jnp.int32), x

        return jax.lax.while_loop(lambda carry: carry[0] < count, body, (jnp.int32(0), x))[1]

    x = jnp.arange(32, dtype=jnp.float32)
    return Floor(lambda: run(x), count)
