"""The verdicts on the papers' claims in a report: sentences, effects with intervals, tables."""

import math
from collections.abc import Sequence
from typing import Final

from experiments.claims import effort, inference
from experiments.claims.decisions import REPRODUCED, UNDECIDED, VERDICTS, Decided, Findings, Tested
from experiments.claims.figure import plates, seeds_to_decide, words_of
from experiments.pages import style
from experiments.pages.page import Section
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, joined, number, plural, short

TITLE: Final = "The papers' claims"
_UNFOLDED = 24  # contrasts that a table shows open


def section(findings: Findings) -> Section:
    """All verdicts; without content where the papers claim nothing of the boards."""
    if not findings.decided:
        return Section(TITLE)
    missing = tuple(dict.fromkeys(m for one in findings.decided for m in one.missing))
    absent = f"Left out, because it is missing: {'; '.join(missing)}." if missing else ""
    return Section(
        TITLE,
        tuple(filter(None, [*summary(findings), absent])),
        plates=tuple(plates(findings)),
        tables=(table(findings), details(findings)),
    )


def summary(findings: Findings) -> list[str]:
    """How many claims hold, under each semantics, and at what budget."""
    said = []
    for semantics in dict.fromkeys(one.semantics for one in findings.decided):
        own = [one for one in findings.decided if one.semantics == semantics]
        counts = {verdict: sum(one.verdict == verdict for one in own) for verdict in VERDICTS}
        tests = [test for one in own for test in one.tests]
        boards = list(dict.fromkeys(test.contrast.board for test in tests))
        share = _percent([test.compute for test in tests])
        said.append(
            f"Of the papers' {plural(len(own), 'claim')} about the losses on {joined(boards)}, "
            f"under {semantics} semantics and with at least {share} of the papers' computing for "
            f"a run: {joined([f'{count} {verdict}' for verdict, count in counts.items()])}."
        )
        seeds = min(0 if t.estimate is None else t.estimate.seeds for t in tests)
        if seeds < inference.FEWEST:
            said[-1] += (
                f" Contrasts with fewer than {inference.FEWEST} seeds decide nothing "
                f"(fewest here: {seeds})."
            )
    return said


def table(findings: Findings) -> Table:
    """The verdicts, one row per claim and semantics."""
    rows = tuple(
        (
            style.symbols(one.claim.words),
            "; ".join(one.claim.where),
            one.semantics,
            _boards(one),
            one.verdict,
            f"{sum(t.verdict == REPRODUCED for t in one.tests)} of {len(one.tests)}",
            _seeds(one.tests),
            _needed(one),
            _percent([t.compute for t in one.tests]),
        )
        for one in findings.decided
    )
    headers = (
        "claim",
        "where",
        "semantics",
        "boards",
        "verdict",
        "contrasts reproduced",
        "seeds",
        "seeds to decide",
        "of the papers' computing",
    )
    note = (
        "A claim is reproduced if all its contrasts are, contradicted if one is; equivalent: a "
        f"difference is surely below the margin. {plural(inference.FEWEST, 'seed')} are the fewest "
        f"that can decide. {effort.FORMULA}"
    )
    return Table("Verdicts on the papers' claims", headers, rows, note, text_columns=5)


def details(findings: Findings) -> Table:
    """Every contrast with its effect and interval."""
    rows = tuple(
        (
            one.claim.id,
            one.semantics,
            test.contrast.board,
            words_of(test.contrast),
            test.verdict,
            *_numbers(test),
        )
        for one in findings.decided
        for test in one.tests
    )
    headers = (
        "claim",
        "semantics",
        "board",
        "contrast",
        "verdict",
        "effect",
        "95 % interval",
        "p (Holm)",
        "seeds",
        "seeds to decide",
        "published",
        "of the papers' computing",
    )
    note = (
        "Seed by seed; intervals by bootstrap over seeds, p values corrected over the boards and "
        "contrasts of a claim. Seeds to decide: with probability 0.8, if effect and spread are the "
        "measured ones."
    )
    return Table(
        "Contrasts of the claims", headers, rows, note, text_columns=5, folded=len(rows) > _UNFOLDED
    )


def _boards(one: Decided) -> str:
    """`othello_6x6 (1 of 4)`, as the claim is about others too."""
    tested = list(dict.fromkeys(test.contrast.board for test in one.tests))
    of = len({contrast.board for contrast in one.claim.contrasts})
    return ", ".join(tested) + (f" ({len(tested)} of {of})" if len(tested) < of else "")


def _numbers(test: Tested) -> tuple[str, ...]:
    digits = 0 if test.contrast.margin >= 1 else 3
    theirs = NONE if test.published is None else number(test.published, digits)
    if test.estimate is None:
        return (NONE, NONE, NONE, "0", NONE, theirs, _percent([test.compute]))
    low, high = test.estimate.interval
    known = not math.isnan(low)
    return (
        number(test.estimate.effect, digits),
        f"{number(low, digits)} to {number(high, digits)}" if known else NONE,
        f"{test.adjusted:.2g}" if known else NONE,
        str(test.estimate.seeds),
        seeds_to_decide(test),
        theirs,
        _percent([test.compute]),
    )


def _needed(one: Decided) -> str:
    """Of the contrast that needs most."""
    undecided = [test for test in one.tests if test.verdict == UNDECIDED]
    if one.verdict != UNDECIDED:
        return NONE
    known = [test.needed for test in undecided if test.needed is not None]
    return (
        str(max(known))
        if len(known) == len(undecided)
        else seeds_to_decide(next(test for test in undecided if test.needed is None))
    )


def _seeds(tests: Sequence[Tested]) -> str:
    counts = sorted({0 if test.estimate is None else test.estimate.seeds for test in tests})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _percent(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    return f"{short(float(f'{100 * min(known):.2g}'))} %" if known else "not known"
