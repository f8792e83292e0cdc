"""The report of the hyper-parameter sweep."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from experiments import published
from experiments.claims import section as claims_section
from experiments.claims.decision import METHOD
from experiments.claims.ranking import lead
from experiments.hyperparameters import importance, report_parts
from experiments.hyperparameters.importance import Outcome, Swept
from experiments.pages import draw, style
from experiments.pages.bands import Band, band_of
from experiments.pages.page import Page, plate, section
from experiments.pages.study import Study, load
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, maybe, number, plus_minus, short

PAPER: Final = "wang2021_sweep"
_SHADES: Final = ("#0072B2", "#333333", "#D55E00")  # minimum, default, maximum
_DASHES: Final = ("--", "-", ":")
_MARKS: Final = ("v", "o", "^")


def build(directory: Path) -> Page:
    """The page of a sweep, figures drawn, nothing written yet."""
    study = load(directory)
    swept = study.results["sweep"]
    parameters, decided = swept["parameters"], swept["remarks"]
    [played] = study.tournaments
    return Page(
        **report_parts.heading(study, "Which hyper-parameters matter"),
        verdicts=[report_parts.tally(decided, "remark"), _strongest(played), report_parts.POINTS],
        missing=report_parts.missing(study) + _idle(study),
        facts=report_parts.facts(study),
        sections=[
            section(
                "Training loss",
                plate(
                    "sweep_losses",
                    losses(study),
                    "Training loss l₊ for three values of each hyper-parameter",
                    "Wang 2020, Fig. 3; Wang 2023, Fig. 4, published as a picture. Mean of the "
                    "last epoch of each iteration; with several seeds the mean, bands ± 1 standard "
                    "deviation over seeds. All else at the default; I is one run, looked at after "
                    "different iterations.",
                ),
                claims_section.of_results(
                    "The papers' remarks",
                    decided,
                    f"{METHOD} Read together: the contrasts of a remark.",
                ),
            ),
            section("Time and importance", table_3(study), table_4(study)),
            section(
                "Strength",
                "The papers did not play the settings against each other.",
                plate(
                    "sweep_strength",
                    strength(parameters, played),
                    "Strength of the final networks",
                    "One round robin of all settings with the same search. Bars: standard "
                    "error, the larger of the spread over seeds and the rating's own. Grey "
                    "line: the default.",
                ),
                plate(
                    "sweep_cost",
                    over_cost(study),
                    "Strength over cost and over training loss",
                    "A point for each setting and seed; dark: the default.",
                ),
                report_parts.strength_table(played),
            ),
            report_parts.programs(study),
        ],
    )


def _strongest(played: Mapping[str, Any]) -> str:
    rated = report_parts.strength(played)
    trained = {n: r for n, r in rated.items() if n not in ("untrained", "random")}
    best = next(iter(trained))
    sentence = f"Strongest: {best}, {number(trained[best].mean)} Elo"
    if "default" in trained and best != "default":
        sentence += f", {plus_minus(*lead(trained[best], trained['default']))} above the default"
        sentence += " (chosen among many: expect less of it)"
    return f"{sentence}."


def remarks(study: Study) -> list[dict[str, Any]]:
    """Those of a finished study, decided again from its losses, times and ratings."""
    [played] = study.tournaments
    found, elo = study.results["sweep"], importance.elo_of(played)
    swept = [
        Swept(one["letter"], tuple(one["values"]), tuple(one["settings"]))
        for one in found["parameters"]
    ]
    outcomes = {}
    for one in found["players"]:
        iterations, loss = study.series(one["training"], "loss/sum")
        kept = (iterations > 0) & (iterations <= one["iterations"])
        key = one["setting"], one["seed"]
        outcomes[key] = Outcome(
            iterations[kept], loss[kept], one["seconds"]["total"], elo.get(key, math.nan)
        )
    return importance.remarks(swept, outcomes, int(study.setting("train.iterations")))


def band(study: Study, setting: str) -> Band | None:
    """l_+ of a setting over its seeds, from iteration 1."""
    curves = []
    for player in study.results["sweep"]["players"]:
        if player["setting"] == setting:
            iterations, values = study.series(player["training"], "loss/sum")
            kept = (iterations > 0) & (iterations <= player["iterations"])
            curves.append((iterations[kept], values[kept]))
    return band_of(curves)


@style.styled
def losses(study: Study) -> Figure:
    """Twelve panels, three curves each (000, Fig. 3)."""
    parameters = study.results["sweep"]["parameters"]
    figure, panels = style.new_figure(len(parameters), columns=3, panel=(3.3, 2.5))
    for panel, (axes, one) in enumerate(zip(panels, parameters, strict=True)):
        last, shown = 1, []
        for name, value in zip(one["settings"], one["values"], strict=True):
            drawn = band(study, name)
            if drawn is None:
                continue
            kind = _kind(one, name)
            axes.plot([], [], _DASHES[kind], color=_SHADES[kind], label=f"{value:g}")
            axes.plot(drawn.iterations, drawn.mean, _DASHES[kind], color=_SHADES[kind])
            draw.spread(axes, drawn, _SHADES[kind])
            draw.mark_non_finite(axes, drawn.iterations, drawn.mean)
            last = max(last, int(drawn.iterations[-1]))
            shown.append(drawn.mean)
        axes.set_title(f"({chr(ord('a') + panel)}) {one['letter']}")
        axes.legend(loc="best")
        draw.iteration_axis(axes, last)
        draw.limit_height(axes, shown, bottom=None)
    style.label_rows(panels, "training loss l₊")
    return figure


def _kind(one: Mapping[str, Any], name: str) -> int:
    """0, 1, 2: below the default, the default, above it."""
    place, middle = one["settings"].index(name), one["settings"].index("default")
    return 1 + (place > middle) - (place < middle)


@style.styled
def strength(parameters: Sequence[Mapping[str, Any]], played: Mapping[str, Any]) -> Figure:
    """Elo of every setting, by hyper-parameter."""
    rated = report_parts.strength(played)
    figure, (axes,) = style.new_figure(panel=(9.0, 3.6))
    for place, one in enumerate(parameters):
        for name, value in zip(one["settings"], one["values"], strict=True):
            if name not in rated:
                continue
            kind = _kind(one, name)
            elo, error = rated[name].mean, rated[name].stderr
            x = place + 0.27 * (kind - 1)
            look = {"marker": _MARKS[kind], "color": _SHADES[kind]}
            draw.error_bars(axes, x, elo, error, name, **look)
            if kind != 1:
                axes.annotate(f"{value:g}", (x, elo), xytext=(4 * (kind - 1), 0),
                              textcoords="offset points", ha=("right", "", "left")[kind],
                              va="center", fontsize=7)  # fmt: skip
    if "default" in rated:
        axes.axhline(rated["default"].mean, color=style.FAINT, linewidth=0.9, zorder=0)
    axes.set_xticks(range(len(parameters)), [one["letter"] for one in parameters])
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("Elo in the tournament (mean 0)")
    handles = [
        style.key(text, marker=mark, color=shade, linestyle="")
        for text, mark, shade in zip(
            ("below the default", "default", "above it"), _MARKS, _SHADES, strict=True
        )
    ]
    style.legend_below(figure, handles, columns=3)
    return figure


def _idle(study: Study) -> list[str]:
    """What was swept as the published program did it, and changed nothing."""
    inactive = (study.results.get("switches") or {}).get("dropout_inactive")
    swept = any(one["letter"] == "d" for one in study.results["sweep"]["parameters"])
    return [
        "As in the published program dropout never acts: settings of d repeat the default."
    ] * bool(inactive and swept)


def table_3(study: Study) -> Table:
    """Time cost of different settings, theirs beside ours (000, Table 3)."""
    theirs = (published.load(PAPER) or {})["table_3"]

    def mean(kind: int) -> Callable[[dict[str, Any]], str | None]:
        def cell(one: dict[str, Any]) -> str | None:
            means = zip(one["settings"], one["seconds"]["means"], strict=True)
            known = [s for name, s in means if _kind(one, name) == kind and s is not None]
            return duration(known[-1 if kind == 2 else 0]) if known else None

        return cell

    return table(
        "Time cost by setting (Wang 2020, Table 3)",
        study.results["sweep"]["parameters"],
        {
            "parameter": lambda one: one["letter"],
            "values": lambda one: ", ".join(short(float(value)) for value in one["values"]),
            "minimum": mean(0),
            "default": mean(1),
            "maximum": mean(2),
            "span, s": lambda one: _span(one["seconds"]["span"], 1),
            "noise, s": lambda one: maybe(one["seconds"]["noise"], 1),
            "type": lambda one: one["type"],
            "published hours": lambda one: " / ".join(
                number(hours, 1) for hours in theirs[one["letter"]]["hours"]
            ),
            "published type": lambda one: theirs[one["letter"]]["type"],
        },
        "Cost of one run alone: its useful evaluations, gradient steps and arena games, counted, "
        "times unit seconds measured here for each phase. Time-sensitive: the span of the means "
        "exceeds what seeds alone explain (noise; Tukey's studentised range, seed by seed, "
        "corrected over the rows by Holm's method). From five seeds on. The units of E, n and bs "
        "are timed once for each value; that error is not in the noise. Published: one run each "
        "on a GTX 980 Ti.",
        text_columns=2,
    )


def table_4(study: Study) -> Table:
    """What matters for loss and for time, theirs beside ours (000, Table 4)."""
    theirs = (published.load(PAPER) or {})["table_4"]
    return table(
        "Importance for loss and time (Wang 2020, Table 4)",
        study.results["sweep"]["parameters"],
        {
            "parameter": lambda one: one["letter"],
            "default": lambda one: short(float(one["values"][one["settings"].index("default")])),
            "loss": lambda one: one["best_for_loss"],
            "time": lambda one: one["best_for_time"],
            "published loss": lambda one: theirs[one["letter"]]["loss"],
            "published time": lambda one: theirs[one["letter"]]["time"],
            "span of l₊": lambda one: _span(one["loss"]["span"], 3),
            "noise of l₊": lambda one: maybe(one["loss"]["noise"], 3),
        },
        "The value with the lowest l₊ in its last iteration, and the cheapest one; insignificant, "
        "similar: the span does not exceed what seeds alone explain (as in the table of times).",
    )


def _span(value: float | None, digits: int) -> str:
    return number(math.nan if value is None else float(value), digits)


@style.styled
def over_cost(study: Study) -> Figure:
    """Strength over cost and over loss, a point for each setting and seed."""
    [played] = study.tournaments
    elo = {p["name"]: e for p, e in zip(played["players"], played["elo"], strict=True)}
    players = study.results["sweep"]["players"]
    ratings = [float(elo[p["name"]]) for p in players]
    seconds = [float(p["seconds"]["total"]) for p in players]
    curves = [(p["iterations"], *study.series(p["training"], "loss/sum")) for p in players]
    losses = [float(values[at <= until][-1]) for until, at, values in curves]
    labels = [
        f"{p['setting']}, seed {p['seed']}: {rating:.0f} Elo, {duration(cost)}, l₊ {loss:.3f}"
        for p, rating, cost, loss in zip(players, ratings, seconds, losses, strict=True)
    ]
    shades = [_SHADES[1] if p["setting"] == "default" else _SHADES[0] for p in players]
    figure, panels = style.new_figure(2, panel=(4.4, 3.2), share_y=True)
    for axes, x, text in zip(
        panels, (seconds, losses), ("seconds of one run alone", "l₊ of the last iteration"),
        strict=True,
    ):  # fmt: skip
        draw.points(axes, x, ratings, labels, shades)
        axes.set_xlabel(text)
    panels[0].set_ylabel("Elo in the tournament (mean 0)")
    return figure
