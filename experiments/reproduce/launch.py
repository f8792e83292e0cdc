"""A paper's parts as jobs, side by side: of Slurm, or processes of this machine, through submitit.

A job runs a share of the parts as `parts.run` does. One that is preempted or out of time saves and
is queued again, one that dies is handed in again; whatever was finished stays finished.
"""

import contextlib
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from experiments.reproduce import parts
from experiments.reproduce.papers import Part
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError

LAUNCHERS: Final = ("slurm", "local")
JOBS: Final = "jobs"  # folder of submitit's files, pickled by it and for it alone
_AGAIN: Final = 3  # times that a job which died is handed in again
_OFTEN: Final = 10_000  # times that a job may be out of time; each has saved what it did
_MINUTES: Final = 24 * 60  # of a job, if Slurm is not asked for another time
_POLL: Final = 0.5  # seconds
_GPUS: Final = "CUDA_VISIBLE_DEVICES"
_PREEMPTION: Final = 20  # seconds after SIGTERM in which Slurm may say that it is one


@dataclass(frozen=True)
class Share:
    """What one job does; called by submitit, in a process of its own."""

    mine: tuple[Part, ...]  # its parts, one after another
    scale: str  # as of `parts.run`
    folder: Path  # as of `parts.run`
    max_minutes: float  # as of `parts.run`
    gpu: str = ""  # of a local job, as CUDA names it

    @property
    def name(self) -> str:
        """The names of its parts."""
        return ", ".join(part.name for part in self.mine)

    def __call__(self) -> int:
        """`parts.run`; ends without a result if it was stopped."""
        import submitit

        local = submitit.JobEnvironment().cluster == "local"
        if local:  # Slurm finds processes by their group
            os.setpgid(0, 0)  # Ctrl-C is for the command that waits, which passes it on
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ[_GPUS] = self.gpu
        signal.signal(signal.SIGTERM, _leave)  # between two parts; within one it saves first
        try:
            status = parts.run(self.mine, self.scale, self.folder, self.max_minutes)
        except SystemExit as left:
            status = int(left.code or 0)
            if status < 128:
                raise  # submitit has queued this job again: a result would say that it is over
        if status >= 128:
            if not local:
                time.sleep(_PREEMPTION)  # its second signal calls `checkpoint`
            sys.exit(status)
        return status

    def checkpoint(self) -> Any:
        """What is queued again: the same, which resumes. Called before a job is preempted."""
        from submitit.helpers import DelayedSubmission

        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the preemption's other signal
        parts.stop()
        return DelayedSubmission(self)


def check(launcher: str, workers: int, slurm: Mapping[str, Any]) -> None:
    """Refuses what cannot be launched (ConfigError)."""
    if workers < 0:
        raise ConfigError(f"--workers={workers}: at least 0 is needed")
    if slurm and launcher != "slurm":
        raise ConfigError("--slurm has options of Slurm's jobs: add --launcher=slurm")
    if workers and not launcher:
        raise ConfigError(f"--workers={workers} needs --launcher={' or '.join(LAUNCHERS)}")
    if launcher and importlib.util.find_spec("submitit") is None:
        raise ConfigError(
            f"--launcher={launcher} needs submitit: install it with "
            '`pip install -e ".[cluster]"`, or share the parts out with --shard'
        )


def at_once(launcher: str, workers: int, machine: Hardware) -> int:
    """Most jobs that go side by side; 0: any number.

    A local job has an accelerator to itself: two would not both fit into its memory, of which JAX
    takes most at once. A TPU is one process's with all its chips.

    ConfigError: more `workers` are asked for than there are.
    """
    if launcher != "local" or machine.platform == "cpu":
        return workers
    most = machine.count if machine.platform == "gpu" else 1
    if workers > most:
        raise ConfigError(
            f"--workers={workers}: this machine shows {machine.described}, on which "
            f"{most} local job{'s' if most > 1 else ''} can run at once, choose at most that"
        )
    return workers or most


def of_a_job(launcher: str, machine: Hardware) -> Hardware:
    """What one job has of this machine."""
    alone = launcher == "local" and machine.platform == "gpu"
    return replace(machine, count=1) if alone else machine


def options(text: str) -> dict[str, Any]:
    """Of `partition=gpu,time=60` by name, numbers as int. ConfigError: a word without `=`."""
    found: dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise ConfigError(f"--slurm={text}: {word!r} is not NAME=VALUE, like partition=gpu")
        found[name.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    return found


def run(shares: Sequence[Share], launcher: str, slurm: Mapping[str, Any], machine: Hardware) -> int:
    """Hands in a job for each share and waits for all of them.

    Args:
      shares: of one scale and folder; those without parts are left out.
      launcher: of `LAUNCHERS`.
      slurm: options of its jobs, as submitit names them; `time` in minutes.
      machine: whose GPUs local jobs take, one each.

    Returns:
      0; 1 after a failure; 130 and 143 after Ctrl-C and SIGTERM, which stop all jobs: they save.

    Raises:
      ConfigError: no Slurm here, or an option that it does not have.
    """
    waiting = [share for share in shares if share.mine]
    if not waiting:
        return 0
    from submitit.core.utils import FailedJobError

    executor = _executor(launcher, waiting[0].folder / JOBS, slurm)
    gpus = _gpus(machine)
    previous = {number: signal.signal(number, _leave) for number in (signal.SIGINT, signal.SIGTERM)}
    jobs: dict[Any, tuple[int, Share, int]] = {}

    def hand_in(index: int, share: Share, tries: int) -> int:
        """0; 1 if the scheduler does not take it."""
        try:
            with _signals_wait():
                job = executor.submit(replace(share, gpu=gpus[index % len(gpus)]))
                jobs[job] = index, share, tries
        except FailedJobError as error:
            reason = str(error).strip().splitlines() or ["no reason"]
            say(f"not handed in ({reason[-1]}): {share.name}")
            return 1
        say(f"job {job.job_id}: {share.name}")
        return 0

    status = 0
    try:
        for index, share in enumerate(waiting):
            status |= hand_in(index, share, _AGAIN)
        while jobs:
            time.sleep(_POLL)
            for job in [job for job in jobs if job.done()]:
                index, share, tries = jobs.pop(job)
                ended = _status(job)
                if ended is None and tries:
                    say(f"job {job.job_id} died; its parts resume in another")
                    status |= hand_in(index, share, tries - 1)
                elif ended is None:
                    say(f"job {job.job_id} died {_AGAIN + 1} times: see {job.paths.stderr}")
                    status = 1
                else:
                    say(f"job {job.job_id} ended ({len(jobs)} left)")
                    status = max(status, ended)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
        say(f"stopping {len(jobs)} jobs; the same command resumes")
        _stop(jobs, launcher)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return status


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Around a job that is handed in, or a signal would come before anybody could stop it."""
    # Its processes inherit this; else submitit's would kill the part on Ctrl-C.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked: list[int] = []
    terminate = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGINT, interrupt)
        for number in asked:
            _leave(number, None)


def _executor(launcher: str, folder: Path, slurm: Mapping[str, Any]) -> Any:
    import submitit

    if launcher == "local":
        made: Any = submitit.LocalExecutor(folder, max_num_timeout=_OFTEN)
        made.update_parameters(timeout_min=366 * _MINUTES)
        return made
    try:
        made = submitit.SlurmExecutor(folder, max_num_timeout=_OFTEN)
    except RuntimeError as error:
        raise ConfigError(f"--launcher=slurm: {error}; --launcher=local needs none") from None
    try:
        made.update_parameters(**{"time": _MINUTES, "job_name": "jaxzero"} | dict(slurm))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--slurm: {str(error).splitlines()[0]}") from None
    return made


def _gpus(machine: Hardware) -> list[str]:
    """The GPUs that JAX sees, as CUDA names them; `""` of a machine without."""
    if machine.platform != "gpu":
        return [""]
    shown = os.environ.get(_GPUS)
    return (shown.split(",") if shown else [str(n) for n in range(machine.count)])[: machine.count]


def _status(job: Any) -> int | None:
    """Of a job that is over: what `Share` returned, or None if nothing is known of it."""
    import submitit

    try:
        return int(job.result())
    except submitit.core.utils.FailedJobError as error:
        say(f"job {job.job_id} failed: {str(error).strip().splitlines()[-1]}")
        return 1
    except submitit.core.utils.UncompletedJobError:
        return None


def _stop(jobs: Mapping[Any, Any], launcher: str) -> None:
    """SIGTERM to all; waits for those of this machine until they have saved."""
    for job in jobs:
        if launcher != "local":
            job.cancel()
        elif not job.done():  # else another process may have its number
            os.kill(int(job.job_id), signal.SIGTERM)
    while launcher == "local" and not all(job.done() for job in jobs):
        time.sleep(_POLL)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
