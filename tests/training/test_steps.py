"""Every step of training is as optax and Flax take it."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero.loops import DATA_AXIS
from jaxzero.runs import population
from jaxzero.runs.population import Layout
from jaxzero.settings.config import TARGETS
from jaxzero.training import learner
from jaxzero.training.optimiser import make_optimizer
from jaxzero.training.spec import Spec
from tests import small
from tests.small import assert_close, assert_equal
from tests.training.common import (
    DROPOUT,
    LEARNING_RATE,
    WEIGHT,
    adam_state,
    compiled_step,
    examples,
    fresh,
    hyper_of,
    spec,
)

Losses = tuple[jax.Array, jax.Array]


def forward(params: Any, batch_stats: Any, rate: Any, key: jax.Array) -> tuple[Losses, Any]:
    """(l_p, l_v) and the new running averages, written down once more."""
    out, updates = spec().network.apply(
        {"params": params, "batch_stats": batch_stats},
        examples().observation,
        train=True,
        dropout_rate=rate,
        rngs={"dropout": key},
        mutable=["batch_stats"],
    )
    log_p = out.policy_logits - jax.nn.logsumexp(out.policy_logits, axis=-1, keepdims=True)
    l_p = jnp.mean(-jnp.sum(examples().policy * log_p, axis=-1))
    l_v = jnp.mean((out.value - examples().value) ** 2)
    return (l_p, l_v), updates["batch_stats"]


FORMULAS = {
    "policy": lambda l_p, l_v: l_p,
    "value": lambda l_p, l_v: l_v,
    "sum": lambda l_p, l_v: l_p + l_v,
    "product": lambda l_p, l_v: l_p * l_v,
    "weighted": lambda l_p, l_v: WEIGHT * l_p + (1 - WEIGHT) * l_v,
}


@functools.cache
def reference() -> Any:
    """target number -> after one step of `optax.adam`: weights, optimiser, averages, losses."""
    start, optimiser = fresh(spec()), optax.adam(LEARNING_RATE)

    @jax.jit
    def run(number: jax.Array, key: jax.Array) -> tuple[Any, Any, Any, Losses]:
        def objective(params: Any) -> tuple[jax.Array, Any]:
            measured, statistics = forward(params, start.batch_stats, DROPOUT, key)
            return jnp.stack([FORMULAS[target](*measured) for target in TARGETS])[
                number
            ], statistics

        gradients, statistics = jax.grad(objective, has_aux=True)(start.params)
        updates, state = optimiser.update(gradients, optimiser.init(start.params), start.params)
        params = optax.apply_updates(start.params, updates)
        return params, state, statistics, forward(params, start.batch_stats, 0.0, key)[0]

    return run


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_equals_optax_and_flax(target: str) -> None:
    after, measured = compiled_step(spec())(
        hyper_of(target), fresh(spec()), examples(), jax.random.key(3)
    )
    params, adam, batch_stats, losses = reference()(TARGETS.index(target), jax.random.key(3))
    expected_mu = adam_state(adam).mu
    assert_close(adam_state(after.opt_state).mu, expected_mu, 1e-6, target)
    # Adam's first step is the gradient's sign: where that is rounding, so is the weight.
    large = jax.tree.map(lambda m: np.abs(m) > 1e-5, expected_mu)
    assert np.mean(np.concatenate([x.ravel() for x in jax.tree.leaves(large)])) > 0.5
    assert_close(where(large, after.params), where(large, params), 1e-6, target)
    # One step moves the running averages once: measuring again does not.
    assert_close(after.batch_stats, batch_stats, 1e-6, target)
    assert_close(measured, losses, 1e-5, "after the step, same minibatch, no dropout")


def where(mask: Any, tree: Any) -> Any:
    """Zero elsewhere."""
    return jax.tree.map(lambda m, x: np.where(m, x, 0), mask, tree)


def test_dropout_inactive() -> None:
    published = small.small_spec({"switches.dropout_inactive": True})
    key = jax.random.key(3)

    def after(spec: Spec, rate: float) -> Any:
        hyper = hyper_of("sum", **{"train.dropout_rate": rate})
        return compiled_step(spec)(hyper, fresh(spec), examples(), key)

    assert_equal(after(published, 0.0), after(published, 0.5))
    with pytest.raises(AssertionError):
        assert_equal(after(spec(), 0.0), after(spec(), 0.5))
    # Inactive is as if the rate were 0.
    (inactive, measured), (off, expected) = after(published, 0.5), after(spec(), 0.0)
    assert_close(inactive.batch_stats, off.batch_stats, 1e-6)
    assert_close(measured, expected, 1e-4)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, optax.adam(LEARNING_RATE, b1=0.9, b2=0.999, eps=1e-8)),
        ({"optimizer": "sgd", "momentum": 0.8}, optax.sgd(LEARNING_RATE, momentum=0.8)),
        (
            {"weight_decay": 0.1},
            optax.chain(optax.add_decayed_weights(0.1), optax.adam(LEARNING_RATE)),
        ),
        (
            {
                "optimizer": "sgd",
                "momentum": 0.5,
                "weight_decay": 0.01,
                "max_gradient_norm": 0.7,
            },
            optax.chain(
                optax.clip_by_global_norm(0.7),
                optax.add_decayed_weights(0.01),
                optax.sgd(LEARNING_RATE, momentum=0.5),
            ),
        ),
    ],
)
def test_optimisers_equal_optax(changes: dict[str, Any], expected: Any) -> None:
    ours = make_optimizer(
        small.small_spec({f"train.{key}": value for key, value in changes.items()})
    )
    rng = np.random.default_rng(0)
    params = {"w": jnp.asarray(rng.normal(size=(3, 2)), jnp.float32), "b": jnp.ones((2,))}
    theirs, our_state, their_state = params, ours.init(params), expected.init(params)
    for _ in range(4):
        gradients = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype), params)
        updates, our_state = ours.update(gradients, our_state, params)
        params = jax.tree.map(lambda p, u: p - LEARNING_RATE * u, params, updates)
        updates, their_state = expected.update(gradients, their_state, theirs)
        theirs = optax.apply_updates(theirs, updates)
        assert_close(params, theirs, 1e-6)


def test_l_x_is_the_product_of_the_means_over_all_devices() -> None:
    changes = {"train.optimizer": "sgd", "train.momentum": 0.0, "train.measure": "in_step"}
    hyper = hyper_of("product", **{"train.dropout_rate": 0.0, "train.learning_rate": 1.0})
    start, key = fresh(spec()), jax.random.key(0)
    alone = small.small_spec(changes)
    start = dataclasses.replace(start, opt_state=make_optimizer(alone).init(start.params))
    after, measured = compiled_step(alone)(hyper, start, examples(), key)
    shared = small.small_spec(changes, data_devices=4)
    step = jax.shard_map(
        functools.partial(learner.train_step, shared),
        mesh=population.make_mesh(Layout(1, 4)),
        in_specs=(P(), P(), P(DATA_AXIS), P()),
        out_specs=P(),
        check_vma=False,
    )
    assert_close(jax.jit(step)(hyper, start, examples(), key), (after, measured), 1e-5)


def test_every_device_takes_its_part_of_the_minibatch() -> None:
    shared = small.small_spec(data_devices=4)
    mine = jax.shard_map(
        functools.partial(learner._my_part, shared),
        mesh=population.make_mesh(Layout(1, 4)),
        in_specs=P(),
        out_specs=P(DATA_AXIS),
    )
    index = jnp.arange(16) * 3
    np.testing.assert_array_equal(mine(index), index)
