"""The study killed at five moments, and begun again each time by the same command."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.experiments import processes
from tests.test_distributed import free_port

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


@pytest.mark.slow
def test_killed_at_five_moments(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    checkpoints = killed / "checkpoints"

    def lines_at_least(number: int) -> Callable[[], bool]:
        metrics = killed / "metrics.jsonl"
        return lambda: metrics.exists() and metrics.read_text().count("\n") >= number

    moments: dict[str, Callable[[], bool]] = {
        "the directory is made": lambda: (killed / "config.json").exists(),
        "before the first checkpoint": lines_at_least(4),
        "while a checkpoint is written": lambda: any(checkpoints.glob("4*")),
        "in the last iteration": lines_at_least(4 * 6),
        "while the tournaments are played": lambda: (checkpoints / "6/sha256.json").exists(),
    }
    processes.check_killed("loss_ablation", whole, killed, TINY, moments)
    assert {p.name for p in (killed / "figures").iterdir()} == {
        p.name for p in (whole / "figures").iterdir()
    }


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_process_ends_when_the_other_is_killed(killed: int, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    settings = (*TINY, "execution.distributed=True", "train.iterations=1000")
    shared = {
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
        "JAX_NUM_PROCESSES": "2",
    }
    started = [
        processes.begin("loss_ablation", directory, settings, **shared, JAX_PROCESS_ID=str(number))
        for number in range(2)
    ]
    try:
        saved = directory / "checkpoints" / "2" / "sha256.json"
        processes.kill_when(saved.exists, started[killed], directory)
        status = started[1 - killed].wait(60)
    finally:
        for process in started:
            process.kill()
            process.wait()
    log = processes.log_of(directory)
    assert "Traceback" not in log
    if killed == 0 and status == -signal.SIGABRT:  # JAX's service, which was lost too, was faster
        return
    assert status == 1
    assert log.count("error: another process of this run has ended") == 1
