"""Ctrl-C and SIGTERM stop jobs, which save; what fails stops no other."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.reproduce import launch, parts
from experiments.reproduce.launch import Share
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.fake_study import STEPS
from tests.experiments.reproduce.jobs import LAPTOP, ROOT, Job, share, steps

pytestmark = pytest.mark.usefixtures("in_the_checkout", "on_a_fast_disk")


def stopping(folder: Path, name: str) -> threading.Thread:
    """SIGTERM to this process as soon as the part has taken a step; is begun."""

    def stop() -> None:
        while not steps(folder, name):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


def test_a_part_that_fails_is_a_status_and_stopping_saves(tmp_path: Path) -> None:
    shares = [share(tmp_path, Fake("fake", "fails"), Fake("fake", "slow", pause=0.2))]

    thread = stopping(tmp_path, "slow")
    assert launch.run(shares, "local", {}, LAPTOP) == 143
    thread.join()
    assert parts.state_of(Fake("fake", "fails"), tmp_path).state == parts.FAILED
    assert 0 < steps(tmp_path, "slow") < STEPS
    assert parts.state_of(Fake("fake", "slow"), tmp_path) == (parts.STOPPED, 143, "")
    assert launch.run([share(tmp_path, Fake("fake", "fails"))], "local", {}, LAPTOP) == 1
    assert launch.run([share(tmp_path)], "local", {}, LAPTOP) == 0


def test_stopping_cancels_slurms_jobs_which_save(
    tmp_path: Path, slurm: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = [share(tmp_path, Fake("fake", "one"))]
    assert launch.run(refused, "slurm", {"partition": "closed"}, LAPTOP) == 1
    assert "not handed in (sbatch: error: invalid partition" in capfd.readouterr().err
    slow = Fake("fake", "slow", pause=0.2)

    thread = stopping(tmp_path, "slow")
    assert launch.run([share(tmp_path, slow)], "slurm", {}, LAPTOP) == 143
    thread.join()
    while parts.state_of(slow, tmp_path) != (parts.STOPPED, 143, ""):
        time.sleep(0.05)
    assert (tmp_path / "slow" / "saved").exists()
    [task] = slurm.glob("*.task")  # waits whether it is a preemption; Slurm kills it in the end
    os.kill(int(task.read_text()), signal.SIGKILL)


COMMAND = """
import pathlib, sys
from experiments.reproduce import launch
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.jobs import LAPTOP, share
slow = share(pathlib.Path(sys.argv[1]), Fake("fake", "slow", pause=0.2))
sys.exit(launch.run([slow], "local", {}, LAPTOP))
"""


def test_ctrl_c_in_a_terminal_saves(tmp_path: Path) -> None:
    # It is sent to every process of the terminal's group: submitit's too, which would kill theirs.
    command = subprocess.Popen([sys.executable, "-c", COMMAND, tmp_path], start_new_session=True)
    while not steps(tmp_path, "slow"):
        time.sleep(0.01)
    os.killpg(command.pid, signal.SIGINT)
    assert command.wait(timeout=60) == 130
    assert parts.state_of(Fake("fake", "slow"), tmp_path) == (parts.STOPPED, 143, "")


def test_a_signal_while_a_job_is_handed_in_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job()

    class Executor:
        def submit(self, share: Share) -> Job:
            os.kill(os.getpid(), signal.SIGTERM)
            return job

    monkeypatch.setattr(launch, "_executor", lambda *_: Executor())
    before = signal.getsignal(signal.SIGTERM)
    assert launch.run([share(tmp_path, Fake("fake", "one"))], "slurm", {}, LAPTOP) == 143
    assert job.cancelled
    assert signal.getsignal(signal.SIGTERM) is before


def test_jobs_that_have_just_ended_keep_no_other_from_stopping() -> None:
    ended, runs = (Job(subprocess.Popen(["sleep", seconds])) for seconds in ("0", "60"))
    while not ended.done():
        time.sleep(0.01)
    try:
        launch._stop({ended: None, runs: None}, "local")
    finally:
        assert runs.process is not None
        runs.process.kill()
    assert runs.process.returncode == -signal.SIGTERM


PART = """
import pathlib, sys
from experiments.reproduce import parts
from tests.experiments.reproduce.fake_part import Fake
parts.run([Fake("fake", "part")], "quick", pathlib.Path(sys.argv[1]), 0)
"""
SLOW_START = """
import os, pathlib, sys, time
if "experiments.reproduce.child" in sys.orig_argv:
    pathlib.Path("started").write_text(str(os.getpid()))
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a part goes on")
def test_a_part_whose_parent_died_as_it_started_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_START)
    started = tmp_path / "started"
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    parent = subprocess.Popen([sys.executable, "-c", PART, tmp_path], env=environment, cwd=tmp_path)
    while not (started.exists() and started.read_text()):
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    (tmp_path / "go").touch()
    while Path(f"/proc/{started.read_text()}").exists():
        time.sleep(0.01)
    assert not (tmp_path / "part").exists()


SLOW = """
import pathlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from experiments.reproduce import parts
from tests.experiments.reproduce.fake_part import Fake
parts.run([Fake("fake", "slow", pause=0.2)], "quick", pathlib.Path(sys.argv[1]), 0)
"""


def test_ctrl_c_that_ends_who_reads_the_output_saves(tmp_path: Path) -> None:
    part = subprocess.Popen([sys.executable, "-c", SLOW, tmp_path], stderr=subprocess.PIPE)
    assert part.stderr is not None
    while not steps(tmp_path, "slow"):
        time.sleep(0.01)
    part.stderr.close()  # as `2>&1 | tee log` does
    part.send_signal(signal.SIGINT)
    part.wait(timeout=60)
    assert parts.state_of(Fake("fake", "slow"), tmp_path) == (parts.STOPPED, 130, "")
