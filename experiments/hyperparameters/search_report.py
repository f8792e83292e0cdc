"""The report of a hyper-parameter search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.hyperparameters import report_parts
from experiments.pages import page, record, style
from experiments.pages.interactive import Point, Scatter
from experiments.pages.page import Page, plate, section
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, number, plural

_SHADES = {"search": "#D55E00", "grid": "#0072B2"}


def write_report(workdir: str | Path) -> Path:
    """Writes the figures, `interactive.html` and the page; returns the path of `report.html`."""
    return report_parts.write(workdir, "Search", build, scatters)


def build(found: Study) -> Page:
    """The page of a search, figures drawn, nothing written yet."""
    searched = found.results["search"]
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
        [played] = found.tournaments
        both = report_parts.strength_table(played, folded=True)
        sections.append(section("Against the grid", sides(grid), both))
    return Page(
        **report_parts.heading(found, "Search for I, E, m and ep"),
        verdicts=[
            *verdicts,
            "interactive.html, beside this page, tells the setting of each point.",
        ],
        missing=record.failures(found.results),
        facts=page.origin(found.results),
        sections=[
            *sections,
            section("Settings", record.settings(found), record.other_settings(found)),
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
        f"{tried['grid']} settings. Fronts are chosen by noisy ratings: this is about these "
        "networks."
    )


@style.styled
def figure(tried: Sequence[Mapping[str, Any]]) -> Figure:
    """Elo over seconds, the front as a line."""
    drawn, (axes,) = style.new_figure(panel=(6.5, 4.0))
    axes.plot([t["seconds"] for t in tried], [t["elo"] for t in tried], "o", color="#999999")
    front = _front(tried)
    axes.plot([t["seconds"] for t in front], [t["elo"] for t in front], "o-", color="#D55E00")
    for t in front:
        axes.annotate(_short(t["values"]), (t["seconds"], t["elo"]), xytext=(5, 3),
                      textcoords="offset points", fontsize=7)  # fmt: skip
    axes.set_xlabel("seconds of one run alone")
    axes.set_ylabel("Elo above the random player")
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
            **{k: lambda t, k=k: f"{t['values'][k]:g}" for k in report_parts.LETTERS},
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


def scatters(found: Study) -> list[Scatter]:
    """Trials, and both fronts, for hovering."""
    searched = found.results["search"]
    shown = [
        Scatter(
            "Trials",
            "seconds of one run alone",
            "Elo above the random player",
            tuple(
                Point(t["seconds"], t["elo"],
                      f"{t['name']}: {_short(t['values'])}: {t['elo']:.0f} Elo, "
                      f"{duration(t['seconds'])}", _SHADES["search"])
                for t in searched["trials"]
            ),
            tuple((t["seconds"], t["elo"]) for t in _front(searched["trials"])),
        )
    ]  # fmt: skip
    if "grid" in searched:
        shown.append(
            Scatter(
                "Fronts of search and grid",
                "seconds of one run alone",
                "Elo in one tournament",
                tuple(
                    Point(p["seconds"], p["elo"], f"{p['name']}: {p['elo']:.0f} Elo",
                          _SHADES[p["side"]])
                    for p in searched["grid"]["players"]
                ),
            )
        )  # fmt: skip
    return shown
