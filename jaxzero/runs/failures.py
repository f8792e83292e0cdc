"""Runs of a population whose losses are not finite: noted and left out, the others go on."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from jaxzero import files
from jaxzero.runs import metrics

FAILED = "failed.json"  # in a run directory: run -> iteration and reason


class Failures:
    """The failed runs of one run directory.

    A failed run stays in its population, whose program has its shape, but gives no more rows.
    """

    def __init__(self, directory: Path) -> None:
        """Reads what an earlier process noted."""
        self._path = directory / FAILED
        self._found: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            self._found = files.read_json(self._path)

    @property
    def reasons(self) -> dict[str, str]:
        """What happened, by the name of the run."""
        return {name: str(failure["reason"]) for name, failure in self._found.items()}

    def forget_after(self, iteration: int) -> None:
        """Training goes on from here: what failed later will fail again, or not."""
        kept = {name: f for name, f in self._found.items() if f["iteration"] <= iteration}
        if kept != self._found:
            self._found = kept
            self._write()

    def sift(self, rows: Sequence[metrics.Row], saved: int) -> list[metrics.Row]:
        """The rows of runs that have not failed, now or before; `saved`: the newest checkpoint.

        FloatingPointError: no run is left.
        """
        fine = []
        for row in rows:
            if row["run"] in self._found:
                continue
            try:
                metrics.refuse_nan([row], saved)
                fine.append(row)
            except FloatingPointError as error:
                self._found[row["run"]] = {"iteration": row["iteration"], "reason": str(error)}
                self._write()
                print(f"failed: {error}; the other runs go on", file=sys.stderr, flush=True)
        fine = [row for row in fine if row["run"] not in self._found]  # its earlier rows neither
        if not fine:
            raise FloatingPointError("; ".join(self.reasons.values()))
        return fine

    def _write(self) -> None:
        if jax.process_index() == 0:
            files.write_json(self._path, self._found)
