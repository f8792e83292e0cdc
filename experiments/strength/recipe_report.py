"""The report of the recipe's parts: what each earned, with its interval, and every arm's curve."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.claims import decision, inference
from experiments.claims.decision import Tested
from experiments.claims.papers import Contrast
from experiments.configs.recipe import WHOLE
from experiments.pages import learning_section, page, record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    duration,
    game_title,
    interval,
    joined,
    mean_and_error,
    number,
    plural,
    plus_minus,
)
from jaxzero import workdir


class Measure(NamedTuple):
    """What networks are compared by: its name, how it is shown, and +1 where more is better."""

    title: str
    scale: float
    digits: int
    sign: int


MEASURES: Final = {
    "search": Measure("moves kept with search, %", 100, 1, 1),
    "network": Measure("moves kept by the network alone, %", 100, 1, 1),
    "value_error": Measure("squared error of the value", 1, 3, -1),
}
Arm = Mapping[str, Any]  # of `results.json`


class Earned(NamedTuple):
    """The recipe less an arm, by one measure; positive where the recipe is better."""

    arm: str
    measure: str
    test: Tested


def write_report(directory: Path) -> Path:
    """Writes figures and page of a finished study; returns the page's path."""
    results = workdir.read_json(directory / workdir.RESULTS)
    arms: list[Arm] = results["arms"]
    at = shared_evaluations(arms)
    rows = earned(arms, at)
    asked = results["positions"]
    config = results["config"]
    built = Page(
        title=f"What the recipe's parts earn: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        headline=headline(rows),
        lead="earned",
        verdicts=sentences(rows, at),
        missing=record.failures(results),
        facts=[
            (
                "Training",
                f"{plural(config['train']['iterations'], 'iteration')} of "
                f"{number(config['selfplay']['episodes'])} games, "
                f"{config['search']['num_simulations']} simulations a move, "
                f"{plural(config['study']['seeds'], 'seed')}",
            ),
            ("Time", duration(sum(arm["seconds"] for arm in arms))),
            (
                "Test positions",
                f"{number(asked['number'])}, in {number(asked['contested'])} of which some move "
                f"gives the result away; PUCT with {asked['simulations']} simulations, without "
                "noise and known results, the same for all",
            ),
            *record.software(results),
            *page.origin(results),
        ],
        sections=[
            section(
                "What each part earned",
                plate("earned", effects(rows), "The recipe less the recipe without", _CAPTION),
                *(earned_table(rows, measure) for measure in MEASURES),
            ),
            section(
                "Every arm",
                plate("curves", curves(arms), "By evaluations", "Mean over seeds."),
                arms_table(arms, at),
            ),
        ],
    )
    return page.write(learning_section.added(built, directory), directory)


_CAPTION: Final = (
    "Each point: the recipe less an arm at equal evaluations of self-play, mean over seeds, with "
    "the interval that decides it. Right of the line the recipe is better. Error of the value: the "
    "arm's less the recipe's."
)


def shared_evaluations(arms: Sequence[Arm]) -> float:
    """The evaluations of self-play that all runs reached."""
    reached = [run["points"][-1]["evaluations"] for arm in arms for run in arm["runs"]]
    return float(min(reached))


def value_at(run: Mapping[str, Any], measure: str, evaluations: float) -> float:
    """A run's measure at a number of evaluations, by interpolation, as it is shown."""
    points = run["points"]
    x, y = ([p[key] for p in points] for key in ("evaluations", measure))
    return float(np.interp(evaluations, x, y)) * MEASURES[measure].scale


def by_seed(arm: Arm, measure: str, evaluations: float) -> dict[int, float]:
    """A measure of every run of an arm, by seed."""
    return {run["seed"]: value_at(run, measure, evaluations) for run in arm["runs"]}


def earned(arms: Sequence[Arm], evaluations: float) -> list[Earned]:
    """What the recipe has over every other arm; the arms of a measure are corrected together."""
    named = {arm["arm"]: arm for arm in arms}
    others = [name for name in named if name != WHOLE]
    found = []
    for measure, shown in MEASURES.items():
        values = {name: by_seed(arm, measure, evaluations) for name, arm in named.items()}
        sides = [(values[WHOLE], values[name])[:: shown.sign] for name in others]
        estimates = [inference.difference(plus, minus) for plus, minus in sides]
        tests = decision.decide([Contrast()] * len(others), estimates)
        found += [Earned(name, measure, t) for name, t in zip(others, tests, strict=True)]
    return found


def headline(rows: Sequence[Earned]) -> str:
    """The parts that surely helped the search, or that more seeds are needed."""
    tested = [row for row in rows if row.measure == "search"]
    if not any(row.test.estimate and row.test.estimate.tested for row in tested):
        return f"{inference.FEWEST} seeds or more are needed to say what a part earns."
    helped = [in_words(row) for row in tested if row.test.interval[0] > 0]
    hurt = [in_words(row) for row in tested if row.test.interval[1] < 0]
    said = f"The recipe plays better than {joined(helped)}." if helped else ""
    return (
        f"{said} It plays worse than {joined(hurt)}." if hurt else said
    ) or "No part alone can be missed in the moves of the search."


def in_words(row: Earned) -> str:
    """An arm's name in a sentence."""
    return row.arm.replace("_", " ")


def sentences(rows: Sequence[Earned], evaluations: float) -> list[str]:
    """By measure, the arms that differ from the recipe, the largest difference first."""
    said = [f"All arms are compared at {number(round(evaluations))} evaluations of self-play."]
    for measure, shown in MEASURES.items():
        own = [row for row in rows if row.measure == measure and decided(row)]
        own.sort(key=lambda row: -abs(effect(row)))
        parts = [f"{in_words(row)} {number(effect(row), shown.digits)}" for row in own]
        if parts:
            said.append(f"{shown.title.capitalize()}; the recipe is ahead of: {'; '.join(parts)}.")
    return said


def decided(row: Earned) -> bool:
    """Whether its interval leaves out 0."""
    low, high = row.test.interval
    return low > 0 or high < 0


def effect(row: Earned) -> float:
    """The recipe less the arm, positive where the recipe is better."""
    assert row.test.estimate is not None
    return row.test.estimate.effect


def earned_table(rows: Sequence[Earned], measure: str) -> Table:
    """A row for each arm, by one measure."""
    shown = MEASURES[measure]
    return table(
        f"The recipe is ahead: {shown.title}",
        [row for row in rows if row.measure == measure],
        {
            "of": in_words,
            "by": lambda row: plus_minus(effect(row), row.test.estimate.stderr, shown.digits),
            "interval": lambda row: interval(row.test.interval, shown.digits),
            "seeds": lambda row: number(row.test.estimate.seeds),
        },
        f"\N{PLUS-MINUS SIGN}: standard error over seeds. {decision.METHOD} All rows are read "
        "together.",
    )


def arms_table(arms: Sequence[Arm], evaluations: float) -> Table:
    """Every arm at equal evaluations, and what its training took."""
    measured = {
        shown.title: lambda arm, m=measure, d=shown.digits: mean_and_error(
            [*by_seed(arm, m, evaluations).values()], d
        )
        for measure, shown in MEASURES.items()
    }
    return table(
        "Arms",
        arms,
        {
            "arm": lambda arm: arm["arm"],
            "what": lambda arm: arm["meaning"],
            **measured,
            "time of all runs": lambda arm: duration(arm["seconds"]),
        },
        text_columns=2,
    )


@style.styled
def effects(rows: Sequence[Earned]) -> Figure:
    """Differences with their intervals, a panel for each measure."""
    figure, panels = style.new_figure(
        len(MEASURES), panel=(3.6, 0.8 + 0.22 * len(rows) / len(MEASURES))
    )
    for axes, (measure, shown) in zip(panels, MEASURES.items(), strict=True):
        own = [row for row in rows if row.measure == measure][::-1]
        for place, row in enumerate(own):
            shade = style.PALETTE[0] if decided(row) else style.FAINT
            low, high = row.test.interval
            axes.plot([low, high], [place, place], color=shade, linewidth=1.5)
            axes.plot([effect(row)], [place], "o", color=shade, markersize=5)
        axes.axvline(0, color=style.FAINT, linewidth=0.8)
        axes.set_yticks(range(len(own)), [in_words(row) for row in own])
        axes.set_xlabel(shown.title)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    return figure


@style.styled
def curves(arms: Sequence[Arm]) -> Figure:
    """Every measure by evaluations, mean over the seeds of an arm."""
    figure, panels = style.new_figure(len(MEASURES), panel=(3.6, 3.2))
    for axes, (measure, shown) in zip(panels, MEASURES.items(), strict=True):
        for arm in arms:
            points = [run["points"] for run in arm["runs"]]
            x, y = (
                np.mean([[p[key] for p in own] for own in points], axis=0)
                for key in ("evaluations", measure)
            )
            strong = arm["arm"] == WHOLE
            axes.plot(
                x / 1e6,
                y * shown.scale,
                color=style.PALETTE[0] if strong else None,
                linewidth=2.4 if strong else 1.0,
                alpha=1.0 if strong else 0.7,
                zorder=3 if strong else 2,
                label=arm["arm"].replace("_", " "),
            )
        axes.set_xlabel("evaluations of self-play, millions")
        axes.set_ylabel(shown.title)
    style.legend_below(figure, [*panels[0].get_lines()], columns=4)
    return figure
