"""The phases of an iteration, each alone, for a clock: what they are given does not matter.

Each returns the phase's counts and all that was computed, so that no compiler leaves work out.
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.training import episodes, gate, learner, replay
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec


def selfplay(spec: Spec, hyper: Hyper, network: Learner, key: jax.Array) -> Any:
    """The games of an iteration; counts in "count/selfplay_evaluations" and its like."""
    return episodes.self_play(spec, hyper, network, key)[1]


def arena(spec: Spec, hyper: Hyper, network: Learner, key: jax.Array) -> Any:
    """A match of a network against itself."""
    return gate.gate(spec, hyper, network, network, key)[1]


def epoch(
    spec: Spec, hyper: Hyper, network: Learner, positions: jax.Array, key: jax.Array
) -> dict[str, Any]:
    """One epoch over a window of made-up positions; counts in "count/gradient_steps".

    Args:
      hyper: its epochs and window do not matter.
      positions: in the window, int32, [].
      key: of the minibatches.
    """
    examples = made_up(spec, spec.positions, positions)
    empty = replay.empty(spec.replay.window, examples)
    window = replay.add(empty, examples, positions, jnp.int32(1))
    source = replay.source(window, jnp.int32(1), spec.replay.window)
    once = dataclasses.replace(hyper, epochs=jnp.int32(1))
    trained, metrics = learner.fit(spec, once, network, source, jnp.int32(1), key, positions)
    return metrics | {"trained": trained}


def made_up(spec: Spec, count: int, seed: jax.Array) -> Examples:
    """[count] examples whose contents do not matter to a clock, but which no compiler knows."""
    shape, actions = spec.game.observation_shape, spec.game.num_actions
    number = jnp.arange(count) * seed
    squares = jnp.arange(math.prod(shape)).reshape(shape)
    stones = (number.reshape(-1, *(1 for _ in shape)) + squares[None]) % 3 - 1
    observation = jax.eval_shape(lambda: spec.game.observe(spec.game.init()))
    return Examples(
        observation=stones.astype(observation.dtype),
        policy=jax.nn.one_hot(number % actions, actions),
        value=(number % 3 - 1).astype(jnp.float32),
        legal=jnp.ones((count, actions), bool),
    )
