"""Settings of every test: eight virtual devices, a compilation cache, strict shapes."""

import gc
import importlib.metadata
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DEVICES = "--xla_force_host_platform_device_count=8"
_FOR_OLD = (
    "--xla_cpu_use_fusion_emitters=false",
    # Splitting a program, to compile its parts side by side, takes a tenth of its compilation.
    "--xla_cpu_parallel_codegen_split_count=1",
)
_CACHE = Path(__file__).resolve().parent.parent / ".jax_cache"

# Read when JAX starts, so before its first import; programs that a test starts inherit them.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# Tests compile far more than they compute: code that is not optimised takes half the time, and less
# than half of that where XLA has its older emitters still (JAX 0.10). With
# JAX_DISABLE_MOST_OPTIMIZATIONS=0 the same tests run on the code that users run.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
_plain = os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] != "0"
_old = tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) < (0, 11)
for _flag in (_DEVICES, *(_FOR_OLD if _plain and _old else ())):
    if _flag.split("=")[0] not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_flag}".strip()

import jax  # noqa: E402
import pytest  # noqa: E402

from tests.skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: E402, F401

jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_numpy_rank_promotion", "raise")

# Tracing makes many objects that stay; looking through them all the time takes a seventh of a test.
gc.freeze()
gc.set_threshold(50_000, 20, 100)

_MOST_MAPPINGS = 15_000  # of memory; the system allows 65,530, and every program takes some


def _mappings() -> int:
    maps = Path("/proc/self/maps")
    return maps.read_text().count("\n") if maps.exists() else 0


@pytest.fixture
def as_users_run() -> Iterator[None]:
    """Programs compiled as users' are: for tests of what two programs share to the last bit."""
    jax.clear_caches()  # of what other tests compiled otherwise
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()


@pytest.fixture(autouse=True, scope="module")
def _signals_are_as_they_were(request: pytest.FixtureRequest) -> Iterator[None]:
    """A handler that is left behind would hear the signals that later tests send."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    left = [number for number, own in before.items() if signal.getsignal(number) != own]
    for number in left:
        signal.signal(number, before[number])
    if left:
        pytest.fail(f"{request.node.name} left handlers of {', '.join(n.name for n in left)}")


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_do_not_pile_up() -> Iterator[None]:
    """Over a whole suite they would use up memory and the number of its mappings."""
    yield
    if _mappings() > _MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Of all tests that look at pages; they are skipped where there is none."""
    from tests.browser import opened

    yield from opened()
