"""Cost in the report of a loss study: phases, model against clock, strength for its cost."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.claims import inference
from experiments.costs.cost_strength import MEASURES
from experiments.pages import draw, style
from experiments.pages.page import Section, plate, section
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    NONE,
    duration,
    interval,
    maybe,
    number,
    plural,
    plus_minus,
    short,
)

SOURCE: Final = "measured_cost"  # where `study.load` puts cost.json
PHASES: Final = {
    "selfplay": ("self-play", "#4477AA"),
    "training": ("training", "#CCBB44"),
    "arena": ("arena", "#AA3377"),
    "measuring": ("measuring losses", "#BBBBBB"),
}
_LOOP: Final = ("selfplay", "training", "arena")  # what Equation 2 knows
_TITLE: Final = "Cost and strength for it"
_POINTS = 40


def section_of(study: Study) -> Section:
    """What `experiments.cost` measured; empty where it was not run."""
    cost = study.results.get(SOURCE)
    if not cost:
        return section(_TITLE)
    timed = cost["calibration"]
    elsewhere = (
        f" Trained on {cost['trained_on']}: clock and calibration are of different devices."
        if cost["trained_on"] not in (None, timed["device"])
        else ""
    )
    return section(
        _TITLE,
        plate(
            "cost",
            phases_figure(study, cost),
            "Where the time goes",
            "Left: mean seconds of a run alone, by phase: its own evaluations, minibatches and "
            f"iterations, counted, times the seconds of one, timed on {timed['device']} with each "
            "phase compiled alone (Wang 2020, section 4.4, Equation 2). Right: the same for all "
            "runs together against the wall time that training took, both from the end of "
            f"iteration 1.{elsewhere}",
        ),
        plate(
            "strength_cost",
            strength_figure(study, cost["courses"], cost["equal_cost"]),
            "Strength for its cost",
            "Elo above the random player against what a run had spent, on the scale of the "
            "fixed opponents: mean over seeds between kept networks, thin lines single seeds. "
            "Dotted: the largest cost that all runs reached, where the tables compare. No "
            "published data.",
        )
        if cost.get("courses")
        else None,
        _phases_table(study, cost),
        _prediction(cost),
        *_equal(cost),
        *_papers(cost),
    )


@style.styled
def phases_figure(study: Study, cost: dict[str, Any]) -> Figure:
    """Seconds by phase of each loss, and the prediction against the clock."""
    figure, (left, right) = style.new_figure(2, panel=(4.4, 2.9))
    for place, (_, runs) in enumerate(_by_target(study, cost)):
        start = 0.0
        for phase, (_, shade) in PHASES.items():
            width = _mean([run["phase_seconds"] for run in runs], phase)
            left.barh(place, width, left=start, color=shade, height=0.65)
            start += width
    targets = [target for target, _ in _by_target(study, cost)]
    left.set_yticks(range(len(targets)), [style.label(target) for target in targets])
    left.invert_yaxis()
    left.grid(axis="y", visible=False)
    left.set_xlabel("seconds of a run")
    wall = cost["wall"]
    right.plot(wall["iterations"], wall["measured"], color=style.INK, linewidth=1.6)
    right.plot(wall["iterations"], wall["predicted"], "--", color="#D55E00", linewidth=1.6)
    draw.iteration_axis(right, wall["iterations"][-1])
    right.set_ylabel("seconds, all runs")
    handles = [style.key(name, color=shade, linewidth=5) for name, shade in PHASES.values()] + [
        style.key("measured", color=style.INK),
        style.key("counted work, times unit seconds", color="#D55E00", linestyle="--"),
    ]
    style.legend_below(figure, handles, columns=3)
    return figure


def _by_target(study: Study, cost: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Entries of cost.json by loss, in the report's order; a run that failed did not end."""
    runs = {name: own for name, own in cost["runs"].items() if name not in study.failed}
    listed = [
        (target, [runs[run.name] for run in study.runs_of(target) if run.name in runs])
        for target in study.targets
    ]
    return [(target, own) for target, own in listed if own]


@style.styled
def strength_figure(
    study: Study, courses: Sequence[dict[str, Any]], equal: dict[str, Any]
) -> Figure:
    """Elo against cost, a panel for each measure of it."""
    figure, panels = style.new_figure(len(MEASURES), panel=(3.2, 2.9), share_y=True)
    targets = [t for t in study.targets if any(c["target"] == t for c in courses)]
    for axes, (measure, text) in zip(panels, MEASURES.items(), strict=True):
        for target in targets:
            _course_lines(axes, [c for c in courses if c["target"] == target], measure, target)
        axes.axvline(equal[measure]["cost"], color=style.FAINT, linewidth=1, linestyle=":")
        axes.set_xlabel(f"{text} of a run")
        axes.set_xlim(left=0)
    panels[0].set_ylabel("Elo above the random player")
    handles = [style.handle(target, marker=None) for target in targets]
    style.legend_below(figure, handles, columns=6)
    return figure


def _course_lines(axes: Axes, courses: Sequence[dict[str, Any]], measure: str, target: str) -> None:
    """Single seeds thin, their mean where all of them were measured."""
    shade = style.colour(target)
    measured = [course for course in courses if course["elo"]]
    curves = [(np.array(c["cost"][measure]), np.array(c["elo"], float)) for c in measured]
    for x, y in curves:
        axes.plot(x, y, color=shade, linewidth=0.6, alpha=0.45, zorder=1.5)
    ends = [(x[0], x[-1]) for x, _ in curves]
    first, last = max((a for a, _ in ends), default=1.0), min((b for _, b in ends), default=0.0)
    if first <= last:
        grid = np.linspace(first, last, _POINTS)
        mean = np.mean([np.interp(grid, x, y) for x, y in curves], axis=0)
        axes.plot(grid, mean, color=shade, linewidth=2, zorder=3)


def _phases_table(study: Study, cost: dict[str, Any]) -> Table:
    def seconds(runs: Sequence[dict[str, Any]]) -> list[float]:
        return [_mean([run["phase_seconds"] for run in runs], phase) for phase in PHASES]

    units = cost["calibration"]["units"]
    timed = (
        f"of an evaluation in self-play {units['selfplay']:.3g}, of a minibatch "
        f"{units['training']:.3g}, of an evaluation in the arena {units['arena']:.3g}, of "
        f"measuring an iteration {units['measuring']:.3g}"
    )
    return table(
        "Cost of a run by phase",
        _by_target(study, cost),
        {
            "minimised": lambda row: style.label(row[0]),
            **{
                name: lambda row, k=k: number(seconds(row[1])[k], 1)
                for k, (name, _) in enumerate(PHASES.values())
            },
            "all": lambda row: number(sum(seconds(row[1])), 1),
            "evaluations": lambda row: f"{_mean(row[1], 'evaluations'):.3g}",
            "FLOP": lambda row: f"{_mean(row[1], 'flops'):.3g}",
            "accepted": lambda row: number(_mean(row[1], "accepted"), 1),
        },
        f"Seconds of a run alone, mean over seeds: counted work times the timed seconds {timed} "
        f"({number(cost['calibration']['together'])} runs timed together). FLOP: matrix products "
        f"of the network, {cost['flops_per_evaluation']:.3g} an evaluation.",
    )


def _mean(runs: Sequence[dict[str, Any]], key: str) -> float:
    return float(np.mean([run[key] for run in runs]))


def _by_phase(seconds: dict[str, float], total: float, digits: int) -> tuple[str, ...]:
    return tuple(number(x, digits) for x in (*(seconds[phase] for phase in _LOOP), total))


def _prediction(cost: dict[str, Any]) -> Table:
    prior, wall = cost["equation_2"], cost["wall"]
    rows = tuple(
        (name, *_by_phase(prior[key], sum(prior[key].values()), 1))
        for key, name in (
            ("predicted", "Equation 2, from settings and mean length of games"),
            ("counted", "counted work"),
        )
    )
    note = (
        "Seconds of all runs. Counted work has less than Equation 2: a position in which the game "
        "is over needs no evaluation. From the end of iteration 1 the counted work predicts "
        f"{duration(wall['predicted'][-1])} on {plural(wall['devices'], 'device')}, measured were "
        f"{duration(wall['measured'][-1])}: predicted over measured {maybe(wall['ratio'], 2)}."
    )
    headers = ("seconds by", "self-play", "training", "arena", "all three")
    return Table("The papers' time cost function", headers, rows, note)


def _equal(cost: dict[str, Any]) -> list[Table]:
    equal = cost.get("equal_cost")
    if not equal:
        return []
    note = (
        "Between kept networks strength is interpolated along each run's cost. ± standard error: "
        "spread over seeds, or the ratings' own error where that is larger, and for a loss by "
        "itself the error that all networks share, of the random player's place; in brackets the "
        f"interval by Student's t over seeds, from {inference.FEWEST} seeds on, of 95 %; of "
        "differences at the level that reading all of them together takes (Holm)."
    )
    first = next(iter(equal.values()))
    at = tuple(f"at {one['cost']:.3g} {MEASURES[m]}" for m, one in equal.items())

    def at_equal_cost(kind: str, titles: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (title, *(_told(one[kind][i]) for one in equal.values()))
            for i, title in enumerate(titles)
        )

    targets = at_equal_cost("targets", (style.label(row["target"]) for row in first["targets"]))
    differences = at_equal_cost(
        "differences", (f"{row['plus']} less {row['minus']}" for row in first["differences"])
    )
    return [
        Table("Elo above random at equal cost", ("minimised", *at), targets, note),
        Table("Differences at equal cost", ("difference", *at), differences, note),
    ]


def _told(row: dict[str, Any]) -> str:
    if row["elo"] is None:
        return NONE
    known = row["low"] is not None
    bounds = f" ({interval((row['low'], row['high']))})" if known else ""
    return plus_minus(row["elo"], row["stderr"]) + bounds


def _papers(cost: dict[str, Any]) -> list[Table | None]:
    theirs = cost.get("papers")
    if not theirs:
        return []
    ours, default = theirs["hours"], theirs["published_hours"]
    hours = (
        (
            f"one run at the papers' settings on {cost['game']}, this network and device: "
            "Equation 2, predicted",
            *_by_phase(ours, sum(ours.values()), 2),
        ),
        (
            "the papers' default run, othello_6x6, GTX 980 Ti: 44 published, phases fitted to "
            "Table 3",
            *_by_phase(theirs["published_phases"], default, 1),
        ),
    )
    return [
        Table(
            "Hours of a run, theirs and ours",
            ("run", "self-play", "training", "arena", "all"),
            hours,
            "Theirs by phase was not published: seconds of a simulation and of a minibatch that "
            "suit the 25 hours of Table 3 best.",
        ),
        table(
            "Table 3 of the papers, and what Equation 2 makes of it",
            theirs["table_3"],
            {
                "setting": _setting,
                "called": lambda row: row["called"] or None,
                "hours": lambda row: number(row["published"], 1),
                "over default": lambda row: number(row["published"] / default, 2),
                "Equation 2, fitted": lambda row: number(
                    row["fitted"] / theirs["table_3"][0]["fitted"], 2
                ),
                "our seconds": lambda row: number(row["ours"], 2),
            },
            "Hours of one run on 6x6 Othello (Wang 2020 and 2023, Table 3). Over the default run: "
            "published; by Equation 2 with the seconds fitted to the table; with the seconds "
            "measured here, of this study's network and board. T', c, lr, d and u do not occur in "
            "Equation 2: their published spread is what one run's hours differ by otherwise.",
            text_columns=2,
            folded=True,
        ),
    ]


def _setting(row: dict[str, Any]) -> str:
    return f"{row['letter']} = {short(float(row['value']))}" if row["letter"] else "default"
