"""The pages of all recorded runs, in Markdown, and their figures."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.claims.measured import BoardStudies
from experiments.pages import page, style
from experiments.pages.tables import Table, table
from experiments.pages.wording import game_title, joined, number
from experiments.results import boards, brief, findings, players, shown
from experiments.results.boards import Strength
from experiments.results.data import ROOT, Recorded, read
from experiments.results.findings import Finding
from experiments.results.shown import Drawing

Groups = Mapping[str, Sequence[Recorded]]  # of runs that are read together, by name

_RECORDED: Final = """# Results: recorded runs

Commands, commits, hardware, shares of computing, every claim and contrast, tables and figures, a
page for each group. Runs of a group are read together. `python -m experiments.results` makes these
pages from the data in `docs/results/data`; no number is typed by hand. How verdicts are reached:
[claims](../../claims.md).
"""
_GROUP: Final = """# Recorded runs: {group}

Made by `python -m experiments.results` from the data in `docs/results/data/{group}`
([all recorded runs](index.md)). How verdicts are reached: [claims](../../claims.md), and how to
[check a number](../../claims.md#check-a-number).
"""
_VERDICTS: Final = """# Results: the papers' claims

The claims of which recorded runs decide something, by subject; made by `python -m
experiments.results`, as [recorded runs](recorded/index.md) are. The main ones are in short on
[what we found](../results.md).
"""
_BOARDS: Final = """# Results: the four losses, board by board

How strong the networks of each loss become, and whether minimising the value loss alone is better
than the usual sum; made by `python -m experiments.results`, as [recorded runs](recorded/index.md)
are. In words: [the four losses](losses.md). A section has the runs of a preset: `laptop` trains for
30 iterations of 32 games with 25 simulations a move, `long` for 80 of 48 with 50. `mcts_50` is
plain Monte Carlo tree search with 50 rollouts; `greedy` looks one ply ahead.
"""
_SUMMARY: Final = """# Results: what we found

All of it comes from small networks, a CPU and a small share of the papers' computing. It says what
happens at that size. Intervals are 95 %, wider where contrasts are read together; "undecided" means
that the seeds are too few to tell. `python -m experiments.results` makes this page from the data in
`docs/results/data` and the cards of the players that ship; no number is typed by hand.

l_p, l_v, l_+ and l_x are the losses of policy and value, their sum and their product. I, E, m and
ep are iterations, games of an iteration, simulations of a search and epochs; until move T' of a
game moves are sampled. `mcts_200` is plain Monte Carlo tree search with 200 rollouts
([glossary](glossary.md)).

A finding on losses that stands twice was asked after two sizes of training, named in the last
column: `laptop` has fewer games than `long`, with fewer simulations, and may find something else.

## In short
"""
_DETAILS: Final = """
## Details

* [The papers' claims](results/verdicts.md): all of which something is decided.
* [The four losses, board by board](results/boards.md).
* [Recorded runs](results/recorded/index.md): commands, commits, hardware, shares of computing,
  every claim and contrast, tables and figures.
* In words, with runs whose raw data was not kept: [losses](results/losses.md), [which
  defects](results/defects.md), [hyper-parameters](results/hyperparameters.md), [Connect
  Four](results/connect_four.md), [curriculum](results/curriculum.md),
  [training](results/training.md).
* [Why Gumbel self-play got worse, and what mends it](results/gumbel.md).
* No preset `gpu` or `paper` was run. How claims are decided:
  [claims](claims.md). [Check a number](claims.md#check-a-number) from its data.
"""


def recorded(groups: Groups) -> dict[str, str]:
    """The pages with everything by file name: one of each group, and one that lists them."""
    found = {"index.md": _RECORDED + markdown(_listed(groups))}
    for group, runs in groups.items():
        parts = [_GROUP.format(group=group), *map(markdown, shown.tables(runs))]
        for one in shown.drawings(group, runs):
            parts.append(f"\n![{one.title}]({Path(one.file).name})\n")
        found[f"{group}.md"] = "".join(parts)
    return found


def _listed(groups: Groups) -> Table:
    def listed(values: Iterable[str]) -> str:
        return joined([*dict.fromkeys(values)])

    return table(
        "The groups",
        groups,
        {
            "group": lambda group: f"[{group}]({group}.md)",
            "studies": lambda group: listed(run.kind for run in groups[group]),
            "boards": lambda group: listed(game_title(run.study.game) for run in groups[group]),
            "runs": lambda group: number(len(groups[group])),
        },
    )


def verdicts(claims: Sequence[Finding]) -> str:
    """The page of claims of which something is decided."""
    tables = map(markdown, findings.claims_tables(claims))
    return "".join([_VERDICTS, *tables, f"\n{findings.counted(claims)}\n"])


def board_by_board(groups: Groups) -> str:
    """The page of the losses' strength, a section for each group."""
    parts = [_BOARDS]
    for group, strengths in _strengths(groups).items():
        drawn = _drawing(group, strengths)
        parts += [
            f"\n## {group}\n",
            markdown(boards.strength_table(strengths)),
            f"\n![{drawn.title}]({drawn.file})\n",
            *map(markdown, _rivalry_tables(shown.of_losses(groups[group])[1])),
        ]
    return "".join(parts)


def summary(groups: Groups, claims: Sequence[Finding]) -> str:
    """The page to begin with."""
    parts = [style.symbols(_SUMMARY), markdown(brief.main_table(groups, claims))]
    if strengths := _strengths(groups):
        most = max(strengths, key=lambda group: min(one.seeds for one in strengths[group]))
        drawn = _drawing(most, strengths[most])
        parts.append(f"\n![{drawn.title}](results/{drawn.file})\n")
    parts += ["\n## Training a strong player\n", markdown(players.shipped())]
    earned = findings.recipe_table(groups)
    return "".join([*parts, markdown(earned) if earned.rows else "", _DETAILS])


def _strengths(groups: Groups) -> dict[str, list[Strength]]:
    """Of the loss studies of each group that has some."""
    by_group = {g: boards.strengths(shown.of_losses(runs)[1]) for g, runs in groups.items()}
    return {group: strengths for group, strengths in by_group.items() if strengths}


def _rivalry_tables(studies: Sequence[BoardStudies]) -> list[Table]:
    """Of the final tournament, and of that with hardly any search."""
    low = boards.rivalries(studies, "low_tournament_elo")
    few = {s.setting("study.low_simulations") for one in studies for s in one.studies} - {None}
    searched = f"a tournament of the same networks with m = {joined([str(m) for m in sorted(few)])}"
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


def pages(groups: Groups, root: Path = ROOT) -> dict[Path, str]:
    """The pages that are made of the data, beside it and, the one to begin with, above."""
    claims = findings.claims(groups)
    return {
        root / "verdicts.md": verdicts(claims),
        root / "boards.md": board_by_board(groups),
        root.parent / "results.md": summary(groups, claims),
        **{root / "recorded" / name: text for name, text in recorded(groups).items()},
    }


def drawings(groups: Groups) -> list[Drawing]:
    """The figures of all pages."""
    details = [one for group, runs in groups.items() for one in shown.drawings(group, runs)]
    return details + [_drawing(group, own) for group, own in _strengths(groups).items()]


def write(root: Path = ROOT) -> list[Path]:
    """Writes the pages and their figures, older ones are deleted; returns the pages' paths."""
    groups, figures = read(root), set[Path]()
    (root / "recorded").mkdir(parents=True, exist_ok=True)
    for one in drawings(groups):
        stem = (root / one.file).with_suffix("")
        if (drawn := one.draw()) is not None:
            page.save(drawn, stem)
            stem.with_name(f"{stem.name}.png").unlink()
            figures.add(root / one.file)
    made = pages(groups, root)
    written_before = {*root.glob("recorded/*"), *root.glob("strength_*.svg")}
    for left in written_before - figures - made.keys():  # of a group that has changed since
        left.unlink()
    for path, content in made.items():
        path.write_text(content, encoding="utf-8")
    return list(made)
