"""The report of a hyper-parameter search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.hyperparameters import settings_page
from experiments.pages import interactive, page, study, style, tables
from experiments.pages.interactive import Point, Scatter
from experiments.pages.page import Page, Plate, Section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import duration, game_title, number, plural

_SHADES = {"search": "#D55E00", "grid": "#0072B2"}


def write_report(workdir: str | Path) -> Path:
    """Writes the figures, `interactive.html` and the page; returns the path of `report.html`."""
    directory = Path(workdir)
    found = study.load(directory)
    interactive.write(directory, f"Search on {game_title(found.game)}", scatters(found))
    return page.write(build(found), directory)


def build(found: Study) -> Page:
    """The page of a search, figures drawn, nothing written yet."""
    searched = found.results["search"]
    front = [t for t in searched["trials"] if t["on_front"]]
    sections = [
        Section(
            "Trials",
            plates=(
                Plate(
                    "search_front",
                    figure(searched["trials"]),
                    "Elo against fixed opponents over the cost of a run",
                    "The line is the Pareto front. Elo above the random player, all with the same "
                    "number of simulations in rated games. Cost: counted work times unit seconds.",
                ),
            ),
            tables=(trials(searched["trials"]),),
        )
    ]
    verdicts = [f"{plural(len(searched['trials']), 'trial')}, {len(front)} on the front."]
    if "grid" in searched:
        verdicts.append(_against(searched["grid"]))
        [played] = found.tournaments
        sections.append(
            Section("Against the grid", tables=(sides(searched["grid"]), ratings(played)))
        )
    given = [tables.settings(found), tables.other_settings(found)]
    sections.append(Section("Settings", tables=tuple(t for t in given if t is not None)))
    return Page(
        title=f"Search for I, E, m and ep: {game_title(found.game)}",
        subtitle=f"{found.game}, preset {found.results.get('preset')}, {found.name}",
        verdicts=[
            *verdicts,
            "interactive.html, beside this page, tells the setting of each point.",
        ],
        missing=[f"{n} failed: {why}" for n, why in (found.results.get("failed") or {}).items()],
        facts=page.origin(found.results),
        sections=sections,
    )


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
    drawn, (axes,) = style.new_figure(1, 1, panel=(6.5, 4.0))
    axes.plot([t["seconds"] for t in tried], [t["elo"] for t in tried], "o", color="#999999")
    front = sorted((t for t in tried if t["on_front"]), key=lambda t: t["seconds"])
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
    rows = tuple(
        (
            str(t["name"]),
            *(f"{t['values'][letter]:g}" for letter in ("I", "E", "m", "ep")),
            number(float(t["elo"])),
            duration(float(t["seconds"])),
            "yes" if t["on_front"] else "",
        )
        for t in sorted(tried, key=lambda t: -t["elo"])
    )
    return Table("Trials", ("trial", "I", "E", "m", "ep", "Elo", "cost", "on the front"), rows)


def sides(grid: Mapping[str, Any]) -> Table:
    """Both fronts in one pool."""
    rows = tuple(
        (p["side"], p["name"], number(float(p["elo"])), duration(float(p["seconds"])))
        for p in sorted(grid["players"], key=lambda p: p["seconds"])
    )
    return Table("Fronts in one tournament", ("of", "player", "Elo", "cost"), rows, text_columns=2)


def ratings(played: Mapping[str, Any]) -> Table:
    """Means of both sides and the random player."""
    return settings_page.strength_table(played, folded=True)


def scatters(found: Study) -> list[Scatter]:
    """Trials, and both fronts, for hovering."""
    searched = found.results["search"]
    front = sorted((t for t in searched["trials"] if t["on_front"]), key=lambda t: t["seconds"])
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
            tuple((t["seconds"], t["elo"]) for t in front),
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
