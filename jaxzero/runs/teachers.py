"""The small networks whose features a population learns (`train.features`)."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from jaxzero import files
from jaxzero.networks import init_variables
from jaxzero.runs.opened import Member, networks, open_run, saved_iteration
from jaxzero.settings.config import ConfigError
from jaxzero.training import features
from jaxzero.training.spec import Spec

FILE = "teacher.json"  # of a run directory: which networks are its teachers
_TEACHER = 1 << 22  # folded into a run's seed: the untrained network of random features


def of(config: ConfigDict, members: Sequence[Member], spec: Spec, directory: Path) -> Any:
    """Variables of a small network for each run, [R]; None where no features are learned.

    Runs take the members of `config.train.teacher` in turn, each its newest network; random
    features are those of a network of the run's own seed.

    ConfigError: that directory holds no network of this size for this game, or others than those
    that the run began with.
    """
    if spec.features is None:
        return None
    blocks, channels = spec.features.size
    network = features.teacher_network(spec.network, blocks, channels)

    def start(seed: jax.Array) -> Any:
        key = jax.random.fold_in(jax.random.key(seed), _TEACHER)
        return init_variables(network, key, spec.game.observation_shape)

    seeds = np.array([member.seed for member in members], np.int32)
    start_all = jax.jit(jax.vmap(start))
    if not spec.features.wanted.trained:
        return start_all(seeds)
    try:
        opened = open_run(os.path.normpath(directory / files.from_home(config.train.teacher)))
        found = networks(opened)
    except ConfigError as error:
        raise ConfigError(f"config.train.teacher={config.train.teacher!r}: {error}") from error
    variables = {"params": found.params, "batch_stats": found.batch_stats}
    same_game = opened.spec.game.name == spec.game.name
    if not same_game or _shapes(variables) != _shapes(jax.eval_shape(start_all, seeds)):
        raise ConfigError(
            f"config.train.teacher={config.train.teacher!r}: its network is of another size "
            f"or game, train it on {spec.game.name} with config.network.blocks={blocks}, "
            f"channels={channels}, stem_filters={4 * channels}, head_filters=1, "
            "squeeze_excite=True and without further heads, or change "
            "config.train.teacher_blocks and teacher_channels"
        )
    begun = bool(saved_iteration(directory))
    _note(directory / FILE, config.train.teacher, opened.iterations[-1], variables, begun=begun)
    taken = np.arange(len(members)) % len(opened.members)
    return jax.tree.map(lambda x: x[taken], variables)


def _note(path: Path, teacher: str, iteration: int, variables: Any, *, begun: bool) -> None:
    """Notes which networks these are where a run begins; refuses others where it has `begun`."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(variables):
        digest.update(np.asarray(leaf).tobytes())
    found = {"iteration": iteration, "sha256": digest.hexdigest()}
    held = files.read_json(path) if begun and path.is_file() else found
    if held != found:
        raise ConfigError(
            f"config.train.teacher={teacher!r}: its newest network is of iteration {iteration}, "
            f"this run began with another one, of iteration {held['iteration']}: choose another "
            "--workdir"
        )
    if jax.process_index() == 0:
        files.write_json(path, found)


def _shapes(variables: Any) -> Any:
    """Of one run's variables, by name."""
    return jax.tree.map(lambda x: x.shape[1:], variables)
