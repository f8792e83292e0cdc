"""What all recorded runs found, in one table: the claims that they decide."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.claims.decision import CONTRADICTED, EQUIVALENT, REPRODUCED, UNDECIDED, Decided
from experiments.claims.losses import decide
from experiments.configs.recipe import PARTS, PREFIX
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, interval, number, plural
from experiments.recipe import STUDY as RECIPE
from experiments.results import shown
from experiments.results.data import Recorded
from experiments.strength import recipe_report

HELPS, HARMS = "helps", "harms"
DECIDED = (REPRODUCED, CONTRADICTED, EQUIVALENT, HELPS, HARMS)


class Finding(NamedTuple):
    """A claim about some recorded runs, in words for the reader."""

    group: str
    words: str
    where: str
    verdict: str
    effects: str  # with the intervals that decide
    seeds: str
    cost: str  # wall time of the runs
    study: str


def of(group: str, runs: Sequence[Recorded]) -> Iterator[Finding]:
    """All claims that the runs of a group say something about."""
    losses, boards = shown.of_losses(runs)
    for claim in decide(boards).decided if boards else ():
        names = dict.fromkeys(test.contrast.board for test in claim.tests)
        yield _finding(group, losses, _row(claim), [*names, claim.semantics])
    for run in runs:
        for name, rows in shown.claims(run).items():
            for row in rows:
                on = [run.study.game, name, row.get("semantics", "")]
                yield _finding(group, [run], row, on)
        yield from _earned(group, run)


def _earned(group: str, run: Recorded) -> Iterator[Finding]:
    """By which measures a part of the training recipe helps or harms."""
    if run.kind != RECIPE:
        return
    rows, _ = recipe_report.compared(run.study.results)
    for measure, row in ((measure, row) for measure, own in rows.items() for row in own):
        effect, ends = row.estimate.effect, interval(row.interval, measure.digits)
        part = PARTS.get(row.arm.removeprefix(PREFIX))
        what = f": {part.meaning}" if part else f" against {row.name}"
        yield Finding(
            group,
            f"The training recipe{what}; {measure.title} ({run.study.game})",
            "this project",
            (HELPS if effect > 0 else HARMS) if row.decided else UNDECIDED,
            f"{number(effect, measure.digits)} ({ends})",
            str(row.estimate.seeds),
            duration(shown.seconds(run.study)),
            run.kind,
        )


def _row(one: Decided) -> dict[str, Any]:
    """As studies have theirs in results.json."""
    tests = [test.row() | {"margin": test.contrast.margin} for test in one.tests]
    raw = {"words": one.claim.words, "where": one.claim.where}
    return raw | {"verdict": one.verdict, "contrasts": tests}


def _finding(
    group: str, runs: Sequence[Recorded], row: Mapping[str, Any], on: Sequence[str]
) -> Finding:
    tests = [test for test in row.get("contrasts", [row]) if test.get("effect") is not None]
    seeds = sorted({test["seeds"] for test in tests if test.get("seeds")})
    return Finding(
        group,
        f"{row['words'].rstrip('.')} ({', '.join(filter(None, on))})",
        "; ".join(row["where"]),
        row["verdict"],
        "; ".join(map(_effect, tests)),
        "" if not seeds else str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}",
        duration(sum(shown.seconds(one.study) or 0.0 for one in runs)),
        ", ".join(dict.fromkeys(one.kind for one in runs)),
    )


def _effect(test: Mapping[str, Any]) -> str:
    digits = 0 if test["margin"] >= 1 else 3
    effect = number(float(test["effect"]), digits)
    low, high = test["interval"]
    return effect if low is None else f"{effect} ({interval((low, high), digits)})"


def found(groups: Mapping[str, Sequence[Recorded]]) -> Table:
    """The claims that are decided; the others are counted."""
    every = [one for group, runs in groups.items() for one in of(group, runs)]
    counts = Counter(one.verdict for one in every)
    others = ", ".join(f"{counts[v]} {v}" for v in counts if v not in DECIDED)
    note = (
        "Effects with the intervals that decide them. Verdicts on all of "
        f"{plural(len(every), 'claim')}: [recorded runs](results/recorded.md)"
    )
    return table(
        "What the recorded runs decide",
        [one for one in every if one.verdict in DECIDED],
        {
            "claim": lambda one: one.words,
            "where": lambda one: one.where,
            "verdict": lambda one: one.verdict,
            "effect": lambda one: one.effects,
            "seeds": lambda one: one.seeds,
            "time": lambda one: one.cost,
            "study": lambda one: f"[{one.study}](results/recorded.md#{one.group})",
        },
        f"{note}; {others}." if others else f"{note}.",
    )
