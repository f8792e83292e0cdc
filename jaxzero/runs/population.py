"""Runs x devices: how one iteration of many runs becomes one program.

The run axis is spread over devices first ("run"); what is left of the devices shares each run
("data"). On a device, members follow one another (`lax.map`, bit-identical to solo runs) or go
together (`vmap`). `jax.shard_map` is what `jax.pmap` is now built from.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, Sharding
from jax.sharding import PartitionSpec as P
from ml_collections import ConfigDict

from jaxzero.loops import DATA_AXIS, MEMBER_AXIS, RUN_AXIS
from jaxzero.settings import devices as devices_lib
from jaxzero.training import iteration
from jaxzero.training.iteration import RunState
from jaxzero.training.spec import Hyper, Spec

Metrics = dict[str, jax.Array]


class Layout(NamedTuple):
    """How R runs lie on D devices: D = run_devices x data_devices."""

    run_devices: int
    data_devices: int


def plan(num_runs: int, num_devices: int, *, share: bool = True) -> Layout:
    """Runs first: as many groups of devices as divide both numbers, the rest share a run.

    Without `share` each run is on one device, and devices may be left over.
    """
    if not share:
        fitting = (n for n in range(num_devices, 0, -1) if num_runs % n == 0)
        return Layout(next(fitting), 1)
    run_devices = math.gcd(num_runs, num_devices)
    return Layout(run_devices, num_devices // run_devices)


def chosen(config: ConfigDict, num_runs: int) -> tuple[Layout, list[Any]]:
    """How a study's runs lie on devices, and on which. ConfigError: see `devices.choose`."""
    found = devices_lib.choose(config)
    layout = plan(num_runs, len(found), share=devices_lib.share_runs(config, found[0].platform))
    return layout, found[: layout.run_devices * layout.data_devices]


def make_mesh(layout: Layout, devices: list[Any] | None = None) -> Mesh:
    """The mesh ("run", "data") over `devices` (all of all processes by default)."""
    count = layout.run_devices * layout.data_devices
    devices = list(jax.devices() if devices is None else devices)[:count]
    grid = np.array(devices).reshape(layout)
    return Mesh(grid, (RUN_AXIS, DATA_AXIS), axis_types=(AxisType.Auto,) * 2)


def resolve_mode(mode: str) -> str:
    """auto -> map on a CPU, vmap on an accelerator."""
    if mode != "auto":
        return mode
    return "map" if jax.default_backend() == "cpu" else "vmap"


def over_members(fn: Callable, mode: str) -> Callable:
    """`fn` of one member -> of all members, leading axis R: one after another, or together."""
    if mode == "map":
        return lambda *args: jax.lax.map(lambda x: fn(*x), args)
    return jax.vmap(fn, axis_name=MEMBER_AXIS)


class Program(NamedTuple):
    """A population's compiled functions, and how its arrays lie."""

    init: Any  # jitted (seeds int32[R]) -> states [R]
    # jitted, so that it can be lowered and compiled ahead: (hypers [R], states [R], heldout) ->
    # (states [R], metrics [R]); the states given are donated
    iterate: Any
    each: Callable[[Callable], Any]  # a function of one member -> jitted, of all members
    sharding: NamedSharding  # of everything with a run axis
    replicated: NamedSharding  # of everything without


@functools.lru_cache(maxsize=2)  # who trains the same runs on traces and compiles nothing again
def make_program(spec: Spec, mesh: Mesh, mode: str, *, restart: int = 0) -> Program:
    """Builds (does not compile) the functions of a population, in mode map or vmap.

    `spec`: shared by all members, its `data_devices` is the mesh's; `restart`: see
    `iteration.iterate`; then the states given are not donated.
    """
    if mesh.shape[DATA_AXIS] != spec.data_devices:
        raise ValueError(f"spec is for {spec.data_devices} data devices, mesh has {mesh.shape}")
    sharding = NamedSharding(mesh, P(RUN_AXIS))

    runs = P(RUN_AXIS)

    def over_runs(fn: Callable, in_specs: Any, **options: Any) -> Any:
        # mctx's and flax's loops carry replicated values that the varying-axes check can't follow.
        sharded = jax.shard_map(fn, mesh=mesh, in_specs=in_specs, out_specs=runs, check_vma=False)
        # With shardings spelled out, a resumed run finds the program that the first one compiled.
        return jax.jit(sharded, out_shardings=sharding, **options)

    def each(fn: Callable) -> Any:
        return over_runs(over_members(fn, mode), runs)

    def step(hypers: Hyper, states: RunState, heldout: Any) -> tuple[RunState, Metrics]:
        def one(hyper: Hyper, state: RunState) -> tuple[RunState, Metrics]:
            return iteration.iterate(spec, hyper, state, heldout, restart=restart)

        return over_members(one, mode)(hypers, states)

    donated = {} if restart else {"donate_argnums": 1}
    return Program(
        init=each(lambda seed: iteration.init(spec, seed)),
        iterate=over_runs(step, (runs, runs, P()), **donated),
        each=each,
        sharding=sharding,
        replicated=NamedSharding(mesh, P()),
    )


def place(tree: Any, sharding: Sharding) -> Any:
    """Host arrays, the same on every process, onto the mesh."""

    def put(x: Any) -> jax.Array:
        if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            data = put(jax.random.key_data(x))
            return jax.random.wrap_key_data(data, impl=jax.random.key_impl(x))
        x = np.asarray(x)
        return jax.make_array_from_callback(x.shape, sharding, lambda index: x[index])

    return jax.tree.map(put, tree)


def fetch(tree: Any) -> Any:
    """Arrays with a run axis onto this host as NumPy, from the devices of all processes."""
    if jax.process_count() == 1:
        return jax.tree.map(np.asarray, tree)
    return jax.tree.map(np.asarray, multihost_utils.process_allgather(tree, tiled=True))


def stack(members: list[Any]) -> Any:
    """Pytrees of members -> one with a leading axis R."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)


def member(tree: Any, index: Any) -> Any:
    """One member of a population, or by an array of numbers several."""
    return jax.tree.map(lambda x: x[index], tree)
