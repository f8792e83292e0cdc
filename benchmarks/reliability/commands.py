"""What a user starts on finished runs: left alone once, disturbed, begun again, and compared.

A case is a folder with copies of the runs, in which the command works. The runs are the tiny ones
of `studies`, made once.
"""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.reliability import studies
from experiments.costs import clock
from jaxzero import files, workdir
from tests.experiments import processes

_RUN: Final = "run"
_SHARES: Final = ("one", "two")
_MERGED: Final = "merged"
_PLAY: Final = ("--games=4", "--opponents=random,greedy")
# Spans of time, and the program's commit, in a page's text.
_VARYING: Final = re.compile(r"[\d.,]+ (ms|s|min|h)\b|\b(?=\d*[a-f])[0-9a-f]{12}\b\+?")
# The words after `python -m`, in a folder that holds the runs.
COMMANDS: Final = {
    "report": ("experiments.report", _RUN),
    "tournament": ("experiments.tournament", _RUN, *_PLAY, "--workdir=played"),
    "ladder": ("experiments.ladder", _RUN, *_PLAY),
    "export": ("experiments.export", _RUN, "--to=run.zip"),
    "merge": ("experiments.merge", *_SHARES, f"--workdir={_MERGED}"),
}


def begin(command: str, directory: Path) -> subprocess.Popen:
    """The command in a directory, made with its runs if it is not there; it runs.

    Unit seconds are those of the case that was left alone, as in `studies.begin`.
    """
    if not directory.exists():
        shutil.copytree(_inputs(command), directory)
        measured = folder(command) / "whole" / _MERGED / clock.CALIBRATION
        if measured.exists():
            (directory / _MERGED).mkdir()
            shutil.copy(measured, directory / _MERGED)
    return processes.start(COMMANDS[command], directory, directory)


def seconds(command: str) -> float:
    """What the command takes alone, its programs in the cache."""
    found: float = files.read_json(whole(command).with_suffix(".json"))["seconds"]
    return found


def whole(command: str) -> Path:
    """The case that was left alone; made at first, then kept.

    Raises:
      RuntimeError: the command failed.
    """
    directory = folder(command) / "whole"
    if not directory.with_suffix(".json").exists():
        studies.remove(directory)
        # The second finds programs compiled and unit seconds measured, as all later ones do.
        for place in (directory, directory.with_name("again")):
            begun = time.monotonic()
            if begin(command, place).wait(studies.PATIENCE):
                raise RuntimeError(f"{command}: {processes.log_of(place)[-500:]}")
        studies.remove(directory.with_name("again"))
        files.write_json(directory.with_suffix(".json"), {"seconds": time.monotonic() - begun})
    return directory


def folder(command: str) -> Path:
    """Where all cases of a command lie."""
    return studies.FOLDER / f"command_{command}"


def _inputs(command: str) -> Path:
    """A folder with the runs that the command takes; made at first, then kept."""
    inputs = folder(command) / "inputs"
    if not inputs.exists():
        part = inputs.with_name("inputs.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if command == "merge":
            _train_shares(part)
        else:
            shutil.copytree(studies.whole("loss_ablation"), part / _RUN)
        part.rename(inputs)
    return inputs


def _train_shares(directory: Path) -> None:
    study = "hyperparameter_sweep"
    for number, name in enumerate(_SHARES, 1):
        process = studies.begin(study, directory / name, f"execution.shard={number}/2")
        if process.wait(studies.PATIENCE):
            raise RuntimeError(f"{name}: {processes.log_of(directory / name)[-500:]}")


def resumed(command: str, directory: Path) -> str | None:
    """Begins a disturbed command again, to its end; what is wrong with that."""
    if begin(command, directory).wait(studies.PATIENCE):
        return processes.log_of(directory)[-2000:]
    return differing(whole(command), directory)


def differing(expected: Path, found: Path) -> str | None:
    """The first file that is missing, or has another content.

    Clocks, the program's commit and the case's folder do not count, nor do parts that a kill left,
    whose names begin with a dot.
    """
    for path in sorted(expected.rglob("*")):
        other = found / path.relative_to(expected)
        if path.is_dir() or path.name.startswith("."):
            continue
        if not other.is_file():
            return f"{other} is missing"
        if _content(path, expected) != _content(other, found):
            return f"{other} is not that of the command that was left alone"
    return None


def _content(path: Path, case: Path) -> Any:
    if path.name == workdir.METRICS:
        return processes.rows_of(path.parent)
    if path.suffix not in (".json", ".html"):
        return path.read_bytes()
    text = path.read_text("utf-8").replace(str(case.resolve()), "")
    if path.suffix == ".json":
        text = json.dumps(processes.timeless(json.loads(text)))
    return _VARYING.sub("", text)
