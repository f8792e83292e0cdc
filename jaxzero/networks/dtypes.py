"""The number format that networks compute in, and the convolution that suits it."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax.linen.dtypes import promote_dtype
from jax.typing import DTypeLike

from jaxzero.networks.output import HEADS

_BFLOAT16_CAPABILITY = 8.0  # NVIDIA GPUs before Ampere (a free Colab's T4 is 7.5) emulate bfloat16
_DTYPES = {"float32": jnp.float32, "bfloat16": jnp.bfloat16}


def default_dtype(platform: str | None = None) -> DTypeLike:
    """bfloat16 where `platform` multiplies it in hardware, float32 elsewhere.

    Args:
      platform: "cpu", "gpu", "cuda" or "tpu"; None is the platform of the default device. A GPU is
        judged by the compute capability of the first one present; without one it gets float32.
    """
    name = platform or jax.default_backend()
    if name == "tpu":
        return jnp.bfloat16
    if name in ("gpu", "cuda") and gpu_capability() >= _BFLOAT16_CAPABILITY:
        return jnp.bfloat16
    return jnp.float32


def resolve_dtype(name: str, platform: str | None = None) -> DTypeLike:
    """The dtype that a config calls "auto" (see `default_dtype`), "float32" or "bfloat16".

    Raises:
      ValueError: for another name.
    """
    if name == "auto":
        return default_dtype(platform)
    if name not in _DTYPES:
        raise ValueError(f"unknown dtype {name!r}: choose from auto, {', '.join(_DTYPES)}")
    return _DTYPES[name]


def resolve_convolution(name: str, dtype: Any, platform: str | None = None) -> str:
    """The convolution that a config calls "auto", or `name`: see `layers.conv3x3`.

    "auto" is "winograd" where it was measured to be faster, on CPUs in float32, else "patches".

    Args:
      name: "auto", "patches", "winograd" or "lax".
      dtype: that the network computes in.
      platform: as for `default_dtype`.

    Raises:
      ValueError: "winograd" in another dtype than float32.
    """
    dtype = jnp.dtype(dtype)
    single = dtype == jnp.float32
    if name == "auto":
        on_cpu = (platform or jax.default_backend()) == "cpu"
        return "winograd" if on_cpu and single else "patches"
    if name == "winograd" and not single:
        raise ValueError(
            f"convolution='winograd' computes in float32 only, got dtype={dtype.name!r}; "
            "try convolution='patches'"
        )
    return name


def precisely(call: Callable) -> Callable:
    """A network's `__call__` whose float32 products, gradients included, are as exact as it says.

    By default a GPU multiplies float32 as TF32, which has bfloat16's 8 bits of exponent and 10 of
    mantissa; `matmul_precision` of the network ("float32", "tensorfloat32") says which it is to be.
    Products of bfloat16 are exact and summed in float32 either way.
    """

    @functools.wraps(call)
    def with_precision(network: Any, *args: Any, **kwargs: Any) -> Any:
        with jax.default_matmul_precision(network.matmul_precision):
            return call(network, *args, **kwargs)

    return with_precision


def with_frozen_bias(*arrays: Any, **kwargs: Any) -> list[Any]:
    """`promote_dtype` of a `flax.linen.Dense` before batch norm, whose bias is not learned.

    Batch norm takes any bias away again, so that its gradient is rounding noise. Adam turns noise
    into full steps, and in bfloat16 a bias that has drifted far costs the digits of the rest.
    """
    *others, bias = arrays
    return promote_dtype(*others, None if bias is None else jax.lax.stop_gradient(bias), **kwargs)


def cast_kernels(params: Any, dtype: Any) -> Any:
    """Parameters whose kernels have the number format that their layers compute in.

    The same answers: a layer casts them itself, in a loop at every evaluation. Heads stay float32.

    Args:
      params: of either network, float32.
      dtype: that the network computes in.
    """

    def cast(path: tuple, x: jax.Array) -> jax.Array:
        is_cast = path[-1].key == "kernel" and path[0].key not in HEADS
        return x.astype(dtype) if is_cast else x

    return jax.tree_util.tree_map_with_path(cast, params)


def gpu_capability() -> float:
    """Compute capability of the first GPU; 0.0 when there is none or it doesn't say."""
    try:
        capability = jax.devices("gpu")[0].compute_capability
        return float(capability)
    except (RuntimeError, AttributeError, ValueError):
        return 0.0
