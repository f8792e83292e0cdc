"""What the papers' pages take from a study: whether its report, and its settings, have it."""

from pathlib import Path

from experiments import connect_four_supervised
from experiments.claims import papers as claimed
from experiments.claims import supervised
from experiments.connect_four import solved_positions
from experiments.pages import page
from experiments.reproduce import forecast, papers
from experiments.reproduce.papers import PAPERS, Part


def compared(part: Part, scale: str) -> set[str]:
    """What claims and figures call the arms or groups of networks of a part."""
    config = forecast.settings(part, scale)
    if part.study != papers.SUPERVISED:
        return set(config.study.arms)
    trained_on = int(config.study.positions * solved_positions.SHARES[0])
    kinds = [
        supervised.kind(group._asdict(), group.best_move_probability, trained_on)
        for group in connect_four_supervised.groups(config)
    ]
    names = {
        name
        for claim in claimed.claims(claimed.EFFICIENCY)
        if "supervised" in claim.raw["studies"]
        for contrast in claim.contrasts
        for name, _ in contrast.sides
    }
    return {n for n in names if any(supervised.Networks("", own, ()).are(n) for own in kinds)}


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
