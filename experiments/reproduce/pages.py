"""The page of a paper: its tables, figures and claims in its order, ours beside; and the index."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from experiments import loss_report
from experiments.claims import decision, inference
from experiments.claims import papers as claimed
from experiments.claims.decision import NOT_ADDRESSED
from experiments.pages import page, style
from experiments.pages.page import Page, Plate, Section, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, duration, joined, plural
from experiments.reproduce import parts
from experiments.reproduce.papers import LOSSES, PAPERS, SCALES, Exhibit, Paper, Part
from jaxzero import files, workdir
from jaxzero.settings.config import ConfigError

REPORT: Final = "report.html"
_CLAIMED: Final = ("claim", "where", "verdict")  # how a table of a study's own claims begins


class Source(NamedTuple):
    """A report that was made: whose, and its page."""

    name: str
    report: Page


def write(paper: Paper, scale: str, root: Path) -> Path:
    """Writes a paper's page from what lies there; returns its path.

    `root`: `--workdir`, whose folder SCALE holds the parts.
    """
    folder = root / scale
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return page.write(build(paper, scale, folder), folder, name=f"{paper.name}.html")


def build(paper: Paper, scale: str, folder: Path) -> Page:
    """The page; nothing is trained or played."""
    own = {part: read for part in paper.parts if (read := _report(part, folder)) is not None}
    joint = _joint(paper, [part for part in own if part.study == LOSSES], folder)
    sections = [_section(paper, scale, folder, one, own, joint) for one in paper.exhibits]
    counts = verdicts(sections)
    lost = [part for part in paper.parts if part not in own]
    return Page(
        title=paper.title,
        subtitle=f"{paper.cited}, scale {scale}",
        headline=_tally(counts),
        verdicts=[
            f"{plural(len(own), 'part')} of {len(paper.parts)} made.",
            f"{inference.FEWEST} seeds are the fewest that decide (docs/claims.md).",
        ],
        missing=[f"{part.name}: {parts.state_of(part, folder).state}" for part in lost],
        facts=[("Command", _command(paper, scale, folder))],
        sections=[*sections, section("Parts", _parts(paper, scale, folder))],
    )


def _report(part: Part, folder: Path) -> Page | None:
    """The report of a part, finished or failed with results; None where there is none."""
    directory = parts.directory_of(part, folder)
    if not (directory / workdir.RESULTS).is_file():
        return None
    try:
        return page.read(directory / REPORT)
    except ConfigError:  # of a part that was killed just before its report
        return None


def _joint(paper: Paper, made: Sequence[Part], folder: Path) -> Page | None:
    """The joint report of a paper's boards and semantics."""
    if not made:
        return None
    directories = [parts.directory_of(part, folder) for part in made]
    out = folder / f"{paper.name}_losses"
    return page.read(loss_report.write(directories, out, f"reproduce {paper.number}"))


def _section(
    paper: Paper,
    scale: str,
    folder: Path,
    exhibit: Exhibit,
    own: dict[Part, Page],
    joint: Page | None,
) -> Section:
    """One exhibit: what there is of it, and the commands that would make the rest."""
    needed = [p for p in paper.parts if p.study == exhibit.study]
    needed = [p for p in needed if exhibit.about in ("", p.about)]
    if exhibit.study == LOSSES and not exhibit.about:
        sources = [] if joint is None else [Source("joint", joint)]
    else:
        sources = [Source(part.name, own[part]) for part in needed if part in own]
    lost = [part for part in needed if part not in own]
    text = [exhibit.note] if exhibit.note else []
    if lost:
        names = [part.name for part in lost]
        command = _command(paper, scale, folder, names if exhibit.about else [exhibit.study])
        text.append(f"Missing: {joined(names)}. Made by: {command}")
    plates = [p for one in sources for p in _plates(paper, exhibit, one, len(sources) > 1)]
    addressed = _addressed(one for part, one in own.items() if part.study == exhibit.study)
    tables = list(_tables(paper, exhibit, sources, addressed))
    if sources and not plates and not tables:
        text.append("The finished runs have nothing of it: it takes other settings of the study.")
    return section(
        f"{exhibit.label}: {exhibit.shows}",
        *text,
        *plates,
        *tables,
        _not_addressed(paper, tables) if exhibit.study == LOSSES and tables else None,
    )


def _command(paper: Paper, scale: str, folder: Path, only: Sequence[str] = ()) -> str:
    """What makes a page, or some parts of it."""
    words = [paper.number, f"--scale={scale}", f"--workdir={folder.parent}"]
    words += [f"--only={','.join(only)}"] if only else []
    return shlex.join(["python", "-m", "experiments.reproduce", *words])


def _plates(paper: Paper, exhibit: Exhibit, source: Source, several: bool) -> Iterator[Plate]:
    for shown in (plate for one in source.report.sections for plate in one.plates):
        if shown.name in exhibit.plates:
            name = f"{paper.name}.{source.name}.{shown.name}".replace(".", "-")
            title = f"{shown.title} ({source.name})" if several else shown.title
            yield replace(shown, name=name, title=title)


def _addressed(reports: Iterable[Page]) -> set[tuple[str, ...]]:
    """(claim, where) of the claims that some part of a study addresses."""
    return {
        row[:2]
        for report in reports
        for part in report.sections
        for shown in part.tables
        if shown.headers[:3] == _CLAIMED
        for row in shown.rows
        if row[2] != NOT_ADDRESSED
    }


def _tables(
    paper: Paper, exhibit: Exhibit, sources: Sequence[Source], addressed: set[tuple[str, ...]]
) -> Iterator[Table]:
    """The tables of an exhibit, without rows of other papers' claims.

    `addressed`: claims that are left out where this part does not address them: another one does.
    """
    others = {
        key
        for claim in claimed.claims(claimed.LOSSES)
        if not any(paper.cited in where for where in claim.where)
        for key in (claim.id.replace("_", " "), style.symbols(claim.words))
    }
    found = [
        (f"{shown.title} ({', '.join([source.name, part.title])})", shown)
        for source in sources
        for part in source.report.sections
        for shown in part.tables
        if shown.title.startswith(exhibit.tables or ("\0",))
    ]
    for title, shown in found:
        rows = tuple(row for row in shown.rows if row[0] not in others)
        if shown.headers[:3] == _CLAIMED:
            rows = tuple(r for r in rows if r[2] != NOT_ADDRESSED or r[:2] not in addressed)
        title = title if len(found) > len(exhibit.tables) else shown.title
        yield replace(shown, title=title, rows=rows)


def _not_addressed(paper: Paper, shown: Sequence[Table]) -> Table | None:
    """The paper's claims on losses of which no finished run says anything, beside those that do."""
    if not any(one.headers[:2] == ("claim", "where") for one in shown):
        return None
    rows = {row[0] for one in shown for row in one.rows}
    return table(
        "Claims on boards without finished runs",
        [
            claim
            for claim in claimed.claims(claimed.LOSSES)
            if any(paper.cited in where for where in claim.where)
            and style.symbols(claim.words) not in rows
        ],
        {
            "claim": lambda claim: style.symbols(claim.words),
            "where": lambda claim: "; ".join(claim.where),
            "boards": lambda claim: ", ".join(dict.fromkeys(c.board for c in claim.contrasts)),
        },
        text_columns=3,
    )


def verdicts(sections: Sequence[Section]) -> dict[str, int]:
    """How many claims have which verdict, each in each table and semantics once."""
    found = {
        (shown.title, *row[: 3 if shown.headers[2] == "semantics" else 2]): row[
            shown.headers.index("verdict")
        ]
        for part in sections
        for shown in part.tables
        if {"where", "verdict"} <= {*shown.headers}
        for row in shown.rows
    }
    counts = Counter(found.values())
    return {
        verdict: counts[verdict] for verdict in (*decision.VERDICTS, *counts) if counts[verdict]
    }


def _tally(counts: dict[str, int]) -> str:
    """`Of 7 verdicts 2 are reproduced and 5 undecided.`"""
    listed = joined([f"{count} {verdict}" for verdict, count in counts.items()])
    return f"Claims: {listed}." if counts else "No claim is decided yet."


def _parts(paper: Paper, scale: str, folder: Path) -> Table:
    """How far each part is, what it took, and its command."""

    def wall(part: Part) -> str:
        at = parts.directory_of(part, folder)
        finished = (at / workdir.RESULTS).is_file()
        cost = workdir.read_results(at).get("cost") or {} if finished else {}
        return duration(cost["wall_seconds"]) if "wall_seconds" in cost else NONE

    def state(part: Part) -> str:
        found = parts.state_of(part, folder)
        return f"{found.state}: {found.reason}" if found.reason else found.state

    return table(
        "Parts",
        paper.parts,
        {
            "part": lambda part: _link(f"{part.name}/{REPORT}", part.name, folder),
            "state": state,
            "command": lambda part: parts.command_of(part, scale, folder),
            "wall time": wall,
        },
        "Wall time as the study's own report has it. A part is shared by all papers that have it.",
        text_columns=3,
    )


def _link(path: str, words: str, folder: Path) -> str:
    """To a page beside this one, if it is there."""
    return Markup('<a href="{}">{}</a>').format(path, words) if (folder / path).exists() else words


def write_index(root: Path) -> Path:
    """Writes `index.html`: all papers, with the pages that are there; returns its path."""
    made = [
        (paper, scale, page.read(path))
        for paper in PAPERS
        for scale in SCALES
        if (path := root / scale / f"{paper.name}.html").is_file()
        and path.with_suffix(".json").is_file()
    ]
    without = [paper for paper in PAPERS if paper not in {row[0] for row in made}]
    shown = table(
        "Papers",
        made,
        {
            "paper": lambda row: _link(f"{row[1]}/{row[0].name}.html", row[0].title, root),
            "scale": lambda row: row[1],
            "parts": lambda row: row[2].verdicts[0],
            "claims": lambda row: row[2].headline,
        },
        text_columns=4,
    )
    built = Page(
        title="The papers, reproduced",
        subtitle="A page for each paper and scale in this folder",
        verdicts=[f"{plural(len(made), 'page')} of {plural(len(PAPERS), 'paper')}."],
        missing=[f"{one.title}: {_command(one, SCALES[0], root / SCALES[0])}" for one in without],
        facts=[],
        sections=[section("Papers", shown)],
    )
    return page.write(built, root, name="index.html")
