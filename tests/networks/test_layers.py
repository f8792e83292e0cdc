"""The 3x3 convolution against `jax.lax`, and dropout with a traced rate."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.networks import Conv3x3, conv3x3, dropout

SIZES = [  # batch, height, width, channels in, channels out
    (1, 3, 3, 1, 1),
    (2, 5, 6, 2, 7),
    (3, 6, 6, 1, 16),
    (4, 8, 8, 12, 5),
    (2, 6, 7, 32, 32),
]
TOLERANCE = {jnp.float32: 1e-5, jnp.bfloat16: 2e-2}  # of the largest entry


def _close(actual, expected, dtype, slack=1.0):
    actual, expected = (np.asarray(x, np.float64) for x in (actual, expected))
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=slack * TOLERANCE[dtype] * abs(expected).max()
    )


def _inputs(size, dtype):
    batch, height, width, channels, features = size
    keys = jax.random.split(jax.random.key(0))
    x = jax.random.normal(keys[0], (batch, height, width, channels), dtype)
    kernel = jax.random.normal(keys[1], (3, 3, channels, features), dtype)
    return x, kernel


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_patches_equal_lax_with_gradients(size, padding, dtype):
    x, kernel = _inputs(size, dtype)

    @functools.partial(jax.jit, static_argnums=0)
    def run(implementation, x, kernel):
        def convolve(x, kernel):
            return conv3x3(x, kernel, padding=padding, implementation=implementation)

        y, pull_back = jax.vjp(convolve, x, kernel)
        cotangent = jnp.cos(jnp.arange(y.size, dtype=jnp.float32)).reshape(y.shape).astype(dtype)
        return y, *pull_back(cotangent)

    found, wanted = (run(name, x, kernel) for name in ("patches", "lax"))
    for name, actual, expected in zip(["y", "dx", "dk"], found, wanted, strict=True):
        assert actual.shape == expected.shape
        assert actual.dtype == expected.dtype == dtype
        # The kernel's gradient sums over all squares of the batch. Newer XLA does that in bfloat16
        # on a CPU for a product of matrices, and in float32 for a convolution.
        _close(
            actual, expected, dtype, slack=2.0 if name == "dk" and dtype == jnp.bfloat16 else 1.0
        )


def test_patches_equal_lax_under_vmap_over_kernels():
    x, _ = _inputs((2, 5, 5, 3, 4), jnp.float32)
    kernels = jax.random.normal(jax.random.key(1), (3, 3, 3, 3, 4))
    patches = jax.vmap(lambda kernel: conv3x3(x, kernel))(kernels)
    for kernel, y in zip(kernels, patches, strict=True):
        _close(y, conv3x3(x, kernel, implementation="lax"), jnp.float32)


def test_module_casts_integers_and_has_float32_parameters():
    module = Conv3x3(4, dtype=jnp.bfloat16)
    board = jnp.ones((2, 5, 5, 1), jnp.int8)
    variables = module.init(jax.random.key(0), board)
    assert variables["params"]["kernel"].shape == (3, 3, 1, 4)
    assert {leaf.dtype for leaf in jax.tree.leaves(variables)} == {jnp.dtype("float32")}
    assert module.apply(variables, board).dtype == jnp.bfloat16


def test_module_bias_is_added_once_per_channel():
    module = Conv3x3(2)
    board = jnp.zeros((1, 4, 4, 1))
    variables = module.init(jax.random.key(0), board)
    params = variables["params"] | {"bias": jnp.array([1.0, -2.0])}
    y = module.apply({"params": params}, board)
    np.testing.assert_array_equal(y, np.broadcast_to([1.0, -2.0], (1, 4, 4, 2)))
    assert "bias" not in Conv3x3(2, use_bias=False).init(jax.random.key(0), board)["params"]


def test_glorot_uniform_bound_counts_the_window():
    kernel = Conv3x3(64).init(jax.random.key(0), jnp.zeros((1, 5, 5, 32)))["params"]["kernel"]
    bound = np.sqrt(6 / (9 * 32 + 9 * 64))
    assert abs(kernel).max() <= bound
    assert abs(kernel).max() > 0.99 * bound


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.9])
def test_dropout_keeps_the_mean_and_drops_the_share(rate):
    x = jnp.full((400, 500), 2.0)
    y = jax.jit(dropout)(x, jnp.float32(rate), jax.random.key(0))
    # The mean of 200,000 entries has this standard error; 5 of them leave one failure in 10^6.
    error = 2.0 * np.sqrt(rate / (1 - rate) / x.size)
    assert abs(float(y.mean()) - 2.0) < 5 * error
    assert abs(float((y == 0).mean()) - rate) < 5 * np.sqrt(rate * (1 - rate) / x.size)
    np.testing.assert_allclose(y[y != 0], 2.0 / (1 - rate), rtol=1e-6)


def test_dropout_at_the_ends_of_its_range():
    x = jax.random.normal(jax.random.key(0), (50, 60))
    key = jax.random.key(1)
    np.testing.assert_array_equal(dropout(x, jnp.float32(0.0), key), x)
    np.testing.assert_array_equal(dropout(x, jnp.float32(1.0), key), jnp.zeros_like(x))
    gradient = jax.grad(lambda x: dropout(x, jnp.float32(1.0), key).sum())(x)
    np.testing.assert_array_equal(gradient, jnp.zeros_like(x))


def test_dropout_masks_differ_by_key_and_run():
    x = jnp.ones((20, 30))
    one, other = (dropout(x, 0.5, jax.random.key(seed)) for seed in (0, 1))
    assert (one != other).any()
    rates = jnp.array([0.0, 0.8])
    population = jax.vmap(dropout, in_axes=(None, 0, None))(x, rates, jax.random.key(0))
    assert (population[0] == 1).all()
    assert (population[1] == 0).any()
