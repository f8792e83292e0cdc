"""What recorded runs found of the papers' claims, and of the training recipe's parts."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from experiments.claims import decision, measured, papers
from experiments.claims.decision import UNDECIDED, VERDICTS, Decided
from experiments.claims.losses import decide
from experiments.claims.wording import subject_of
from experiments.configs.recipe import PARTS, PREFIX
from experiments.pages import style
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, game_title, interval, joined, number, plural
from experiments.recipe import STUDY as RECIPE
from experiments.results import shown
from experiments.results.data import Recorded
from experiments.strength import recipe_report

CORRECTED: Final = "corrected"
PUBLISHED: Final = "published"
# By the beginning of a study's name, in the page's order.
SUBJECTS: Final[Mapping[str, str]] = {
    "loss_ablation": "The four losses",
    "hyperparameter": "Hyper-parameters",
    "connect_four": "Connect Four against perfect play",
    "curriculum": "The end of games first",
}
_FEW: Final = 3  # contrasts whose effects a cell has room for


class Verdict(NamedTuple):
    """Of a claim, from some recorded runs."""

    semantics: str  # of the runs
    verdict: str
    # as results.json has them: verdict, effect, interval, margin, seeds; and the board's title, and
    # in words what is compared (`subject`)
    contrasts: Sequence[Mapping[str, Any]]


class Finding(NamedTuple):
    """A claim, and what the runs of a group say of it."""

    group: str
    id: str  # of the claim, in experiments/published
    words: str
    where: Sequence[str]
    verdicts: Sequence[Verdict]
    runs: Sequence[Recorded]

    @property
    def study(self) -> str:
        """Its name."""
        return self.runs[0].kind

    @property
    def seconds(self) -> float | None:
        """Wall time of the runs; None where it was not recorded."""
        return sum(shown.seconds(run.study) or 0.0 for run in self.runs) or None

    @property
    def decided(self) -> bool:
        """Whether some contrast is."""
        return any(
            contrast["verdict"] != UNDECIDED for one in self.verdicts for contrast in one.contrasts
        )

    @property
    def tested(self) -> bool:
        """Whether all contrasts have seeds enough for an interval."""
        contrasts = [contrast for one in self.verdicts for contrast in one.contrasts]
        return bool(contrasts) and all(_has_interval(one) for one in contrasts)

    def cell(self, semantics: str) -> str | None:
        """The verdict in words with what it rests on; None without runs of that semantics."""
        verdicts = [one for one in self.verdicts if one.semantics.split(",")[0] == semantics]
        return "; ".join(map(_words, verdicts)) or None


def _has_interval(contrast: Mapping[str, Any]) -> bool:
    low, high = contrast["interval"] or (None, None)
    return low is not None and high is not None and math.isfinite(low) and math.isfinite(high)


def claims(groups: Mapping[str, Sequence[Recorded]]) -> list[Finding]:
    """All claims that recorded runs say something about, those about the losses first."""
    losses = [one for group, runs in groups.items() for one in _of_losses(group, runs)]
    return losses + [
        _as_recorded(group, row, judged)
        for group, runs in groups.items()
        for judged in shown.claims(runs)
        for row in judged.rows
    ]


def _of_losses(group: str, runs: Sequence[Recorded]) -> Iterator[Finding]:
    studies, boards = shown.of_losses(runs)
    by_claim: dict[str, list[Decided]] = {}
    for one in decide(boards).decided if boards else ():
        by_claim.setdefault(one.claim.id, []).append(one)
    for semantics in by_claim.values():
        claim = semantics[0].claim
        verdicts = [
            Verdict(
                one.semantics,
                one.verdict,
                [
                    test.row()
                    | {
                        "board": game_title(test.contrast.board),
                        "margin": test.contrast.margin,
                        "subject": subject_of(test.contrast),
                    }
                    for test in one.tests
                ],
            )
            for one in semantics
        ]
        asked = {board for one in semantics for t in one.tests for board in t.contrast.boards}
        own = [run for run in studies if not asked or run.study.game in asked]
        yield Finding(group, claim.id, claim.words, claim.where, verdicts, own)


def _as_recorded(group: str, row: Mapping[str, Any], judged: shown.Judged) -> Finding:
    used = row.get("directories") or [run.name for run in judged.runs]
    runs = [run for run in judged.runs if run.name in used]
    played = {one["name"]: one["title"] for one in runs[0].study.tournaments}
    pool = played.get(judged.tournament, judged.tournament)
    title = ", ".join(filter(None, (game_title(runs[0].study.game), pool[:1].lower() + pool[1:])))
    contrasts = [
        {"board": title, "subject": subject_of(papers.contrast(contrast)), **contrast}
        for contrast in row.get("contrasts", [row])
    ]
    known = [one for one in contrasts if one.get("effect") is not None]
    semantics = row.get("semantics") or measured.semantics(runs[0].study)
    verdict = Verdict(semantics, row["verdict"], known)
    return Finding(group, row["id"], row["words"], row["where"], [verdict], runs)


def _words(one: Verdict) -> str:
    """`**contradicted** (Connect Four 5x5, tournament Elo: lv - l+ = -67 (-111 to -24))`.

    Of many contrasts only the verdicts.
    """
    by_board: dict[str, list[Mapping[str, Any]]] = {}
    for contrast in one.contrasts:
        by_board.setdefault(contrast["board"], []).append(contrast)
    few = len(one.contrasts) <= _FEW
    boards: dict[str, list[str]] = {}
    for board, contrasts in by_board.items():
        together = _effects(contrasts) if few else decision.all_of(c["verdict"] for c in contrasts)
        boards.setdefault(together, []).append(board)
    if len(boards) == 1 and not few:  # all boards alike
        alike = {contrast["verdict"] for contrast in one.contrasts} == {one.verdict}
        boards = {"" if alike else _counts(one.contrasts): list(by_board)}
    after = ", " if few else ": "
    parts = [after.join(filter(None, [joined(n), words])) for words, n in boards.items()]
    settings = one.semantics.partition(", ")[2]
    return f"**{one.verdict}** ({'; '.join(filter(None, [settings, *parts]))})"


def _effects(contrasts: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(map(_effect, contrasts))


def _counts(contrasts: Sequence[Mapping[str, Any]]) -> str:
    """`1 reproduced, 3 undecided`."""
    counts = Counter(contrast["verdict"] for contrast in contrasts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def _effect(test: Mapping[str, Any]) -> str:
    """`tournament Elo: lv - l+ = -67 (-111 to -24)`, as many digits as its margin tells apart."""
    if test["effect"] is None:
        return f"{test['subject']}: no runs"
    margin = test["margin"]
    digits = 0 if margin >= 1 else 2 if margin >= 0.1 else 3
    effect = number(float(test["effect"]), digits)
    ends = f" ({interval(test['interval'], digits)})" if _has_interval(test) else ""
    return f"{test['subject']} = {effect}{ends}"


def _papers(where: Sequence[str]) -> str:
    """`Wang 2019, 2020` of where a claim stands."""
    years: dict[str, dict[str, None]] = {}
    for place in where:
        name, _, year = place.split(",")[0].rpartition(" ")
        years.setdefault(name, {})[year] = None
    return "; ".join(f"{name} {', '.join(sorted(known))}" for name, known in years.items())


def seeds(one: Finding) -> str:
    """Of the contrasts, the fewest and the most."""
    counts = _seeds(one)
    return " to ".join(map(number, sorted({min(counts), max(counts)}))) if counts else NONE


def most_seeds(one: Finding) -> int:
    """Of a contrast."""
    return max(_seeds(one), default=0)


def _seeds(one: Finding) -> list[int]:
    contrasts = [contrast for verdict in one.verdicts for contrast in verdict.contrasts]
    return [contrast["seeds"] for contrast in contrasts if contrast.get("seeds")]


def claims_tables(findings: Sequence[Finding]) -> list[Table]:
    """The claims of which some contrast is decided, a table for each subject."""
    tables = []
    for begins, title in SUBJECTS.items():
        decided = [one for one in findings if one.study.startswith(begins) and one.decided]
        both = any(one.cell(PUBLISHED) for one in decided)
        published = {"with the published programs' behaviour": lambda one: one.cell(PUBLISHED)}
        columns = {
            "claim": lambda one: style.symbols(one.words.rstrip(".")),
            "papers": lambda one: _papers(one.where),
            **(published if both else {}),
            CORRECTED: lambda one: one.cell(CORRECTED),
            "seeds": seeds,
            "runs": lambda one: f"[{one.group}](recorded/{one.group}.md)",
        }
        if decided:
            tables.append(table(title, decided, columns))
    return tables


def counted(findings: Sequence[Finding]) -> str:
    """How many verdicts there are of each kind."""
    verdicts = Counter(verdict.verdict for one in findings for verdict in one.verdicts)
    counts = [
        f"{verdicts[name]} {name}" for name in (*VERDICTS, *sorted({*verdicts} - {*VERDICTS}))
    ]
    return (
        "In brackets: effects with the intervals that decide, verdicts where contrasts are many. "
        f"All {plural(sum(verdicts.values()), 'verdict')} ({', '.join(counts)}), each contrast and "
        "where the papers have it: [recorded runs](recorded/index.md)."
    )


class _Earned(NamedTuple):
    """What a part of the training recipe does to a measure."""

    part: str
    measure: str
    board: str
    verdict: str  # helps, harms or undecided
    effect: str  # with the interval that decides
    seeds: int
    link: str


def _earned(group: str, run: Recorded) -> Iterator[_Earned]:
    rows, _ = recipe_report.compared(run.study.results)
    for measure, row in ((measure, row) for measure, its in rows.items() for row in its):
        effect, ends = row.estimate.effect, interval(row.interval, measure.digits)
        part = PARTS.get(row.arm.removeprefix(PREFIX))
        yield _Earned(
            part.meaning if part else f"the recipe against {row.name}",
            measure.title,
            run.study.game,
            ("helps" if effect > 0 else "harms") if row.decided else UNDECIDED,
            f"{number(effect, measure.digits)} ({ends})",
            row.estimate.seeds,
            f"[{run.kind}](results/recorded/{group}.md)",
        )


def recipe_table(groups: Mapping[str, Sequence[Recorded]]) -> Table:
    """By which measures a part of the training recipe helps or harms."""
    runs = [
        (group, run) for group, recorded in groups.items() for run in recorded if run.kind == RECIPE
    ]
    parts = [one for group, run in runs for one in _earned(group, run)]
    undecided = sum(one.verdict == UNDECIDED for one in parts)
    return table(
        "Parts of the training recipe, each left out in turn",
        [one for one in parts if one.verdict != UNDECIDED],
        {
            "part": lambda one: one.part,
            "measure": lambda one: one.measure,
            "board": lambda one: game_title(one.board),
            "verdict": lambda one: f"**{one.verdict}**",
            "by": lambda one: one.effect,
            "seeds": lambda one: number(one.seeds),
            "study": lambda one: one.link,
        },
        f"{plural(undecided, 'other contrast')} {'is' if undecided == 1 else 'are'} undecided. "
        "A positive number: the part helps, also where it lowers an error. Intervals: corrected "
        "over the parts, for each board and measure.",
    )
