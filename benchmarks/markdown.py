"""Tables and numbers for pages of Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any


def as_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def short(number: float) -> str:
    """Three digits: `1,234`, `12.3`, `0.0123`."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:#.3g}".rstrip(".")


def big(number: float) -> str:
    """`12.3`, `29.2 G`."""
    for power, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(number) >= power:
            return f"{short(number / power)} {letter}"
    return short(number)
