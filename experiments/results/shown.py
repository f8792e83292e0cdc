"""What the page shows of recorded runs: tables and figures, by study."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from matplotlib.figure import Figure
from ml_collections import ConfigDict

from experiments.arms import STUDY as ARMS
from experiments.claims import measured, supervised
from experiments.claims import section as claims_section
from experiments.claims.losses import decide
from experiments.claims.supervised import STUDY as SUPERVISED
from experiments.connect_four import claims as connect_four_claims
from experiments.connect_four import (
    efficiency_report,
    extension_figures,
    extensions_report,
    supervised_report,
)
from experiments.connect_four_efficiency import STUDY as EFFICIENCY
from experiments.connect_four_extensions import STUDY as EXTENSIONS
from experiments.curriculum import STUDY as CURRICULUM
from experiments.endgame import claims as curriculum_claims
from experiments.endgame import report as curriculum_report
from experiments.hyperparameter_correlation import STUDY as CORRELATION
from experiments.hyperparameter_sweep import STUDY as SWEEP
from experiments.hyperparameters import correlation_report, sweep_report
from experiments.losses import (
    arms_figures,
    arms_report,
    arms_results,
    joint_figures,
)
from experiments.losses.arms_results import ArmsStudy
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import ABSENT, duration, joined
from experiments.recipe import STUDY as RECIPE
from experiments.results import boards as strength
from experiments.results.data import Recorded
from experiments.strength import recipe_report

Figures = Mapping[str, tuple[str, Callable[[], Figure | None]]]  # title and what draws it, by name


def _recipe_tables(study: Study) -> list[Table]:
    rows, at = recipe_report.compared(study.results)
    arms = recipe_report.arms_table(study.results, at)
    return [*recipe_report.earned_tables(rows, at), arms]


def _recipe_figures(study: Study) -> Figures:
    rows, _ = recipe_report.compared(study.results)
    draw = functools.partial(recipe_report.effects, rows)
    return {"": ("what the parts of the recipe earn", draw)}


def _arms_figures(study: Study) -> Figures:
    arms = ArmsStudy(study.name, study.results, {})
    draw: dict[str, Callable[[ArmsStudy], Figure | None]] = {}
    if len(arms.names) <= arms_figures.COLUMNS:
        draw[""] = arms_figures.final
    if study.results.get("judged_as_published"):
        draw["defects"] = arms_figures.defects
    titles = {"": arms_report.STRENGTH_TITLE, "defects": arms_report.DEFECTS_TITLE}
    return {name: (titles[name], functools.partial(one, arms)) for name, one in draw.items()}


def _extensions_figures(study: Study) -> Figures:
    ours, theirs = extensions_report.lines(study.results)
    return {
        one.name: (
            one.title,
            functools.partial(
                extension_figures.comparison, ours, theirs, one.arms, diversity=one.diversity
            ),
        )
        for one in extension_figures.shown(ours)
    }


def _sweep_figures(study: Study) -> Figures:
    [played] = study.tournaments
    draw = functools.partial(sweep_report.strength, study.results["sweep"]["parameters"], played)
    return {
        "losses": ("training loss", functools.partial(sweep_report.losses, study)),
        "strength": ("strength of the final networks", draw),
    }


def _correlation_tables(study: Study) -> list[Table]:
    tables = []
    for played in study.tournaments:
        found = study.results["correlation"][played["name"]]
        own = (
            correlation_report.model(found["model"]),
            correlation_report.interactions(study, played),
            correlation_report.fronts(found["fronts"]),
        )
        tables += [replace(one, title=f"{one.title}, {played['title']}") for one in own]
    return tables


def _correlation_figures(study: Study) -> Figures:
    return {
        f"{played['name']}_{name}": (
            f"{title}, {played['title']}",
            functools.partial(draw, study, played),
        )
        for played in study.tournaments
        for name, title, draw in (
            ("panels", "Elo over m and ep", correlation_report.panels),
            ("fronts", "Pareto fronts", correlation_report.front_panels),
        )
    }


def _curriculum_tables(study: Study) -> list[Table | None]:
    results = study.results
    points = curriculum_report.points_of(results)
    return [curriculum_report.ratio_table(ConfigDict(results["config"]), points)]


def _curriculum_figures(study: Study) -> Figures:
    config = ConfigDict(study.results["config"])
    points = curriculum_report.points_of(study.results)
    draw = functools.partial(curriculum_report.win_ratios, config, points)
    return {"": ("win ratio", draw)}


class _Study(NamedTuple):
    """What is shown of a study's runs, each by itself."""

    tables: Callable[[Study], Sequence[Table | None]]
    figures: Callable[[Study], Figures]


_STUDIES: Final[Mapping[str, _Study]] = {
    ARMS: _Study(
        lambda study: arms_report.tables(ArmsStudy(study.name, study.results, {})),
        _arms_figures,
    ),
    RECIPE: _Study(_recipe_tables, _recipe_figures),
    EFFICIENCY: _Study(
        lambda study: efficiency_report.tables(study.results),
        lambda study: efficiency_report.figures(study.results),
    ),
    SUPERVISED: _Study(lambda study: [supervised_report.accuracies(study.results)], lambda _: {}),
    EXTENSIONS: _Study(lambda study: extensions_report.tables(study.results), _extensions_figures),
    SWEEP: _Study(
        lambda study: [sweep_report.table_3(study), sweep_report.table_4(study)], _sweep_figures
    ),
    CORRELATION: _Study(_correlation_tables, _correlation_figures),
    CURRICULUM: _Study(_curriculum_tables, _curriculum_figures),
}

KINDS: Final = (measured.STUDY, *_STUDIES)


_UNPACK: Final = (
    "`python -m zipfile -e networks.zip runs` unpacks networks to a run directory, which "
    "`experiments.tournament`, `experiments.absolute_strength` and `jaxzero.play` take."
)


def tables(runs: Sequence[Recorded]) -> Iterator[Table]:
    """Of a group: what was run, and what came out."""
    some = any(one.networks for one in runs)
    yield table(
        "Runs",
        runs,
        {
            "run": lambda one: one.name,
            "study": lambda one: one.kind,
            "board": lambda one: one.study.game,
            "semantics": _semantics,
            "seeds": lambda one: str(len({r["seed"] for r in _runs(one.study)})),
            "wall time": lambda one: duration(seconds(one.study)),
            "device": lambda one: _environment(one.study, "device"),
            "commit": lambda one: _environment(one.study, "commit"),
            **({"networks": _networks} if some else {}),
            "command": lambda one: f"`{one.study.results.get('command') or ABSENT}`",
        },
        _UNPACK if some else "",
    )
    _, boards = of_losses(runs)
    if boards:
        findings = decide(boards)
        tests = [test for one in findings.decided for test in one.tests]
        if findings.decided:
            yield claims_section.table(findings)
        if any(test.estimate and test.estimate.tested for test in tests):  # seeds enough
            yield claims_section.details(findings)
        yield joint_figures.ratings(boards)
        if courses := strength.courses(boards):
            yield strength.course_table(courses)
        yield from strength.exact_tables(boards)
    shown = list(_shown(runs))
    kinds = [one.kind for one in shown]
    for one in shown:
        which = f", {one.name}" if kinds.count(one.kind) > 1 else ""
        for made in filter(None, _STUDIES[one.kind].tables(one.study)):
            yield replace(made, title=f"{made.title}{which}")
    for judged in claims(runs):
        names = joined([one.name for one in judged.runs])
        title = f"{names} {judged.tournament}".strip()
        yield claims_section.of_results(title, judged.rows, "")


def _semantics(one: Recorded) -> str:
    """Arms have each its own."""
    known = one.study.setting("semantics")
    return "by arm" if known and one.kind == ARMS else str(known or ABSENT)


class Judged(NamedTuple):
    """Claims, and the runs that they were decided from."""

    runs: Sequence[Recorded]
    tournament: str  # of the run, where it has several
    rows: Sequence[Mapping[str, Any]]  # as results.json has them


def claims(runs: Sequence[Recorded]) -> Iterator[Judged]:
    """All of a group but those about losses: supervised runs together, every other by itself."""
    together = [one for one in runs if one.kind == SUPERVISED]
    if together:
        results = {one.name: one.study.results for one in together}
        yield Judged(together, "", supervised.rows(results))
    for run in runs:
        if run.kind != SUPERVISED:
            for tournament, rows in _by_tournament(run).items():
                if rows:  # one player alone has no claim on two
                    yield Judged([run], tournament, rows)


def _by_tournament(run: Recorded) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The claims of a run by itself, by its tournament if it has several, decided from its data."""
    results = run.study.results
    if run.kind.startswith(connect_four_claims.PREFIX):
        return {"": connect_four_claims.rows(results)}
    if run.kind == SWEEP:
        return {"": sweep_report.remarks(run.study)}
    if run.kind == CURRICULUM:
        config, points = ConfigDict(results["config"]), curriculum_report.points_of(results)
        return {"": curriculum_claims.as_json(curriculum_claims.decide(config, points))}
    return correlation_report.claims(run.study) if run.kind == CORRELATION else {}


def of_losses(
    runs: Sequence[Recorded],
) -> tuple[list[Recorded], tuple[measured.BoardStudies, ...]]:
    """The runs of the loss study, and what they measured together."""
    own = [one for one in runs if one.kind == measured.STUDY]
    return own, measured.together((Path(one.name), one.study) for one in own)


def _shown(runs: Sequence[Recorded]) -> Iterator[Recorded]:
    """The runs with tables and figures of their own; of arms those that go together as one."""
    arms = [one for one in runs if one.kind == ARMS]
    for study in arms_results.together([one.study for one in arms]):
        yield Recorded(study.name, study)
    yield from (one for one in runs if one.kind in _STUDIES and one.kind != ARMS)


def arms_effects(runs: Sequence[Recorded]) -> Iterator[tuple[Study, Mapping[str, Any]]]:
    """What the arms of a group change, as results.json has it, with the study."""
    for one in _shown(runs):
        if one.kind == ARMS:
            yield from ((one.study, effect) for effect in one.study.results.get("effects") or ())


def _runs(study: Study) -> list[Mapping[str, Any]]:
    """Of the whole study, or of its first arm or group of networks."""
    results = study.results
    if groups := results.get("groups"):
        return [{"seed": seed} for seed, _ in enumerate(groups[0]["seeds"])]
    return results.get("runs") or results["arms"][0]["runs"]


def seconds(study: Study) -> float | None:
    """Wall time of all trainings; None where it was not recorded."""
    arms = study.results.get("arms") or []
    cost = study.results.get("cost") or {}
    return cost.get("wall_seconds") or sum(map(_arm_seconds, arms)) or None


def _arm_seconds(arm: Mapping[str, Any]) -> float:
    if "seconds" in arm:
        return float(arm["seconds"])
    if "cost" in arm:
        return float(arm["cost"]["wall_seconds"])
    return max((run["points"][-1]["seconds"] for run in arm["runs"]), default=0.0)


def _networks(one: Recorded) -> str:
    """A link to the archive, from the pages in docs/results/recorded."""
    if one.networks is None:
        return ABSENT
    mib = one.networks.stat().st_size / 2**20
    *_, data, group, name, file = one.networks.parts
    return f"[{mib:.1f} MiB](../{data}/{group}/{name}/{file})"


def _environment(study: Study, key: str) -> str:
    return str((study.results.get("environment") or {}).get(key) or ABSENT)


class Drawing(NamedTuple):
    """A figure of a group: its file below docs/results, its title, what draws it."""

    file: str
    title: str
    draw: Callable[[], Figure | None]


def drawings(group: str, runs: Sequence[Recorded]) -> list[Drawing]:
    """The tournaments of all runs of the losses, and each other run's figures."""
    found = []
    _, boards = of_losses(runs)
    if boards:
        together = functools.partial(joint_figures.tournaments, boards)
        found.append(Drawing(f"recorded/{group}.svg", f"tournaments of {group}", together))
    for one in _shown(runs):
        for name, (title, draw) in _STUDIES[one.kind].figures(one.study).items():
            parts = filter(None, (group, one.name, name))
            found.append(
                Drawing(f"recorded/{'_'.join(parts)}.svg", f"{title}, {one.study.game}", draw)
            )
    return found
