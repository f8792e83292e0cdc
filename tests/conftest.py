"""Settings of every test: eight virtual devices, a compilation cache, strict shapes."""

import os
from pathlib import Path

_DEVICES = "--xla_force_host_platform_device_count=8"
_CACHE = Path(__file__).resolve().parent.parent / ".jax_cache"

# Read when JAX starts, so before its first import; programs that a test starts inherit them.
if _DEVICES.split("=")[0] not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_DEVICES}".strip()
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))

import jax  # noqa: E402

jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
jax.config.update("jax_numpy_rank_promotion", "raise")
