"""A pseudo-random network that gives the same bits in NumPy and compiled, for any batch size."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.oracles.mcts_games import Evaluate


@functools.cache
def _stub_weights(
    size: int, num_actions: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Weights [size, A + 2] and biases [A + 2], multiples of 1/64, and a power of two."""
    rng = np.random.default_rng([seed, size, num_actions])
    weights = rng.integers(-64, 65, (size, num_actions + 2)).astype(np.float32) / 64
    biases = rng.integers(-64, 65, num_actions + 2).astype(np.float32) / 64
    return weights, biases, 2.0 ** -max(0, round(np.log2(np.sqrt(size) / 4)))


def _stub_outputs(x: Any, draws: bool) -> tuple[Any, ...]:
    """Splits [..., A + 2] exact numbers into outputs; every operation is rounded once, by IEEE."""
    raw = x[..., -2]
    value = raw / (1 + abs(raw))
    if not draws:
        return x[..., :-2], value
    other = x[..., -1]
    share = (1 + other / (1 + abs(other))) / 2
    return x[..., :-2], value, share * (1 - abs(value))


def deterministic_stub_network(num_actions: int, seed: int, *, draws: bool = True) -> Evaluate:
    """A pseudo-random network in NumPy: observation [H, W, C] -> (logits [A], value, draw prob.).

    Linear maps with weights of few bits, so that the sums are exact in float32 for observations of
    small integers, and x / (1 + |x|) in place of tanh: it returns the same bits as
    `jax_stub_evaluate` with the same arguments, and that one for any batch size. `draws=False`
    leaves the third output out.
    """

    def evaluate(observation: ArrayLike) -> tuple[Any, ...]:
        x = np.asarray(observation, np.float32).reshape(1, -1)
        weights, biases, scale = _stub_weights(x.size, num_actions, seed)
        outputs = _stub_outputs((x @ weights + biases) * np.float32(scale), draws)
        return tuple(output[0] for output in outputs)

    return evaluate


def jax_stub_evaluate(num_actions: int, seed: int, *, draws: bool = True) -> Evaluate:
    """`deterministic_stub_network` for batches: [B, H, W, C] -> ([B, A], [B], [B])."""

    def evaluate(observation: jax.Array) -> tuple[Any, ...]:
        x = observation.reshape(observation.shape[0], -1).astype(jnp.float32)
        weights, biases, scale = _stub_weights(x.shape[1], num_actions, seed)
        y = jnp.dot(x, weights, precision=jax.lax.Precision.HIGHEST)
        return _stub_outputs((y + biases[None]) * scale, draws)

    return evaluate
