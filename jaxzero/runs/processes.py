"""Several processes that train together, one on each host."""

import os
import sys
from typing import Any, Final, NoReturn

import jax

from jaxzero.settings.config import ConfigError

_SILENT: Final = 30  # seconds without a sign of life after which a process counts as lost
# What errors say of one that is lost: gloo's on CPUs, NCCL's, those of JAX's own service.
_LOST: Final = (
    "Gloo ",
    "NCCL operation",
    "UNAVAILABLE:",
    "DEADLINE_EXCEEDED:",
    "heartbeat timeout",
)


def join() -> None:
    """Finds the others, as `jax.distributed` says or the environment. ConfigError: it can't."""
    try:
        named: dict[str, Any] = {
            argument: int(os.environ[variable])
            for argument, variable in (
                ("num_processes", "JAX_NUM_PROCESSES"),
                ("process_id", "JAX_PROCESS_ID"),
            )
            if variable in os.environ
        }
        jax.distributed.initialize(**named, heartbeat_timeout_seconds=_SILENT)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(
            f"config.execution.distributed=True: {str(error).splitlines()[0]} Start one process on "
            "each host under SLURM, Open MPI or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES "
            "and JAX_PROCESS_ID set"
        ) from error


def part() -> None:
    """Parts from the others when all have trained: the first concludes alone, and they end.

    At their own end they would wait for the first, and JAX ends all when that takes five minutes.
    """
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def lost(error: Exception) -> bool:
    """Whether JAX says that a process which shares this run can't be reached."""
    if not (jax.distributed.is_initialized() and isinstance(error, (RuntimeError, ValueError))):
        return False  # JAX raises both
    return any(sign in str(error) for sign in _LOST)


def leave(status: int, *, at_once: bool = False) -> NoReturn:
    """Ends this process after an error: at once if that is asked for, or others share the run.

    At exit JAX would wait for what the device computes, and for the others, which wait for this.
    """
    if at_once or jax.distributed.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def say(text: str | None) -> None:
    """A line for the person who waits, from the first process alone; None: nothing."""
    if text and jax.process_index() == 0:
        print(text, file=sys.stderr, flush=True)
