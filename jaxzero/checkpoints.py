"""Saving and restoring a population's state with orbax."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp


def _is_key(x: Any) -> bool:
    return isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def to_plain(tree: Any) -> Any:
    """Typed random keys as the uint32 data that they wrap."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


def to_typed(plain: Any, like: Any) -> Any:
    """The reverse of `to_plain`, for a tree of the types of `like`."""

    def wrap(x: Any, model: Any) -> Any:
        if jax.dtypes.issubdtype(model.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(jnp.asarray(x))
        return x

    return jax.tree.map(wrap, plain, like)


class Checkpoints:
    """The checkpoints of one workdir, by iteration; the newest few are kept."""

    def __init__(self, directory: Path, *, keep: int = 2) -> None:
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, create=True)
        self._manager = ocp.CheckpointManager(directory.absolute(), options=options)

    def latest(self) -> int | None:
        """The newest saved iteration; None where nothing was saved."""
        return self._manager.latest_step()

    def save(self, iteration: int, state: Any) -> None:
        """Saves a state; returns when it is safely on disk."""
        if self._manager.latest_step() == iteration:
            return
        self._manager.save(iteration, args=ocp.args.StandardSave(to_plain(state)))
        self._manager.wait_until_finished()

    def restore(self, iteration: int, like: Any) -> Any:
        """A saved state as host arrays (typed keys on the default device), to be placed anywhere.

        Args:
          iteration: one that was saved.
          like: a tree of `jax.ShapeDtypeStruct` or arrays with the state's structure.
        """
        plain = jax.eval_shape(to_plain, like)
        cpu = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
        target = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=cpu), plain)
        restored = self._manager.restore(iteration, args=ocp.args.StandardRestore(target))
        return to_typed(jax.tree.map(np.asarray, restored), like)

    def close(self) -> None:
        """Waits for what is under way."""
        self._manager.close()
