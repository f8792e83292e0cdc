"""The page of all recorded runs, in Markdown, and its figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.pages import page
from experiments.pages.tables import Table
from experiments.results.data import ROOT, Recorded, read
from experiments.results.findings import found
from experiments.results.shown import drawings, tables

_BEGINS: Final = "<!-- recorded -->"
_ENDS: Final = "<!-- end -->"
_HEAD: Final = """# Results: recorded runs

`python -m experiments.results` makes this page from the data in `docs/results/data`; no number is
typed by hand. Runs of a section are read together. How verdicts are reached:
[deviations](../deviations.md#do-the-claims-hold).
"""


def text(groups: Mapping[str, Sequence[Recorded]]) -> str:
    """The page."""
    parts = [_HEAD]
    for group, runs in groups.items():
        parts.append(f"\n## {group}\n")
        parts += [markdown(one) for one in tables(runs)]
        parts += [f"\n![{one.title}]({one.file})\n" for one in drawings(group, runs)]
    return "".join(parts)


def markdown(shown: Table) -> str:
    """A table as GitHub shows it."""
    lines = [shown.headers, ["---"] * len(shown.headers), *shown.rows]
    rows = "\n".join(f"| {' | '.join(c.replace('|', '&#124;') for c in line)} |" for line in lines)
    note = f"\n{shown.note}\n" if shown.note else ""
    return f"\n{shown.title}:\n\n{rows}\n{note}"


def pages(groups: Mapping[str, Sequence[Recorded]], root: Path = ROOT) -> dict[Path, str]:
    """The pages that are made of the data: all of `recorded.md`, a part of `../results.md`."""
    made = {root / "recorded.md": text(groups)}
    whole = root.parent / "results.md"
    if whole.is_file():
        before, rest = whole.read_text(encoding="utf-8").split(_BEGINS)
        _, after = rest.split(_ENDS)
        made[whole] = f"{before}{_BEGINS}\n{markdown(found(groups))}\n{_ENDS}{after}"
    return made


def write(root: Path = ROOT) -> list[Path]:
    """Writes the pages and their figures; returns the pages' paths."""
    groups = read(root)
    for group, runs in groups.items():
        for one in drawings(group, runs):
            stem = (root / one.file).with_suffix("")
            if (drawn := one.draw()) is not None:
                page.save(drawn, stem)
                stem.with_suffix(".png").unlink()
    made = pages(groups, root)
    for path, content in made.items():
        path.write_text(content, encoding="utf-8")
    return list(made)
