"""Studies killed at random moments."""

import random
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.reliability import studies

_GRACE = 120  # seconds after SIGTERM
_MOST = 6  # kills of a study, then it may end
_ENDED = "ended before"


def kill(study: str, number: int) -> tuple[Mapping[str, int], str | None]:
    """Kills a study up to six times, by -9 or one time in four by SIGTERM; each time it goes on.

    Returns:
      how often what happened (`kill -9`, `SIGTERM`, `ended before` a moment came), and what was
      wrong afterwards.
    """
    rng = random.Random(number)
    seconds = studies.needs(study)["seconds"]
    directory = studies.FOLDER / study / f"killed_{number}"
    studies.remove(directory)
    happened: Counter[str] = Counter()
    moments, wrong = [], None
    while wrong is None and happened[_ENDED] == 0 and len(moments) < _MOST:
        moment = rng.uniform(0.02, 1.0) * seconds
        sent = signal.SIGTERM if rng.random() < 0.25 else signal.SIGKILL
        what, wrong = _disturb(study, directory, moment, sent)
        happened[what] += 1
        moments.append(f"{what} after {moment:.1f} s")
    wrong = wrong or studies.resumed(study, directory)
    if wrong is None:
        studies.remove(directory)
    return happened, wrong and f"{study} {number}, {', '.join(moments)}: {wrong}"


def _disturb(study: str, directory: Path, moment: float, sent: int) -> tuple[str, str | None]:
    """Begins the study, or goes on with it, to be killed after so many seconds."""
    process = studies.begin(study, directory)
    try:
        status = process.wait(moment)
        return _ENDED, f"status {status}" if status else None
    except subprocess.TimeoutExpired:
        process.send_signal(sent)
    what = "SIGTERM" if sent == signal.SIGTERM else "kill -9"
    try:
        status = process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return what, f"goes on {_GRACE} s after {what}"
    # SIGTERM may come before Python hears it, or when all is done.
    fine = {"kill -9": (-9,), "SIGTERM": (143, -15, 0)}[what]
    wrong = None if status in fine else f"status {status} after {what}"
    return what, wrong or studies.lost(directory)
