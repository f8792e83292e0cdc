"""The report of one player's training: strength and losses over time, and what the player is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from experiments.pages import draw, page, record, style
from experiments.pages.page import Page, plate, section
from experiments.pages.study import Study, load
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration, game_title, number, percent
from jaxzero import workdir

_SHARES: Final = {
    "search": "moves kept, with search",
    "network": "moves kept, network alone",
    "best_moves": "best moves, with search",
}
_CAPTION: Final = (
    "Left: points against fixed opponents, won games and half of the drawn ones. Right: share of "
    "solved positions in which the move keeps the result, where some move does not. Dotted: the "
    "network that was kept, the best by the first curve on the right, else by the mean on the left."
)


def build(directory: Path) -> Page:
    """The page of a finished training, figures drawn, nothing written yet."""
    study = load(directory)
    results = workdir.read_results(directory)
    records: list[dict[str, Any]] = results["examinations"]
    config, cost = results["config"], results["cost"]
    return Page(
        title=f"A player of {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}, {study.name}",
        verdicts=sentences(results),
        missing=[],
        facts=[
            ("Training", record.budget(config, study.reached("player") or 0)),
            ("Time", ", ".join(f"{name} {duration(s)}" for name, s in cost["phases"].items())),
            *record.software(results),
            *page.origin(results),
        ],
        sections=[
            section(
                "Strength",
                plate("strength", strength(results), "Strength over training", _CAPTION),
                examinations(records),
            ),
            section(
                "Losses", plate("losses", losses(study), "Losses", "In self-play's own games.")
            ),
            section("Settings", record.other_settings(study)),
        ],
    )


def sentences(results: Mapping[str, Any]) -> list[str]:
    """How strong the player is."""
    final, count = results["final"], results["final"]["games"]
    lines = [
        f"The network of iteration {results['best_iteration']} is the player, in the folder player."
    ]
    for name, points in final["points"].items():
        lines.append(f"{percent(points)} of the points against {name} in {count[name]} games.")
    if "search" in final:
        lines.append(
            f"In solved positions with something to lose it keeps the result in "
            f"{percent(final['search'])} with search and {percent(final['network'])} without."
        )
    if "value_error" in final:
        constant = final.get("constant_error")
        beside = "" if constant is None else f", of the best constant {number(constant, 3)}"
        if (left := final.get("recalibrated_error")) is not None:
            beside += f"; recalibrated {number(left, 3)}"
        lines.append(f"Mean squared error of its value: {number(final['value_error'], 3)}{beside}.")
    return lines


@style.styled
def strength(results: Mapping[str, Any]) -> Figure | None:
    """Points, and shares of solved positions, by iteration."""
    records = results["examinations"]
    if not records:
        return None
    at = [one["iteration"] for one in records]
    curves = [{name: [one["points"][name] for one in records] for name in records[0]["points"]}]
    if "search" in records[0]:
        curves.append({text: [one[key] for one in records] for key, text in _SHARES.items()})
    figure, panels = style.new_figure(len(curves), panel=(4.6, 3.2))
    for axes, shown in zip(panels, curves, strict=True):
        for place, (name, values) in enumerate(shown.items()):
            axes.plot(at, values, marker="o", markersize=4, label=name, **style.line(place))
        axes.axvline(results["best_iteration"], linestyle=":", color=style.FAINT)
        axes.set_ylim(top=1.02)
        axes.legend(loc="lower right")
        draw.iteration_axis(axes, at[-1])
    panels[0].set_ylabel("share")
    return figure


@style.styled
def losses(study: Study) -> Figure:
    """l_p and l_v by iteration."""
    figure, panels = style.new_figure(2, panel=(4.6, 2.6))
    for axes, name in zip(panels, ("policy", "value"), strict=True):
        at, values = study.series("player", f"loss/{name}")
        axes.plot(at, values, color=style.colour(name))
        unit = study.value_unit if name == "value" else "nats"
        axes.set_ylabel(f"{style.label(name)} ({unit})")
        draw.iteration_axis(axes, float(at[-1]) if len(at) else 1.0)
    return figure


def examinations(records: Sequence[Mapping[str, Any]]) -> Table:
    """Every examination."""
    names = list(records[0]["points"]) if records else []
    shares = {text: key for key, text in _SHARES.items()} | {"value error": "value_error"}
    return table(
        "Examinations",
        records,
        {
            "iteration": lambda one: str(one["iteration"]),
            **{f"points, {n}": lambda one, n=n: number(one["points"][n], 3) for n in names},
            **{
                text: lambda one, key=key: number(one[key], 3) if key in one else None
                for text, key in shares.items()
            },
            "seconds": lambda one: number(one["seconds"], 1),
        },
        text_columns=0,
    )
