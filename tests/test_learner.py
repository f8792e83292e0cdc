"""Training: every step as optax and Flax take it, every epoch as long as it should be."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero import learner, population, replay
from jaxzero import spec as spec_lib
from jaxzero.config import TARGETS
from jaxzero.learner import Learner
from jaxzero.loops import MEMBER_AXIS
from jaxzero.networks import NetworkOutput
from jaxzero.population import Layout
from jaxzero.spec import DATA_AXIS, Spec
from tests import small
from tests.small import assert_close, assert_equal

LEARNING_RATE, DROPOUT, WEIGHT = 0.003, 0.4, 0.3
Losses = tuple[jax.Array, jax.Array]


@functools.cache
def spec() -> Spec:
    """Shared with the tests of iterations and populations."""
    return small.small_spec()


@functools.cache
def fresh(spec: Spec) -> Learner:
    """An untrained network."""
    return jax.jit(functools.partial(learner.init, spec))(jax.random.key(0))


@functools.cache
def compiled_step(spec: Spec) -> Any:
    """(hyper, learner, examples, key) -> (learner, (l_p, l_v))."""
    return jax.jit(functools.partial(learner.train_step, spec))


def hyper_of(target: str, **changes: Any) -> Any:
    """Traced settings of these tests."""
    return small.small_hyper(
        {
            "train.loss": target,
            "train.loss_weight": WEIGHT,
            "train.learning_rate": LEARNING_RATE,
            "train.dropout_rate": DROPOUT,
            **changes,
        }
    )


@functools.cache
def examples() -> replay.Examples:
    """A minibatch."""
    return small.random_examples(spec().game, 16)


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


def adam_state(state: Any) -> optax.ScaleByAdamState:
    """The part of an optimiser's state that is Adam's."""

    def is_adam(x: Any) -> bool:
        return isinstance(x, optax.ScaleByAdamState)

    [found] = [x for x in jax.tree.leaves(state, is_leaf=is_adam) if is_adam(x)]
    return found


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
    ours = spec_lib.make_optimizer(
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
    start = dataclasses.replace(start, opt_state=spec_lib.make_optimizer(alone).init(start.params))
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


# --- Whole passes ---------------------------------------------------------------------------------


class Recorded:
    """`fit` without a network: its learner is a list of the minibatches that were drawn."""

    STEPS = 64

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def draw(spec: Spec, window: Any, counts: Any, index: jax.Array) -> jax.Array:
            return index

        def step(
            spec: Spec, hyper: Any, state: Any, index: jax.Array, key: jax.Array, *, momentum: Any
        ) -> Any:
            drawn = state["drawn"].at[state["steps"]].set(index)
            measured = index.mean(dtype=jnp.float32), jnp.float32(2)
            return {"drawn": drawn, "steps": state["steps"] + 1}, measured

        monkeypatch.setattr(learner, "draw", draw)
        monkeypatch.setattr(learner, "train_step", step)

    @classmethod
    def empty(cls, batch: int) -> dict[str, jax.Array]:
        """Nothing drawn yet."""
        return {"drawn": jnp.full((cls.STEPS, batch), -1), "steps": jnp.int32(0)}


def window_of(spec: Spec, *counts: int) -> replay.Replay:
    """A ring whose slots are said to hold so many positions, the last one the newest."""
    observation = jax.ShapeDtypeStruct(spec.game.observation_shape, jnp.int8)
    ring = replay.empty(spec.window, spec.positions, observation, spec.game.num_actions)
    return ring.replace(count=jnp.array(counts), iteration=jnp.arange(len(counts)) + 1)


def fit_of(spec: Spec) -> Any:
    """Jitted (hyper, learner, window, key) -> (learner, metrics)."""
    return jax.jit(
        lambda hyper, start, window, key: learner.fit(spec, hyper, start, window, jnp.int32(2), key)
    )


@pytest.mark.parametrize("sampling", ["replacement", "epoch"])
def test_an_epoch_is_as_long_as_it_should_be(
    monkeypatch: pytest.MonkeyPatch, sampling: str
) -> None:
    Recorded(monkeypatch)
    one = small.small_spec({"train.sampling": sampling, "train.epochs": 3})
    fit = fit_of(one)
    for counts, window, epochs in (
        ((31, 40), 2, 2),
        ((31, 40), 1, 3),
        ((1, 2), 2, 1),
        ((0, 8), 2, 2),
    ):
        hyper = small.small_hyper({"replay.window": window, "train.epochs": epochs})
        total = 2 * sum(counts[-window:])
        steps = max(total // 16, 1)
        found, metrics = fit(hyper, Recorded.empty(16), window_of(one, *counts), jax.random.key(1))
        assert found["steps"] == metrics["count/gradient_steps"] == epochs * steps
        drawn = np.asarray(found["drawn"])
        assert (drawn[epochs * steps :] == -1).all()
        by_epoch = drawn[: epochs * steps].reshape(epochs, -1)
        assert by_epoch.min() >= 0
        assert by_epoch.max() < total
        means = by_epoch.reshape(epochs, steps, 16).mean((1, 2))
        np.testing.assert_allclose(metrics["loss/policy"][:epochs], means, rtol=1e-5)
        np.testing.assert_allclose(metrics["loss/product"][:epochs], 2 * means, rtol=1e-5)
        np.testing.assert_allclose(metrics["loss/minimised"][:epochs], means + 2, rtol=1e-5)
        assert np.isnan(metrics["loss/policy"][epochs:]).all()
        if sampling == "epoch" and total >= 16:
            for numbers in by_epoch:
                assert len(set(numbers.tolist())) == len(numbers) == total // 16 * 16
        if total > 100:
            assert len({numbers.tobytes() for numbers in by_epoch}) == epochs
            assert len(set(by_epoch.ravel().tolist())) > total // 2
            repeats = [len(numbers) - len(set(numbers.tolist())) for numbers in by_epoch]
            assert (min(repeats) > 0) == (sampling == "replacement")


def test_together_every_member_has_its_own_length(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(monkeypatch)
    one = small.small_spec({"train.epochs": 3})
    fit = fit_of(one)
    hypers = [small.small_hyper({"train.epochs": epochs}) for epochs in (1, 3, 2)]
    windows = [window_of(one, *counts) for counts in ((3, 9), (20, 4), (40, 40))]
    keys = jax.random.split(jax.random.key(0), 3)
    together = jax.vmap(fit, in_axes=(0, None, 0, 0), axis_name=MEMBER_AXIS)(
        population.stack(hypers), Recorded.empty(16), population.stack(windows), keys
    )
    for i in range(3):
        alone = fit(hypers[i], Recorded.empty(16), windows[i], keys[i])
        assert_equal(population.member(together, i), alone)


@functools.cache
def whole_window() -> tuple[Spec, Any, replay.Replay]:
    """Running averages without memory and minibatches of everything: (spec, fit, window)."""
    one = small.small_spec(
        {"train.sampling": "epoch", "network.batch_norm_momentum": 0.0, "train.batch_size": 32}
    )
    given = small.random_examples(one.game, one.positions, seed=4)
    ring = window_of(one, 0, 0)
    for iteration, count in ((1, 6), (2, 10)):
        ring = replay.add(ring, given, jnp.int32(count), jnp.int32(iteration))
    return one, fit_of(one), ring


def test_without_a_learning_rate_nothing_is_learned_and_the_loss_is_the_evaluation() -> None:
    one, fit, ring = whole_window()
    hyper = hyper_of("sum", **{"train.learning_rate": 0.0, "train.dropout_rate": 0.0})
    after, metrics = fit(hyper, fresh(one), ring, jax.random.key(0))
    assert_equal(after.params, fresh(one).params)
    # The running averages are those of the one minibatch, which is the whole window.
    counts = replay.counts_in_window(ring, jnp.int32(2), hyper.window)
    everything = jax.jit(
        lambda: replay.take(ring, counts, jnp.arange(32), one.game.symmetries, 2)
    )()
    evaluation = learner.evaluate_losses(one, after, everything, jnp.ones((32,), bool))
    for name, value in evaluation.items():
        np.testing.assert_allclose(metrics[f"loss/{name}"], [value] * 2, rtol=1e-5)


def test_the_optimiser_counts_the_steps_and_the_loss_falls() -> None:
    one, fit, ring = whole_window()
    after, metrics = fit(hyper_of("sum"), fresh(one), ring, jax.random.key(0))
    count = adam_state(after.opt_state).count
    assert count == metrics["count/gradient_steps"] == 2
    assert metrics["loss/sum"][1] < metrics["loss/sum"][0]
    again, _ = fit(hyper_of("sum"), after, ring, jax.random.key(0))
    assert adam_state(again.opt_state).count == 4  # it goes on, as the programs' optimiser does


# --- The acting network ---------------------------------------------------------------------------


def test_acting_uses_the_running_averages() -> None:
    after, _ = compiled_step(spec())(hyper_of("sum"), fresh(spec()), examples(), jax.random.key(3))
    infer = jax.jit(functools.partial(learner.infer, spec()))
    boards = examples().observation
    out = infer(after, boards)
    company = boards.at[1:].set(boards[1:][::-1] * -1)
    other = infer(after, company)
    assert_close(out.policy_logits[0], other.policy_logits[0], 1e-6)
    assert_close(out.value[0], other.value[0], 1e-6)
    assert (np.asarray(out.value[1:]) != np.asarray(other.value[1:])).any()
    moved = infer(dataclasses.replace(after, batch_stats=fresh(spec()).batch_stats), boards)
    assert (np.asarray(out.value) != np.asarray(moved.value)).all()
    logits, value, draw = learner.acting(spec(), after)(boards)
    assert_close((logits, value), (out.policy_logits, out.value), 1e-6)
    assert draw is None


def test_evaluation_counts_the_valid_examples() -> None:
    evaluate = jax.jit(functools.partial(learner.evaluate_losses, spec()))
    given = examples()
    out = learner.infer(spec(), fresh(spec()), given.observation)
    valid = np.arange(16) % 3 > 0
    found = evaluate(fresh(spec()), given, valid)
    log_p = np.asarray(jax.nn.log_softmax(out.policy_logits))
    policy = -(np.asarray(given.policy) * log_p).sum(-1)[valid].mean()
    value = ((np.asarray(out.value) - np.asarray(given.value)) ** 2)[valid].mean()
    expected = {"policy": policy, "value": value, "sum": policy + value, "product": policy * value}
    assert_close(found, expected, 1e-5)
    nothing = evaluate(fresh(spec()), given, np.zeros(16, bool))
    assert all(value == 0 for value in nothing.values())


def test_evaluation_in_chunks() -> None:
    given = small.random_examples(spec().game, 4096 + 100, seed=1)
    valid = np.ones(4196, bool)
    evaluate = jax.jit(functools.partial(learner.evaluate_losses, spec()))
    whole = evaluate(fresh(spec()), given, valid)
    parts = [
        evaluate(fresh(spec()), given, (np.arange(4196) < 4096) == first) for first in (True, False)
    ]
    for name in ("policy", "value"):
        mean = (parts[0][name] * 4096 + parts[1][name] * 100) / 4196
        np.testing.assert_allclose(whole[name], mean, rtol=1e-5)


def test_legal_softmax_acts_where_it_is_asked_for() -> None:
    given = examples()
    output = NetworkOutput(policy_logits=jnp.zeros((16, 5)), value=jnp.zeros((16,)))
    everywhere, _ = learner.mean_losses(spec(), output, given)
    np.testing.assert_allclose(everywhere, np.log(5), rtol=1e-6)
    legal, _ = learner.mean_losses(
        small.small_spec({"train.policy_softmax": "legal"}), output, given
    )
    np.testing.assert_allclose(legal, np.log(np.asarray(given.legal).sum(-1)).mean(), rtol=1e-6)


@pytest.mark.parametrize("published", [False, True])
def test_mirror_without_policy(published: bool) -> None:
    one = small.small_spec({"switches.mirror_without_policy": published})
    given = small.random_examples(one.game, one.positions, seed=2)
    ring = replay.add(window_of(one, 0, 0), given, jnp.int32(4), jnp.int32(1))
    drawn = learner.draw(one, ring, jnp.array([0, 4]), jnp.arange(8))
    for i in range(4):
        plain, mirrored = drawn.policy[2 * i], drawn.policy[2 * i + 1]
        np.testing.assert_array_equal(plain, given.policy[i])
        np.testing.assert_array_equal(mirrored, plain if published else plain[::-1])
        np.testing.assert_array_equal(
            drawn.observation[2 * i + 1], drawn.observation[2 * i][:, ::-1]
        )
