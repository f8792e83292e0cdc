"""The study killed at five moments, and begun again each time by the same command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TINY = (
    "train.iterations=6",
    "execution.checkpoint_every=2",
    "execution.snapshot_every=3",
    "network.channels=4",
    "network.hidden=(16, 8)",
    "search.num_simulations=8",
    "selfplay.episodes=8",
    "arena.games=4",
    "study.seeds=1",
    "study.tournament_games=4",
)
# Of one process, not of what was computed.
TIMES = ("wall_seconds", "compile_seconds", "phases", "environment", "command", "seconds")


def begin(directory: Path) -> subprocess.Popen:
    """The quick preset made tiny, as a user starts it."""
    log = directory.with_suffix(".log").open("a")
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "experiments.loss_ablation",
            "--config=experiments/configs/loss_ablation.py:quick",
            f"--workdir={directory}",
            *(f"--config.{setting}" for setting in TINY),
        ],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "XLA_FLAGS": ""},
        stderr=log,
    )


def without_times(value: Any) -> Any:
    """results.json but for what a clock or the machine says."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


def results(directory: Path) -> Any:
    return without_times(json.loads((directory / "results.json").read_text()))


def rows(directory: Path) -> list[Any]:
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return [without_times(json.loads(line)) for line in lines]


@pytest.mark.slow
def test_killed_at_five_moments(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert begin(whole).wait() == 0, whole.with_suffix(".log").read_text()
    checkpoints = killed / "checkpoints"

    def lines_at_least(number: int) -> Callable[[], bool]:
        metrics = killed / "metrics.jsonl"
        return lambda: metrics.exists() and metrics.read_text().count("\n") >= number

    moments: list[tuple[str, Callable[[], bool]]] = [
        ("the directory is made", lambda: (killed / "config.json").exists()),
        ("before the first checkpoint", lines_at_least(4)),
        ("while a checkpoint is written", lambda: any(checkpoints.glob("4*"))),
        ("in the last iteration", lines_at_least(4 * 6)),
        ("while the tournaments are played", lambda: (checkpoints / "6/sha256.json").exists()),
    ]
    for name, has_come in moments:
        process = begin(killed)
        while not has_come():
            assert process.poll() is None, f"ended before {name}"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (killed / "results.json").exists(), name
    assert begin(killed).wait() == 0, killed.with_suffix(".log").read_text()
    assert results(killed) == results(whole)
    assert rows(killed) == rows(whole)
    assert {p.name for p in (killed / "figures").iterdir()} == {
        p.name for p in (whole / "figures").iterdir()
    }
