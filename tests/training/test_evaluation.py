"""The network in play, and its losses on examples that it does not learn from."""

import dataclasses
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.networks import NetworkOutput
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.training import learner
from tests import small
from tests.small import assert_close, assert_equal
from tests.training.common import compiled_step, examples, fresh, hyper_of, spec


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
    logits, value, draw = jax.jit(learner.acting(spec(), after))(boards)
    assert_close((logits, value), (out.policy_logits, out.value), 1e-6)
    assert draw is None


def test_a_running_average_of_the_weights_plays(tmp_path: Path) -> None:
    averaged = small.small_spec({"train.average": 0.15})
    trained = fresh(averaged)
    assert_equal(learner.without_optimiser(trained), learner.without_optimiser(fresh(spec())))
    expected = (trained.params, trained.batch_stats)
    for step, keep in enumerate((1 / 10, 0.15)):  # 0.15 < 2 / 11
        key = jax.random.key(step)
        trained, _ = compiled_step(averaged)(hyper_of("sum"), trained, examples(), key)
        newest = (trained.params, trained.batch_stats)
        expected = jax.tree.map(lambda a, b, k=keep: k * a + (1 - k) * b, expected, newest)
    acts = learner.without_optimiser(trained)
    assert_close((acts.params, acts.batch_stats), expected, 1e-6)
    infer = jax.jit(functools.partial(learner.infer, averaged))
    boards = examples().observation
    assert_equal(infer(trained, boards), infer(acts, boards))
    newest_value = infer(dataclasses.replace(trained, opt_state=()), boards).value
    assert (np.asarray(infer(trained, boards).value) != np.asarray(newest_value)).any()
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, trained)
    assert_equal(checkpoints.restore(1, trained), trained)
    checkpoints.close()


def test_evaluation_counts_the_valid_examples() -> None:
    evaluate = jax.jit(functools.partial(learner.evaluate_losses, spec()))
    given = examples()
    out = jax.jit(functools.partial(learner.infer, spec()))(fresh(spec()), given.observation)
    valid = np.arange(16) % 3 > 0
    found = evaluate(fresh(spec()), given, valid)
    log_p = np.asarray(jax.nn.log_softmax(out.policy_logits))
    policy = -(np.asarray(given.policy) * log_p).sum(-1)[valid].mean()
    value = ((np.asarray(out.value) - np.asarray(given.value)) ** 2)[valid].mean()
    expected = {"policy": policy, "value": value, "sum": policy + value, "product": policy * value}
    assert_close(found, expected, 1e-5)
    nothing = evaluate(fresh(spec()), given, np.zeros(16, bool))
    assert all(np.isnan(value) for value in nothing.values())


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
