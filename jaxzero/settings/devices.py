"""Which devices there are, in words, and whether one lies idle.

On a CPU each core is a device (`one_for_each_core`), so that runs go on side by side. Threads that
XLA shares between cores within an operation lose time to each other where networks are small
(docs/performance.md).
"""

import contextlib
import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from jaxzero.settings.config import ConfigError

_COUNT = "--xla_force_host_platform_device_count"


def one_for_each_core() -> None:
    """Makes a CPU's cores devices, where JAX has not looked for devices and nobody chose others."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _COUNT not in flags and "JAX_NUM_CPU_DEVICES" not in os.environ:
        os.environ["XLA_FLAGS"] = f"{flags} {_COUNT}={cores()}".strip()


@contextlib.contextmanager
def known_platforms() -> Iterator[None]:
    """Around a program: where `JAX_PLATFORMS` asks for devices that are not here, one line says it.

    Raises:
      ConfigError: in place of what JAX raises then.
    """
    try:
        yield
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS")
        try:
            jax.devices()
        except (RuntimeError, AssertionError):
            if asked:
                raise ConfigError(
                    f"JAX_PLATFORMS={asked!r}: JAX finds no such devices here, unset it or set "
                    "JAX_PLATFORMS=cpu"
                ) from error
        raise


def share_runs(config: ConfigDict, platform: str) -> bool:
    """Whether several devices may share one run; on a CPU only where their number is asked for."""
    return platform != "cpu" or config.execution.devices > 0 or config.execution.distributed


def choose(config: ConfigDict) -> list[Any]:
    """The devices a study may use. ConfigError: more are asked for than there are."""
    devices = jax.devices()
    wanted = config.execution.devices or len(devices)
    if wanted > len(devices):
        raise ConfigError(
            f"config.execution.devices={wanted}: this machine shows {len(devices)} "
            f"({devices[0].device_kind}), choose at most that many"
        )
    return devices[:wanted]


def describe(devices: Sequence[Any] | None = None) -> str:
    """e.g. `1 x cpu (x86_64, 2 cores)`; of all devices by default."""
    devices = jax.devices() if devices is None else devices
    name = devices[0].device_kind
    if devices[0].platform == "cpu":
        name = f"cpu ({platform.machine()}, {cores()} cores)"
    return f"{len(devices)} x {name}"


_CUDA = ("jax_cuda12_plugin", "jax_cuda13_plugin")  # packages by which JAX uses an NVIDIA GPU
_GOOGLE = "0x1ae0"  # PCI vendor, also of network cards
_TPUS = ("0x0062", "0x0063", "0x006f", "0x0076")  # PCI devices: v5p, v5e, v6e, 7x


def idle_accelerator(*, backend: str | None = None, root: Path = Path("/")) -> str | None:
    """A warning where an accelerator is present and JAX computes on the CPU; None otherwise.

    Args:
      backend: what JAX uses; asked of JAX by default.
      root: of the file system.
    """
    if (backend or jax.default_backend()) != "cpu" or os.environ.get("JAX_PLATFORMS") == "cpu":
        return None
    for kind, present, plugins, extras in (
        ("an NVIDIA GPU", _has_nvidia_gpu, _CUDA, 'pip install -e ".[cuda12]" (or cuda13)'),
        ("a TPU", _has_tpu, (), 'pip install -e ".[tpu]"'),
    ):
        if not present(root):
            continue
        if plugin := next(filter(importlib.util.find_spec, plugins), None):
            return (
                f"warning: {kind} is present and {plugin} is installed, but it did not start and "
                "JAX computes on the CPU (its message is above): the driver may be too old, "
                "compare `nvidia-smi`; cuda12 takes older ones than cuda13"
            )
        return (
            f"warning: {kind} is present, but JAX computes on the CPU: {extras}, or set "
            "JAX_PLATFORMS=cpu to mean it"
        )
    return None


def _has_nvidia_gpu(root: Path) -> bool:
    gpus = root / "proc/driver/nvidia/gpus"
    if gpus.is_dir() and any(gpus.iterdir()):
        return True
    devices = ("dev/nvidia0", "dev/dxg")  # dxg: Windows' GPU in its Linux, which may be another's
    return any((root / name).exists() for name in devices) and bool(shutil.which("nvidia-smi"))


def _has_tpu(root: Path) -> bool:
    if (root / "dev/accel0").exists():
        return True
    pci = (root / "sys/bus/pci/devices").glob("*")  # from v5 on a TPU is no file of its own
    return any(_word(at / "vendor") == _GOOGLE and _word(at / "device") in _TPUS for at in pci)


def _word(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return ""


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
