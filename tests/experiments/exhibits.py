"""Whether the report of a study has what the papers' pages take from it."""

from pathlib import Path

from experiments.pages import page
from experiments.reproduce.papers import PAPERS


def missing_in(report: Path, study: str) -> set[str]:
    """Names of figures, and beginnings of titles of tables, that are not there."""
    read = page.read(report)
    plates = {plate.name for section in read.sections for plate in section.plates}
    titles = [table.title for section in read.sections for table in section.tables]
    own = [one for paper in PAPERS for one in paper.exhibits if one.study == study]
    lost = {name for one in own for name in one.plates} - plates
    return lost | {
        begins
        for one in own
        for begins in one.tables
        if not any(t.startswith(begins) for t in titles)
    }
