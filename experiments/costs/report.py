"""Cost in the report of a loss study: phases, model against clock, strength for its cost."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.claims import inference
from experiments.pages import style
from experiments.pages.page import Plate, Section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, duration, number, plus_minus, short

SOURCE: Final = "measured_cost"  # where `study.load` puts cost.json
PHASES: Final = {
    "selfplay": ("self-play", "#4477AA"),
    "training": ("training", "#CCBB44"),
    "arena": ("arena", "#AA3377"),
    "measuring": ("measuring losses", "#BBBBBB"),
}
MEASURES: Final = {
    "evaluations": "network evaluations",
    "flops": "floating-point operations",
    "seconds": "calibrated seconds",
}
_TITLE: Final = "Cost and strength for it"
_POINTS = 40


def section(study: Study) -> Section:
    """What `experiments.cost` measured; empty where it was not run."""
    found = study.results.get(SOURCE)
    if not found:
        return Section(_TITLE)
    timed = found["calibration"]
    elsewhere = (
        f" Trained on {found['trained_on']}: clock and calibration are of different devices."
        if found["trained_on"] not in (None, timed["device"])
        else ""
    )
    plates = [
        Plate(
            "cost",
            phases_figure(study, found),
            "Where the time goes",
            "Left: mean seconds of a run alone, by phase: its own evaluations, minibatches and "
            f"iterations, counted, times the seconds of one, timed on {timed['device']} with each "
            "phase compiled alone (000, section 4.4, Equation 2). Right: the same for all runs "
            "together against the wall time that training took, both from the end of iteration 1."
            f"{elsewhere}",
        )
    ]
    if found.get("courses"):
        plates.append(
            Plate(
                "strength_cost",
                strength_figure(study, found["courses"], found["equal_cost"]),
                "Strength for its cost",
                "Elo above the random player against what a run had spent, on the scale of the "
                "fixed opponents: mean over seeds between kept networks, thin lines single seeds. "
                "Dotted: the largest cost that all runs reached, where the tables compare. No "
                "published data.",
            )
        )
    tables = [_phases_table(study, found), _prediction(found), *_equal(found), *_papers(found)]
    return Section(_TITLE, plates=tuple(plates), tables=tuple(tables))


@style.styled
def phases_figure(study: Study, found: dict[str, Any]) -> Figure:
    """Seconds by phase of each loss, and the prediction against the clock."""
    figure, (left, right) = style.new_figure(1, 2, panel=(4.4, 2.9))
    for place, (_, runs) in enumerate(_by_target(study, found)):
        start = 0.0
        for phase, (_, shade) in PHASES.items():
            width = float(np.mean([run["phase_seconds"][phase] for run in runs]))
            left.barh(place, width, left=start, color=shade, height=0.65)
            start += width
    targets = [target for target, _ in _by_target(study, found)]
    left.set_yticks(range(len(targets)), [style.label(target) for target in targets])
    left.invert_yaxis()
    left.grid(axis="y", visible=False)
    left.set_xlabel("seconds of a run")
    wall = found["wall"]
    right.plot(wall["iterations"], wall["measured"], color=style.INK, linewidth=1.6)
    right.plot(wall["iterations"], wall["predicted"], "--", color="#D55E00", linewidth=1.6)
    style.iteration_axis(right, wall["iterations"][-1])
    right.set_ylabel("seconds, all runs")
    handles = [style.key(name, color=shade, linewidth=5) for name, shade in PHASES.values()] + [
        style.key("measured", color=style.INK),
        style.key("counted work, times unit seconds", color="#D55E00", linestyle="--"),
    ]
    style.legend_below(figure, handles, columns=3)
    return figure


def _by_target(study: Study, found: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Entries of cost.json by loss, in the report's order."""
    runs = found["runs"]
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
    figure, panels = style.new_figure(1, len(MEASURES), panel=(3.2, 2.9), share_y=True)
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
    """Single seeds thin, their mean as far as all of them went."""
    shade = style.colour(target)
    curves = [(np.array(c["cost"][measure]), np.array(c["elo"], float)) for c in courses]
    for x, y in curves:
        axes.plot(x, y, color=shade, linewidth=0.6, alpha=0.45, zorder=1.5)
    grid = np.linspace(0, min(x[-1] for x, _ in curves), _POINTS)
    mean = np.mean([np.interp(grid, x, y) for x, y in curves], axis=0)
    axes.plot(grid, mean, color=shade, linewidth=2, zorder=3)


def _phases_table(study: Study, found: dict[str, Any]) -> Table:
    rows = []
    for target, runs in _by_target(study, found):
        seconds = [np.mean([run["phase_seconds"][phase] for run in runs]) for phase in PHASES]
        rows.append(
            (
                style.label(target),
                *(number(float(value), 1) for value in seconds),
                number(float(sum(seconds)), 1),
                f"{np.mean([run['evaluations'] for run in runs]):.3g}",
                f"{np.mean([run['flops'] for run in runs]):.3g}",
                number(float(np.mean([run["accepted"] for run in runs])), 1),
            )
        )
    headers = (
        "minimised",
        *(name for name, _ in PHASES.values()),
        "all",
        "evaluations",
        "FLOP",
        "accepted",
    )
    units = found["calibration"]["units"]
    told = (
        f"of an evaluation in self-play {units['selfplay']:.3g}, of a minibatch "
        f"{units['training']:.3g}, of an evaluation in the arena {units['arena']:.3g}, of "
        f"measuring an iteration {units['measuring']:.3g}"
    )
    note = (
        f"Seconds of a run alone, mean over seeds: counted work times the timed seconds {told} "
        f"({number(found['calibration']['together'])} runs timed together). FLOP: matrix products "
        f"of the network, {found['flops_per_evaluation']:.3g} an evaluation."
    )
    return Table("Cost of a run by phase", headers, tuple(rows), note)


def _prediction(found: dict[str, Any]) -> Table:
    prior, wall = found["equation_2"], found["wall"]
    rows = [
        (name, *(number(prior[key][phase], 1) for phase in ("selfplay", "training", "arena")),
         number(sum(prior[key].values()), 1))
        for key, name in (
            ("predicted", "Equation 2, from settings and mean length of games"),
            ("counted", "counted work"),
        )
    ]  # fmt: skip
    ratio = NONE if wall["ratio"] is None else number(wall["ratio"], 2)
    note = (
        "Seconds of all runs. Counted work has less than Equation 2: a position in which the game "
        "is over needs no evaluation. From the end of iteration 1 the counted work predicts "
        f"{duration(wall['predicted'][-1])} on {number(wall['devices'])} "
        f"device{'s' * (wall['devices'] != 1)}, measured were {duration(wall['measured'][-1])}: "
        f"predicted over measured {ratio}."
    )
    headers = ("seconds by", "self-play", "training", "arena", "all three")
    return Table("The papers' time cost function", headers, tuple(rows), note)


def _equal(found: dict[str, Any]) -> list[Table]:
    equal = found.get("equal_cost")
    if not equal:
        return []
    note = (
        "Between kept networks strength is interpolated along each run's cost. ± standard error: "
        "spread over seeds, or the ratings' own error where that is larger; in brackets the 95 % "
        f"interval by Student's t over seeds, from {inference.FEWEST} seeds on."
    )
    first = next(iter(equal.values()))
    at = tuple(f"at {one['cost']:.3g} {MEASURES[m]}" for m, one in equal.items())
    strengths = tuple(
        (style.label(row["target"]), *(_told(one["targets"][i]) for one in equal.values()))
        for i, row in enumerate(first["targets"])
    )
    differences = tuple(
        (
            f"{row['plus']} less {row['minus']}",
            *(_told(one["differences"][i]) for one in equal.values()),
        )
        for i, row in enumerate(first["differences"])
    )
    return [
        Table("Elo above random at equal cost", ("minimised", *at), strengths, note),
        Table("Differences at equal cost", ("difference", *at), differences, note),
    ]


def _told(row: dict[str, Any]) -> str:
    stderr = math.nan if row["stderr"] is None else row["stderr"]
    interval = "" if row["low"] is None else f" ({number(row['low'])} to {number(row['high'])})"
    return plus_minus(row["elo"], stderr) + interval


def _papers(found: dict[str, Any]) -> list[Table]:
    theirs = found.get("papers")
    if not theirs:
        return []
    phases = ("selfplay", "training", "arena")
    ours = theirs["hours"]
    hours = (
        (
            f"one run at the papers' settings on {found['game']}, this network and device: "
            "Equation 2, predicted",
            *(number(ours[phase], 2) for phase in phases),
            number(sum(ours.values()), 2),
        ),
        (
            "the papers' default run, othello_6x6, GTX 980 Ti: 44 published, phases fitted to "
            "Table 3",
            *(number(theirs["published_phases"][phase], 1) for phase in phases),
            number(theirs["published_hours"], 1),
        ),
    )
    rows = tuple(
        (
            f"{row['letter']} = {short(float(row['value']))}" if row["letter"] else "default",
            row["called"] or NONE,
            number(row["published"], 1),
            number(row["published"] / theirs["published_hours"], 2),
            number(row["fitted"] / theirs["table_3"][0]["fitted"], 2),
            number(row["ours"], 2),
        )
        for row in theirs["table_3"]
    )
    return [
        Table(
            "Hours of a run, theirs and ours",
            ("run", "self-play", "training", "arena", "all"),
            hours,
            "Theirs by phase was not published: seconds of a simulation and of a minibatch that "
            "suit the 25 hours of Table 3 best.",
        ),
        Table(
            "Table 3 of the papers, and what Equation 2 makes of it",
            ("setting", "called", "hours", "over default", "Equation 2, fitted", "our seconds"),
            rows,
            "Hours of one run on 6x6 Othello (000 and 003, Table 3). Over the default run: "
            "published; by Equation 2 with the seconds fitted to the table; with the seconds "
            "measured here, of this study's network and board. T', c, lr, d and u do not occur in "
            "Equation 2: their published spread is what one run's hours differ by otherwise.",
            text_columns=2,
            folded=True,
        ),
    ]
