"""The report of a hyper-parameter search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.hyperparameters import report_parts
from experiments.hyperparameters.settings import VARIED
from experiments.pages import draw, page, record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.study import load
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, number, plural

_SHADES = {"search": "#D55E00", "grid": "#0072B2"}


def build(directory: Path) -> Page:
    """The page of a search, figures drawn, nothing written yet."""
    study = load(directory)
    searched = study.results["search"]
    tried, grid = searched["trials"], searched.get("grid")
    verdicts = [f"{plural(len(tried), 'trial')}, {len(_front(tried))} on the front."]
    sections = [
        section(
            "Trials",
            plate(
                "search_front",
                figure(tried),
                "Elo against fixed opponents over the cost of a run",
                "The line is the Pareto front. Elo above the random player, all with the same "
                "number of simulations in rated games. Cost: counted work times unit seconds.",
            ),
            trials(tried),
        )
    ]
    if grid is not None:
        verdicts.append(_against(grid))
        caption = "Trials and settings of both fronts, all with the same search."
        shown = plate(
            "search_grid", fronts(grid), "Front of the search, front of the grid", caption
        )
        sections.append(section("Against the grid", shown, sides(grid)))
    return Page(
        **report_parts.heading(study, "Search for I, E, m and ep"),
        verdicts=[*verdicts, report_parts.POINTS],
        missing=record.failures(study.results),
        facts=page.origin(study.results),
        sections=[
            *sections,
            section("Settings", record.settings(study), record.other_settings(study)),
        ],
    )


def _front(tried: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The trials of the Pareto front, cheapest first."""
    return sorted((t for t in tried if t["on_front"]), key=lambda t: t["seconds"])


def _against(grid: Mapping[str, Any]) -> str:
    area, tried = grid["area"], grid["trials"]
    return (
        f"Area under the front in one tournament of both: search {number(float(area['search']), 1)}"
        f", grid {number(float(area['grid']), 1)} Elo seconds, from {tried['search']} and "
        f"{tried['grid']} settings. Each side has the seconds of its own calibration. Fronts are "
        "chosen by noisy ratings: this is about these networks."
    )


@style.styled
def figure(tried: Sequence[Mapping[str, Any]]) -> Figure:
    """Elo over seconds, the front as a line."""
    drawn, (axes,) = style.new_figure(panel=(6.5, 4.0))
    front = _front(tried)
    axes.plot([t["seconds"] for t in front], [t["elo"] for t in front], color=_SHADES["search"])
    draw.points(
        axes,
        [t["seconds"] for t in tried],
        [t["elo"] for t in tried],
        [f"{t['name']}: {_short(t['values'])}: {t['elo']:.0f} Elo, {duration(t['seconds'])}"
         for t in tried],
        [_SHADES["search"] if t["on_front"] else "#999999" for t in tried],
    )  # fmt: skip
    for t in front:
        axes.annotate(_short(t["values"]), (t["seconds"], t["elo"]), xytext=(5, 3),
                      textcoords="offset points", fontsize=7)  # fmt: skip
    axes.set_xlabel("seconds of one run alone")
    axes.set_ylabel("Elo above the random player")
    return drawn


@style.styled
def fronts(grid: Mapping[str, Any]) -> Figure:
    """Both fronts over cost, in one tournament."""
    drawn, (axes,) = style.new_figure(panel=(6.5, 3.4))
    for side, shade in _SHADES.items():
        own = [p for p in grid["players"] if p["side"] == side]
        labels = [f"{p['name']}: {p['elo']:.0f} Elo, {duration(p['seconds'])}" for p in own]
        draw.points(axes, [p["seconds"] for p in own], [p["elo"] for p in own], labels, shade)
    axes.set_xlabel("seconds of one run alone")
    axes.set_ylabel("Elo in one tournament")
    handles = [style.key(side, color=s, marker="o", linestyle="") for side, s in _SHADES.items()]
    style.legend_below(drawn, handles, columns=2)
    return drawn


def _short(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{letter} {value:g}" for letter, value in values.items())


def trials(tried: Sequence[Mapping[str, Any]]) -> Table:
    """All trials, the strongest first."""
    return table(
        "Trials",
        sorted(tried, key=lambda t: -t["elo"]),
        {
            "trial": lambda t: str(t["name"]),
            **{k: lambda t, k=k: f"{t['values'][k]:g}" for k in VARIED},
            "Elo": lambda t: number(float(t["elo"])),
            "cost": lambda t: duration(float(t["seconds"])),
            "on the front": lambda t: "yes" if t["on_front"] else "",
        },
    )


def sides(grid: Mapping[str, Any]) -> Table:
    """Both fronts in one pool."""
    return table(
        "Fronts in one tournament",
        sorted(grid["players"], key=lambda p: p["seconds"]),
        {
            "of": lambda p: p["side"],
            "player": lambda p: p["name"],
            "Elo": lambda p: number(float(p["elo"])),
            "cost": lambda p: duration(float(p["seconds"])),
        },
        text_columns=2,
    )
