"""The first table of the page: the main findings of all studies, and the runs that each is from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from experiments.configs.arms import ARMS, PUBLISHED
from experiments.losses import arms_results
from experiments.losses.arms_effects import VALUE
from experiments.pages import style
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, game_title, interval, number
from experiments.results import findings, shown
from experiments.results.data import Recorded
from experiments.results.findings import Finding

# Of each paper the claims that its abstract or conclusion rests on (experiments/published).
MAIN: Final = (
    "value_best",
    "combination_lowest_loss",
    "training_elo_biased",
    "more_m",
    "outer_over_inner",
    "growing_more_efficient",
    "tree_no_gain",
    "faster_in_time",
    "faster_in_epochs",
)
_RIVAL: Final = "sum"  # of l_v among the arms


class _Row(NamedTuple):
    finding: str
    published: str | None
    corrected: str | None
    seeds: str
    seconds: float | None
    group: str  # of the runs
    runs: Sequence[Recorded]


def rows(groups: Mapping[str, Sequence[Recorded]], claims: Sequence[Finding]) -> Iterator[_Row]:
    """The main claims in order, after the first of them the defects that change its verdict."""
    for name in MAIN:
        tested = [one for one in claims if one.id == name and one.tested]
        for one in sorted(tested, key=findings.most_seeds, reverse=True):
            words = style.symbols(one.words.rstrip("."))
            verdicts = one.cell(findings.PUBLISHED), one.cell(findings.CORRECTED)
            yield _Row(words, *verdicts, findings.seeds(one), one.seconds, one.group, one.runs)
        if name == MAIN[0]:
            yield from _defects(groups)


def _defects(groups: Mapping[str, Sequence[Recorded]]) -> Iterator[_Row]:
    """The arms that decidedly change by how much l_v is above l_+."""
    for group, runs in groups.items():
        for study, effect in shown.arms_effects(runs):
            if (effect["kind"], effect["target"]) != ("change", _RIVAL) or not _decided(effect):
                continue
            arm = ARMS[effect["arm"]]
            own = [
                run
                for run in runs
                if run.kind == shown.ARMS
                and arms_results.alike(run.study, study)
                and (_has(run, effect["arm"]) or _has(run, arm.reference))
            ]
            ends = interval((effect["low"], effect["high"]))
            rivals = f"{style.label(VALUE)} less {style.label(_RIVAL)}"
            found = f"{rivals} changes by {number(effect['effect'])} Elo ({ends})"
            cell = f"**decided** ({game_title(study.game)}, {found})"
            as_published = arm.reference == PUBLISHED  # of which something is left out
            yield _Row(
                _words(effect["arm"]),
                cell if as_published else None,
                None if as_published else cell,
                number(effect["seeds"]),
                sum(shown.seconds(run.study) or 0.0 for run in own) or None,
                group,
                own,
            )


def _words(arm: str) -> str:
    """What an arm that changes the difference of the losses is."""
    meaning = ARMS[arm].meaning
    _, _, defects = meaning.partition(": ")
    theirs = "the published programs' behaviour"
    difference = style.symbols("the difference of l_v and l_+")
    return {
        "only": f"Of {theirs} this alone changes {difference}: {defects}",
        "without": f"Left out of {theirs}, this changes {difference}: {defects}",
    }.get(arm.partition("_")[0], f"What changes {difference}: {meaning}")


def _decided(effect: Mapping[str, Any]) -> bool:
    low, high = effect["low"], effect["high"]
    return low is not None and (low > 0 or high < 0)


def _has(run: Recorded, arm: str) -> bool:
    return arm in {one["name"] for one in run.study.results["arms"]}


def source(group: str, runs: Sequence[Recorded]) -> str:
    """Where runs stand with their commands, and which they are."""
    which = f"{len(runs)} runs" if len(runs) > 1 else runs[0].name
    return f"[{group}](results/recorded/{group}.md): {which}"


def main_table(groups: Mapping[str, Sequence[Recorded]], claims: Sequence[Finding]) -> Table:
    """A row for each main finding."""
    return table(
        "The main findings",
        rows(groups, claims),
        {
            "finding": lambda one: one.finding,
            "with the published programs' behaviour": lambda one: one.published,
            "corrected": lambda one: one.corrected,
            "seeds": lambda one: one.seeds,
            "time": lambda one: duration(one.seconds),
            "runs and their commands": lambda one: source(one.group, one.runs),
        },
        "Of each paper the claims that it rests on, wherever runs are recorded. Time: whole "
        "studies of losses and of the curriculum, else training alone.",
    )
