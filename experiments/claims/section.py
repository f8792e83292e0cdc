"""The verdicts on the papers' claims in a report: sentences, effects with intervals, tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.claims import decision, effort, inference, papers
from experiments.claims.decision import REPRODUCED, UNDECIDED, VERDICTS, Decided, Tested
from experiments.claims.figure import plates
from experiments.claims.losses import Findings, published_effect
from experiments.claims.wording import words_of
from experiments.pages import style
from experiments.pages.page import Section
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, interval, joined, number, plural, short

TITLE: Final = "The papers' claims"
SEEDS_NOTE: Final = (
    f"Seeds to decide: with probability {inference.POWER}, if effect and spread are the measured "
    f"ones; {inference.FEWEST} are the fewest."
)
UNKNOWN: Final = "not known"  # of a share of the papers' computing
_UNFOLDED = 8  # rows that a table shows open


def section(findings: Findings) -> Section:
    """All verdicts; without content where the papers claim nothing of the boards."""
    if not findings.decided:
        return Section(TITLE)
    missing = dict.fromkeys(m for one in findings.decided for m in one.missing)
    absent = f"Left out, because it is missing: {'; '.join(missing)}." if missing else ""
    return Section(
        TITLE,
        tuple(filter(None, [*summary(findings), absent])),
        plates=tuple(plates(findings)),
        tables=(table(findings), details(findings)),
    )


def summary(findings: Findings) -> list[str]:
    """How many claims hold, under each semantics, and at what budget."""
    sentences = []
    for semantics in dict.fromkeys(one.semantics for one in findings.decided):
        own = [one for one in findings.decided if one.semantics == semantics]
        tests = [test for one in own for test in one.tests]
        boards = list(dict.fromkeys(test.contrast.board for test in tests))
        verdicts = [one.verdict for one in own]
        counts = joined([f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS])
        share = _computing(findings, own)
        budget = f" and with at least {share} of the papers' computing for a run"
        sentences.append(
            f"Of the papers' {plural(len(own), 'claim')} about the losses on {joined(boards)}, "
            f"under {semantics} semantics{budget if share != UNKNOWN else ''}: {counts}."
        )
        if few := decision.too_few(min(test.seeds for test in tests), " of some contrasts"):
            sentences[-1] += f" {few}."
    return sentences


def table(findings: Findings) -> Table:
    """The verdicts, one row per claim and semantics."""
    rows = [
        {
            "claim": style.symbols(one.claim.words),
            "where": "; ".join(one.claim.where),
            "semantics": one.semantics,
            "boards": _boards(one),
            "verdict": one.verdict,
            "contrasts reproduced": (
                f"{sum(t.verdict == REPRODUCED for t in one.tests)} of {len(one.tests)}"
            ),
            "seeds": _seeds(one.tests),
            "seeds to decide": _needed(one),
            "of the papers' computing": _computing(findings, [one]),
        }
        for one in findings.decided
    ]
    note = (
        "A claim is reproduced if all its contrasts are, contradicted if one is; equivalent: a "
        "difference lies within the margin beyond doubt. "
        f"{SEEDS_NOTE} {effort.FORMULA}"
    )
    return _table("Verdicts on the papers' claims", rows, note, folded=len(rows) > _UNFOLDED)


def details(findings: Findings) -> Table:
    """Every contrast with its effect and the interval that decides it."""
    rows = [
        {
            "claim": one.claim.id.replace("_", " "),
            "semantics": one.semantics,
            "board": test.contrast.board,
            "contrast": words_of(test.contrast),
            "verdict": test.verdict,
            **_numbers(test),
            "of the papers' computing": _percent(findings.compute(one, test.contrast)),
        }
        for one in findings.decided
        for test in one.tests
    ]
    note = f"{decision.METHOD} Read together: the boards and contrasts of a claim. {SEEDS_NOTE}"
    return _table("Contrasts of the claims", rows, note, folded=len(rows) > _UNFOLDED)


def of_results(
    title: str, claims: Sequence[Mapping[str, Any]], note: str, *, digits: int = 3
) -> Table:
    """Decided claims as a study's results.json has them: a row for each contrast of each."""
    rows = []
    for claim in claims:
        start = {
            "claim": claim["words"],
            "where": "; ".join(claim["where"]),
            "verdict": claim["verdict"],
        }
        if about := _about(claim):
            start["where"] += f" ({about})"
        if not claim.get("contrasts", [claim]):
            rows.append(start | {"contrast": f"needs {claim['needs']}"})
        for test in claim.get("contrasts", [claim]):
            effect, seeds = test["effect"], test.get("seeds")
            known = test["verdict"], seeds, test.get("seeds_to_decide", claim.get("needed"))
            ends = interval(test["interval"], digits)
            level = test.get("level", inference.LEVEL)  # older files have none
            row = start | {
                "contrast": words_of(papers.contrast(test)),
                "alone": test["verdict"],
                "effect": NONE if effect is None else number(float(effect), digits),
                "interval": ends,
                "of": NONE if ends == NONE else decision.coverage(level),
                "margin": f"{test['margin']:g}",
                "seeds": NONE if seeds is None else number(seeds),
                "seeds to decide": NONE if seeds is None else decision.seeds_to_decide(*known),
            }
            if theirs := test.get("published") or claim.get("published"):
                row["published"] = joined([f"{number(v, 3)} ({k})" for k, v in theirs.items()])
            rows.append(row)
    columns = dict.fromkeys(key for row in rows for key in row)
    return _table(title, [{key: row.get(key, NONE) for key in columns} for row in rows], note)


def _about(claim: Mapping[str, Any]) -> str:
    """`corrected labels; 2 blocks; easy and hard`: which of a study's networks decided a claim."""
    labels = f"{claim['semantics']} labels" if claim.get("semantics") else ""
    directories = joined(claim.get("directories", ()))
    return "; ".join(filter(None, [labels, claim.get("networks"), directories]))


def _table(title: str, rows: Sequence[Mapping[str, str]], note: str, **more: Any) -> Table:
    cells = tuple(tuple(row.values()) for row in rows)
    return Table(title, tuple(rows[0]) if rows else (), cells, note, text_columns=5, **more)


def _boards(one: Decided) -> str:
    """`othello_6x6 (1 of 4)`, as the claim is about others too."""
    tested = list(dict.fromkeys(test.contrast.board for test in one.tests))
    of = len({contrast.board for contrast in one.claim.contrasts})
    return ", ".join(tested) + (f" ({len(tested)} of {of})" if len(tested) < of else "")


def _numbers(test: Tested) -> dict[str, str]:
    digits, found = 0 if test.contrast.margin >= 1 else 3, test.estimate
    theirs = published_effect(test.contrast)
    tested = found is not None and found.tested
    return {
        "effect": NONE if found is None else number(found.effect, digits),
        "interval": interval(test.interval, digits),
        "of": decision.coverage(test.level) if tested else NONE,
        "p (Holm)": f"{test.adjusted:.2g}" if tested else NONE,
        "seeds": _seeds([test]),
        "seeds to decide": test.to_decide,
        "published": NONE if theirs is None else number(theirs, digits),
    }


def _needed(one: Decided) -> str:
    """Of the contrast that needs most."""
    undecided = [test for test in one.tests if test.verdict == UNDECIDED]
    if one.verdict != UNDECIDED:
        return NONE
    return max(undecided, key=lambda test: test.needed or math.inf).to_decide


def _seeds(tests: Sequence[Tested]) -> str:
    counts = sorted({test.seeds for test in tests})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _computing(findings: Findings, decided: Sequence[Decided]) -> str:
    """The smallest share of the papers' computing."""
    shares = [findings.compute(one, test.contrast) for one in decided for test in one.tests]
    return _percent(min((share for share in shares if share is not None), default=None))


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{short(float(f'{100 * share:.2g}'))} %"
