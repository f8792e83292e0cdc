"""JAX's set-up, before it looks for devices."""

import os
from pathlib import Path

import jax
from ml_collections import ConfigDict

from jaxzero.runs import processes
from jaxzero.settings import devices

_DETERMINISTIC = "--xla_gpu_deterministic_ops=true"  # read when JAX starts


def prepare(config: ConfigDict) -> None:
    """Sets what JAX reads when it first looks for devices: other processes, cores, cache, flags.

    Programs are kept on disk where JAX has no folder for them yet. Processes find each other as
    `jax.distributed.initialize` says: by SLURM, Open MPI or a TPU's own means, or by the variables
    JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID of the environment.

    ConfigError: the processes can't find each other.
    """
    if not config.execution.distributed:
        devices.one_for_each_core()
    elif not jax.distributed.is_initialized():
        processes.join()
    flags = os.environ.get("XLA_FLAGS", "")
    if config.execution.deterministic_gpu and _DETERMINISTIC not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_DETERMINISTIC}".strip()
    if config.execution.compilation_cache and not jax.config.values["jax_compilation_cache_dir"]:
        cache = Path.home() / ".cache" / "jaxzero" / "compilation"
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
