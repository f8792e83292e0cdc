"""More channels in a residual network, its answers unchanged (Net2WiderNet, Chen et al. 2016).

A new channel is a copy of an old one, and whatever reads the copies reads each by a share; shares
sum to one. Batch norm's statistics and the hidden layer of squeeze-excite are copied alike.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxzero.networks.resnet import ResNet

_LEAST, _MOST = 0.5, 1.5  # of random shares, before they sum to one


def channels_of(params: Any) -> int:
    """Width of a residual network's blocks; its parameters may have axes in front."""
    return int(params["block_0_conv_0"]["kernel"].shape[-1])


def fitting(network: nn.Module, params: Any) -> nn.Module:
    """The network, as wide as its weights are."""
    if not isinstance(network, ResNet):
        return network
    return network.clone(filters=channels_of(params))


def widen(tree: Any, like: Any, key: jax.Array | None = None, *, shared: bool = True) -> Any:
    """Parameters or batch statistics of a wider network that answers alike.

    It is linear in `tree`: with the same key, an optimiser's momentum widened so moves the wider
    network as the narrower one.

    Args:
      tree: of one network, leaves `[..., in, out]`, `[out]`.
      like: of the wider network; leaves have shapes. The axes that differ are widened.
      key: of random shares, consumed; without it copies have equal ones, and would for ever
        be copies in training.
      shared: inputs have shares; False: every number is copied as it is (second moments).
    """
    count = len(jax.tree.leaves(tree))
    keys = iter([None] * count if key is None else jax.random.split(key, count))
    return jax.tree.map(lambda x, y: _widen(x, y.shape, next(keys), shared), tree, like)


def _widen(x: jax.Array, shape: tuple[int, ...], key: jax.Array | None, shared: bool) -> jax.Array:
    if x.shape[-1:] != shape[-1:]:
        x = x[..., _originals(x.shape[-1], shape[-1])]
    if x.shape == shape:
        return x
    count = x.shape[-2]
    originals = _originals(count, shape[-2])
    copies = x[..., originals, :]
    if not shared:
        return copies
    shares = jnp.ones(copies.shape)
    if key is not None:
        shares = jax.random.uniform(key, copies.shape, minval=_LEAST, maxval=_MOST)
    sums = jnp.zeros(x.shape).at[..., originals, :].add(shares)
    return copies * shares / sums[..., originals, :]


def _originals(count: int, wider: int) -> jax.Array:
    """int32[wider]: which of `count` channels each is a copy of."""
    return jnp.arange(wider) % count
