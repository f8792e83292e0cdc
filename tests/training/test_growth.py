"""When a network grows, to what, and what becomes of its optimiser's state."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import growth, learner
from jaxzero.training.learner import Learner
from jaxzero.training.optimiser import Averaged, make_optimizer
from jaxzero.training.spec import GrowthSettings, Spec
from tests import small
from tests.small import assert_close

GROWING = {
    "network.name": "resnet",
    "network.blocks": 1,
    "network.channels": 4,
    "network.grow_at": (1,),
    "network.grow_to": (6,),
    "network.squeeze_excite": True,
    "arena.gate": "none",
}


def test_when_and_to_what() -> None:
    own = GrowthSettings(grow_at=(4, 8), grow_to=(32, 64), grow_by="random")
    assert [growth.planned(own, 16, done) for done in (0, 4, 5, 8, 9, 99)] == [
        16,
        16,
        32,
        32,
        64,
        64,
    ]
    assert [growth.goal(own, done, 16) for done in (3, 4, 9)] == [0, 32, 32]
    assert [growth.goal(own, done, 32) for done in (7, 8)] == [0, 64]
    assert growth.goal(own, 99, 64) == 0


def in_training(spec: Spec) -> Learner:
    """A learner whose numbers all say something, and are positive."""
    rng = np.random.default_rng(0)

    def number(x: Any) -> jax.Array:
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return jnp.full(x.shape, 5, x.dtype)
        return jnp.asarray(rng.uniform(0.1, 0.3, x.shape), x.dtype)

    return jax.tree.map(number, growth.shapes(spec, 4))


def moved(spec: Spec, before: Learner) -> Learner:
    """After a step along the momentum alone: the gradient is zero."""
    held = before.opt_state
    state = held.optimiser if isinstance(held, Averaged) else held
    zeros = jax.tree.map(jnp.zeros_like, before.params)
    updates, state = make_optimizer(spec).update(zeros, state, before.params)
    params = jax.tree.map(lambda p, u: p - 0.1 * u, before.params, updates)
    if isinstance(held, Averaged):
        state = held.after(0.5, params, before.batch_stats, state)
    return Learner(params, before.batch_stats, state)


@pytest.mark.parametrize(
    "changes",
    [
        {"train.optimizer": "sgd", "train.momentum": 0.9, "train.max_gradient_norm": 1.0},
        {"train.optimizer": "adam", "train.average": 0.9},
    ],
)
def test_momentum_moves_the_wider_network_alike(changes: dict[str, Any]) -> None:
    spec = small.small_spec(GROWING | changes)
    before = in_training(spec)
    boards = np.random.default_rng(1).normal(size=(4, *spec.game.observation_shape))

    @jax.jit
    def answers(before: Learner) -> Any:
        wide = growth.widened(spec, before, 6, jax.random.key(1))
        after = moved(spec, before)
        others = moved(spec, wide), growth.widened(spec, after, 6, jax.random.key(1))
        return wide, [learner.infer(spec, x, boards) for x in (after, *others)]

    wide, (narrow, *others) = answers(before)
    for other in others:
        assert_close(other, narrow, 1e-5)
    assert jax.tree.map(jnp.shape, wide) == jax.tree.map(jnp.shape, growth.shapes(spec, 6))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"network.name": "convnet", "network.squeeze_excite": False},
            r"network.grow_at=\(1,\): needs config.network.name='resnet'",
        ),
        ({"network.grow_to": (6, 8)}, r"network.grow_to=\(6, 8\): one for each of grow_at=\(1,\)"),
        (
            {"network.grow_to": (4,)},
            "network.grow_to=.*count upwards from config.network.channels=4",
        ),
        ({"network.grow_at": (0,)}, "network.grow_at=0: at least 1"),
        (
            {"network.grow_by": "random", "arena.gate": "threshold"},
            "network.grow_by='random': .*config.arena.gate",
        ),
        (
            {"network.grow_by": "parallel", "arena.gate": "wilson"},
            "network.grow_by='parallel': .*config.arena.gate",
        ),
    ],
)
def test_what_cannot_grow_is_refused_in_one_line(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        config_lib.validate(small.small_config(GROWING | changes))
    assert "\n" not in str(caught.value)
