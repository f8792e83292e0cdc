"""Studies killed at a random moment."""

import random
import signal
import subprocess

from benchmarks.reliability import studies

_GRACE = 120  # seconds after SIGTERM


def kill(study: str, number: int) -> tuple[str, str | None]:
    """Kills a study once, by -9 or one time in four by SIGTERM, and begins it again.

    Returns:
      what happened (`kill -9`, `SIGTERM`, `ended before`), and what was wrong afterwards.
    """
    rng = random.Random(number)
    moment = rng.uniform(0.02, 1.0) * studies.needs(study)["seconds"]
    sent = signal.SIGTERM if rng.random() < 0.25 else signal.SIGKILL
    directory = studies.FOLDER / study / f"killed_{number}"
    studies.remove(directory)
    process, happened, wrong = studies.begin(study, directory), "ended before", None
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        happened = "SIGTERM" if sent == signal.SIGTERM else "kill -9"
        process.send_signal(sent)
        wrong = _ended(process, happened)
    wrong = wrong or studies.resumed(study, directory)
    if wrong is None:
        studies.remove(directory)
    return happened, wrong and f"{study} {number}, {happened} after {moment:.1f} s: {wrong}"


def _ended(process: subprocess.Popen, happened: str) -> str | None:
    try:
        status = process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"goes on {_GRACE} s after {happened}"
    # SIGTERM may come before Python hears it, or when all is done.
    fine = {"kill -9": (-9,), "SIGTERM": (143, -15, 0)}[happened]
    return None if status in fine else f"status {status} after {happened}"
