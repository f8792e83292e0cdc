"""Parts as jobs of submitit's local scheduler: side by side, one killed, one preempted."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import submitit
from submitit.core.core import Job as SubmittedJob
from submitit.core.utils import FailedJobError

from experiments.reproduce import command, launch, parts
from experiments.reproduce.launch import Share
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from tests.experiments.reproduce import fake_slurm
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.fake_study import STEPS

ROOT = Path(__file__).resolve().parents[3]
LAPTOP = Hardware("cpu", "a laptop", 1, None)
SERVER = Hardware("gpu", "2 x GPU", 2, None)


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SUBMITIT_LOG_LEVEL", "NOCONFIG")  # else it keeps one test's stdout for ever


@pytest.fixture(autouse=True)
def _on_a_fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that died leaves no result; submitit would wait for it for 15 seconds."""
    monkeypatch.setattr(SubmittedJob, "_results_timeout_s", 1)


def share(folder: Path, *fakes: Fake) -> Share:
    return Share(fakes, "quick", folder, 0)


def steps(folder: Path, name: str) -> int:
    path = folder / name / "steps"
    return path.stat().st_size if path.exists() else 0


def worker(folder: Path, name: str) -> int:
    """Process of the job that runs a part: the parent of the study's."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            words = (status.parent / "cmdline").read_bytes().split(b"\0")
            if f"--workdir={folder / name}".encode() in words:
                return int(status.read_text().split("PPid:")[1].split()[0])
        except OSError:
            continue  # it has just ended
    raise AssertionError(f"nobody runs {name}")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands on the path; the folder of its jobs."""
    jobs = fake_slurm.install(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return jobs


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


def stopping(folder: Path, name: str) -> threading.Thread:
    """SIGTERM to this process as soon as the part has taken a step; is begun."""

    def stop() -> None:
        while not steps(folder, name):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


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
from tests.experiments.reproduce import test_launch as here
slow = here.Fake("fake", "slow", pause=0.2)
sys.exit(here.launch.run([here.share(pathlib.Path(sys.argv[1]), slow)], "local", {}, here.LAPTOP))
"""


def test_ctrl_c_in_a_terminal_saves(tmp_path: Path) -> None:
    # It is sent to every process of the terminal's group: submitit's too, which would kill theirs.
    command = subprocess.Popen([sys.executable, "-c", COMMAND, tmp_path], start_new_session=True)
    while not steps(tmp_path, "slow"):
        time.sleep(0.01)
    os.killpg(command.pid, signal.SIGINT)
    assert command.wait(timeout=60) == 130
    assert parts.state_of(Fake("fake", "slow"), tmp_path) == (parts.STOPPED, 143, "")


class Job:
    """Of a process that the test began; or of nothing, and `cancel` is noted."""

    def __init__(self, process: "subprocess.Popen | None" = None) -> None:
        self.process, self.job_id = process, str(process.pid if process else 1)
        self.cancelled = False

    def done(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def cancel(self) -> None:
        self.cancelled = True


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
from tests.experiments.reproduce.test_launch import Fake, parts
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
from tests.experiments.reproduce.test_launch import Fake, parts
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
