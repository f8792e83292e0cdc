"""Several processes share a run and get what one process gets."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests import small

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 2  # with one device each
TIMEOUT = 240


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_processes(folder: Path) -> str:
    """The output of process 0. All are stopped when one fails or takes too long."""
    environment = os.environ | {
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=1",
        "JAX_PLATFORMS": "cpu",
    }
    port = str(free_port())
    words = [sys.executable, "-m", "tests.distributed_worker", port]
    started = [
        subprocess.Popen(
            [*words, str(process), str(PROCESSES), str(folder)],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for process in range(PROCESSES)
    ]  # fmt: skip
    try:
        answers = [process.communicate(timeout=TIMEOUT) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(started, answers, strict=True):
        assert process.returncode == 0, errors[-3000:]
    return answers[0][0]


def test_two_processes_equal_one(tmp_path: Path) -> None:
    answer = json.loads(run_processes(tmp_path / "saved").splitlines()[-1])
    assert answer["devices"] == PROCESSES
    [(state, metrics)] = small.run_alone(
        small.for_devices(1), small.small_hyper(small.FOR_DEVICES), seed=0, iterations=1
    )
    assert answer["count"] == [state.replay.count.tolist()]
    assert answer["metrics"].keys() == metrics.keys()
    for name, value in metrics.items():
        if name not in ("count/selfplay_evaluations", "count/arena_evaluations"):
            np.testing.assert_allclose(  # each device stops when its own games have ended
                answer["metrics"][name], np.ravel(value), rtol=1e-5, atol=1e-5, err_msg=name
            )


# Joins, parts and ends; the first waits for the other's lock, gone only when that has ended.
_PARTING = """
import fcntl, pathlib, sys
from jaxzero.runs import processes
processes.join()
import jax
from jax.experimental import multihost_utils
lock = pathlib.Path(sys.argv[1]).open("a")
if jax.process_index() == 1:
    fcntl.flock(lock, fcntl.LOCK_EX)
multihost_utils.sync_global_devices("locked")
processes.part()
if jax.process_index() == 0:
    fcntl.flock(lock, fcntl.LOCK_EX)
"""


def test_the_others_end_while_the_first_concludes(tmp_path: Path) -> None:
    environment = os.environ | {
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
        "JAX_NUM_PROCESSES": "2",
        "JAX_PLATFORMS": "cpu",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _PARTING, str(tmp_path / "lock")],
            cwd=ROOT, env=environment | {"JAX_PROCESS_ID": str(number)},
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    try:
        assert [process.wait(TIMEOUT) for process in started] == [0, 0]
    finally:
        for process in started:
            process.kill()
            process.wait()
