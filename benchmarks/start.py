"""Starting: the quick study in a fresh process, with an empty and with a filled cache of programs.

Cold and warm: seconds from the command until training begins and until the first iteration is
trained, of which compiling. Memory: the most that the process held, against what was forecast
before anything was compiled. Host: the share of the time between the first and the last iteration
in which the device has nothing to do, because the host logs, saves or dispatches.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cases import Case, Measured

_ROOT = Path(__file__).resolve().parents[1]


class Point(NamedTuple):
    """The quick study, for `iterations` in the warm process, with `changes` to its settings."""

    iterations: int
    changes: tuple[str, ...] = ()


TINY = (
    "--config.network.channels=4",
    "--config.network.hidden=(16, 8)",
    "--config.search.num_simulations=6",
    "--config.selfplay.episodes=6",
    "--config.selfplay.temperature_plies=6",
    "--config.replay.window=2",
    "--config.train.epochs=2",
    "--config.train.batch_size=16",
    "--config.arena.games=6",
    "--config.evaluation.heldout_games=2",
    "--config.evaluation.heldout_simulations=2",
)  # of any study
_POINTS = {
    "cpu": Point(12),
    "gpu": Point(40),
    "tiny": Point(2, (*TINY, "--config.study.seeds=1", "--config.study.targets=sum")),
}


def cases(preset: str) -> Iterator[Case]:
    """One case, of two processes."""
    point = _POINTS[preset]
    yield Case(
        "start/quick", point._asdict(), functools.partial(_measure, point), guess=100.0, first=0
    )


def probe(
    study: str, preset: str, changes: Iterable[str], cache: Path, iterations: int
) -> dict[str, Any]:
    """Runs `benchmarks.probe` in a fresh process, see there.

    Args:
      study: its module in `experiments`.
      preset: of its settings.
      changes: further flags.
      cache: folder of compiled programs.
      iterations: of the first training.

    Raises:
      RuntimeError: with the end of what it said.
    """
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "probe.json"
        environment = os.environ | {
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # the suite's process has memory already
        }
        words = [
            study,
            str(iterations),
            f"--config=experiments/configs/{study}.py:{preset}",
            f"--workdir={Path(directory) / 'run'}",
            *changes,
        ]
        command = [sys.executable, "-m", "benchmarks.probe", str(result), str(time.time()), *words]
        done = subprocess.run(
            command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode or not result.exists():
            raise RuntimeError(f"{study}:{preset} did not train: {done.stderr[-2000:]}")
        return json.loads(result.read_text("utf-8"))


def _measure(point: Point) -> Mapping[str, Measured]:
    with tempfile.TemporaryDirectory() as cache:
        quick = functools.partial(probe, "loss_ablation", "quick", point.changes, Path(cache))
        cold, warm = quick(1), quick(point.iterations)
    host = warm["host_seconds"]
    found = {
        "cold, until training begins": _time(cold, "start_seconds"),
        "cold, to the first iteration": _time(cold, "first_seconds"),
        "cold, compiling": Measured(value=cold["compile_seconds"], unit="s"),
        "warm, until training begins": _time(warm, "start_seconds"),
        "warm, to the first iteration": _time(warm, "first_seconds"),
        "warm, compiling": Measured(value=warm["compile_seconds"], unit="s"),
        "host between iterations": Measured(
            value=host / warm["between_seconds"],
            unit="of the time",
            details={
                "seconds": host,
                "longest_seconds": warm["host_longest_seconds"],
                "iterations": point.iterations,
                "iteration_seconds": warm["between_seconds"] / (point.iterations - 1),
            },
        ),
    }
    found["memory"] = memory_of(warm)
    return found


def memory_of(seen: Mapping[str, Any]) -> Measured:
    """The most that was held while training, against the forecast; `seen` is the probe's answer."""
    memory = seen["memory"]
    return Measured(
        value=memory["peak"] / 2**20,
        unit="MiB",
        floor=memory["forecast"] / 2**20,
        against="forecast before compiling",
        fraction=memory["forecast"] / memory["peak"] if memory["peak"] else None,
        details={
            "xla_mib": memory["xla"] / 2**20,
            "process_mib": memory["process"] / 2**20,
            "before_training_mib": memory["before"] / 2**20,
            "of": memory["of"],
        },
    )


def _time(seen: Mapping[str, Any], until: str) -> Measured:
    return Measured(
        value=seen[until],
        unit="s",
        details={
            "imports_seconds": seen["imports_seconds"],
            "compile_seconds": seen["compile_seconds"],
            "all_compiling_seconds": seen["all_compiling_seconds"],
        },
    )
