"""Settings, positions and networks that the cases share."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from jaxzero.games.base import Game, State
from jaxzero.loops import where_lanes
from jaxzero.players import random_action
from jaxzero.settings.config import default_config
from jaxzero.training import learner, replay
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Examples, Replay
from jaxzero.training.spec import Hyper, Spec


def configure(changes: Mapping[str, Any]) -> ConfigDict:
    """The papers' default settings with dotted keys changed."""
    config = default_config()
    config.update_from_flattened_dict(dict(changes))
    return config.lock()


def make(changes: Mapping[str, Any]) -> tuple[Spec, Hyper]:
    """Static and traced settings of the papers' defaults with dotted keys changed."""
    config = configure(changes)
    return spec_lib.make_spec(config), spec_lib.make_hyper(config)


def network(spec: Spec, seed: int = 0) -> Learner:
    """An untrained network with its optimiser."""
    return _initialise(spec)(jax.random.key(seed))


@functools.lru_cache(maxsize=4)
def _initialise(spec: Spec) -> Callable[[jax.Array], Learner]:
    return jax.jit(functools.partial(learner.init, spec))


def sharpen(spec: Spec, untrained: Learner, observation: jax.Array, spread: float) -> Learner:
    """The network with its policy head scaled, as sure of its moves as a trained one.

    Args:
      spec: of a convnet.
      untrained: the network.
      observation: [B, H, W, C], on which the logits get their standard deviation.
      spread: that standard deviation, over the actions.
    """
    logits = learner.infer(spec, untrained, observation).policy_logits
    head = {k: v * (spread / logits.std()) for k, v in untrained.params["policy"].items()}
    return dataclasses.replace(untrained, params={**untrained.params, "policy": head})


@functools.partial(jax.jit, static_argnums=(0, 1))
def positions(game: Game, batch: int, key: jax.Array) -> State:
    """[B] unfinished positions after random games of 0 to max_plies / 2 plies, each its own."""
    count_key, play_key = jax.random.split(key)
    longest = game.max_plies // 2
    plies = jax.random.randint(count_key, (batch,), 0, longest + 1)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), game.init())

    def body(ply: jax.Array, states: State) -> State:
        keys = jax.random.split(jax.random.fold_in(play_key, ply), batch)
        action = jax.vmap(lambda key, state: random_action(game, key, state))(keys, states)
        moved = jax.vmap(game.step)(states, action)
        return where_lanes((ply < plies) & ~jax.vmap(game.is_terminal)(moved), moved, states)

    return jax.lax.fori_loop(0, longest, body, start)


def observations(game: Game, batch: int, count: int) -> jax.Array:
    """[count, B, H, W, C]: what the network sees of positions."""
    states = positions(game, batch * count, jax.random.key(7))
    seen = jax.jit(jax.vmap(game.observe))(states)
    return seen.reshape(count, batch, *seen.shape[1:])


def window(spec: Spec, count: int, seed: int = 0) -> Replay:
    """A window with `count` positions of iteration 1, made-up policies and results."""
    game, capacity = spec.game, spec.positions
    if count > capacity:
        raise ValueError(f"{count} positions do not fit into {capacity}")
    states = positions(game, capacity, jax.random.key(seed))
    policy_key, value_key = jax.random.split(jax.random.key(seed + 1))
    legal = jax.vmap(game.legal_actions)(states)
    policy = jax.random.uniform(policy_key, legal.shape) * legal
    examples = Examples(
        observation=jax.vmap(game.observe)(states),
        policy=policy / policy.sum(-1, keepdims=True),
        value=jax.random.choice(value_key, jnp.array([-1.0, 1.0]), (capacity,)),
        legal=legal,
    )
    empty = replay.empty(spec.replay.window, examples)
    return replay.add(empty, examples, jnp.int32(count), jnp.int32(1))


def dtype(spec: Spec) -> np.dtype:
    """What the network computes in."""
    return jnp.dtype(spec.network.dtype)
