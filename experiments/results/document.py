"""The pages of all recorded runs, in Markdown, and their figures."""

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from experiments.pages import page
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, joined, number
from experiments.results import boards, findings, shown
from experiments.results.data import ROOT, Recorded, read
from experiments.results.shown import Drawing
from jaxzero import pretrained

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
    parts = [_SUMMARY, "\n## The papers' claims\n"]
    parts.append(markdown(findings.claims_table(findings.claims(groups))))
    for group, runs in groups.items():
        if strengths := boards.strengths(shown.of_losses(runs)[1]):
            parts.append(f"\n## The four losses, board by board: {group}\n")
            parts.append(markdown(boards.strength_table(strengths)))
            parts += [f"\n![{one.title}](results/{one.file})\n" for one in _drawings(group, runs)]
    parts += ["\n## Training a strong player\n", markdown(players()), _DETAILS]
    if (earned := findings.recipe_table(groups)).rows:
        parts.insert(-1, markdown(earned))
    return "".join(parts)


def _drawings(group: str, runs: Sequence[Recorded]) -> list[Drawing]:
    """Of the summary alone."""
    strengths = boards.strengths(shown.of_losses(runs)[1])
    draw = functools.partial(boards.figure, strengths)
    title = "Elo above untrained networks by minimised loss and board"
    return [Drawing(f"strength_{group}.svg", title, draw)] if strengths else []


def players() -> Table:
    """The players that ship, as their cards have them."""
    cards = [json.loads((pretrained.directory(n) / pretrained.CARD).read_text())
             for n in pretrained.names()]  # fmt: skip

    def share(card: Mapping[str, Any], name: str) -> str | None:
        measured = card["measured"].get(name)
        return None if measured is None else number(100 * measured, 1)

    def points(card: Mapping[str, Any]) -> str:
        games = card["measured"]["games"]
        won = card["measured"]["points"].items()
        return joined([f"{number(p, 3)} ({name}, {games[name]} games)" for name, p in won])

    return table(
        "Players that ship, one seed each",
        cards,
        {
            "player": lambda card: f"`pretrained:{card['game']}`",
            "points a game against": points,
            "moves that keep the result, %": lambda card: share(card, "search"),
            "of the network alone, %": lambda card: share(card, "network"),
            "simulations": lambda card: number(card["simulations"]),
            "games": lambda card: number(card["games"]),
            "minutes": lambda card: number(round(card["minutes"])),
            "hardware": lambda card: card["hardware"],
            "commit": lambda card: card["commit"],
        },
        f"Kept results: of contested positions, solved exactly; {NONE}: not measured. Games: of "
        "self-play. Commands stand in each card, `jaxzero/pretrained/NAME/card.json`.",
    )


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
    return [
        one
        for group, runs in groups.items()
        for one in (*shown.drawings(group, runs), *_drawings(group, runs))
    ]


def write(root: Path = ROOT) -> list[Path]:
    """Writes the pages and their figures; returns the pages' paths."""
    groups = read(root)
    for one in drawings(groups):
        stem = (root / one.file).with_suffix("")
        if (drawn := one.draw()) is not None:
            page.save(drawn, stem)
            stem.with_suffix(".png").unlink()
    made = pages(groups, root)
    for path, content in made.items():
        path.write_text(content, encoding="utf-8")
    return list(made)
