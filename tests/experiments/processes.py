"""Studies as a user starts them, killed at a moment, and what they leave behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
STRICT = Path(__file__).with_name("strict")  # what Python loads first
ONE_DEVICE = "--xla_force_host_platform_device_count=1"
# Of one process, not of what was computed.
TIMES = re.compile(r"seconds|minutes|hours|phases|programs|environment|command|noise")


def begin(
    study: str, directory: Path, settings: tuple[str, ...], **environment: str
) -> subprocess.Popen:
    """The quick preset of `study` with other settings, which runs; its messages go to a log."""
    words = [
        f"experiments.{study}",
        f"--config=experiments/configs/{study}.py:quick",
        f"--workdir={directory}",
        *(f"--config.{setting}" for setting in settings),
    ]
    return start(words, directory, _ROOT, **environment)


def start(
    words: Sequence[str], directory: Path, place: Path, **environment: str
) -> subprocess.Popen:
    """`python -m WORDS` in a place, with the log of a directory; on one device.

    It ends with the process that begins it.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "experiments.reproduce.child", str(os.getpid()), *words],
        cwd=place,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (STRICT, _ROOT))),
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {ONE_DEVICE}",
            **environment,
        },
        stdout=subprocess.DEVNULL,
        stderr=directory.with_suffix(".log").open("a"),
    )


def log_of(directory: Path) -> str:
    return directory.with_suffix(".log").read_text()


def kill_when(has_come: Callable[[], bool], process: subprocess.Popen, directory: Path) -> None:
    """Kills it at a moment of a study that must not have ended by then."""
    while not has_come():
        assert process.poll() is None, f"ended before: {log_of(directory)}"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (directory / "results.json").exists()


def timeless(value: Any) -> Any:
    """Without what a clock or a machine says."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not TIMES.search(k)}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def results_of(directory: Path) -> Any:
    return timeless(json.loads((directory / "results.json").read_text()))


def rows_of(directory: Path) -> list[Any]:
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return [timeless(json.loads(line)) for line in lines]


def check_killed(
    study: str,
    whole: Path,
    killed: Path,
    settings: tuple[str, ...],
    moments: Mapping[str, Callable[[], bool]],
) -> None:
    """A study that is killed at moments and begun again each time ends as one that was left alone.

    Args:
      study: its quick preset.
      whole, killed: run directories of the one and the other.
      settings: that make it small.
      moments: by what they are, whether they have come.
    """
    assert begin(study, whole, settings).wait() == 0, log_of(whole)
    for has_come in moments.values():
        kill_when(has_come, begin(study, killed, settings), killed)
    assert begin(study, killed, settings).wait() == 0, log_of(killed)
    assert rows_of(killed) == rows_of(whole)
    assert results_of(killed) == results_of(whole)
