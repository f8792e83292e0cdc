"""What is tracked, in names that every service shares: numbers of rows, and of a study's end."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_HEAD = ("iteration", "seed")  # numbers of a row that say which row it is


@dataclasses.dataclass(frozen=True)
class Sheet:
    """Rows of words and numbers.

    Attributes:
      columns: C names.
      rows: each of C values: text, number, truth value or None.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def markdown(self) -> str:
        """As a table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


@dataclasses.dataclass(frozen=True)
class StudySummary:
    """What is known when a study is done.

    Attributes:
      iteration: the last.
      arms: of the study, which may be given more; 0: it has none.
      curves: metric -> run -> iteration -> value.
      members: run -> single numbers by name; of a curve, its last value.
      numbers: of the study as a whole.
      tables: by name.
      figures: image files (PNG); their stems are their names.
      report: the HTML report.
    """

    iteration: int
    curves: Mapping[str, Mapping[str, Mapping[int, float]]] = dataclasses.field(
        default_factory=dict
    )
    members: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tables: Mapping[str, Sheet] = dataclasses.field(default_factory=dict)
    figures: Sequence[Path] = ()
    report: Path | None = None
    arms: int = 0


def scalars(row: Row) -> dict[str, float]:
    """The finite numbers of a row by name; of a list (by epoch) `name/1`, `name/2`, ..."""
    return {
        name: float(value)
        for name, value in _entries(row)
        if isinstance(value, int | float) and math.isfinite(value)
    }


def _entries(row: Row) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, list):
            yield from ((f"{name}/{number}", v) for number, v in enumerate(value, 1))
        elif name not in _HEAD:
            yield name, value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
