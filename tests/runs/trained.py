"""Two small runs, trained by the Python loop, and their rows."""

from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from jaxzero import files, workdir
from jaxzero.runs import Member, runner
from jaxzero.runs.failures import Failures
from jaxzero.runs.runner import Observer, Trained
from jaxzero.runs.training_clock import TIMES
from jaxzero.tracking import Tracker
from tests import small

Rows = list[dict[str, Any]]


def members_of(config: ConfigDict) -> list[Member]:
    """Two runs: they share the program with the tests of populations."""
    targets = ("sum", "value")
    return [
        Member(f"{target}_seed0", target, 0, small.changed(config, {"train.loss": target}))
        for target in targets
    ]


def train(
    directory: Path,
    changes: dict[str, Any],
    members: Any = members_of,
    failures: Failures | None = None,
    observer: Observer | None = None,
) -> Trained:
    """Trains in a workdir of the changed settings."""
    config = small.small_config(changes)
    workdir.claim(directory, config, "test")
    tracker = Tracker(directory, config, "test")
    given = {"failures": failures, "observer": observer}
    return runner.train(config, members(config), directory, tracker, **given)


def rows_of(directory: Path) -> Rows:
    """The metrics, without the times."""
    rows = files.read_rows(directory / workdir.METRICS)
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def own(rows: Rows, name: str) -> Rows:
    """One run's rows."""
    return [row for row in rows if row["run"] == name]
