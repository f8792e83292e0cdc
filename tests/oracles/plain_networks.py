"""Both networks in play, layer by layer in NumPy, by the words of the papers."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxzero.networks import ConvNet, ResNet

EPSILON = {ConvNet: 1e-3, ResNet: 1e-5}  # of batch norm: TensorFlow 1's and PyTorch's defaults


class Layers:
    """The layers of a network by name, in double precision."""

    def __init__(self, variables: Mapping[str, Any], epsilon: float) -> None:
        self.params, self._stats = jax.tree.map(
            lambda x: np.asarray(x, np.float64), (variables["params"], variables["batch_stats"])
        )
        self._epsilon = epsilon

    def linear(self, name: str, x: np.ndarray, padding: int = 1) -> np.ndarray:
        """A 3x3 convolution or, of numbers or of cells, a fully connected layer."""
        kernel = self.params[name]["kernel"]
        if kernel.ndim == 4:
            x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
            windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
            y = np.einsum("bhwirc,rcio->bhwo", windows, kernel)
        else:
            y = x @ kernel
        return y + self.params[name].get("bias", 0.0)

    def normed(self, norm: str, x: np.ndarray) -> np.ndarray:
        """By the running averages."""
        own, stats = self.params[norm], self._stats[norm]
        deviation = np.sqrt(stats["var"] + self._epsilon)
        return own["scale"] * (x - stats["mean"]) / deviation + own["bias"]

    def heads(self, policy: np.ndarray, value: np.ndarray) -> dict[str, np.ndarray]:
        """The fields of the output by what each head reads, [B, ...]."""
        read = {
            "policy_logits": ("policy", policy),
            "reply_logits": ("reply", policy),
            "move_values": ("move_values", policy),
            "outcome_logits": ("outcome", value),
            "value": ("value", value),
        }
        found = {
            field: self.linear(name, x.reshape(len(x), -1))
            for field, (name, x) in read.items()
            if name in self.params
        }
        for name in found.keys() & {"move_values", "value"}:
            found[name] = np.tanh(found[name])
        return found | ({"value": found["value"][:, 0]} if "value" in found else {})


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def evaluate(network: Any, variables: Mapping[str, Any], boards: Any) -> dict[str, np.ndarray]:
    """Heads of boards [B, H, W, C] by the name of their field."""
    layers = Layers(variables, EPSILON[type(network)])
    of = _convnet if isinstance(network, ConvNet) else _resnet
    return layers.heads(*of(network, layers, np.asarray(boards, np.float64)))


def _convnet(network: Any, layers: Layers, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for i, padding in enumerate((1, 1, 0, 0)):
        x = _relu(layers.normed(f"conv_norm_{i}", layers.linear(f"conv_{i}", x, padding)))
    x = x.reshape(len(x), -1)
    for i in range(len(network.hidden)):
        x = _relu(layers.normed(f"hidden_norm_{i}", layers.linear(f"hidden_{i}", x)))
    return x, x


def _resnet(network: Any, layers: Layers, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = _relu(layers.normed("stem_norm", layers.linear("stem_conv", x)))
    of_clausen = network.style == "efficiency"
    if of_clausen:
        x = layers.linear("stem_widen", x)
    for i in range(network.blocks):
        y = _relu(layers.normed(f"block_{i}_norm_0", layers.linear(f"block_{i}_conv_0", x)))
        y = layers.normed(f"block_{i}_norm_1", layers.linear(f"block_{i}_conv_1", y))
        if network.squeeze_excite:
            gate = layers.params[f"block_{i}_squeeze_excite"]
            squeezed = _relu(y.mean((1, 2)) @ gate["squeeze"]["kernel"])
            y = y / (1 + np.exp(-squeezed @ gate["excite"]["kernel"]))[:, None, None]
        x = _relu(x + y) if of_clausen else x + _relu(y)
    if of_clausen:
        return layers.linear("policy_conv", x), layers.linear("value_conv", x)
    x = _relu(layers.normed("head_norm", layers.linear("head_conv", x)))
    return x, _relu(layers.linear("value_hidden", x.reshape(len(x), -1)))
