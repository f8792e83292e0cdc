"""Slurm's commands as submitit calls them, for one machine without a queue.

`install` puts them on the path. A job is a process of its own; what is known of it lies in a
folder: `ID.task` (the process that its step runs), `ID.state`, and `ID.again` if it is to begin
again. Signals go to the step's process alone, as with Slurm's cgroups.
"""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("sbatch", "srun", "sacct", "scancel", "scontrol")


def install(folder: Path) -> Path:
    """Writes the commands into `folder`, which belongs on the path. Returns the jobs' folder."""
    jobs = folder / "slurm"
    jobs.mkdir()
    for name in COMMANDS:
        script = f'#!/bin/sh\nexec {sys.executable} {__file__} {jobs} {name} "$@"\n'
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return jobs


def sbatch(jobs: Path, script: str) -> None:
    """Hands a job in; refuses one of the partition `closed`."""
    if "--partition=closed" in Path(script).read_text():
        sys.exit("sbatch: error: invalid partition specified: closed")
    number = os.getpid()  # submitit remembers the numbers of all jobs of a process
    enter(jobs, number, "PENDING")
    (jobs / f"{number}.sh").write_bytes(Path(script).read_bytes())
    words = [sys.executable, __file__, str(jobs), "job", str(number)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL, **quiet)  # type: ignore[call-overload]
    print(f"Submitted batch job {number}")


def job(jobs: Path, number: str) -> None:
    """Runs a job's script until nobody queues it again."""
    state, again = jobs / f"{number}.state", jobs / f"{number}.again"
    environment = os.environ | {"SLURM_JOB_ID": number}
    while True:
        enter(jobs, number, "RUNNING")
        status = subprocess.run(
            ["bash", jobs / f"{number}.sh"], env=environment, check=False
        ).returncode
        if not again.exists():
            break
        again.unlink()
    if state.read_text() == "RUNNING":
        enter(jobs, number, "FAILED" if status else "COMPLETED")


def srun(jobs: Path, *words: str) -> None:
    """Becomes a step's process, with its output where it was asked for."""
    number, rest = os.environ["SLURM_JOB_ID"], list(words)
    while rest[0].startswith("--"):
        option = rest.pop(0)
        if option in ("--output", "--error"):
            path = rest.pop(0).replace("%j", number).replace("%t", "0")
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, 1 if option == "--output" else 2)
    (jobs / f"{number}.task").write_text(str(os.getpid()))
    os.execvp(rest[0], rest)


def sacct(jobs: Path, *words: str) -> None:
    """The states of jobs, `-j ID` each."""
    print("JobID|State|NodeList")
    for option, number in itertools.pairwise(words):
        if option == "-j":
            print(f"{number}|{(jobs / f'{number}.state').read_text()}|here")


def scancel(jobs: Path, number: str) -> None:
    """SIGTERM to a job's step."""
    enter(jobs, number, "CANCELLED")
    send(jobs, number, signal.SIGTERM)


def scontrol(jobs: Path, requeue: str, number: str) -> None:
    """Lets a job begin again."""
    assert requeue == "requeue"
    (jobs / f"{number}.again").touch()


def enter(jobs: Path, number: int | str, state: str) -> None:
    """Notes a job's state, whole: another command may be reading it."""
    part = jobs / f"{number}.{os.getpid()}.part"
    part.write_text(state)
    part.replace(jobs / f"{number}.state")


def send(jobs: Path, number: str, sent: int) -> None:
    """A signal to a job's step, which may be about to begin."""
    task = jobs / f"{number}.task"
    while not (task.exists() and task.read_text()):
        time.sleep(0.01)
    os.kill(int(task.read_text()), sent)


if __name__ == "__main__":
    folder, command, *given = sys.argv[1:]
    globals()[command](Path(folder), *given)
