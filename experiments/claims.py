"""Do the papers' claims about the four losses hold? Decided from finished loss studies.

    python -m experiments.claims runs/othello runs/connect_four

Several boards, several semantics and further seeds of the same settings may be given together. The
claims and what decides each are data, experiments/published/claims_losses.json, fixed before any
run. Prints the verdicts, and writes claims.json. See docs/deviations.md.
"""

import dataclasses
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import arguments, effort, inference, measured, published
from experiments.decisions import REPRODUCED, UNDECIDED, Decided, Findings, Tested, decide
from experiments.published import Contrast
from experiments.reporting.style import SYMBOLS
from experiments.reporting.tables import Table
from experiments.reporting.wording import NONE, joined, number, plural, short
from jaxzero import workdir
from jaxzero.config import ConfigError

FILE = "claims.json"


def table(findings: Findings) -> Table:
    """The verdicts, one row per claim and semantics."""
    rows = tuple(
        (
            one.claim.words,
            "; ".join(one.claim.where),
            one.semantics,
            ", ".join(dict.fromkeys(test.contrast.board for test in one.tests)),
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
    return Table("The papers' claims", headers, rows, note, text_columns=5)


def details(findings: Findings) -> Table:
    """Every contrast with its effect and interval."""
    rows = tuple(
        (
            one.claim.id,
            one.semantics,
            test.contrast.board,
            _words(test.contrast),
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
    return Table("Contrasts of the claims", headers, rows, note, text_columns=5, folded=True)


def section(directories: Sequence[Path]) -> tuple[Table, ...]:
    """The tables for a report on some runs; none where the papers claim nothing of their boards.

    Raises:
      ConfigError: the directories cannot be counted together.
    """
    findings = decide(measured.load(directories))
    return (table(findings), details(findings)) if findings.decided else ()


def _words(contrast: Contrast) -> str:
    """`training elo gain: l+ - lp > 0`."""
    sides = [[SYMBOLS.get(t, t) for t in side] for side in (contrast.plus, contrast.minus) if side]
    named = [side[0] if len(side) == 1 else f"mean({', '.join(side)})" for side in sides]
    what = f" {number(-1)[0]} ".join(named)
    if contrast.against:
        what = f"{what}, more than on {contrast.against}"
    relation = {"greater": "> 0", "less": "< 0", "equal": "= 0", "different": "≠ 0"}
    return f"{contrast.statistic.replace('_', ' ')}: {what} {relation[contrast.direction]}"


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
        _more(test),
        theirs,
        _percent([test.compute]),
    )


def _more(test: Tested) -> str:
    """How many seeds an undecided contrast needs."""
    if test.verdict != UNDECIDED:
        return NONE
    if test.estimate is None or math.isnan(test.estimate.sd):
        return "not known"
    return f"over {number(inference.MOST_SEEDS)}" if test.needed is None else str(test.needed)


def _needed(one: Decided) -> str:
    """Of the contrast that needs most."""
    undecided = [test for test in one.tests if test.verdict == UNDECIDED]
    if one.verdict != UNDECIDED:
        return NONE
    known = [test.needed for test in undecided if test.needed is not None]
    return (
        str(max(known))
        if len(known) == len(undecided)
        else _more(next(test for test in undecided if test.needed is None))
    )


def _seeds(tests: Sequence[Tested]) -> str:
    counts = sorted({0 if test.estimate is None else test.estimate.seeds for test in tests})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _percent(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    return f"{short(float(f'{100 * min(known):.2g}'))} %" if known else "not known"


def as_json(findings: Findings) -> dict[str, Any]:
    """claims.json."""
    return {
        "source": (published.load(published.CLAIMS) or {})["source"],
        "level": inference.LEVEL,
        "fewest_seeds": inference.FEWEST,
        "power": inference.POWER,
        "compute_formula": effort.FORMULA,
        "runs": [
            {
                "directory": str(directory),
                "board": group.board,
                "semantics": group.semantics,
                "of_papers_computing": effort.fraction(study),
            }
            for group in findings.groups
            for directory, study in zip(group.directories, group.studies, strict=True)
        ],
        "claims": [
            {
                "id": one.claim.id,
                "words": one.claim.words,
                "where": one.claim.where,
                "note": one.claim.note,
                "semantics": one.semantics,
                "verdict": one.verdict,
                "boards_without_runs": one.absent,
                "missing": one.missing,
                "contrasts": [_contrast_json(test) for test in one.tests],
            }
            for one in findings.decided
        ],
    }


def _contrast_json(test: Tested) -> dict[str, Any]:
    found = test.estimate
    return dataclasses.asdict(test.contrast) | {
        "verdict": test.verdict,
        "effect": None if found is None else found.effect,
        "interval": None if found is None else found.interval,
        "stderr": None if found is None else found.stderr,
        "seeds": 0 if found is None else found.seeds,
        "p_holm": test.adjusted,
        "seeds_to_decide": test.needed,
        "published_effect": test.published,
        "of_papers_computing": test.compute,
    }


def text(shown: Table, columns: Sequence[int]) -> str:
    """Some columns of a table for the terminal."""
    lines = [[line[c] for c in columns] for line in (shown.headers, *shown.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if c < shown.text_columns else cell.rjust(width)
            for c, cell, width in zip(columns, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    parser = arguments.Parser(prog="python -m experiments.claims", description=__doc__)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="directory of a finished loss ablation"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"where to write (default: {FILE} in the run, or in the folder that holds all runs)",
    )
    given = parser.parse(words)
    if given.out and not given.out.parent.is_dir():
        raise ConfigError(
            f"--out={given.out}: there is no folder {given.out.parent}, make it first"
        )
    findings = decide(measured.load(given.runs))
    if not findings.decided:
        boards = joined(sorted({group.board for group in findings.groups}))
        print(f"the papers claim nothing about the losses on {boards}", file=sys.stderr)
    else:
        verdicts, contrasts = table(findings), details(findings)
        print(text(contrasts, (0, 1, 2, 3, 4, 5, 6, 8, 9, 10)), end="\n\n")
        print(text(verdicts, (0, 2, 3, 4, 5, 6, 7, 8)), end="\n\n")
        print(verdicts.note)
    for missing in dict.fromkeys(m for one in findings.decided for m in one.missing):
        print(f"missing: {missing}", file=sys.stderr)
    out = given.out or Path(os.path.commonpath([run.resolve() for run in given.runs])) / FILE
    workdir.write_json(out, as_json(findings))
    print(f"written: {out}", file=sys.stderr)


if __name__ == "__main__":
    arguments.run(main)
