"""Every epoch is as long as it should be, over the examples that it should have."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.loops import MEMBER_AXIS
from jaxzero.runs import population
from jaxzero.training import learner, optimiser, replay
from jaxzero.training.spec import Spec
from tests import small
from tests.small import assert_equal
from tests.training.common import adam_state, fresh, hyper_of


class Recorded:
    """`fit` without a network: its learner is a list of the minibatches that were drawn."""

    STEPS = 64

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def draw(spec: Spec, source: Any, index: jax.Array) -> jax.Array:
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
    ring = replay.empty(spec.replay.window, small.random_examples(spec.game, spec.positions))
    return ring.replace(count=jnp.array(counts), iteration=jnp.arange(len(counts)) + 1)


def fit_of(spec: Spec) -> Any:
    """Jitted (hyper, learner, window, key) -> (learner, metrics)."""

    def fit(hyper: Any, start: Any, ring: replay.Replay, key: jax.Array) -> Any:
        source = replay.source(ring, jnp.int32(2), hyper.window)
        return learner.fit(spec, hyper, start, source, jnp.int32(2), key, ring.count[1])

    return jax.jit(fit)


def test_passes_count_what_is_new_whatever_the_window_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Recorded(monkeypatch)
    fit = fit_of(small.small_spec({"train.passes": 1.5, "train.epochs": 1}))
    hyper = small.small_hyper({"train.epochs": 1})
    for counts, steps in (((31, 40), 8), ((3, 40), 8), ((31, 16), 3), ((31, 0), 1)):
        ring = window_of(small.small_spec(), *counts)
        found, metrics = fit(hyper, Recorded.empty(16), ring, jax.random.key(1))
        assert found["steps"] == metrics["count/gradient_steps"] == steps
        assert found["drawn"][:steps].max() < 2 * sum(counts)


@pytest.mark.parametrize("changes", [{}, {"train.passes": 1.5, "train.epochs": 1}])
def test_an_empty_window_teaches_nothing(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    Recorded(monkeypatch)
    one, hyper = small.small_spec(changes), small.small_hyper(changes | {"replay.window": 1})
    found, metrics = fit_of(one)(
        hyper, Recorded.empty(16), window_of(one, 31, 0), jax.random.key(1)
    )
    assert found["steps"] == metrics["count/gradient_steps"] == 0
    assert np.isnan(metrics["loss/policy"]).all()


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
        if sampling == "epoch":  # as often as each other, but for the remainder
            for numbers in by_epoch:
                often = np.bincount(numbers, minlength=total)
                assert often.max() == -(-16 // total)
                assert often.min() >= 16 // total
        if total > 100:
            assert len({numbers.tobytes() for numbers in by_epoch}) == epochs
            assert len(set(by_epoch.ravel().tolist())) > total // 2
            repeats = [len(numbers) - len(set(numbers.tolist())) for numbers in by_epoch]
            assert (min(repeats) > 0) == (sampling == "replacement")


def test_rate_and_momentum_run_over_all_epochs_of_an_iteration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def step(
        spec: Spec, hyper: Any, state: Any, index: jax.Array, key: jax.Array, *, momentum: Any
    ) -> Any:
        seen = state["seen"].at[state["steps"]].set(jnp.stack([hyper.learning_rate, momentum]))
        return {"seen": seen, "steps": state["steps"] + 1}, (jnp.float32(0), jnp.float32(0))

    Recorded(monkeypatch)
    monkeypatch.setattr(learner, "train_step", step)
    changes = {"train.optimizer": "sgd", "train.schedule": "cyclic", "train.anneal_to": 0.4}
    one, hyper = small.small_spec(changes), small.small_hyper({"train.learning_rate": 0.2})
    start = {"seen": jnp.zeros((Recorded.STEPS, 2)), "steps": jnp.int32(0)}
    found, _ = fit_of(one)(hyper, start, window_of(one, 0, 40), jax.random.key(0))
    assert found["steps"] == 2 * 5
    for k, row in enumerate(found["seen"][:10]):
        rate = optimiser.learning_rate_factor(one.train, jnp.int32(2), jnp.float32(k / 10))
        momentum = optimiser.momentum(one.train, jnp.float32(k / 10))
        np.testing.assert_allclose(row, [0.2 * rate, momentum], rtol=1e-5)


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
    source = replay.source(ring, jnp.int32(2), hyper.window)
    everything = jax.jit(lambda: learner.draw(one, source, jnp.arange(32)))()
    evaluate = jax.jit(functools.partial(learner.evaluate_losses, one))
    evaluation = evaluate(after, everything, jnp.ones((32,), bool))
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


@pytest.mark.parametrize("published", [False, True])
def test_mirror_without_policy(published: bool) -> None:
    one = small.small_spec({"switches.mirror_without_policy": published})
    given = small.random_examples(one.game, one.positions, seed=2)
    ring = replay.add(window_of(one, 0, 0), given, jnp.int32(4), jnp.int32(1))
    drawn = learner.draw(one, replay.source(ring, jnp.int32(1), 1), jnp.arange(8))
    for i in range(4):
        plain, mirrored = drawn.policy[2 * i], drawn.policy[2 * i + 1]
        np.testing.assert_array_equal(plain, given.policy[i])
        np.testing.assert_array_equal(mirrored, plain if published else plain[::-1])
        np.testing.assert_array_equal(
            drawn.observation[2 * i + 1], drawn.observation[2 * i][:, ::-1]
        )
