"""Board -> heads. Networks know arrays, never a game.

`make_network` gives a Flax module; both networks are called alike:

    variables = init_variables(network, key, observation_shape)
    output = network.apply(variables, observation)                          # search, play
    output, updates = network.apply(                                        # learning
        variables, observation, train=True, dropout_rate=rate,
        rngs={"dropout": key}, mutable=["batch_stats"])
"""

import dataclasses
import difflib
from typing import Any, get_args, get_type_hints

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxzero.networks.convnet import ConvNet, check_board
from jaxzero.networks.dtypes import default_dtype, resolve_convolution, resolve_dtype
from jaxzero.networks.layers import Conv3x3, conv3x3, dropout
from jaxzero.networks.output import DRAW, LOSS, WIN, NetworkOutput, likeliest_result, read_outcome
from jaxzero.networks.resnet import ResNet

__all__ = [
    "DRAW",
    "LOSS",
    "NETWORKS",
    "WIN",
    "Conv3x3",
    "ConvNet",
    "NetworkOutput",
    "ResNet",
    "conv3x3",
    "count_parameters",
    "default_dtype",
    "dropout",
    "init_variables",
    "likeliest_result",
    "make_network",
    "read_outcome",
    "resolve_convolution",
    "resolve_dtype",
]

NETWORKS: dict[str, type[nn.Module]] = {"convnet": ConvNet, "resnet": ResNet}
_FLAX_FIELDS = ("parent", "name")


def make_network(
    name: str, *, num_actions: int, observation_shape: tuple[int, int, int], **settings: Any
) -> nn.Module:
    """Makes the network called `name`.

    Args:
      name: "convnet" (Wang 2019, 2020, 2023) or "resnet" (Clausen 2021, West 2020).
      num_actions: A.
      observation_shape: `(H, W, C)` that the network will be given; checked, not stored.
      **settings: fields of `ConvNet` or `ResNet`. `dtype` may be "auto", "float32", "bfloat16",
        and `convolution` "auto" too (`resolve_convolution`).

    Raises:
      ValueError: for an unknown name or setting (the nearest known one is named), a setting that
        makes no sense, or a board that the network can't take.
    """
    _require_known("network", name, tuple(NETWORKS))
    network_class = NETWORKS[name]
    fields = [f.name for f in dataclasses.fields(network_class) if f.name not in _FLAX_FIELDS]
    for setting, value in settings.items():
        _require_known(f"setting of {name}", setting, tuple(fields))
        if (setting, value) != ("convolution", "auto"):
            _check_value(network_class, setting, value)
    if len(observation_shape) != 3 or min(observation_shape) < 1:
        raise ValueError(f"observation_shape must be (H, W, C), got {observation_shape}")
    if num_actions < 1:
        raise ValueError(f"num_actions must be positive, got {num_actions}")
    if network_class is ConvNet:
        check_board(observation_shape)
    if isinstance(settings.get("dtype"), str):
        settings["dtype"] = resolve_dtype(settings["dtype"])
    if "convolution" in settings:
        dtype = settings.get("dtype", jnp.float32)
        settings["convolution"] = resolve_convolution(settings["convolution"], dtype)
    if "hidden" in settings:
        settings["hidden"] = tuple(settings["hidden"])  # a config's list can't be hashed
    return network_class(num_actions=num_actions, **settings)


def init_variables(
    network: nn.Module, key: jax.Array, observation_shape: tuple[int, int, int]
) -> dict[str, Any]:
    """Fresh `{"params": ..., "batch_stats": ...}`, float32. The key is consumed."""
    return dict(network.init(key, jnp.zeros((1, *observation_shape), jnp.float32)))


def count_parameters(variables: Any) -> int:
    """Number of trainable numbers; running averages of batch norm are not among them."""
    return sum(leaf.size for leaf in jax.tree.leaves(variables["params"]))


def _require_known(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
        raise ValueError(f"unknown {what} {name!r}: did you mean {nearest!r}?")


def _check_value(network_class: type[nn.Module], setting: str, value: Any) -> None:
    """Raises a ValueError for a word that isn't a choice and for a size that isn't positive."""
    hint = get_type_hints(network_class)[setting]
    choices = [choice for choice in get_args(hint) if isinstance(choice, str)]
    if choices and value not in choices:
        raise ValueError(f"{setting} must be one of {', '.join(choices)}, got {value!r}")
    sizes = [value] if hint is int else list(value) if setting == "hidden" else []
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in sizes):
        raise ValueError(f"{setting} must be positive integers, got {value!r}")
