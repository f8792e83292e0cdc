"""Studies as a user starts them, killed at a random moment, begun again, and compared.

The whole study is left alone once and kept; every killed one must end with the same numbers.
"""

import importlib
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from jaxzero import workdir
from jaxzero.runs.checkpoints import Checkpoints
from tests.experiments import processes

FOLDER: Final = Path(__file__).resolve().parents[2] / "runs" / "reliability"
# The tests that have their settings when everything is tiny.
STUDIES: Final = {
    "loss_ablation": "tests.experiments.test_killed",
    "curriculum": "tests.experiments.curriculum.test_study",
    "recipe": "tests.experiments.strength.test_recipe",
    "connect_four_efficiency": "tests.experiments.connect_four.test_efficiency",
}
_SECONDS = "seconds.json"
_PATIENCE = 1800  # seconds of a study
_GRACE = 120  # seconds after SIGTERM


def _words(study: str) -> tuple[str, ...]:
    tiny = importlib.import_module(STUDIES[study]).TINY
    words = [f"{key}={value}" for key, value in tiny.items()] if isinstance(tiny, dict) else tiny
    return (*words, "execution.checkpoint_every=1")


def _begin(study: str, directory: Path) -> subprocess.Popen:
    return processes.begin(study, directory, _words(study))


def whole(study: str) -> Path:
    """The study that was left alone; made at first, then kept, with the seconds that it takes.

    Raises:
      RuntimeError: it failed.
    """
    directory = FOLDER / study / "whole"
    if not (directory / _SECONDS).exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        for again in (False, True):  # the second finds its programs compiled, as those to kill do
            place = directory.with_name("again") if again else directory
            begun = time.monotonic()
            if _begin(study, place).wait(_PATIENCE):
                raise RuntimeError(f"{study}: {processes.log_of(place)[-500:]}")
        shutil.rmtree(directory.with_name("again"))
        workdir.write_json(directory / _SECONDS, time.monotonic() - begun)
    return directory


def kill(study: str, number: int) -> tuple[str, str | None]:
    """Kills a study once, by -9 or one time in four by SIGTERM, and begins it again.

    Returns:
      what happened (`kill -9`, `SIGTERM`, `ended before`), and what was wrong afterwards.
    """
    rng, expected = random.Random(number), whole(study)
    moment = rng.uniform(0.02, 1.0) * workdir.read_json(expected / _SECONDS)
    sent = signal.SIGTERM if rng.random() < 0.25 else signal.SIGKILL
    directory = FOLDER / study / f"killed_{number}"
    shutil.rmtree(directory, ignore_errors=True)
    process, happened, wrong = _begin(study, directory), "ended before", None
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        happened = "SIGTERM" if sent == signal.SIGTERM else "kill -9"
        process.send_signal(sent)
        wrong = _ended(process, happened) or lost(directory)
    again = _begin(study, directory)
    if wrong is None and again.wait(_PATIENCE):
        wrong = processes.log_of(directory)[-500:]
    wrong = wrong or differing(expected, directory)
    if wrong is None:
        shutil.rmtree(directory)
        directory.with_suffix(".log").unlink()
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


def lost(directory: Path) -> str | None:
    """Whether more than the iteration at work is lost: rows that were written, never saved."""
    for path in directory.rglob(workdir.METRICS):
        done = max((row["iteration"] for row in workdir.read_rows(path)), default=0)
        saved = max(Checkpoints.steps(path.parent / "checkpoints"), default=0)
        if done > saved + 1:
            return f"{path.parent}: iteration {done} was done, {saved} is saved"
    return None


def differing(expected: Path, found: Path) -> str | None:
    """The first number that is not the same in two run directories; clocks do not count."""
    for path in sorted(expected.rglob("*")):
        other = found / path.relative_to(expected)
        if path.name == workdir.RESULTS and other.exists():
            same = _results(path) == _results(other)
        elif path.name == workdir.METRICS and other.exists():
            same = processes.rows_of(path.parent) == processes.rows_of(other.parent)
        else:
            same = path.name not in (workdir.RESULTS, workdir.METRICS)
        if not same:
            return f"{other} is not that of the study that was left alone"
    return None


def _results(path: Path) -> dict[str, Any]:
    """Without the claims: over minutes they follow from the clock, else from the other numbers."""
    return {k: v for k, v in processes.results_of(path.parent).items() if k != "claims"}
