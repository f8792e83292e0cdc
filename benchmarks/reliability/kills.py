"""Studies, and commands on finished runs, killed at random moments."""

import random
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping

from benchmarks.reliability import commands, studies

_GRACE = 120  # seconds after SIGTERM
_MOST = 6  # kills of a study, then it may end
_ENDED = "ended before"

NAMES = (*studies.STUDIES, *commands.COMMANDS)


def kill(name: str, number: int) -> tuple[Mapping[str, int], str | None]:
    """Kills one of `NAMES` up to six times, by -9 or one time in four by SIGTERM; it is resumed.

    Studies with an even number save after each iteration, the others after every second.

    Returns:
      how often what happened (`kill -9`, `SIGTERM`, `ended before` a moment came), and what was
      wrong afterwards.
    """
    rng = random.Random(number)
    kind = commands if name in commands.COMMANDS else studies
    given = {"every": 1 + number % 2} if kind is studies else {}
    seconds = kind.seconds(name)
    directory = kind.folder(name) / f"killed_{number}"
    studies.remove(directory)
    happened: Counter[str] = Counter()
    moments, wrong = [], None
    while wrong is None and happened[_ENDED] == 0 and len(moments) < _MOST:
        moment = rng.uniform(0.02, 1.0) * seconds
        sent = signal.SIGTERM if rng.random() < 0.25 else signal.SIGKILL
        what, wrong = _disturb(kind.begin(name, directory, **given), moment, sent)
        wrong = wrong or studies.lost(directory, **given)
        happened[what] += 1
        moments.append(f"{what} after {moment:.1f} s")
    wrong = wrong or kind.resumed(name, directory, **given)
    if wrong is None:
        studies.remove(directory)
    return happened, wrong and f"{name} {number}, {', '.join(moments)}: {wrong}"


def _disturb(process: subprocess.Popen, moment: float, sent: int) -> tuple[str, str | None]:
    """Kills a process after so many seconds; what happened, and what is wrong with its end."""
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
    if status == 0:  # all was done
        return _ENDED, None
    fine = {"kill -9": (-9,), "SIGTERM": (143, -15)}[what]  # -15: before Python hears it
    return what, None if status in fine else f"status {status} after {what}"
