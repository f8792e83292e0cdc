"""The table of docs/reliability.md, from the counts."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.markdown import as_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
COUNTS = PAGE.with_suffix("") / "counts.json"
_MARKED = re.compile(r"(<!-- counts -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, rows: Mapping[str, Any]) -> str:
    """The page with its table made again."""
    lines = [
        (
            name,
            ", ".join(f"{count:,} {what}" for what, count in row["counts"].items()),
            len(row["failures"]),
            row["first"] if row["first"] == row["last"] else f"{row['first']} to {row['last']}",
            ", ".join(row["commits"]),
            ", ".join(row["devices"]),
            f"{row['seconds'] / 60:.0f}",
        )
        for name, row in sorted(rows.items())
    ]
    head = ("piece", "counted", "failures", "date", "commit", "device", "minutes")
    versions = {found for row in rows.values() for found in row["versions"]}
    about = "".join(f"Made with {found}.\n" for found in sorted(versions))
    table = f"\n{as_table(head, lines)}\n{about}\n"
    return _MARKED.sub(lambda match: match[1] + table + match[2], text)


def write(rows: Mapping[str, Any]) -> None:
    """The page."""
    PAGE.write_text(fill(PAGE.read_text("utf-8"), rows), "utf-8")
