"""Residual networks of Clausen 2021 ("efficiency") and West 2020 ("curriculum")."""

import dataclasses
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.linen.dtypes import promote_dtype

from jaxzero.networks.dtypes import precisely, with_frozen_bias
from jaxzero.networks.layers import Conv3x3, Dtype, Implementation
from jaxzero.networks.output import NetworkOutput, head, outcome

# PyTorch's default, uniform in +-1/sqrt(fan_in), which Clausen 2021 trained with (its biases are
# drawn from the same range; ours start at zero).
_torch_uniform = nn.initializers.variance_scaling(1 / 3, "fan_in", "uniform")


class SqueezeExcite(nn.Module):
    """Scales each channel of `[B, H, W, C]` by a gate in (0, 1) computed from all channels' means.

    Two fully connected layers without biases, as in Clausen 2021's program.
    """

    reduction: int = 16
    dtype: Dtype = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        channels = x.shape[-1]
        dense = partial(nn.Dense, use_bias=False, dtype=self.dtype, kernel_init=_torch_uniform)
        gate = x.mean(axis=(1, 2), keepdims=True)
        gate = nn.relu(dense(max(1, channels // self.reduction), name="squeeze")(gate))
        return x * nn.sigmoid(dense(channels, name="excite")(gate))


class ResNet(nn.Module):
    """A residual tower with policy and value heads.

    `style="efficiency"`, Clausen 2021 table 2 and its program: conv3x3 to `stem_filters`, batch
    norm, ReLU; conv1x1 to `filters`; blocks that end in add-then-ReLU; for each head an own conv3x3
    to `head_filters` without batch norm or ReLU, then one fully connected layer. On 6x7 Connect
    Four with one plane, 5, 10, 20 blocks have 1,574,730, 3,053,130, 6,009,930 parameters; 5 with
    squeeze-excite and reply head 1,594,385.

    `style="curriculum"`, West 2020 fig. 2: conv3x3 to `filters`, batch norm, ReLU; blocks that end
    in ReLU-then-add; one conv1x1 to `head_filters`, batch norm, ReLU, shared by the heads; a
    fully connected layer of `value_hidden` before the value. The paper has 10 blocks of 512 filters
    (a caption says 256 for Racing Kings) and leaves `head_filters`, the biases, and the value
    head's ReLU and tanh unsaid.

    Attributes:
      num_actions: A.
      blocks: residual blocks, each of two conv3x3 of `filters`.
      stem_filters: first convolution of the "efficiency" style.
      squeeze_excite: gate the channels after each block's second batch norm, before the add;
        `squeeze_reduction` narrows the gate's hidden layer.
      value_head: "wdl" (win, draw, loss) or "scalar" (tanh).
      reply_head: forecast the next position's policy, from the policy head's convolution.
      move_value_head: the expected result after every move, from the policy head's convolution.
      expose_features: return the outputs of the head convolutions and of the last block, for
        auxiliary targets; and of a convolution of its own to `feature_filters`, if there are any.
      bias_before_norm: see `ConvNet`; None is True for "efficiency", whose counts above include
        these biases, and False for "curriculum".
      batch_norm_momentum, batch_norm_epsilon: PyTorch's defaults.
      axis_name, dtype, convolution, matmul_precision: see `ConvNet`.
    """

    num_actions: int
    blocks: int = 5
    filters: int = 128
    stem_filters: int = 64
    head_filters: int = 32
    value_hidden: int = 256
    style: Literal["efficiency", "curriculum"] = "efficiency"
    squeeze_excite: bool = False
    squeeze_reduction: int = 16
    value_head: Literal["scalar", "wdl"] = "wdl"
    reply_head: bool = False
    move_value_head: bool = False
    expose_features: bool = False
    feature_filters: int = 0
    bias_before_norm: bool | None = None
    batch_norm_momentum: float = 0.9
    batch_norm_epsilon: float = 1e-5
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
          observation: any board.
          train: normalise with the minibatch's statistics and update the running averages
            (`mutable=["batch_stats"]`); otherwise use the running averages.
          dropout_rate: ignored. Neither paper's network drops out; the argument lets callers treat
            all networks alike.
        """
        del dropout_rate
        x = self._stem(observation.astype(self.dtype), train)
        for index in range(self.blocks):
            x = self._block(x, train, f"block_{index}")
        blocks = x
        if self.style == "efficiency":
            policy_features = self._conv(self.head_filters, "policy_conv")(x)
            value_features = self._conv(self.head_filters, "value_conv")(x)
        else:
            x = self._conv1x1(self.head_filters, "head_conv", before_norm=True)(x)
            policy_features = value_features = nn.relu(self._norm("head_norm", train)(x))
        output = self._heads(policy_features, value_features)
        if not self.expose_features:
            return output
        exposed = {
            "policy_features": policy_features,
            "outcome_features": value_features,
            "block_features": blocks,
        }
        if self.feature_filters:
            exposed["own_features"] = self._conv(self.feature_filters, "own_features")(blocks)
        return dataclasses.replace(output, **{k: v.astype(jnp.float32) for k, v in exposed.items()})

    def _stem(self, x: jax.Array, train: bool) -> jax.Array:
        efficiency = self.style == "efficiency"
        filters = self.stem_filters if efficiency else self.filters
        x = self._conv(filters, "stem_conv", before_norm=True)(x)
        x = nn.relu(self._norm("stem_norm", train)(x))
        return self._conv1x1(self.filters, "stem_widen")(x) if efficiency else x

    def _block(self, x: jax.Array, train: bool, name: str) -> jax.Array:
        y = self._conv(self.filters, f"{name}_conv_0", before_norm=True)(x)
        y = nn.relu(self._norm(f"{name}_norm_0", train)(y))
        y = self._conv(self.filters, f"{name}_conv_1", before_norm=True)(y)
        y = self._norm(f"{name}_norm_1", train)(y)
        if self.squeeze_excite:
            y = SqueezeExcite(self.squeeze_reduction, self.dtype, name=f"{name}_squeeze_excite")(y)
        return x + nn.relu(y) if self.style == "curriculum" else nn.relu(x + y)

    def _heads(self, policy_features: jax.Array, value_features: jax.Array) -> NetworkOutput:
        policy_input = policy_features.reshape(policy_features.shape[0], -1)
        x = value_features.reshape(value_features.shape[0], -1)
        if self.style == "curriculum":
            hidden = nn.Dense(
                self.value_hidden,
                dtype=self.dtype,
                kernel_init=_torch_uniform,
                name="value_hidden",
            )
            x = nn.relu(hidden(x))
        return NetworkOutput(
            policy_logits=self._head("policy", self.num_actions)(policy_input),
            **outcome(self._head, self.value_head, x),
            reply_logits=(
                self._head("reply", self.num_actions)(policy_input) if self.reply_head else None
            ),
            move_values=(
                jnp.tanh(self._head("move_values", self.num_actions)(policy_input))
                if self.move_value_head
                else None
            ),
        )

    @property
    def _normed_bias(self) -> bool:
        if self.bias_before_norm is None:
            return self.style == "efficiency"
        return self.bias_before_norm

    def _conv(self, features: int, name: str, *, before_norm: bool = False) -> Conv3x3:
        return Conv3x3(
            features,
            use_bias=self._normed_bias if before_norm else True,
            before_norm=before_norm,
            implementation=self.convolution,
            dtype=self.dtype,
            kernel_init=_torch_uniform,
            name=name,
        )

    def _conv1x1(self, features: int, name: str, *, before_norm: bool = False) -> nn.Dense:
        # A 1x1 convolution is a fully connected layer over the channels.
        return nn.Dense(
            features,
            use_bias=self._normed_bias if before_norm else True,
            dtype=self.dtype,
            kernel_init=_torch_uniform,
            promote_dtype=with_frozen_bias if before_norm else promote_dtype,
            name=name,
        )

    def _head(self, name: str, features: int) -> nn.Dense:
        return head(name, features, _torch_uniform)

    def _norm(self, name: str, train: bool) -> nn.BatchNorm:
        return nn.BatchNorm(
            use_running_average=not train,
            momentum=self.batch_norm_momentum,
            epsilon=self.batch_norm_epsilon,
            dtype=self.dtype,
            axis_name=self.axis_name,
            name=name,
        )
