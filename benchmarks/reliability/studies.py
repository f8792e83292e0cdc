"""Tiny studies as a user starts them: left alone, disturbed, begun again, and compared.

The whole study is left alone once and kept; every other one must end with the same numbers. Where
the program's numbers changed meanwhile, remove the folder.
"""

import importlib
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.reliability import arrays
from experiments.costs import clock
from experiments.hyperparameters import group_training
from jaxzero import files, workdir
from jaxzero.runs.checkpoints import Checkpoints
from tests.experiments import processes

FOLDER: Final = Path(__file__).resolve().parents[2] / "runs" / "reliability"
_HYPERPARAMETERS: Final = "tests.experiments.hyperparameters.test_killed"
# The tests that have their settings when everything is tiny.
STUDIES: Final = {
    "loss_ablation": "tests.experiments.test_killed.TINY",
    "arms": "tests.experiments.losses.test_arms.TWO",
    "curriculum": "tests.experiments.endgame.test_study.TINY",
    "recipe": "tests.experiments.strength.test_recipe.TINY",
    "hyperparameter_sweep": f"{_HYPERPARAMETERS}.TINY",
    "hyperparameter_correlation": f"{_HYPERPARAMETERS}.CORRELATION",
    "hyperparameter_search": "tests.experiments.hyperparameters.test_search.TINY",
    "connect_four_search": "tests.experiments.connect_four.test_search.TINY",
    "connect_four_efficiency": "tests.experiments.connect_four.test_efficiency.TINY",
    "connect_four_extensions": "tests.experiments.connect_four.test_extensions.THREE",
    "connect_four_supervised": "tests.experiments.connect_four.test_supervised.TINY",
    "train": "tests.experiments.test_train.TINY",
}
PATIENCE: Final = 1800  # seconds of a study
_NEEDS = "needs.json"
_SIZES = {"resident": "VmHWM", "addresses": "VmPeak"}  # in /proc


def _words(study: str, every: int = 1) -> tuple[str, ...]:
    module, _, name = STUDIES[study].rpartition(".")
    tiny = getattr(importlib.import_module(module), name)
    words = [f"{key}={value}" for key, value in tiny.items()] if isinstance(tiny, dict) else tiny
    return (*words, f"execution.checkpoint_every={every}")


def begin(study: str, directory: Path, *settings: str, every: int = 1) -> subprocess.Popen:
    """The study in a directory, with its log beside it; it runs. Settings are added to its own.

    It saves after every so many iterations.

    Unit seconds are those of the whole study: another measurement would make other numbers of cost.
    """
    measured = FOLDER / study / "whole" / clock.CALIBRATION
    if measured.exists() and not (directory / clock.CALIBRATION).exists():
        directory.mkdir(exist_ok=True)
        shutil.copy(measured, directory)
    return processes.begin(study, directory, (*_words(study, every), *settings))


def whole(study: str) -> Path:
    """The study that was left alone; made at first, then kept, with what it `needs`.

    Raises:
      RuntimeError: it failed.
    """
    directory = FOLDER / study / "whole"
    if not (directory / _NEEDS).exists():
        remove(directory)
        directory.parent.mkdir(parents=True, exist_ok=True)
        for again in (False, True):  # the second finds its programs compiled, as all later ones do
            place = directory.with_name("again") if again else directory
            begun, process = time.monotonic(), begin(study, place)
            sizes: dict[str, float] = {}
            while process.poll() is None:
                sizes |= _sizes(process)
                time.sleep(0.1)
            if process.returncode:
                raise RuntimeError(f"{study}: {processes.log_of(place)[-500:]}")
        remove(directory.with_name("again"))
        files.write_json(directory / _NEEDS, sizes | {"seconds": time.monotonic() - begun})
    return directory


def folder(study: str) -> Path:
    """Where all runs of a study lie."""
    return FOLDER / study


def seconds(study: str) -> float:
    """What the study takes alone, its programs in the cache."""
    return needs(study)["seconds"]


def needs(study: str) -> dict[str, float]:
    """Of the whole study: wall `seconds`, bytes of `resident` memory and of `addresses`."""
    found: dict[str, float] = files.read_json(whole(study) / _NEEDS)
    return found


def _sizes(process: subprocess.Popen) -> dict[str, int]:
    """The most so far; nothing of a process that has just ended."""
    lines = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    found = {name: re.search(rf"{line}:\s+(\d+) kB", lines) for name, line in _SIZES.items()}
    return {name: 1024 * int(match[1]) for name, match in found.items() if match}


def refused(status: int, directory: Path) -> str | None:
    """What is wrong with the end of a study that could not go on: one clear line, status 2."""
    log = processes.log_of(directory)
    errors = [line for line in re.split(r"[\r\n]+", log) if line.startswith("error: ")]
    if status == 2 and len(errors) == 1 and "Traceback" not in log:
        return None
    return f"status {status}: {log[-2000:]}"


def resumed(study: str, directory: Path, every: int = 1) -> str | None:
    """Begins a disturbed study again, to its end; what is wrong with that."""
    before = lost(directory, every)
    if before is None and begin(study, directory, every=every).wait(PATIENCE):
        before = processes.log_of(directory)[-2000:]
    return before or differing(whole(study), directory)


def remove(directory: Path) -> None:
    """The study and its log, if they are there."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.with_suffix(".log").unlink(missing_ok=True)


def lost(directory: Path, every: int = 1) -> str | None:
    """Whether more iterations are lost than are done between saves: rows written, never saved.

    Groups of a hyper-parameter study that are done need no checkpoints, nor do their rows together.
    """
    for path in directory.rglob(workdir.METRICS):
        if (path.parent / group_training.DONE).exists() or (path.parent / "groups").is_dir():
            continue
        done = max((row["iteration"] for row in files.read_rows(path)), default=0)
        saved = max(Checkpoints.steps(path.parent / "checkpoints"), default=0)
        if done > saved + every:
            return f"{path.parent}: iteration {done} was done, {saved} is saved"
    return None


def differing(expected: Path, found: Path) -> str | None:
    """The first number that is not the same in two run directories; clocks do not count.

    Of results and metrics, then of the newest networks and the tournaments' games, bit for bit.
    """
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
    return arrays.differing(expected, found)


def _results(path: Path) -> dict[str, Any]:
    """The numbers: without settings, which a younger program has more of, and without claims.

    Those over minutes follow from the clock, the others from the other numbers. Names of runs are
    those of the folders in which they lie.
    """
    text = json.dumps(processes.results_of(path.parent))
    found = json.loads(text.replace(str(path.parent), ""))
    return {key: value for key, value in found.items() if key not in ("claims", "config")}
