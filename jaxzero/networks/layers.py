"""The layers that both networks are built from: 3x3 convolution, batch norm, dropout.

Shapes are `[B, H, W, C]`. Parameters and batch statistics are float32, whatever the compute dtype.
"""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxzero.networks import winograd
from jaxzero.networks.winograd import Padding

Dtype = Any  # what `jnp.dtype` accepts
Initializer = Callable[..., jax.Array]  # (key, shape, dtype) -> array
Implementation = Literal["patches", "winograd", "lax"]

_SIDE = 3  # of the kernel
_WINOGRAD_CHANNELS = 64  # of input and output: with 32 it saves little, and takes longer to compile
_CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")


def takes_winograd(kernel: jax.Array) -> bool:
    """Whether "winograd" takes that way for a kernel, `[3, 3, I, O]`, and not patches."""
    return min(kernel.shape[2:]) >= _WINOGRAD_CHANNELS


def _patches(x: jax.Array, padding: Padding) -> jax.Array:
    """Each cell's 3x3 neighbourhood: `[B, H, W, C] -> [B, H', W', 9C]`, rows before columns."""
    if padding == "SAME":
        x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    height, width = x.shape[1] - (_SIDE - 1), x.shape[2] - (_SIDE - 1)
    shifted = [
        x[:, row : row + height, column : column + width]
        for row in range(_SIDE)
        for column in range(_SIDE)
    ]
    return jnp.concatenate(shifted, axis=-1)


def conv3x3(
    x: jax.Array,
    kernel: jax.Array,
    *,
    padding: Padding = "SAME",
    implementation: Implementation = "patches",
) -> jax.Array:
    """A 3x3 cross-correlation with stride 1.

    Args:
      x: `[B, H, W, I]`.
      kernel: `[3, 3, I, O]`, of the dtype of `x`.
      padding: "SAME" (zeros around the board) or "VALID" (the output is two cells smaller).
      implementation: "patches" gathers the nine shifted boards and multiplies once by the
        `[9I, O]` kernel. It is meant for populations: under `vmap` over kernels it is a batched
        matmul, where the convolution turns into a grouped one; and XLA's CPU backend is slow at
        gradients of `lax.conv_general_dilated` inside loops. "winograd" is `winograd.conv3x3`,
        which multiplies less than half as often, where both kinds of channels are 64 or more;
        smaller layers are patches. It is for CPUs, in float32 and reverse mode only. "lax" is
        `lax.conv_general_dilated`. Equal to rounding, gradients included.

    Returns:
      `[B, H, W, O]`, or `[B, H-2, W-2, O]` when "VALID".

    Raises:
      TypeError: "winograd" in another dtype than float32.
    """
    if implementation == "lax":
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), padding, dimension_numbers=_CHANNELS_LAST
        )
    if implementation == "winograd" and takes_winograd(kernel):
        return winograd.conv3x3(x, kernel, padding)
    return _patches(x, padding) @ kernel.reshape(-1, kernel.shape[-1])


class Conv3x3(nn.Module):
    """3x3 convolution, stride 1: `[B, H, W, I] -> [B, H, W, features]` (smaller when "VALID").

    Glorot-uniform kernel and zero bias are the defaults of TensorFlow 1, which Wang 2019, 2020 and
    2023 trained with. See `conv3x3` for `implementation`. `before_norm`: the bias is not learned,
    see `dtypes.with_frozen_bias`.
    """

    features: int
    padding: Padding = "SAME"
    use_bias: bool = True
    before_norm: bool = False
    implementation: Implementation = "patches"
    dtype: Dtype = jnp.float32
    param_dtype: Dtype = jnp.float32
    kernel_init: Initializer = nn.initializers.glorot_uniform()

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        shape = (_SIDE, _SIDE, x.shape[-1], self.features)
        kernel = self.param("kernel", self.kernel_init, shape, self.param_dtype)
        y = conv3x3(
            x.astype(self.dtype),
            kernel.astype(self.dtype),
            padding=self.padding,
            implementation=self.implementation,
        )
        if not self.use_bias:
            return y
        bias = self.param("bias", nn.initializers.zeros_init(), (self.features,), self.param_dtype)
        bias = jax.lax.stop_gradient(bias) if self.before_norm else bias
        return y + bias.astype(self.dtype).reshape((1,) * (y.ndim - 1) + (-1,))


def dropout(
    x: jax.Array, rate: jax.Array | float, key: jax.Array, axis_name: str | None = None
) -> jax.Array:
    """Zeroes each entry with probability `rate` and scales the rest by 1 / (1 - rate).

    Unlike `flax.linen.Dropout`, `rate` may be traced, so that runs that differ in it share one
    compiled program. It lies in [0, 1]; 1 gives zeros. The key is consumed.

    With `axis_name`, x (`[B, F]`) is one device's part of a minibatch and the key is the same on
    all of them: each takes its rows of the whole minibatch's mask, so that the number of devices
    does not change what is dropped.
    """
    rate = jnp.asarray(rate, jnp.float32)
    rows = x.shape[0]
    parts = 1 if axis_name is None else jax.lax.psum(1, axis_name)
    draw = jax.random.uniform(key, (rows * parts, *x.shape[1:]))
    if axis_name is not None:
        draw = jax.lax.dynamic_slice_in_dim(draw, jax.lax.axis_index(axis_name) * rows, rows)
    keep = draw >= rate  # uniform in [0, 1): rate 0 keeps everything
    scale = 1.0 / jnp.maximum(1.0 - rate, jnp.finfo(jnp.float32).tiny)
    return jnp.where(keep, x * scale.astype(x.dtype), jnp.zeros((), x.dtype))
