"""The sweep as a user starts it: killed at several moments, in shares, and in two processes."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.costs import clock
from jaxzero import files
from tests.experiments.hyperparameters.test_studies import NONE
from tests.experiments.processes import begin, check_killed, log_of, rows_of

_SMALL = (
    "execution.checkpoint_every=2",
    "network.channels=4",
    "network.hidden=(16, 8)",
    "study.seeds=1",
    "study.tournament_games=2",
)
TINY = (
    *_SMALL,
    "train.iterations=4",
    "search.num_simulations=8",
    "selfplay.episodes=8",
    "arena.games=4",
    "study.iterations=2,6",
    "study.episodes=4,16",
    "study.programs=2",
    *(f"{name}=()" for name in NONE),
)
CORRELATION = (
    *_SMALL,
    "study.iterations=2,4",
    "study.episodes=4,8",
    "study.num_simulations=4,8",
    "study.epochs=1",
    "study.tournament_simulations=4",
)


def calibrated(directory: Path) -> Path:
    """Unit seconds differ from one measurement to the next."""
    directory.mkdir()
    units = {name: [1e-3, 1e-3, 2e-3] for name in ("default", "I=2", "I=6", "E=4", "E=16")}
    files.write_json(directory / clock.CALIBRATION, units)
    return directory


@pytest.mark.slow
def test_killed_at_several_moments_and_done_by_two_processes(tmp_path: Path) -> None:
    whole, killed = calibrated(tmp_path / "whole"), calibrated(tmp_path / "killed")
    groups = killed / "groups"
    moments: dict[str, Callable[[], bool]] = {
        "in the first group": lambda: len(list(groups.glob("*/metrics.jsonl"))) == 1,
        "in the second": lambda: len(list(groups.glob("*/metrics.jsonl"))) == 2,
        "all is trained": lambda: len(list(groups.glob("*/done.json"))) == 2,
    }
    check_killed("hyperparameter_sweep", whole, killed, TINY, moments)

    together = calibrated(tmp_path / "together")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    both = [
        begin(
            "hyperparameter_sweep",
            together,
            (*TINY, "execution.distributed=True"),
            JAX_COORDINATOR_ADDRESS=address,
            JAX_NUM_PROCESSES="2",
            JAX_PROCESS_ID=str(number),
        )
        for number in range(2)
    ]
    assert [process.wait() for process in both] == [0, 0], log_of(together)
    assert not (together / "results.json").exists()
    assert begin("hyperparameter_sweep", together, TINY).wait() == 0, log_of(together)
    by_run = {(r["run"], r["iteration"]): r for r in rows_of(whole)}
    for row in rows_of(together):  # sums over devices are taken in another order
        same = by_run[row["run"], row["iteration"]]
        if row["iteration"] == 1:
            assert row["loss/sum"] == pytest.approx(same["loss/sum"], rel=1e-3)
    assert len(rows_of(together)) == len(rows_of(whole))
