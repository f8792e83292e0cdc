"""Interrupted and resumed, against never interrupted: a run in several parts and one in one go.

SIGTERM ends every part; the state is saved, read back and trained on. With
`execution.deterministic_gpu`, whose flag XLA must be given before it starts (`FLAGS`), the figures
are the same to the last bit.
"""

import functools
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ml_collections import ConfigDict

from benchmarks.cases import Case, Measured
from experiments import loss_ablation
from experiments.configs.loss_ablation import get_config
from jaxzero import files, workdir
from jaxzero.runs import runner
from jaxzero.runs.stopping import Stopped
from jaxzero.runs.training_clock import TIMES
from jaxzero.settings.config import changed
from jaxzero.tracking import Tracker

FLAGS = "--xla_gpu_deterministic_ops=true"


class Point(NamedTuple):
    """The quick loss ablation with other settings."""

    iterations: int = 4
    changes: tuple[tuple[str, Any], ...] = (("network.channels", 64),)


SMALL = Point(
    3,
    (
        ("network.channels", 4),
        ("network.hidden", (8, 8)),
        ("search.num_simulations", 3),
        ("selfplay.episodes", 4),
        ("train.epochs", 1),
        ("train.batch_size", 8),
        ("arena.games", 4),
        ("evaluation.heldout_games", 2),
        ("evaluation.heldout_simulations", 2),
        ("evaluation.learning_positions", 0),
        ("study.seeds", 1),
        ("study.targets", ("sum",)),
    ),
)  # for trying out


def case(point: Point) -> Case:
    """Of a point."""
    settings = {**point._asdict(), "changes": dict(point.changes)}
    name = f"resuming/{point.iterations} iterations"
    return Case(name, settings, functools.partial(_measure, point), guess=120.0)


class _Interrupting(Tracker):
    """Asks the run to stop when it hears of its first iteration."""

    interrupts = True

    def log(self, rows: list[dict[str, Any]]) -> None:
        super().log(rows)
        if self.interrupts:
            self.interrupts = False
            signal.raise_signal(signal.SIGTERM)


def _measure(point: Point) -> Mapping[str, Measured]:
    config = changed(
        get_config("quick"),
        {
            **dict(point.changes),
            "train.iterations": point.iterations,
            "execution.checkpoint_every": 1,
            "execution.deterministic_gpu": True,
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        whole, _ = _train(config, Path(folder) / "whole", Tracker)
        pieces, stops = _train(config, Path(folder) / "pieces", _Interrupting)
    apart = [_distance(a, b) for a, b in zip(whole, pieces, strict=True)]
    return {
        "": Measured(
            value=max(apart),
            unit="largest difference of a metric",
            details={"interruptions": stops, "rows": len(whole), "equal": apart.count(0.0)},
        )
    }


def _train(config: ConfigDict, directory: Path, kind: type[Tracker]) -> tuple[list[dict], int]:
    """(rows of metrics, how often it was interrupted) of a run, resumed until it is done."""
    workdir.claim(directory, config, loss_ablation.STUDY)
    members = loss_ablation.make_members(config)
    stops = 0
    while True:
        try:
            with kind(directory, config, loss_ablation.STUDY) as tracker:
                runner.train(config, members, directory, tracker)
            return files.read_rows(directory / workdir.METRICS), stops
        except Stopped:
            stops += 1


def _distance(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """Of two rows, the time apart: the largest difference of a number."""
    own = [name for name, value in a.items() if isinstance(value, float) and name not in TIMES]
    return max((abs(a[name] - b[name]) for name in own), default=0.0)
