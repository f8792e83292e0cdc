"""Winograd's 3x3 convolution against `jax.lax`.

Its sums are of halves and quarters: on small integers float32 has them without rounding, so results
and gradients equal the plain convolution's to the last bit, on boards of any size.
"""

import functools

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from jaxzero.networks import layers, winograd

SIZES = [  # batch, height, width, channels in, channels out
    (1, 3, 3, 1, 1),
    (2, 6, 6, 3, 4),
    (3, 5, 6, 2, 7),
    (2, 7, 5, 4, 1),
]


def _integers(rng, shape, largest=8):
    return jnp.asarray(rng.integers(-largest, largest + 1, shape), jnp.float32)


def _lax(x, kernel, padding):
    return layers.conv3x3(x, kernel, padding=padding, implementation="lax")


@functools.partial(jax.jit, static_argnums=(0, 4))
def _with_gradients(convolve, x, kernel, cotangent, padding):
    y, pull_back = jax.vjp(lambda x, kernel: convolve(x, kernel, padding), x, kernel)
    return y, *pull_back(cotangent)


def _assert_equal(size, padding, seed=0):
    batch, height, width, channels, features = size
    less = 0 if padding == "SAME" else 2
    rng = np.random.default_rng(seed)
    x = _integers(rng, (batch, height, width, channels))
    kernel = _integers(rng, (3, 3, channels, features))
    cotangent = _integers(rng, (batch, height - less, width - less, features))
    ours = _with_gradients(winograd.conv3x3, x, kernel, cotangent, padding)
    theirs = _with_gradients(_lax, x, kernel, cotangent, padding)
    for name, actual, expected in zip(["y", "dx", "dk"], ours, theirs, strict=True):
        np.testing.assert_array_equal(actual, expected, err_msg=name)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_equals_lax_with_gradients(size, padding):
    _assert_equal(size, padding)


@given(
    size=st.tuples(*(st.integers(1, 3), *(st.integers(3, 10),) * 2, *(st.integers(1, 5),) * 2)),
    padding=st.sampled_from(["SAME", "VALID"]),
)
@settings(max_examples=6, deadline=None)
def test_equals_lax_on_any_board(size, padding):
    _assert_equal(size, padding, seed=1)


def test_rounds_like_float32():
    """Real numbers: an error of 1e-6 of the largest entry, as the plain sum's in float32."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 6, 6, 64)).astype(np.float32)
    kernel = rng.normal(size=(3, 3, 64, 64)).astype(np.float32)
    around = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    exact = sum(
        around[:, i : i + 6, j : j + 6] @ kernel[i, j].astype(np.float64)
        for i in range(3)
        for j in range(3)
    )
    y = winograd.conv3x3(jnp.asarray(x), jnp.asarray(kernel), "SAME")
    np.testing.assert_allclose(y, exact, rtol=0, atol=2e-6 * abs(exact).max())


def test_under_vmap_over_kernels_in_a_loop_and_recomputed():
    """As populations train: members with kernels of their own, steps in a loop, `checkpoint`."""
    rng = np.random.default_rng(3)
    x = _integers(rng, (2, 5, 5, 3), largest=2)
    kernels = _integers(rng, (2, 3, 3, 3, 3), largest=1)
    weights = _integers(rng, x.shape, largest=2)

    def twice(convolve):
        @jax.checkpoint
        def step(x, kernel):
            return convolve(x, kernel, "SAME")

        def total(kernel):
            y, _ = jax.lax.scan(lambda x, _: (step(x, kernel), None), x, length=2)
            return (y * weights).sum()

        return jax.jit(jax.vmap(jax.value_and_grad(total)))(kernels)

    for actual, expected in zip(twice(winograd.conv3x3), twice(_lax), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_layers_of_64_channels_use_it_and_smaller_ones_do_not():
    def products(channels, features):
        def convolve(x, kernel):
            return layers.conv3x3(x, kernel, implementation="winograd")

        shapes = (1, 5, 5, channels), (3, 3, channels, features)
        arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        return str(jax.make_jaxpr(convolve)(*arrays)).count("dot_general")

    assert products(64, 64) == 16
    assert products(2, 64) == products(63, 64) == products(64, 63) == 1


def test_bfloat16_is_refused():
    x, kernel = jnp.zeros((1, 5, 5, 64), jnp.bfloat16), jnp.zeros((3, 3, 64, 64), jnp.bfloat16)
    with pytest.raises(TypeError, match="float32 only, got bfloat16"):
        layers.conv3x3(x, kernel, implementation="winograd")
