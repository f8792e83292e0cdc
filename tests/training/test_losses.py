"""The losses, in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.networks import NetworkOutput, read_outcome
from jaxzero.settings.config import TARGETS
from jaxzero.training import losses
from tests.small import assert_close

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(6, 4)).astype(np.float32) * 3
LEGAL = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 0]] + [[1] * 4] * 2, bool)
POLICY = (RNG.random((6, 4)) * LEGAL).astype(np.float32)
POLICY /= POLICY.sum(-1, keepdims=True)
VALUE = np.array([1, -1, 0, 1, -1, 1e-4], np.float32)
GUESS = RNG.uniform(-1, 1, 6).astype(np.float32)


def log_softmax(x: np.ndarray) -> np.ndarray:
    """In double precision."""
    x = x.astype(np.float64)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_policy_loss_is_the_cross_entropy_over_all_actions() -> None:
    expected = -(POLICY * log_softmax(LOGITS)).sum(-1)
    np.testing.assert_allclose(losses.policy_loss(LOGITS, POLICY), expected, rtol=1e-5)


def test_policy_loss_over_the_legal_actions() -> None:
    found = losses.policy_loss(LOGITS, POLICY, LEGAL)
    for i in range(6):
        legal = LEGAL[i]
        expected = -(POLICY[i, legal] * log_softmax(LOGITS[i, legal])).sum()
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-6)
    assert found[2] == 0  # a single move is no question
    everything = losses.policy_loss(LOGITS, POLICY)
    assert (np.asarray(found) <= np.asarray(everything) + 1e-6).all()
    gradient = jax.grad(lambda x: losses.policy_loss(x, POLICY, LEGAL).sum())(jnp.asarray(LOGITS))
    assert np.isfinite(gradient).all()
    assert not np.asarray(gradient)[~LEGAL].any()


def test_policy_loss_is_least_at_the_target() -> None:
    target = np.full((1, 4), 0.25, np.float32)
    np.testing.assert_allclose(losses.policy_loss(jnp.zeros((1, 4)), target), np.log(4), rtol=1e-6)
    assert losses.policy_loss(jnp.array([[1.0, 0, 0, 0]]), target)[0] > np.log(4)


def test_value_loss_is_the_squared_error() -> None:
    output = NetworkOutput(policy_logits=LOGITS, value=jnp.asarray(GUESS))
    np.testing.assert_allclose(losses.value_loss(output, VALUE), (GUESS - VALUE) ** 2, rtol=1e-6)


def test_value_loss_of_the_outcome_head_is_the_cross_entropy() -> None:
    logits = jnp.asarray(LOGITS[:, :3])
    value, draw = read_outcome(logits)
    output = NetworkOutput(LOGITS, value, draw_probability=draw, outcome_logits=logits)
    classes = [0, 2, 1, 0, 2, 1]  # won, lost, drawn; 1e-4 is a draw
    expected = -log_softmax(LOGITS[:, :3])[np.arange(6), classes]
    np.testing.assert_allclose(losses.value_loss(output, VALUE), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("policy", 2.0),
        ("value", 3.0),
        ("sum", 5.0),
        ("product", 6.0),
        ("weighted", 0.25 * 2.0 + 0.75 * 3.0),
    ],
)
def test_targets(target: str, expected: float) -> None:
    weights = jnp.array(losses.coefficients(target, 0.25))
    assert losses.combine(weights, jnp.float32(2), jnp.float32(3)) == expected
    assert target in TARGETS


def test_weighted_ends_are_the_single_losses() -> None:
    assert losses.coefficients("weighted", 1.0) == losses.coefficients("policy")
    assert losses.coefficients("weighted", 0.0) == losses.coefficients("value")


def test_the_product_is_of_batch_means_and_has_the_product_rules_gradient() -> None:
    def l_p(x: jax.Array) -> jax.Array:
        return losses.policy_loss(x * LOGITS, POLICY).mean()

    def l_v(x: jax.Array) -> jax.Array:
        output = NetworkOutput(policy_logits=LOGITS, value=jnp.tanh(x * GUESS))
        return losses.value_loss(output, VALUE).mean()

    weights = jnp.array(losses.coefficients("product"))
    x = jnp.float32(0.7)
    value, gradient = jax.value_and_grad(lambda x: losses.combine(weights, l_p(x), l_v(x)))(x)
    np.testing.assert_allclose(value, l_p(x) * l_v(x), rtol=1e-6)
    by_rule = l_v(x) * jax.grad(l_p)(x) + l_p(x) * jax.grad(l_v)(x)
    assert_close(gradient, by_rule, 1e-6)
    per_example = losses.policy_loss(x * LOGITS, POLICY) * jnp.square(jnp.tanh(x * GUESS) - VALUE)
    assert abs(value - per_example.mean()) > 1e-3  # not the mean of products
