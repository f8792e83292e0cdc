"""Compiling for a GPU on a machine without one: the program is read, never run.

Needs jaxlib's CUDA plugin (`pip install -e ".[cuda12]"`), no driver. Kernels are chosen without
trying them out (autotuning needs the device), so a matrix product may become another kernel there.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxzero.settings.config import ConfigError

# What XLA's compiler asks of an NVIDIA H100 80GB HBM3.
_H100 = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84929347584
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  driver_version: "12.8.0"
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 7 }
runtime_version { major: 12 minor: 8 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def h100() -> NamedSharding:
    """An H100 to compile for.

    Raises:
      ConfigError: the plugin is missing.
    """
    from jax.experimental import topologies

    try:
        found = topologies.get_topology_desc("h100", "cuda", target_config=_H100, topology="1x1x1")
    except (NotImplementedError, RuntimeError) as error:
        raise ConfigError(
            'compiling for a GPU needs jaxlib\'s CUDA plugin, not a GPU: pip install -e ".[cuda12]"'
        ) from error
    return NamedSharding(Mesh(found.devices, ("device",)), P())


def compile_text(device: NamedSharding, fn: Callable, *args: Any) -> str:
    """The HLO that XLA makes of `fn` for a device; `args` are arrays or their shapes."""

    def shape(x: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device)

    lowered = jax.jit(fn).lower(*jax.tree.map(shape, args))
    text = lowered.compile(compiler_options={"xla_gpu_autotune_level": "0"}).as_text()
    assert text is not None
    return text
