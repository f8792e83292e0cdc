"""Absolute strength in a report: moves and values against exact solutions.

Of `absolute_strength.json`, which `experiments.absolute_strength` writes into a run's directory.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.pages import style
from experiments.pages.boxplots import NO_DATA
from experiments.pages.page import Plate, Section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, number, plural, plus_minus

TITLE: Final = "Absolute strength"
STAGES: Final = ("early", "middle", "late")
_FEWEST = 5  # positions in a bin from which its mean is drawn
_COLUMNS: Final = (
    ("network alone", ("network", "contested", "weak")),
    ("with search", ("search", "contested", "weak")),
    *((f"search, {stage}", ("search", f"contested_{stage}", "weak")) for stage in STAGES),
    ("best move, search", ("search", "contested", "strong")),
    ("value error", ("value", "all", "mse")),
    *((f"value error, {stage}", ("value", stage, "mse")) for stage in STAGES),
)
HEADERS: Final = tuple(title for title, _ in _COLUMNS)


def section(study: Study) -> Section:
    """Figures and table of a study that was measured; else without content."""
    found = study.results.get("absolute_strength")
    if not found or not found.get("targets"):
        return Section(TITLE)
    count = found["positions"]
    text = (
        f"{plural(count['found'], 'position')} of random games, solved exactly; in "
        f"{number(count['contested'])} of them, the contested ones, some legal move gives away "
        "result. The same positions were put to all players, whoever else was asked.",
    )
    plates = (
        Plate(
            "absolute_moves",
            moves(found),
            "Moves that keep the result",
            "Share of contested positions in which the move keeps what can be reached. Left: the "
            "move that the policy likes best (open) and that of the search (filled); dashed: "
            "players that never learn. Right: with search, by thirds of the plies that the "
            "positions span" + (", and over training" if len(_iterations(found)) > 1 else "") + ". "
            f"Mean over seeds ± standard error. Not in the papers: {NO_DATA}.",
        ),
        Plate(
            "value_calibration",
            calibration(found),
            "Calibration of the value",
            "Mean exact result of positions over the network's value of them, without search, in "
            f"bins of the value with at least {_FEWEST} positions, all seeds of a loss together; "
            f"the diagonal is perfect. Not in the papers: {NO_DATA}.",
        ),
    )
    return Section(TITLE, text, plates, (table(found),))


def _iterations(found: dict[str, Any]) -> list[int]:
    return sorted({record["iteration"] for record in found["targets"]})


def _last(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets' records after the last measured iteration, in the papers' order."""
    last = _iterations(found)[-1]
    records = {r["target"]: r for r in found["targets"] if r["iteration"] == last}
    return [records[target] for target in style.in_order(records)]


def _value(record: dict[str, Any], path: Sequence[str]) -> tuple[float, float]:
    """(mean, standard error) at a path of a record; NaN where there is none."""
    node: Any = record
    for word in path:
        node = node.get(word) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        return (math.nan if node is None else float(node)), math.nan
    mean, error = (math.nan if node[k] is None else float(node[k]) for k in ("mean", "stderr"))
    return mean, error


@style.styled
def moves(found: dict[str, Any]) -> Figure:
    """Move accuracy by target: network and search, by stage and, where known, over training."""
    several = len(_iterations(found)) > 1
    figure, panels = style.new_figure(1, 3 if several else 2, panel=(3.3, 3.1), share_y=True)
    records = _last(found)
    _by_target(panels[0], records, found["players"])
    for record in records:
        points = [_value(record, ("search", f"contested_{stage}", "weak")) for stage in STAGES]
        _points(panels[1], np.arange(len(STAGES)), points, record["target"])
    panels[1].set_xticks(range(len(STAGES)), STAGES)
    panels[1].set_xlabel("plies, in thirds")
    panels[1].set_xlim(-0.3, len(STAGES) - 0.7)
    style.corner(panels[0], NO_DATA)
    if several:
        for record in records:
            own = sorted(
                (r for r in found["targets"] if r["target"] == record["target"]),
                key=lambda r: r["iteration"],
            )
            points = [_value(r, ("search", "contested", "weak")) for r in own]
            _points(panels[2], np.array([r["iteration"] for r in own]), points, record["target"])
        style.iteration_axis(panels[2], _iterations(found)[-1])
    panels[0].set_ylabel("share of moves that keep the result")
    handles = [style.handle(record["target"]) for record in records]
    handles.append(style.key("network alone", linestyle="", marker="o", markerfacecolor="white"))
    handles.append(style.key("with search", linestyle="", marker="o"))
    style.legend_below(figure, handles, columns=3)
    return figure


def _by_target(
    axes: Axes, records: Sequence[dict[str, Any]], players: dict[str, dict[str, Any]]
) -> None:
    for place, record in enumerate(records):
        shade = style.colour(record["target"])
        for shift, part in ((-0.13, "network"), (0.13, "search")):
            mean, error = _value(record, (part, "contested", "weak"))
            axes.errorbar(
                place + shift,
                mean,
                yerr=0.0 if math.isnan(error) else error,
                fmt=style.MARKERS.get(record["target"], "o"),
                color=shade,
                markerfacecolor="white" if part == "network" else shade,
                markersize=6,
                elinewidth=1.2,
                capsize=2.5,
            )
    for name, moves_of in players.items():
        value = moves_of["contested"]["weak"]
        if value is None:
            continue
        axes.axhline(value, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.text(len(records) - 0.45, value, name, fontsize=7.5, color="#555555", ha="right",
                  va="bottom")  # fmt: skip
    axes.set_xticks(range(len(records)), [style.label(r["target"]) for r in records])
    axes.set_xlim(-0.5, len(records) - 0.4)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(axis="x", visible=False)


def _points(axes: Axes, x: np.ndarray, points: Sequence[tuple[float, float]], target: str) -> None:
    errors = [0.0 if math.isnan(error) else error for _, error in points]
    axes.errorbar(
        x,
        [mean for mean, _ in points],
        yerr=errors,
        color=style.colour(target),
        marker=style.MARKERS.get(target, "o"),
        markersize=5,
        linewidth=1.6,
        elinewidth=1.0,
        capsize=2,
    )


@style.styled
def calibration(found: dict[str, Any]) -> Figure:
    """Exact over predicted value, a panel for each stage."""
    figure, panels = style.new_figure(1, len(STAGES), panel=(3.0, 3.0), share_y=True)
    records = _last(found)
    last = _iterations(found)[-1]
    for axes, stage in zip(panels, STAGES, strict=True):
        axes.plot([-1, 1], [-1, 1], color="#999999", linewidth=0.9, linestyle=(0, (4, 3)))
        for record in records:
            own = [n for n in found["networks"]
                   if n["target"] == record["target"] and n["iteration"] == last]  # fmt: skip
            x, y = _pooled([network["value"][stage]["bins"] for network in own])
            axes.plot(
                x,
                y,
                color=style.colour(record["target"]),
                marker=style.MARKERS.get(record["target"], "o"),
                markersize=4.5,
                linewidth=1.5,
            )
        axes.set_title(stage)
        axes.set_xlim(-1.05, 1.05)
        axes.set_ylim(-1.05, 1.05)
        axes.set_xlabel("value of the network")
    panels[0].set_ylabel("mean exact result")
    style.corner(panels[-1], NO_DATA)
    handles = [style.handle(record["target"]) for record in records]
    handles.append(style.key("perfect", color="#999999", linestyle=(0, (4, 3)), linewidth=0.9))
    style.legend_below(figure, handles, columns=5)
    return figure


def _pooled(networks: Sequence[Sequence[dict[str, Any]]]) -> tuple[np.ndarray, np.ndarray]:
    """(predicted, exact), float[N], of the bins with enough positions, networks together."""
    x, y = [], []
    for bins in zip(*networks, strict=True):
        counts = [b["positions"] for b in bins]
        if sum(counts) >= _FEWEST:
            weights = [(b, c) for b, c in zip(bins, counts, strict=True) if c]
            x.append(sum(b["predicted"] * c for b, c in weights) / sum(counts))
            y.append(sum(b["exact"] * c for b, c in weights) / sum(counts))
    return np.array(x), np.array(y)


def table(found: dict[str, Any]) -> Table:
    """Shares and errors by target after the last measured iteration, and of fixed players."""
    rows = [
        (style.label(record["target"]), number(record["seeds"]), *cells(record))
        for record in _last(found)
    ]
    rows += [(name, NONE, *cells({"search": one})) for name, one in found["players"].items()]
    headers = ("player", "seeds", *HEADERS)
    constant = found["positions"].get("constant_mse")
    known = "" if constant is None else f" The best constant has {number(constant, 3)}."
    note = (
        f"After iteration {_iterations(found)[-1]}. Shares of contested positions in which the "
        "move keeps the result (best move: reaches the best score); value error: mean squared, of "
        f"the network without search.{known} Mean over seeds ± standard error."
    )
    return Table("Moves and values against exact solutions", headers, tuple(rows), note)


def cells(record: dict[str, Any]) -> tuple[str, ...]:
    """A record's numbers, ± standard error where it has one, for the columns of `HEADERS`."""
    values = [_value(record, path) for _, path in _COLUMNS]
    return tuple(NONE if math.isnan(mean) else plus_minus(mean, error, 3) for mean, error in values)
