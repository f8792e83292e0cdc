"""Several processes that train together, one on each host."""

import os
import sys
from typing import Any

import jax

from jaxzero.settings.config import ConfigError


def join() -> None:
    """Finds the others, as `jax.distributed` says or the environment. ConfigError: it can't."""
    named: dict[str, Any] = {
        argument: int(os.environ[variable])
        for argument, variable in (
            ("num_processes", "JAX_NUM_PROCESSES"),
            ("process_id", "JAX_PROCESS_ID"),
        )
        if variable in os.environ
    }
    try:
        jax.distributed.initialize(**named)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(
            f"config.execution.distributed=True: {str(error).splitlines()[0]} Start one process on "
            "each host under SLURM, Open MPI or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES "
            "and JAX_PROCESS_ID set"
        ) from error


def say(text: str | None) -> None:
    """A line for the person who waits, from the first process alone; None: nothing."""
    if text and jax.process_index() == 0:
        print(text, file=sys.stderr, flush=True)
