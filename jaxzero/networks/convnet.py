"""The network of Wang 2019, 2020 and 2023: four convolutions and two fully connected layers."""

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxzero.networks.dtypes import precisely, with_frozen_bias
from jaxzero.networks.layers import Conv3x3, Dtype, Implementation, Padding, dropout
from jaxzero.networks.output import NetworkOutput, head, outcome

_PADDINGS: tuple[Padding, ...] = ("SAME", "SAME", "VALID", "VALID")
SMALLEST_SIDE = 5  # two convolutions without padding take away two cells each


def check_board(observation_shape: tuple[int, ...]) -> None:
    """Raises a ValueError unless `(H, W, C)` leaves the last convolution a cell to stand on."""
    height, width = observation_shape[:2]
    if min(height, width) < SMALLEST_SIDE:
        raise ValueError(
            f"convnet needs boards of at least {SMALLEST_SIDE}x{SMALLEST_SIDE} "
            f"(two 3x3 convolutions without padding), got {height}x{width}; try resnet"
        )


class ConvNet(nn.Module):
    """Wang 2020 section 4.4, as its TensorFlow 1 program builds it.

    conv3x3 same, same, valid, valid -> flatten -> fully connected, each with batch norm and ReLU,
    dropout after the fully connected ones -> policy and value. 6x6 Othello at 256 channels has
    3,371,814 trainable parameters. TensorFlow 1's defaults apply: batch norm momentum 0.99 and
    epsilon 1e-3, glorot-uniform kernels, zero biases.

    Attributes:
      num_actions: A.
      channels: filters of each convolution (256 in the papers' runs).
      hidden: widths of the fully connected layers.
      value_head: "scalar" (tanh) or "wdl" (win, draw, loss).
      bias_before_norm: the program has biases before batch norm, and the count above includes
        them. They change nothing, and are not learned; False leaves them out.
      batch_norm_momentum, batch_norm_epsilon: of the running averages and of the variance.
      axis_name: mapped axis (or axes) of devices over which batch statistics are averaged.
      dtype: of the computation; parameters, batch statistics and heads are float32.
      convolution: "patches", "winograd" or "lax", see `layers.conv3x3`.
      matmul_precision: of float32 products, see `dtypes.precisely`.
    """

    num_actions: int
    channels: int = 256
    hidden: tuple[int, ...] = (1024, 512)
    value_head: Literal["scalar", "wdl"] = "scalar"
    bias_before_norm: bool = True
    batch_norm_momentum: float = 0.99
    batch_norm_epsilon: float = 1e-3
    axis_name: Any = None
    dtype: Dtype = jnp.float32
    convolution: Implementation = "patches"
    matmul_precision: str = "float32"

    @nn.compact
    @precisely
    def __call__(
        self,
        observation: jax.Array,
        *,
        train: bool = False,
        dropout_rate: jax.Array | float = 0.0,
    ) -> NetworkOutput:
        """Evaluates `[B, H, W, C]` positions (any real dtype) from the player to move.

        Args:
          observation: H and W at least 5.
          train: normalise with the minibatch's statistics, update the running averages
            (`mutable=["batch_stats"]`) and drop out; otherwise use the running averages.
          dropout_rate: in [0, 1], may be traced; needs `rngs={"dropout": key}` unless it is the
            Python number 0.

        Raises:
          ValueError: the board is too small.
        """
        check_board(observation.shape[1:])
        norm = partial(
            nn.BatchNorm,
            use_running_average=not train,
            momentum=self.batch_norm_momentum,
            epsilon=self.batch_norm_epsilon,
            dtype=self.dtype,
            axis_name=self.axis_name,
        )
        drop = train and not (isinstance(dropout_rate, int | float) and dropout_rate == 0)

        x = observation.astype(self.dtype)
        for index, padding in enumerate(_PADDINGS):
            x = Conv3x3(
                self.channels,
                padding=padding,
                use_bias=self.bias_before_norm,
                before_norm=True,
                implementation=self.convolution,
                dtype=self.dtype,
                name=f"conv_{index}",
            )(x)
            x = nn.relu(norm(name=f"conv_norm_{index}")(x))
        x = x.reshape(x.shape[0], -1)
        for index, width in enumerate(self.hidden):
            x = nn.Dense(
                width,
                use_bias=self.bias_before_norm,
                dtype=self.dtype,
                kernel_init=nn.initializers.glorot_uniform(),
                promote_dtype=with_frozen_bias,
                name=f"hidden_{index}",
            )(x)
            x = nn.relu(norm(name=f"hidden_norm_{index}")(x))
            if drop:
                x = dropout(x, dropout_rate, self.make_rng("dropout"), self.axis_name)
        return self._heads(x)

    def _heads(self, x: jax.Array) -> NetworkOutput:
        return NetworkOutput(
            policy_logits=self._head("policy", self.num_actions)(x),
            **outcome(self._head, self.value_head, x),
        )

    def _head(self, name: str, features: int) -> nn.Dense:
        return head(name, features, nn.initializers.glorot_uniform())
