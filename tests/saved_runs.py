"""Run directories without training: networks of made-up weights, kept as training keeps them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero import files, runs, workdir
from jaxzero.runs import Member
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.runs.failures import FAILED
from tests import small


def save_run(
    directory: Path,
    *,
    targets: Sequence[str] = ("sum",),
    seeds: Sequence[int] = (0,),
    iterations: Sequence[int] = (),
    changes: Mapping[str, Any] | None = None,
    failed: Sequence[str] = (),
) -> Path:
    """A run directory of the small settings; every kept network has weights of its own.

    Those that `failed` are noted so, and have networks like the others.
    """
    config = small.small_config(changes)
    members = [
        Member(
            f"{target}_seed{seed}",
            target,
            seed,
            small.changed(config, {"train.loss": target, "seed": seed}),
        )
        for target in targets
        for seed in seeds
    ]
    workdir.claim(directory, config, "test")
    runs.write_members(directory, config, members)
    if failed:
        noted = {"iteration": 1, "reason": "loss is not finite"}
        files.write_json(directory / FAILED, dict.fromkeys(failed, noted))
    if iterations:
        start = small.compiled_init(small.small_spec(changes))
        snapshots = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
        for at in iterations:
            learners = [
                runs.without_optimiser(start(1000 * at + i).learner) for i in range(len(members))
            ]
            snapshots.save(at, jax.tree.map(lambda *x: jnp.stack(x), *learners))
        snapshots.close()
    return directory
