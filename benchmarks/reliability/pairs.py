"""Two processes that train together, of which one is killed; both are begun again, and compared.

They share a run directory and one machine's CPU, each with one device of its own.
"""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.reliability import studies
from jaxzero import files, workdir
from tests.experiments import processes
from tests.experiments.test_killed import TINY
from tests.test_distributed import free_port

_STUDY: Final = "loss_ablation"
# What the two share: each trains runs of its own, or both train one, half of its games each.
ROWS: Final = {"runs": "study.targets=sum,product", "games": "study.targets=sum"}
_PATIENCE: Final = 60  # seconds in which the other has to end
_OVER: Final = "playing the final tournaments"  # training is, what is said then
_SAID: Final = "error: another process of this run has ended"
_TIMES: Final = "times.json"

Pair = tuple[subprocess.Popen, ...]


def have_met(directory: Path) -> bool:
    """Whether the two share the run directory: programs are compiled now."""
    return (directory / workdir.CONFIG).exists()


def have_trained(directory: Path) -> bool:
    """Whether an iteration is done; the first line of metrics is that of untrained networks."""
    return any(row["iteration"] > 0 for row in files.read_rows(directory / workdir.METRICS))


_SIGNS: Final = {"met": have_met, "trained": have_trained}


def part(row: str, number: int) -> tuple[Mapping[str, int], str | None]:
    """Kills one of two processes by -9, by turns the first and the second; both begin again.

    Moments are random, up to when the second has done its part: two in four since the two have met,
    the others since the first iteration is done.

    Returns:
      what happened (`first killed`, `second killed`, `other aborted by JAX`, `other ended well`:
      training was over, `ended before` the moment came), and what was wrong.
    """
    rng, killed = random.Random(number), number % 2
    since = ("met", "trained")[number // 2 % 2]
    times = files.read_json(whole(row) / _TIMES)
    moment = rng.uniform(0.0, 1.0) * (times["parted"] - times[since])
    directory = folder(row) / f"parted_{number}"
    studies.remove(directory)
    pair = begin(row, directory)
    try:
        _wait_for(_SIGNS[since], pair, directory)
        happened, wrong = disturb(pair, killed, moment, directory)
    finally:
        end(pair)
    wrong = wrong or studies.lost(directory) or resumed(row, directory)
    if wrong is None:
        studies.remove(directory)
    said = f"{row} {number}, {', '.join(happened)} {moment:.1f} s after they had {since}: {wrong}"
    return happened, wrong and said


def disturb(
    pair: Pair, killed: int, moment: float, directory: Path
) -> tuple[dict[str, int], str | None]:
    """Kills one process after so many seconds; what happened, and what is wrong with the end."""
    time.sleep(moment)
    if any(process.poll() is not None for process in pair):
        statuses = [process.wait(studies.PATIENCE) for process in pair]
        return {"ended before": 1}, f"ended with {statuses}" if any(statuses) else None
    happened = {("first killed", "second killed")[killed]: 1}
    pair[killed].send_signal(signal.SIGKILL)
    try:
        status = pair[1 - killed].wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return happened, f"the other goes on after {_PATIENCE} s"
    log = processes.log_of(directory)
    # JAX is faster where its service was lost too, or where this process is still compiling.
    if status == -signal.SIGABRT and (killed == 0 or not have_trained(directory)):
        return happened | {"other aborted by JAX": 1}, None
    if status == 0 and (killed == 1 or _OVER in log):  # the first concludes alone
        return happened | {"other ended well": 1}, None
    if status == 1 and log.count(_SAID) == 1 and "Traceback" not in log:
        return happened, None
    return happened, f"the other ended with {status}: {log[-2000:]}"


def _words(row: str) -> tuple[str, ...]:
    return (*TINY, ROWS[row], "execution.checkpoint_every=1", "execution.distributed=True")


def begin(row: str, directory: Path) -> Pair:
    """Both processes in a directory, with one log beside it; they run."""
    shared = {
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
        "JAX_NUM_PROCESSES": "2",
    }
    return tuple(
        processes.begin(_STUDY, directory, _words(row), **shared, JAX_PROCESS_ID=str(number))
        for number in range(2)
    )


def end(pair: Pair) -> None:
    """Kills what still runs."""
    for process in pair:
        process.kill()
        process.wait()


def resumed(row: str, directory: Path) -> str | None:
    """Begins both again, to their end; what is wrong with that."""
    pair = begin(row, directory)
    try:
        statuses = [process.wait(studies.PATIENCE) for process in pair]
    finally:
        end(pair)
    if any(statuses):
        return f"begun again, they ended with {statuses}: {processes.log_of(directory)[-2000:]}"
    return studies.differing(whole(row), directory)


def folder(row: str) -> Path:
    """Where all pairs of a row lie."""
    return studies.FOLDER / f"pair_{row}"


def whole(row: str) -> Path:
    """The pair that was left alone; made at first, then kept, with its times.

    Raises:
      RuntimeError: it failed.
    """
    directory = folder(row) / "whole"
    if not (directory / _TIMES).exists():
        studies.remove(directory)
        directory.parent.mkdir(parents=True, exist_ok=True)
        for place in (directory, directory.with_name("again")):  # its programs are in the cache
            studies.remove(place)
            begun, pair = time.monotonic(), begin(row, place)
            times = {}
            try:
                for name, sign in _SIGNS.items():
                    _wait_for(sign, pair, place)
                    times[name] = time.monotonic() - begun
                while all(process.poll() is None for process in pair):
                    time.sleep(0.05)
                times["parted"] = time.monotonic() - begun
                statuses = [process.wait(studies.PATIENCE) for process in pair]
            finally:
                end(pair)
            if any(statuses):
                raise RuntimeError(f"{row}: {processes.log_of(place)[-500:]}")
        studies.remove(directory.with_name("again"))
        files.write_json(directory / _TIMES, times)
    return directory


def _wait_for(sign: Callable[[Path], bool], pair: Pair, directory: Path) -> None:
    """Raises RuntimeError if a process ends before a sign is there."""
    while not sign(directory):
        if any(process.poll() is not None for process in pair):
            raise RuntimeError(f"ended too early: {processes.log_of(directory)[-500:]}")
        time.sleep(0.05)
