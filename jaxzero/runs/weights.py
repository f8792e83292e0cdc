"""Final networks in a few small files that any program can read: bfloat16 in `.npz`, no pickle.

`weights/index.json` names the members and the iteration, `weights/MEMBER.npz` holds one network:
`params/...` as the upper 16 bits of float32 (uint16), `batch_stats/...` as float32. With NumPy:

    with np.load("weights/sum_seed0.npz") as stored:
        arrays = {
            name: (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x
            for name, x in stored.items()
        }
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero import files
from jaxzero.runs import population
from jaxzero.settings.config import ConfigError
from jaxzero.training.learner import Learner

FOLDER = "weights"
INDEX = "index.json"
_FORMAT = "jaxzero weights 1"
_REMEDY = "take it from the exported archive again"


def to_bytes(network: Learner) -> bytes:
    """One network as the contents of an `.npz` file."""
    file = io.BytesIO()
    arrays: Any = {name: _shorten(name, x) for name, x in _named(network).items()}
    np.savez(file, **arrays)
    return file.getvalue()


def index(members: Sequence[str], iteration: int) -> dict[str, Any]:
    """The contents of `index.json`."""
    return {"format": _FORMAT, "iteration": iteration, "members": list(members)}


def iterations(directory: Path) -> list[int]:
    """The iteration whose networks a run directory has as weights; none where it has none.

    ConfigError: they are not in the format of this program.
    """
    path = directory / FOLDER / INDEX
    if not path.is_file():
        return []
    found = files.read_json(path)
    if found.get("format") != _FORMAT or not isinstance(found.get("iteration"), int):
        raise ConfigError(f"{path} is damaged or of another version of the program: {_REMEDY}")
    return [found["iteration"]]


def path_of(directory: Path, member: str) -> Path:
    """Where a run directory has the weights of a member, if it has them."""
    return directory / FOLDER / f"{member}.npz"


def load(directory: Path, members: Sequence[str], like: Learner) -> Learner:
    """The networks of R members, leaves [R, ...], rounded to bfloat16.

    `like`: the structure of one network without optimiser state; leaves have shapes.

    ConfigError: a file is missing, damaged or of another network.
    """
    networks = [_load_one(path_of(directory, name), like) for name in members]
    return population.stack(networks)


def _load_one(path: Path, like: Learner) -> Learner:
    stored = files.read_arrays(path, (), _REMEDY)
    arrays = {name: _widen(x) for name, x in stored.items()}
    wanted = {name: x.shape for name, x in _named(like).items()}
    stored_shapes = {name: x.shape for name, x in arrays.items()}
    if wanted != stored_shapes:
        names = sorted(
            n for n in wanted.keys() | stored_shapes.keys() if wanted.get(n) != stored_shapes.get(n)
        )
        raise ConfigError(
            f"{path} holds another network than the run's settings describe ({names[0]}: "
            f"{stored_shapes.get(names[0])} for {wanted.get(names[0])})"
        )
    for name, x in arrays.items():
        if not np.isfinite(x).all():
            raise ConfigError(f"{path} is damaged ({name} is not finite): {_REMEDY}")
    leaves = [jnp.asarray(arrays[name], x.dtype) for name, x in _named(like).items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _named(network: Learner) -> dict[str, Any]:
    """Leaves by path, in the order of `jax.tree.leaves`: `params/conv_0/kernel`."""
    leaves = jax.tree_util.tree_leaves_with_path(network)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def _shorten(name: str, x: Any) -> np.ndarray:
    """Weights as the bits of bfloat16, uint16; statistics as they are."""
    if name.startswith("params/"):
        return np.asarray(jnp.asarray(x, jnp.bfloat16)).view(np.uint16)
    return np.asarray(x, np.float32)


def _widen(x: np.ndarray) -> np.ndarray:
    """The reverse of `_shorten`, float32."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x
