"""Do the papers' claims hold? About the four losses, or about supervised networks.

    python -m experiments.claims runs/othello runs/connect_four
    python -m experiments.claims runs/easy runs/hard

Finished loss studies: several boards, several semantics and further seeds of the same settings may
be given together. Or finished supervised studies of Connect Four: networks of several of them are
compared where their other settings agree. The claims and what decides each are data,
experiments/published/claims_losses.json and claims_efficiency.json. Prints the verdicts, and writes
claims.json. How they are reached, and when the claims were written: docs/claims.md.
"""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.claims import decision, effort, inference, measured, papers, supervised
from experiments.claims.losses import Findings, decide, published_effect
from experiments.claims.section import details, of_results, table
from experiments.pages.wording import joined
from experiments.shell.next_command import suggest
from jaxzero import arguments, files, workdir
from jaxzero.settings.config import ConfigError

FILE = "claims.json"


def _head(paper: str) -> dict[str, Any]:
    """Where claims are from, and what decides them."""
    return {
        "source": papers.file(paper)["source"],
        "level": inference.LEVEL,
        "fewest_seeds": inference.FEWEST,
        "power": inference.POWER,
    }


def as_json(findings: Findings) -> dict[str, Any]:
    """claims.json."""
    return _head(papers.LOSSES) | {
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
                "contrasts": [
                    dataclasses.asdict(test.contrast)
                    | test.row()
                    | {
                        "published_effect": published_effect(test.contrast),
                        "of_papers_computing": findings.compute(one, test.contrast),
                    }
                    for test in one.tests
                ],
            }
            for one in findings.decided
        ],
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.claims", description=__doc__)
    parser.add_runs("runs", "directory of a finished loss ablation, or of a supervised study")
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
    if given.out and given.out.is_dir():
        raise ConfigError(f"--out={given.out}: a folder, name a file")
    if given.out and given.out.exists() and not _is_of_claims(given.out):
        raise ConfigError(f"--out={given.out}: another file has that name, choose a new one")
    out = given.out or Path(os.path.commonpath([run.resolve() for run in given.runs])) / FILE
    if studies := _supervised(given.runs):
        rows = supervised.rows(studies)
        print(of_results("Verdicts on the paper's claims", rows, decision.METHOD, digits=2).text())
        files.write_json(out, _head(papers.EFFICIENCY) | {"runs": [*studies], "claims": rows})
    else:
        _decide_losses(given.runs, out)
    print(f"written: {out}", file=sys.stderr)
    if not studies:
        page = f"--out={out.with_name('joint')}"
        suggest("as a page", "experiments.loss_report", *given.runs, page)


def _is_of_claims(path: Path) -> bool:
    """Whether this command wrote a file; so it may write it again."""
    with contextlib.suppress(ConfigError):
        found = files.read_json(path)
        return "claims" in found and "study" not in found
    return False


def _supervised(runs: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The results.json of supervised studies by directory; none where no run is one.

    ConfigError: other runs beside them.
    """
    finished = [run for run in runs if (run / workdir.RESULTS).is_file()]
    results = {str(run): workdir.read_results(run) for run in finished}
    known = {name: own for name, own in results.items() if own["study"] == supervised.STUDY}
    if known and (others := [str(run) for run in runs if str(run) not in known]):
        one = next(iter(known))
        raise ConfigError(
            f"{others[0]}: no finished run of {supervised.STUDY}, as {one} is: decide it apart"
        )
    return known


def _decide_losses(runs: Sequence[Path], out: Path) -> None:
    findings = decide(measured.load(runs))
    if not findings.decided:
        boards = joined(sorted({group.board for group in findings.groups}))
        print(f"the papers claim nothing about the losses on {boards}", file=sys.stderr)
    else:
        verdicts, contrasts = table(findings), details(findings)
        print(contrasts.text((0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11)), end="\n\n")
        print(verdicts.text((0, 2, 3, 4, 5, 6, 7, 8)), end="\n\n")
        print(verdicts.note)
    for missing in dict.fromkeys(m for one in findings.decided for m in one.missing):
        print(f"missing: {missing}", file=sys.stderr)
    files.write_json(out, as_json(findings))
