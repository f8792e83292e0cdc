"""Small runs that the tests of the learning loop share, and programs that are compiled once.

Compiling an iteration takes far longer than running it, so tests vary what is traced (`Hyper`)
and share what is static (`Spec`).
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from jaxzero.doctor import TINY
from jaxzero.games import Game
from jaxzero.runs import population
from jaxzero.runs.population import Layout, Program
from jaxzero.settings.config import changed, default_config
from jaxzero.training import iteration
from jaxzero.training import spec as spec_lib
from jaxzero.training.iteration import RunState
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec

Metrics = dict[str, np.ndarray]

SETTINGS: dict[str, Any] = TINY | {
    "train.iterations": 3,
    "evaluation.heldout_games": 2,
    "evaluation.heldout_simulations": 2,
    "execution.devices": 1,
    "execution.population": "map",
}

# Dropout acts (devices share one mask); a small step leaves rounding no room to grow; there are
# fewer games of the arena than devices.
FOR_DEVICES = {
    "train.dropout_rate": 0.3,
    "train.learning_rate": 1e-4,
    "arena.threshold": 0.0,
    "arena.games": 2,
}


def small_config(changes: Mapping[str, Any] | None = None) -> ConfigDict:
    """The default settings made small, then changed; keys are dotted."""
    return changed(default_config(), {**SETTINGS, **(changes or {})})


def small_spec(changes: Mapping[str, Any] | None = None, *, data_devices: int = 1) -> Spec:
    """Static settings of a small run."""
    return spec_lib.make_spec(small_config(changes), data_devices=data_devices)


def for_devices(data_devices: int) -> Spec:
    """Of runs that are compared between numbers of devices, with the settings `FOR_DEVICES`."""
    return small_spec(data_devices=data_devices)


def small_hyper(changes: Mapping[str, Any] | None = None) -> Hyper:
    """Traced settings of a small run."""
    return spec_lib.make_hyper(small_config(changes))


@functools.cache
def heldout(game: Game) -> tuple[Examples, jax.Array]:
    """A made-up held-out set, in the shape of the one that `SETTINGS` ask for."""
    count = SETTINGS["evaluation.heldout_games"] * game.max_plies
    examples = random_examples(game, count, seed=99)
    return examples, jnp.arange(count) < count - 7


def random_examples(game: Game, count: int, *, seed: int = 0) -> Examples:
    """Boards of -1, 0, +1 with made-up targets; legal actions are those with a probability."""
    rng = np.random.default_rng(seed)
    legal = rng.random((count, game.num_actions)) < 0.8
    legal[:, 0] = True
    policy = rng.random((count, game.num_actions)) * legal
    return Examples(
        observation=jnp.asarray(rng.integers(-1, 2, (count, *game.observation_shape)), jnp.int8),
        policy=jnp.asarray(policy / policy.sum(-1, keepdims=True), jnp.float32),
        value=jnp.asarray(rng.choice([-1.0, 1.0], count), jnp.float32),
        legal=jnp.asarray(legal),
    )


@functools.cache
def compiled_init(spec: Spec) -> Callable[[Any], RunState]:
    """seed -> a run before its first iteration."""
    return jax.jit(functools.partial(iteration.init, spec))


@functools.cache
def compiled_iterate(spec: Spec) -> Callable[[Hyper, RunState, Any], tuple[RunState, Any]]:
    """(hyper, state, heldout) -> (state, metrics) of one run alone; nothing is donated."""
    return jax.jit(functools.partial(iteration.iterate, spec))


def run_alone(
    spec: Spec, hyper: Hyper, *, seed: int, iterations: int
) -> list[tuple[RunState, Metrics]]:
    """The states and metrics after each iteration of one run."""
    state, history = compiled_init(spec)(seed), []
    for _ in range(iterations):
        state, metrics = compiled_iterate(spec)(hyper, state, heldout(spec.game))
        history.append((state, to_numpy(metrics)))
    return history


@functools.cache
def compiled_program(spec: Spec, layout: Layout, mode: str) -> Program:
    """A population's program on virtual devices."""
    return population.make_program(spec, population.make_mesh(layout), mode)


def run_population(
    program: Program, game: Game, hypers: list[Hyper], seeds: list[int], iterations: int
) -> list[tuple[RunState, Metrics]]:
    """States (fetched, [R]) and metrics [R] after each iteration of a population."""
    stacked = population.place(population.stack(hypers), program.sharding)
    held = population.place(heldout(game), program.replicated)
    states = program.init(population.place(np.array(seeds, np.int32), program.sharding))
    history = []
    for _ in range(iterations):
        states, metrics = program.iterate(stacked, states, held)
        history.append((to_numpy(states), population.fetch(metrics)))
    return history


def to_numpy(tree: Any) -> Any:
    """Leaves as NumPy arrays, random keys as the numbers in them."""

    def convert(x: Any) -> np.ndarray:
        if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x = jax.random.key_data(x)
        return np.asarray(x)

    return jax.tree.map(convert, tree)


def assert_equal(actual: Any, expected: Any, what: str = "") -> None:
    """Two pytrees are the same bit for bit, NaN included."""
    actual, expected = to_numpy(actual), to_numpy(expected)
    for (path, a), (_, b) in zip(
        jax.tree_util.tree_leaves_with_path(actual),
        jax.tree_util.tree_leaves_with_path(expected),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b, f"{what} {jax.tree_util.keystr(path)}")


def assert_close(actual: Any, expected: Any, tolerance: float, what: str = "") -> None:
    """Two pytrees agree to an absolute and relative tolerance, NaN at the same places."""
    actual, expected = to_numpy(actual), to_numpy(expected)
    for (path, a), (_, b) in zip(
        jax.tree_util.tree_leaves_with_path(actual),
        jax.tree_util.tree_leaves_with_path(expected),
        strict=True,
    ):
        message = f"{what} {jax.tree_util.keystr(path)}"
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=message)
