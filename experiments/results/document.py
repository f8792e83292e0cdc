"""The pages of all recorded runs, in Markdown, and their figures."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.claims.measured import BoardStudies
from experiments.pages import page
from experiments.pages.tables import Table
from experiments.pages.wording import joined
from experiments.results import boards, brief, findings, players, shown
from experiments.results.boards import Strength
from experiments.results.data import ROOT, Recorded, read
from experiments.results.shown import Drawing

_RECORDED: Final = """# Results: recorded runs

`python -m experiments.results` makes this page from the data in `docs/results/data`; no number is
typed by hand. Runs of a section are read together. How verdicts are reached:
[deviations](../deviations.md#do-the-claims-hold).
"""
_SUMMARY: Final = """# Results: what we found

All of it comes from small networks, a CPU and a small share of the papers' computing. It says what
happens at that size. Intervals are 95 %, wider where contrasts are read together; "undecided" means
that the seeds are too few to tell. `python -m experiments.results` makes this page from the data in
`docs/results/data` and the cards of the players that ship; no number is typed by hand. Commands,
commits, hardware, shares of computing and every contrast: [recorded runs](results/recorded.md).
"""
_DETAILS: Final = """
## Details

* [Recorded runs](results/recorded.md): every claim, table and figure from kept data.
* [Earlier runs](results/earlier.md): findings whose numbers were copied from reports, as most of
  that raw data was not kept. Behind them: [losses](results/losses.md),
  [hyper-parameters](results/hyperparameters.md), [Connect Four](results/connect_four.md),
  [curriculum](results/curriculum.md), [training](results/training.md).
* [Why Gumbel self-play got worse, and what mends it](results/gumbel.md).
* No preset `gpu` or `paper` was run. How claims are decided:
  [deviations](deviations.md#do-the-claims-hold).
"""


def recorded(groups: Mapping[str, Sequence[Recorded]]) -> str:
    """The page with everything."""
    parts = [_RECORDED]
    for group, runs in groups.items():
        parts.append(f"\n## {group}\n")
        parts += [markdown(one) for one in shown.tables(runs)]
        parts += [f"\n![{one.title}]({one.file})\n" for one in shown.drawings(group, runs)]
    return "".join(parts)


def summary(groups: Mapping[str, Sequence[Recorded]]) -> str:
    """The page to begin with."""
    claims = findings.claims(groups)
    parts = [_SUMMARY, "\n## In short\n", markdown(brief.main_table(groups, claims))]
    parts.append("\n## The papers' claims of which something is decided\n")
    parts += map(markdown, findings.claims_tables(claims))
    parts.append(f"\n{findings.counted(claims)}\n")
    for group, strengths in _strengths(groups).items():
        drawn = _drawing(group, strengths)
        parts += [
            f"\n## The four losses, board by board: {group}\n",
            markdown(boards.strength_table(strengths)),
            f"\n![{drawn.title}](results/{drawn.file})\n",
            *map(markdown, _rivalry_tables(shown.of_losses(groups[group])[1])),
        ]
    parts += ["\n## Training a strong player\n", markdown(players.shipped())]
    earned = findings.recipe_table(groups)
    return "".join([*parts, markdown(earned) if earned.rows else "", _DETAILS])


def _strengths(groups: Mapping[str, Sequence[Recorded]]) -> dict[str, list[Strength]]:
    """Of the loss studies of each group that has some."""
    by_group = {g: boards.strengths(shown.of_losses(runs)[1]) for g, runs in groups.items()}
    return {group: strengths for group, strengths in by_group.items() if strengths}


def _rivalry_tables(studies: Sequence[BoardStudies]) -> list[Table]:
    """Of the final tournament, and of that with hardly any search."""
    low = boards.rivalries(studies, "low_tournament_elo")
    few = {str(s.setting("study.low_simulations")) for one in studies for s in one.studies}
    searched = f"a tournament of the same networks with m = {joined(sorted(few))}"
    return [
        boards.rivalry_table(boards.rivalries(studies)),
        *([boards.rivalry_table(low, searched)] if low else []),
    ]


def _drawing(group: str, strengths: Sequence[Strength]) -> Drawing:
    title = "Elo above untrained networks by minimised loss and board"
    return Drawing(f"strength_{group}.svg", title, functools.partial(boards.figure, strengths))


def markdown(shown: Table) -> str:
    """A table as GitHub shows it."""
    lines = [shown.headers, ["---"] * len(shown.headers), *shown.rows]
    rows = "\n".join(f"| {' | '.join(c.replace('|', '&#124;') for c in line)} |" for line in lines)
    note = f"\n{shown.note}\n" if shown.note else ""
    return f"\n{shown.title}:\n\n{rows}\n{note}"


def pages(groups: Mapping[str, Sequence[Recorded]], root: Path = ROOT) -> dict[Path, str]:
    """The pages that are made of the data: `recorded.md`, `../results.md`."""
    return {root / "recorded.md": recorded(groups), root.parent / "results.md": summary(groups)}


def drawings(groups: Mapping[str, Sequence[Recorded]]) -> list[Drawing]:
    """The figures of both pages."""
    details = [one for group, runs in groups.items() for one in shown.drawings(group, runs)]
    return details + [_drawing(group, own) for group, own in _strengths(groups).items()]


def write(root: Path = ROOT) -> list[Path]:
    """Writes the pages and their figures; returns the pages' paths."""
    groups = read(root)
    for one in drawings(groups):
        stem = (root / one.file).with_suffix("")
        if (drawn := one.draw()) is not None:
            page.save(drawn, stem)
            stem.with_name(f"{stem.name}.png").unlink()
    made = pages(groups, root)
    for path, content in made.items():
        path.write_text(content, encoding="utf-8")
    return list(made)
