"""Parts as jobs of submitit's local scheduler: side by side, one killed, one preempted."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import submitit
from submitit.core.utils import FailedJobError

from experiments.reproduce import command, launch, parts
from experiments.reproduce.launch import Share
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.fake_study import STEPS
from tests.experiments.reproduce.jobs import LAPTOP, SERVER, Job, share, steps, worker

pytestmark = pytest.mark.usefixtures("in_the_checkout", "on_a_fast_disk")


def test_a_job_that_is_queued_again_has_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its waiting command takes it for ended, and ends with status 0 before its parts do."""

    def preempted(*_: Any) -> int:
        sys.exit(-1)  # as submitit leaves, out of its signal's handler

    monkeypatch.setattr(parts, "run", preempted)
    monkeypatch.setattr(submitit, "JobEnvironment", lambda: SimpleNamespace(cluster="slurm"))
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit):
            share(tmp_path, Fake("fake", "one"))()
    finally:
        signal.signal(signal.SIGTERM, handler)


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.parametrize("launcher", launch.LAUNCHERS)
def test_jobs_that_are_killed_or_preempted_resume(
    tmp_path: Path, launcher: str, slurm: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = "killed", "preempted"
    shares = [share(tmp_path, Fake("fake", name)) for name in names]
    (tmp_path / "hold").touch()  # until both have been disturbed

    def disturb() -> None:
        while not all(steps(tmp_path, name) for name in names):
            time.sleep(0.01)
        os.kill(worker(tmp_path, "killed"), signal.SIGKILL)
        preempted = worker(tmp_path, "preempted")
        if launcher == "slurm":
            os.kill(preempted, signal.SIGTERM)  # comes first
            time.sleep(0.1)
        os.kill(preempted, signal.SIGUSR2)
        late = time.monotonic() + 60
        while not (tmp_path / "preempted" / "saved").exists() and time.monotonic() < late:
            time.sleep(0.01)
        (tmp_path / "hold").unlink()

    thread = threading.Thread(target=disturb)
    thread.start()
    options = {"partition": "long", "time": 60} if launcher == "slurm" else {}
    assert launch.run(shares, launcher, options, LAPTOP) == 0
    thread.join()
    assert (tmp_path / "preempted" / "saved").exists()
    scripts = [path.read_text() for path in slurm.glob("*.sh")]
    assert len(scripts) == (3 if launcher == "slurm" else 0)
    assert all("--partition=long" in script and "--time=60" in script for script in scripts)
    for name in names:
        assert parts.state_of(Fake("fake", name), tmp_path).state == parts.FINISHED
        assert len((tmp_path / name / "begun").read_text()) == 2
        assert steps(tmp_path, name) == STEPS
    assert capfd.readouterr().err.count("died; its parts resume in another") == 1


@pytest.mark.parametrize("shown", ["", "GPU-3a,5,7"])
def test_local_jobs_take_a_gpu_each(
    tmp_path: Path, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    shares = [share(tmp_path, Fake("fake", name)) for name in ("one", "two")]
    assert launch.run(shares, "local", {}, SERVER) == 0
    taken = [(tmp_path / name / "gpu").read_text() for name in ("one", "two")]
    assert taken == (["GPU-3a", "5"] if shown else ["0", "1"])


def test_no_two_local_jobs_share_an_accelerator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tpu = Hardware("tpu", "4 x TPU v5e", 4, None)
    assert launch.at_once("local", 0, SERVER) == launch.at_once("local", 2, SERVER) == 2
    assert launch.at_once("local", 1, SERVER) == launch.at_once("local", 0, tpu) == 1
    assert launch.at_once("local", 7, LAPTOP) == launch.at_once("slurm", 7, SERVER) == 7
    for machine, said in ((SERVER, "2 x GPU, on which 2 local jobs "), (tpu, "which 1 local job ")):
        monkeypatch.setattr(command.forecast, "look", lambda machine=machine: machine)
        with pytest.raises(ConfigError, match=f"--workers=3: .*{said}can run at once"):
            command.main(["001", f"--workdir={tmp_path}", "--launcher=local", "--workers=3"])
    assert launch.of_a_job("local", SERVER).count == 1  # memory is planned for that
    assert launch.of_a_job("", SERVER) == launch.of_a_job("slurm", SERVER) == SERVER


def test_a_job_that_the_scheduler_refuses_keeps_no_other_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = []

    class Taken(Job):
        def done(self) -> bool:
            handlers.append(signal.getsignal(signal.SIGINT))
            return True

        def result(self) -> int:
            return 0

    class Executor:
        def submit(self, share: Share) -> Job:
            if share.name == "two":
                raise FailedJobError("sbatch: error: Job violates accounting policy")
            return Taken()

    monkeypatch.setattr(launch, "_executor", lambda *_: Executor())
    shares = [share(tmp_path, Fake("fake", name)) for name in ("one", "two", "three")]
    assert launch.run(shares, "slurm", {}, LAPTOP) == 1
    told = capfd.readouterr().err
    assert "not handed in (sbatch: error: Job violates accounting policy): two" in told
    assert told.count("ended (") == 2
    assert set(handlers) == {launch._leave}  # Ctrl-C stops it while it waits


def test_what_cannot_be_launched_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launch.options("partition=gpu,time=60") == {"partition": "gpu", "time": 60}
    words = ["001", f"--workdir={tmp_path}"]
    for flags, said in {
        "--launcher=slurm --slurm=partition": "'partition' is not NAME=VALUE",
        "--slurm=time=60": "add --launcher=slurm",
        "--workers=2": "needs --launcher=slurm or local",
        "--launcher=local --workers=-1": "--workers=-1",
        "--launcher=local --shard=1/2": "shares the parts out itself",
        "--launcher=pbs": "invalid choice",
    }.items():
        with pytest.raises(ConfigError, match=said):
            command.main([*words, *flags.split()])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"--launcher=slurm: .*--launcher=local needs none"):
        launch.run([share(tmp_path, Fake("fake", "one"))], "slurm", {}, LAPTOP)
    for name in ("srun", "sbatch"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(ConfigError, match=r"--slurm: .*partitions"):
        launch.run([share(tmp_path, Fake("fake", "one"))], "slurm", {"partitions": "gpu"}, LAPTOP)
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install -e .*cluster"):
        command.main([*words, "--launcher=local"])
