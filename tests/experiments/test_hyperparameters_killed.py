"""The sweep as a user starts it: killed at several moments, in shares, and in two processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import setting_study
from jaxzero import workdir
from tests.experiments.test_hyperparameters import NONE, timeless

TINY = (
    "train.iterations=4",
    "execution.checkpoint_every=2",
    "network.channels=4",
    "network.hidden=(16, 8)",
    "search.num_simulations=8",
    "selfplay.episodes=8",
    "arena.games=4",
    "study.seeds=1",
    "study.tournament_games=2",
    "study.iterations=2,6",
    "study.episodes=4,16",
    "study.programs=2",
    *(f"{name}=()" for name in NONE),
)


def begin(directory: Path, *words: str, **environment: str) -> subprocess.Popen:
    log = directory.with_suffix(".log").open("a")
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "experiments.hyperparameter_sweep",
            "--config=experiments/configs/hyperparameter_sweep.py:quick",
            f"--workdir={directory}",
            *(f"--config.{setting}" for setting in TINY),
            *words,
        ],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "XLA_FLAGS": "", **environment},
        stderr=log,
    )


def calibrated(directory: Path) -> Path:
    """Unit seconds differ from one measurement to the next."""
    directory.mkdir()
    units = {name: [1e-3, 1e-3, 2e-3] for name in ("default", "I=2", "I=6", "E=4", "E=16")}
    workdir.write_json(directory / setting_study.CALIBRATION, units)
    return directory


def results(directory: Path) -> Any:
    return timeless(json.loads((directory / "results.json").read_text()))


def rows(directory: Path) -> list[Any]:
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return [timeless(json.loads(line)) for line in lines]


def log_of(directory: Path) -> str:
    return directory.with_suffix(".log").read_text()


@pytest.mark.slow
def test_killed_at_several_moments_and_done_by_two_processes(tmp_path: Path) -> None:
    whole, killed = calibrated(tmp_path / "whole"), calibrated(tmp_path / "killed")
    assert begin(whole).wait() == 0, log_of(whole)
    groups = killed / "groups"
    moments: list[tuple[str, Callable[[], bool]]] = [
        ("in the first group", lambda: len(list(groups.glob("*/metrics.jsonl"))) == 1),
        ("in the second", lambda: len(list(groups.glob("*/metrics.jsonl"))) == 2),
        ("all is trained", lambda: len(list(groups.glob("*/done.json"))) == 2),
    ]
    for name, has_come in moments:
        process = begin(killed)
        while not has_come():
            assert process.poll() is None, f"ended before {name}: {log_of(killed)}"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (killed / "results.json").exists(), name
    assert begin(killed).wait() == 0, log_of(killed)
    assert rows(killed) == rows(whole)
    assert results(killed) == results(whole)

    together = calibrated(tmp_path / "together")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    distributed = "--config.execution.distributed=True"
    both = [
        begin(
            together,
            distributed,
            JAX_COORDINATOR_ADDRESS=address,
            JAX_NUM_PROCESSES="2",
            JAX_PROCESS_ID=str(number),
        )
        for number in range(2)
    ]
    assert [process.wait() for process in both] == [0, 0], log_of(together)
    assert not (together / "results.json").exists()
    assert begin(together).wait() == 0, log_of(together)
    by_run = {(r["run"], r["iteration"]): r for r in rows(whole)}
    for row in rows(together):  # sums over devices are taken in another order
        same = by_run[row["run"], row["iteration"]]
        if row["iteration"] == 1:
            assert row["loss/sum"] == pytest.approx(same["loss/sum"], rel=1e-3)
    assert len(rows(together)) == len(rows(whole))
