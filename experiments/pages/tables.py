"""Tables of a page: cells are finished text, a column is its header and how its cell is written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.pages.wording import NONE


@dataclass(frozen=True)
class Table:
    """A titled table; the first `text_columns` columns are words, the others numbers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    text_columns: int = 1
    folded: bool = False  # shown closed, for what few readers need

    def text(self, columns: Sequence[int] | None = None) -> str:
        """Some or all columns for the terminal."""
        shown = range(len(self.headers)) if columns is None else columns
        lines = [[line[c] for c in shown] for line in (self.headers, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if c < self.text_columns else cell.rjust(width)
                for c, cell, width in zip(shown, line, widths, strict=True)
            ).rstrip()
            for line in lines
        )


def table(
    title: str,
    items: Iterable[Any],
    columns: Mapping[str, Callable[..., str | None]],
    note: str = "",
    *,
    text_columns: int = 1,
    folded: bool = False,
) -> Table:
    """A row for each item; `columns`: by header how its cell is written, None is a dash.

    `text_columns`: how many of the first columns are words, not numbers; `folded`: shown closed.
    """
    cells = [[write(item) for write in columns.values()] for item in items]
    rows = tuple(tuple(NONE if cell is None else cell for cell in row) for row in cells)
    return Table(title, tuple(columns), rows, note, text_columns, folded)
