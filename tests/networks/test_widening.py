"""A widened network answers as before, and its copies do not stay copies."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.networks import init_variables, make_network, widening

BOARD = (4, 5, 1)
HEADS = {"value_head": "wdl", "reply_head": True, "move_value_head": True}
SETTINGS: tuple[dict[str, Any], ...] = (
    {"style": "efficiency", "squeeze_excite": True, **HEADS},
    {"style": "efficiency", "value_head": "scalar", "expose_features": True, "feature_filters": 2},
    {"style": "curriculum", "squeeze_excite": True, "value_head": "scalar"},
    {"style": "curriculum", **HEADS},
)


def network(filters: int, settings: dict[str, Any]) -> Any:
    sizes = {"blocks": 1, "stem_filters": 3, "head_filters": 3, "squeeze_reduction": 2}
    return make_network(
        "resnet",
        num_actions=5,
        observation_shape=BOARD,
        filters=filters,
        **sizes,
        **settings,
    )


def trained(net: Any) -> Any:
    """Variables of which none has the value it begins with; variances are positive."""
    variables = jax.eval_shape(lambda: init_variables(net, jax.random.key(0), BOARD))
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda x: jnp.asarray(rng.uniform(-0.3, 0.3, x.shape) + 0.4 * (len(x.shape) < 2), x.dtype),
        variables,
    )


@pytest.mark.parametrize(
    ("settings", "shares"), [*((one, "random") for one in SETTINGS), (SETTINGS[0], "equal")]
)
def test_it_answers_as_before(settings: dict[str, Any], shares: str) -> None:
    narrow, wide = network(4, settings), network(10, settings)
    before = trained(narrow)
    like = jax.eval_shape(lambda: init_variables(wide, jax.random.key(0), BOARD))
    key = jax.random.key(1) if shares == "random" else None
    after = widening.widen(before, like, key)
    jax.tree.map(lambda x, y: np.testing.assert_equal(x.shape, y.shape), after, like)
    assert widening.fitting(narrow, after["params"]) == wide
    boards = np.random.default_rng(1).normal(size=(6, *BOARD))
    both = jax.jit(lambda a, b, x: (narrow.apply(a, x), wide.apply(b, x)))
    old, new = both(before, after, boards)
    for name, expected in vars(old).items():
        if expected is not None and name != "block_features":  # as many as there are channels
            np.testing.assert_allclose(getattr(new, name), expected, rtol=1e-5, atol=1e-5)


def test_copies_learn_apart() -> None:
    narrow, wide = network(4, SETTINGS[0]), network(8, SETTINGS[0])
    like = jax.eval_shape(lambda: init_variables(wide, jax.random.key(0), BOARD))
    boards = np.random.default_rng(1).normal(size=(6, *BOARD))

    def difference(key: Any) -> float:
        """Of the gradients of two copies, relative to them."""
        after = widening.widen(trained(narrow), like, key)

        def objective(params: Any) -> Any:
            return (wide.apply(after | {"params": params}, boards).policy_logits ** 2).sum()

        gradient = jax.jit(jax.grad(objective))(after["params"])["block_0_conv_0"]["kernel"]
        one, other = gradient[..., :4], gradient[..., 4:]
        return float(jnp.abs(one - other).max() / jnp.abs(one).max())

    assert difference(jax.random.key(1)) > 0.01
    assert difference(None) < 1e-4
