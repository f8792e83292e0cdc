"""What was counted so far: a JSON file, written on the way, continued by the next command."""

import datetime
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxzero import files, workdir

_EVERY = 5.0  # seconds between writes


class Step(NamedTuple):
    """What one number gave."""

    counts: Mapping[str, int]  # by what was counted
    failures: tuple[str, ...] = ()  # what went wrong, in words


class Tally:
    """Counts by row, e.g. `configs` or `positions othello_6x6`.

    Attributes:
      rows: as in the file: the `next` number, `counts`, `failures`, `seconds`, `commits` and
        `versions` that they were made with, the `first` and `last` day, `devices`.
    """

    def __init__(self, path: Path) -> None:
        """Reads what is there.

        Raises:
          ConfigError: it is damaged.
        """
        self._path, self._written = path, time.monotonic()
        self.rows: dict[str, Any] = files.read_json(path) if path.exists() else {}
        found = workdir.environment()
        packages = {"Python": found["python"], "JAX": found["jax"]}
        packages |= {name: found["packages"][name] for name in ("flax", "mctx")}
        self._now = {
            "commits": found["commit"],
            "versions": ", ".join(f"{name} {number}" for name, number in packages.items()),
            "devices": found["device"],
        }

    def next(self, row: str) -> int:
        """The first number of a row that was not tried yet."""
        return self.rows.get(row, {}).get("next", 0)

    def count(self, row: str, what: str) -> int:
        """So many, so far."""
        return self.rows.get(row, {}).get("counts", {}).get(what, 0)

    def failed(self, row: str) -> int:
        """Numbers that failed."""
        return len(self.rows.get(row, {}).get("failures", []))

    def add(self, row: str, number: int, step: Step, seconds: float) -> None:
        """Takes what a number gave."""
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        empty = {"next": 0, "counts": {}, "failures": [], "seconds": 0.0, "first": today}
        found = self.rows.setdefault(row, empty)
        for what, count in step.counts.items():
            found["counts"][what] = found["counts"].get(what, 0) + count
        found["counts"] = {what: count for what, count in found["counts"].items() if count}
        if step.failures:
            failure = {"number": number, "said": list(step.failures), "counts": dict(step.counts)}
            found["failures"].append(failure)
        found |= {
            "next": max(found["next"], number + 1),
            "seconds": found["seconds"] + seconds,
            "last": today,
        }
        for name, value in self._now.items():
            found[name] = sorted({*found.get(name, []), value})
        if time.monotonic() - self._written > _EVERY:
            self.write()

    def forget_failures(self, row: str) -> list[int]:
        """The numbers that failed, whose counts are taken back: to be tried again."""
        failures = self.rows.get(row, {}).get("failures", [])
        for failure in failures:
            for what, count in failure["counts"].items():
                self.rows[row]["counts"][what] -= count
        numbers = [failure["number"] for failure in failures]
        failures.clear()
        return numbers

    def write(self) -> None:
        """The file, whole."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        files.write_json(self._path, self.rows)
        self._written = time.monotonic()
