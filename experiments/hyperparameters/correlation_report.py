"""The report of the correlation study."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from experiments.claims import inference
from experiments.claims import section as claims_section
from experiments.claims.inference import Estimate
from experiments.hyperparameters import elo_model, report_parts
from experiments.hyperparameters.interactions import interactions as interactions_of
from experiments.hyperparameters.settings import VARIED
from experiments.pages import draw, style
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.study import Study, load
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    duration,
    interval,
    joined,
    maybe,
    number,
    percent,
    plus_minus,
)

_MAP: Final = "viridis"
_CLAIMS_NOTE: Final = (
    "Slopes in Elo for each doubling, at cost: for each doubling of the whole cost. Intervals (95 "
    "%) are over seeds, each fitted alone. With fewer than five seeds they are about these very "
    "networks and decide nothing about the settings: of slopes by resampling trainings (settings "
    "that differ in I alone are one), of the corner and the front from the ratings' errors."
)
_PARTS: Final = {"selfplay": "self-play time", "total": "total time"}


def claims(study: Study) -> dict[str, list[dict[str, Any]]]:
    """The verdicts by tournament: decided again from its ratings where the seeds are enough.

    Else as stored: the intervals of a few networks take long to resample, and decide nothing; and
    they need how the ratings' errors hang together, which is not stored.
    """
    results = study.results["correlation"]
    found = {}
    for played in study.tournaments:
        elo = np.array(played["elo"], float)
        data = elo_model.collect(results["players"], elo, np.zeros((len(elo),) * 2))
        found[played["name"]] = stored = results[played["name"]]["claims"]
        if len(np.unique(data.seed)) >= inference.FEWEST:
            earlier = {row["id"]: row for row in stored}
            found[played["name"]] = [
                earlier.get(row["id"], row) if row["of_networks"] else row
                for row in elo_model.claims(data)
            ]
    return found


def build(directory: Path) -> Page:
    """The page of a correlation study, figures drawn, nothing written yet."""
    study = load(directory)
    own = study.results["correlation"][study.tournaments[0]["name"]]
    sections = [_section(study, played) for played in study.tournaments]
    return Page(
        **report_parts.heading(study, "Outer or inner iterations"),
        verdicts=[
            report_parts.tally(own["claims"], "claim"),
            _slopes_in_words(own["model"]),
            *(_front_in_words(kind, own["fronts"][kind]) for kind in _PARTS),
            report_parts.POINTS,
        ],
        missing=report_parts.missing(study),
        facts=report_parts.facts(study),
        sections=[*sections, report_parts.programs(study)],
    )


def _section(study: Study, played: Mapping[str, Any]) -> Section:
    name = str(played["name"])
    analysed = study.results["correlation"][name]
    seconds = "Cost of one run alone: counted work times unit seconds of each phase, measured here."
    text = (
        (
            "A larger m acts twice here: in training, and in the search of the tournament itself.",
            "The next section has the same networks with equal search.",
        )
        if played is study.tournaments[0]
        else ("The same networks again, with equal search: what m was worth in training.",)
    )
    return section(
        str(played["title"]),
        *text,
        plate(
            f"{name}_panels",
            panels(study, played),
            "Elo over m and ep, a panel for each I and E",
            "Wang 2020, Fig. 4; Wang 2023, Fig. 5. Mean over seeds. The papers' ratings are "
            "published as a picture.",
        ),
        plate(
            f"{name}_times",
            times(study, played),
            "Elo over the time of self-play and of training",
            f"Wang 2020, Fig. 5; Wang 2023, Fig. 6. {seconds}",
        ),
        plate(
            f"{name}_fronts",
            front_panels(study, played),
            "Pareto fronts at the largest I and E",
            "Wang 2020, Fig. 6; Wang 2023, Fig. 7. Labels are (m, ep), bars standard errors of the "
            f"ratings, the line is the front; pale: all other settings. {seconds}",
        ),
        claims_section.of_results("The papers' claims", analysed["claims"], _CLAIMS_NOTE, digits=2),
        model(analysed["model"]),
        interactions(study, played),
        fronts(analysed["fronts"]),
        *[gains(rows) for rows in [analysed.get("gains")] if rows],  # older studies have none
        report_parts.strength_table(played, folded=True),
    )


def _rated(study: Study, played: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Settings with their values and means over seeds: elo, stderr, seconds by phase."""
    rated = report_parts.strength(played)
    by_setting: dict[str, list[dict[str, Any]]] = {}
    for player in study.results["correlation"]["players"]:
        by_setting.setdefault(player["setting"], []).append(player)
    return [
        {"setting": name, "elo": rated[name].mean, "stderr": rated[name].stderr}
        | own[0]["values"]
        | {
            phase: float(np.mean([p["seconds"][phase] for p in own]))
            for phase in ("selfplay", "training", "total")
        }
        for name, own in by_setting.items()
    ]


@style.styled
def panels(study: Study, played: Mapping[str, Any]) -> Figure:
    """Nine panels (I x E), each over m and ep (000, Fig. 4)."""
    rated = _rated(study, played)
    lists = {letter: sorted({r[letter] for r in rated}) for letter in VARIED}
    figure, axes = style.new_figure(
        len(lists["I"]) * len(lists["E"]), columns=len(lists["E"]), panel=(2.9, 2.5)
    )
    low, high = min(r["elo"] for r in rated), max(r["elo"] for r in rated)
    shades = None
    for place, (i, e) in enumerate((i, e) for i in lists["I"] for e in lists["E"]):
        grid = np.full((len(lists["ep"]), len(lists["m"])), np.nan)
        for r in rated:
            if (r["I"], r["E"]) == (i, e):
                grid[lists["ep"].index(r["ep"]), lists["m"].index(r["m"])] = r["elo"]
        shades = axes[place].imshow(
            grid, origin="lower", vmin=low, vmax=high, cmap=_MAP, aspect="auto"
        )
        for (row, column), elo in np.ndenumerate(grid):
            if math.isfinite(elo):
                dark = elo < low + 0.6 * (high - low)
                axes[place].text(column, row, f"{elo:.0f}", ha="center", va="center",
                                 fontsize=8, color="white" if dark else "black")  # fmt: skip
        _ticks(axes[place], lists)
        axes[place].set_title(f"I = {i:g}, E = {e:g}")
    if shades is not None:  # all panels have the same scale
        figure.colorbar(shades, ax=axes, label="Elo", shrink=0.6)
    return figure


def _ticks(axes: Axes, lists: Mapping[str, Sequence[float]]) -> None:
    axes.grid(visible=False)
    axes.set_xticks(range(len(lists["m"])), [f"{m:g}" for m in lists["m"]])
    axes.set_yticks(range(len(lists["ep"])), [f"{ep:g}" for ep in lists["ep"]])
    axes.set_xlabel("m")
    axes.set_ylabel("ep")


@style.styled
def times(study: Study, played: Mapping[str, Any]) -> Figure:
    """Elo by colour over the seconds of self-play and of training (000, Fig. 5)."""
    rated = _rated(study, played)
    figure, (axes,) = style.new_figure(panel=(6.2, 4.2))
    x, y, elo = ([r[key] for r in rated] for key in ("selfplay", "training", "elo"))
    shades = ScalarMappable(Normalize(min(elo), max(elo)), _MAP)
    draw.points(axes, x, y, [_said(r) for r in rated], [shades.to_rgba(one) for one in elo])
    axes.set_xlabel("seconds of self-play")
    axes.set_ylabel("seconds of training")
    figure.colorbar(shades, ax=axes, label="Elo")
    return figure


@style.styled
def front_panels(study: Study, played: Mapping[str, Any]) -> Figure:
    """Elo over self-play time and over total time at the largest I and E (000, Fig. 6).

    Pale behind it: all the other settings.
    """
    rated = _rated(study, played)
    corner = _corner(rated)
    others = [r for r in rated if r not in corner]
    analysed = study.results["correlation"][played["name"]]["fronts"]
    figure, axes = style.new_figure(2, panel=(4.6, 3.7), share_y=True)
    for panel, (kind, label) in zip(axes, _PARTS.items(), strict=True):
        x, elo = [r[kind] for r in others], [r["elo"] for r in others]
        draw.points(panel, x, elo, [_said(r) for r in others], "#D0D0D0")
        for r in corner:
            look = {"color": "#333333", "gid": f"{draw.HOVER}{_said(r)}"}
            draw.error_bars(panel, r[kind], r["elo"], r["stderr"], "", **look)
            panel.annotate(_name(r), (r[kind], r["elo"]), xytext=(5, 3),
                           textcoords="offset points", fontsize=8)  # fmt: skip
        line = [(point["seconds"], point["elo"]) for point in analysed[kind]]
        panel.plot(*zip(*line, strict=True), color="#0072B2", zorder=1)
        panel.set_xlabel(f"{label}, s")
    axes[0].set_ylabel("Elo")
    return figure


def _said(rated: Mapping[str, Any]) -> str:
    """A setting's values, strength and cost, for whoever rests the pointer on its point."""
    values = ", ".join(f"{letter} = {rated[letter]:g}" for letter in VARIED)
    strength = f"{rated['elo']:.0f} ± {rated['stderr']:.0f} Elo"
    return f"{values}: {strength}, {duration(rated['total'])} in all"


def _corner(rated: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    most = [max(r[letter] for r in rated) for letter in ("I", "E")]
    return [r for r in rated if [r["I"], r["E"]] == most]


def model(fitted: Mapping[str, Any]) -> Table:
    """Slopes of Elo and cost, that of this machine and that of the papers."""
    theirs = dict(zip(VARIED, elo_model.published_cost(), strict=True))
    elo, cost = fitted["elo_for_each_doubling"], fitted["log2_cost_for_each_doubling"]
    return table(
        "Model of Elo and cost",
        VARIED,
        {
            "doubled": lambda letter: letter,
            "Elo": lambda letter: maybe(elo[letter]["value"], 1),
            "95 % interval of Elo": lambda letter: _bounds(elo[letter], 1),
            "log2 cost": lambda letter: maybe(cost[letter]["value"], 2),
            "95 % interval of log2 cost": lambda letter: _bounds(cost[letter], 2),
            "Elo per doubled cost": lambda letter: _ratio(
                elo[letter]["value"], cost[letter]["value"]
            ),
            "log2 of the papers' hours": lambda letter: number(theirs[letter], 2),
            "Elo per doubled hours": lambda letter: _ratio(elo[letter]["value"], theirs[letter]),
        },
        f"Linear models on log2 of I, E, m and ep, {percent(float(fitted['explained'] or 0))} of "
        "the variance of Elo explained; intervals over seeds, with fewer than five of these very "
        "networks, by resampling trainings. The papers' hours: those of Wang 2020, Table 3, over "
        "minimum, default and maximum; they hold arena games, which these runs have not.",
    )


def _bounds(slope: Mapping[str, float | None], digits: int) -> str:
    return interval((slope["low"], slope["high"]), digits)


def _ratio(elo: float | None, cost: float | None) -> str:
    return maybe(None if elo is None or not cost else elo / cost, 1)


def interactions(study: Study, played: Mapping[str, Any]) -> Table:
    """How the slopes depend on the other letters, computed from the ratings."""
    players, elo = study.results["correlation"]["players"], played["elo"]
    data = elo_model.collect(players, elo, np.zeros((len(elo), len(elo))))

    def slope(at: str, value: float, found: Estimate) -> str:
        return f"{number(found.effect, 1)} ({at} = {value:g})"

    return table(
        "Does a slope depend on the other letters?",
        interactions_of(data),
        {
            "doubled": lambda one: one.letter,
            "other": lambda one: one.other,
            "Elo at its smallest value": lambda one: slope(one.other, one.least, one.at_least),
            "Elo at its largest": lambda one: slope(one.other, one.most, one.at_most),
            "change": lambda one: maybe(one.change.effect, 1),
            "95 % interval": lambda one: interval(one.change.interval(), 1),
            "corrected interval": lambda one: interval(one.change.interval(one.level), 1),
        },
        "Elo for each doubling, fitted seed by seed to the settings with the smallest and with the "
        "largest value of the other letter; intervals over seeds, corrected for all these rows by "
        "Holm's method. Asked after the first results were seen.",
        text_columns=2,
    )


def fronts(by_cost: Mapping[str, Sequence[Mapping[str, float]]]) -> Table:
    """The points of both fronts."""
    return table(
        "Pareto fronts",
        [(kind, point) for kind, points in by_cost.items() for point in points],
        {
            "over": lambda row: _PARTS[row[0]],
            "(m, ep)": lambda row: _name(row[1]),
            "cost": lambda row: duration(float(row[1]["seconds"])),
            "Elo": lambda row: number(float(row[1]["elo"])),
        },
        text_columns=2,
    )


def gains(rows: Sequence[Mapping[str, Any]]) -> Table:
    """What training gained at each value of a letter."""
    return table(
        "Gain over the untrained network",
        rows,
        {
            "value": lambda row: f"{row['letter']} = {row['value']:g}",
            "Elo ± standard error": lambda row: plus_minus(row["elo"], row["stderr"]),
            "seeds": lambda row: str(row["seeds"]),
        },
        "Mean Elo of all settings with the value, less that of the same seed's untrained network "
        "in the same tournament; errors over seeds. Untrained networks search with the "
        "tournament's m, also where the others have their own.",
    )


def _name(point: Mapping[str, float]) -> str:
    return f"({point['m']:g}, {point['ep']:g})"


def _slopes_in_words(fitted: Mapping[str, Any]) -> str:
    slopes = fitted["elo_for_each_doubling"]
    parts = [
        f"{letter} {number(float(slopes[letter]['value']))} ({_bounds(slopes[letter], 0)})"
        for letter in VARIED
        if slopes[letter]["value"] is not None
    ]
    return f"Elo for each doubling, with 95 % intervals: {joined(parts)}."


def _front_in_words(kind: str, points: Sequence[Mapping[str, float]]) -> str:
    listed = joined([_name(point) for point in points])
    return f"Front of Elo over {_PARTS[kind]} at the largest I and E, as (m, ep): {listed}."
