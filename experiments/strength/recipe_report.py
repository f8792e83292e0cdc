"""The report of the recipe's parts: what each earned, with its interval, and every arm's curve."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.claims import decision
from experiments.claims.earned import (
    Arm,
    Earned,
    Measure,
    by_seed,
    earned,
    earned_table,
    shared_evaluations,
)
from experiments.configs.recipe import WHOLE
from experiments.pages import page, record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, game_title, joined, mean_and_error, number, plural
from jaxzero import workdir

MEASURES: Final = (
    Measure("search", "moves kept with search, %", 100, 1),
    Measure("network", "moves kept by the network alone, %", 100, 1),
    Measure("value_error", "squared error of the value", 1, 3, -1),
)
Rows = Mapping[Measure, Sequence[Earned]]


def build(directory: Path) -> Page:
    """The page of a finished study, figures drawn, nothing written yet."""
    results = workdir.read_results(directory)
    rows, at = compared(results)
    asked = results["positions"]
    config = results["config"]
    return Page(
        title=f"What the recipe's parts earn: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}",
        headline=headline(rows[MEASURES[0]]),
        lead="earned",
        verdicts=sentences(rows, at),
        missing=(),  # a run that fails ends the study
        facts=[
            ("Training", f"{record.budget(config)}, {plural(config['study']['seeds'], 'seed')}"),
            ("Time", duration(sum(arm["seconds"] for arm in results["arms"]))),
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
                *earned_tables(rows, at),
            ),
            section(
                "Every arm",
                plate("curves", curves(results["arms"]), "By evaluations", "Mean over seeds."),
                arms_table(results, at),
            ),
        ],
    )


def compared(results: Mapping[str, Any]) -> tuple[Rows, float]:
    """What every part earned by measure, and at how many evaluations of self-play."""
    arms: dict[str, Arm] = {arm["arm"]: arm for arm in results["arms"]}
    at = shared_evaluations(arms.values())
    return {measure: earned(arms, WHOLE, measure, at) for measure in MEASURES}, at


def earned_tables(rows: Rows, at: float) -> list[Table]:
    """A table for each measure."""
    return [earned_table(own, WHOLE, measure, at) for measure, own in rows.items()]


_CAPTION: Final = (
    "Each point: the recipe less an arm at equal evaluations of self-play, mean over seeds, with "
    "the interval that decides it. Right of the line the recipe is better. Error of the value: the "
    "arm's less the recipe's."
)


def headline(rows: Sequence[Earned]) -> str:
    """The parts that helped the search, or that more seeds are needed."""
    if few := decision.too_few(max((row.estimate.seeds for row in rows), default=0)):
        return f"Undecided what a part earns: {few}."
    helped = [row.name for row in rows if row.interval[0] > 0]
    hurt = [row.name for row in rows if row.interval[1] < 0]
    lines = [f"The recipe plays better than {joined(helped)}."] if helped else []
    lines += (
        [f"{'It' if helped else 'The recipe'} plays worse than {joined(hurt)}."] if hurt else []
    )
    return " ".join(lines) or "Whether any part helps the search is undecided."


def sentences(rows: Rows, evaluations: float) -> list[str]:
    """By measure, the arms that differ from the recipe, the largest difference first."""
    lines = [f"All arms are compared at {number(round(evaluations))} evaluations of self-play."]
    for measure, found in rows.items():
        own = [(row.name, row.estimate.effect) for row in found if row.decided]
        own.sort(key=lambda named: -abs(named[1]))
        parts = [f"{name} {number(effect, measure.digits)}" for name, effect in own]
        if parts:
            better = "recipe less arm" if measure.sign > 0 else "arm less recipe"
            lines.append(f"{measure.title.capitalize()}, {better}: {'; '.join(parts)}.")
    return lines


class _Row(NamedTuple):
    """Of the table of arms: an arm, or players that learned nothing."""

    name: str
    what: str
    values: Mapping[Measure, str | None]
    seconds: float | None


def arms_table(results: Mapping[str, Any], evaluations: float) -> Table:
    """Every arm at equal evaluations, what its training took, and players that learned nothing."""
    arms, positions = results["arms"], results["positions"]
    rows = [
        _Row(arm["arm"], arm["meaning"], _means(arm, evaluations), arm["seconds"]) for arm in arms
    ]
    [whole] = [arm for arm in arms if arm["arm"] == WHOLE]
    rows.append(_Row("untrained", "the recipe's networks at first", _means(whole, 0.0), None))
    if "constant_error" in positions:  # older files have no baselines
        kept, error = 100 * positions["random"], positions["constant_error"]
        trivial = {m: number(kept if m.sign > 0 else error, m.digits) for m in MEASURES}
        rows.append(_Row("random", "random moves; value: the best constant", trivial, None))
    return table(
        "Arms",
        rows,
        {
            "arm": lambda row: row.name,
            "what": lambda row: row.what,
            **{m.title: lambda row, measure=m: row.values[measure] for m in MEASURES},
            "time of all runs": lambda row: None if row.seconds is None else duration(row.seconds),
        },
        text_columns=2,
    )


def _means(arm: Arm, evaluations: float) -> dict[Measure, str | None]:
    return {m: mean_and_error([*by_seed(arm, m, evaluations).values()], m.digits) for m in MEASURES}


@style.styled
def effects(rows: Rows) -> Figure:
    """Differences with their intervals, a panel for each measure."""
    count = len(rows[MEASURES[0]])
    figure, panels = style.new_figure(len(rows), panel=(3.6, 0.8 + 0.22 * count))
    for axes, (measure, found) in zip(panels, rows.items(), strict=True):
        for place, row in enumerate(reversed(found)):
            shade = style.PALETTE[0] if row.decided else style.FAINT
            axes.plot(row.interval, [place, place], color=shade, linewidth=1.5)
            axes.plot([row.estimate.effect], [place], "o", color=shade, markersize=5)
        axes.axvline(0, color=style.FAINT, linewidth=0.8)
        axes.set_yticks(range(count), [row.name for row in reversed(found)])
        axes.set_xlabel(measure.title)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    return figure


@style.styled
def curves(arms: Sequence[Arm]) -> Figure:
    """Every measure by evaluations, mean over the seeds of an arm."""
    figure, panels = style.new_figure(len(MEASURES), panel=(3.6, 3.2))
    for axes, measure in zip(panels, MEASURES, strict=True):
        for place, arm in enumerate(arms):
            points = [run["points"] for run in arm["runs"]]
            x, y = (
                np.mean([[p[key] for p in own] for own in points], axis=0)
                for key in ("evaluations", measure.key)
            )
            strong = arm["arm"] == WHOLE
            axes.plot(
                x / 1e6,
                y * measure.scale,
                **style.line(place),
                linewidth=2.4 if strong else 1.0,
                alpha=1.0 if strong else 0.7,
                zorder=3 if strong else 2,
                label=arm["arm"].replace("_", " "),
            )
        axes.set_xlabel("evaluations of self-play, millions")
        axes.set_ylabel(measure.title)
    style.legend_below(figure, [*panels[0].get_lines()], columns=4)
    return figure
