"""One iteration of a study's preset, as its command runs it: the first population that it trains.

In a process of its own, with an empty cache of programs: seconds of compiling and of the iteration,
memory against the forecast, and the losses that came of it.
"""

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks import start
from benchmarks.cases import Case, Measured


class Point(NamedTuple):
    """A preset in a number format, with `changes` to its settings, or the smallest such study."""

    study: str
    preset: str = "gpu"
    dtype: str = "auto"
    changes: tuple[str, ...] = ()
    small: bool = False


def case(point: Point) -> Case:
    """Of a point."""
    dtype = "" if point.dtype == "auto" else f" {point.dtype}"
    name = f"presets/{point.study}:{point.preset}{dtype}"
    return Case(name, point._asdict(), functools.partial(_measure, point), guess=200.0)


def _measure(point: Point) -> Mapping[str, Measured]:
    preset, changes = ("quick", start.TINY) if point.small else (point.preset, ())
    with tempfile.TemporaryDirectory() as cache:
        dtype = f"--config.network.dtype={point.dtype}"
        words = (*changes, *point.changes, dtype)
        seen = start.probe(point.study, preset, words, Path(cache), 1)
    return {
        "iteration": Measured(
            value=seen["first_iteration_seconds"], unit="s", details=seen["losses"]
        ),
        "compiling": Measured(
            value=seen["compile_seconds"],
            unit="s",
            details={"until_training_begins_seconds": seen["start_seconds"]},
        ),
        "memory": start.memory_of(seen),
    }
