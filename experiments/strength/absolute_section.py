"""Absolute strength in a report: moves and values against exact solutions.

Of `absolute_strength.json`, which `experiments.absolute_strength` writes into a run's directory.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.pages import draw, style
from experiments.pages.bands import floats
from experiments.pages.page import Section, plate, section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import (
    NO_DATA,
    NONE,
    error_of_mean,
    number,
    plural,
    plus_minus,
)
from jaxzero.solvers.accuracy import STAGES, recalibrated

TITLE: Final = "Absolute strength"
_DIAGONAL: Final[dict[str, Any]] = {"color": "#999999", "linewidth": 0.9, "linestyle": draw.DASHES}
_FEWEST = 5  # positions in a bin from which its mean is drawn
_COLUMNS: Final = (
    ("network alone", ("network", "contested", "weak")),
    ("with search", ("search", "contested", "weak")),
    *((f"search, {stage}", ("search", f"contested_{stage}", "weak")) for stage in STAGES),
    ("best move, search", ("search", "contested", "strong")),
    ("value error", ("value", "all", "mse")),
    ("recalibrated", ("value", "all", "recalibrated")),
    *((f"value error, {stage}", ("value", stage, "mse")) for stage in STAGES),
)
HEADERS: Final = tuple(title for title, _ in _COLUMNS)


def section_of(study: Study) -> Section:
    """Figures and table of a study that was measured; else without content."""
    measured = study.results.get("absolute_strength")
    if not measured or not measured.get("targets"):
        return section(TITLE)
    count = measured["positions"]
    return section(
        TITLE,
        f"{plural(count['found'], 'position')} of {count.get('file') or 'random games'}, "
        + (
            f"solved exactly; in {number(count['contested'])} of them, the contested ones, some "
            "legal move gives away result."
            if count["contested"]
            else "of which no move is known to give away result."
        )
        + " The same positions were put to all players, whoever else was asked.",
        plate(
            "absolute_moves",
            moves(measured) if count["contested"] else None,
            "Moves that keep the result",
            "Share of contested positions in which the move keeps what can be reached. Left: the "
            "move that the policy likes best (open) and that of the search (filled); dashed: "
            "players that never learn. Right: with search, by thirds of the plies that the "
            "positions span"
            + (", and over training" if len(_iterations(measured)) > 1 else "")
            + ". "
            f"Mean over seeds ± standard error. Not in the papers: {NO_DATA}.",
        ),
        plate(
            "value_calibration",
            calibration(measured),
            "Calibration of the value",
            "Mean exact result of positions over the network's value of them, without search, in "
            f"bins of the value with at least {_FEWEST} positions, all seeds of a loss together; "
            f"the diagonal is perfect. Not in the papers: {NO_DATA}.",
        ),
        strengths(measured),
    )


def by_target(networks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the seeds of each target after each iteration, with standard errors.

    Returns for each `target` and `iteration` the number of `seeds` and, by part, group and number
    as in the records of networks, `mean` and `stderr` (NaN of one seed).
    """
    records = []
    for target, at in dict.fromkeys((n["target"], n["iteration"]) for n in networks):
        own = [n for n in networks if (n["target"], n["iteration"]) == (target, at)]
        record: dict[str, Any] = {"target": target, "iteration": at, "seeds": len(own)}
        for part, groups in (("network", own[0]["network"]), ("search", own[0]["search"])):
            record[part] = {
                group: {
                    kind: _mean_and_error([n[part][group][kind] for n in own])
                    for kind in ("weak", "strong")
                }
                for group in groups
            }
        record["value"] = {
            group: {
                "mse": _mean_and_error([n["value"][group]["mse"] for n in own]),
                "recalibrated": _recalibrated([n["value"][group] for n in own]),
            }
            for group in own[0]["value"]
        }
        records.append(record)
    return records


def _recalibrated(values: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return _mean_and_error([recalibrated(one) for one in values])


def _mean_and_error(values: Sequence[float | None]) -> dict[str, float]:
    known = floats(values)  # JSON's null: of no position
    return {"mean": float(known.mean()), "stderr": error_of_mean(known)}


def together(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What runs of other seeds were measured to do in the same positions, as of one run.

    None where the positions, the searches or the iterations differ.
    """
    first, *others = parts

    def measured(one: Mapping[str, Any]) -> tuple[Any, set[int]]:
        return one["settings"], {network["iteration"] for network in one["networks"]}

    if any(measured(one) != measured(first) for one in others):
        return None
    networks = [network for one in parts for network in one["networks"]]
    return {**first, "networks": networks, "targets": by_target(networks)}


def _iterations(measured: dict[str, Any]) -> list[int]:
    return sorted({record["iteration"] for record in measured["targets"]})


def _last(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets' records after the last measured iteration, in the papers' order."""
    last = _iterations(measured)[-1]
    records = {r["target"]: r for r in measured["targets"] if r["iteration"] == last}
    own: dict[str, list[Mapping[str, Any]]] = {target: [] for target in records}
    for network in measured["networks"]:
        if network["iteration"] == last:
            own[network["target"]].append(network["value"]["all"])
    for target, record in records.items():  # older files lack it
        value = record["value"]
        value = value | {"all": value["all"] | {"recalibrated": _recalibrated(own[target])}}
        records[target] = record | {"value": value}
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
def moves(measured: dict[str, Any]) -> Figure:
    """Move accuracy by target: network and search, by stage and, where known, over training."""
    several = len(_iterations(measured)) > 1
    figure, panels = style.new_figure(3 if several else 2, panel=(3.3, 3.1), share_y=True)
    records = _last(measured)
    _by_target(panels[0], records, measured["players"])
    for record in records:
        points = [_value(record, ("search", f"contested_{stage}", "weak")) for stage in STAGES]
        _points(panels[1], np.arange(len(STAGES)), points, record["target"])
    panels[1].set_xticks(range(len(STAGES)), STAGES)
    panels[1].set_xlabel("plies, in thirds")
    panels[1].set_xlim(-0.3, len(STAGES) - 0.7)
    draw.corner(panels[0], NO_DATA)
    if several:
        for record in records:
            own = sorted(
                (r for r in measured["targets"] if r["target"] == record["target"]),
                key=lambda r: r["iteration"],
            )
            points = [_value(r, ("search", "contested", "weak")) for r in own]
            _points(panels[2], np.array([r["iteration"] for r in own]), points, record["target"])
        draw.iteration_axis(panels[2], _iterations(measured)[-1])
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
        for shift, part in ((-0.13, "network"), (0.13, "search")):
            mean, error = _value(record, (part, "contested", "weak"))
            face = {} if part == "search" else {"markerfacecolor": "white"}
            draw.error_bars(axes, place + shift, mean, error, record["target"], **face)
    for name, moves_of in players.items():
        value = moves_of["contested"]["weak"]
        if value is None:
            continue
        draw.level(axes, value)
        axes.text(len(records) - 0.45, value, name, fontsize=7.5, color="#555555", ha="right",
                  va="bottom")  # fmt: skip
    draw.name_columns(axes, [style.label(r["target"]) for r in records])
    axes.tick_params(axis="x", labelsize=7.5)


def _points(axes: Axes, x: np.ndarray, points: Sequence[tuple[float, float]], target: str) -> None:
    means, errors = zip(*points, strict=True)
    draw.error_bars(axes, x, means, errors, target, linewidth=1.6)


@style.styled
def calibration(measured: dict[str, Any]) -> Figure:
    """Exact over predicted value, a panel for each stage."""
    figure, panels = style.new_figure(len(STAGES), panel=(3.0, 3.0), share_y=True)
    records = _last(measured)
    last = _iterations(measured)[-1]
    for axes, stage in zip(panels, STAGES, strict=True):
        axes.plot([-1, 1], [-1, 1], **_DIAGONAL)
        for record in records:
            own = [n for n in measured["networks"]
                   if n["target"] == record["target"] and n["iteration"] == last]  # fmt: skip
            x, y = _pooled([network["value"][stage]["bins"] for network in own])
            draw.error_bars(axes, x, y, np.nan, record["target"], linewidth=1.5)
        axes.set_title(stage)
        axes.set_xlim(-1.05, 1.05)
        axes.set_ylim(-1.05, 1.05)
        axes.set_xlabel("value of the network")
    panels[0].set_ylabel("mean exact result")
    draw.corner(panels[-1], NO_DATA)
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


def strengths(measured: dict[str, Any]) -> Table:
    """Shares and errors by target after the last measured iteration, and of fixed players."""
    rows = [(style.label(r["target"]), number(r["seeds"]), *cells(r)) for r in _last(measured)]
    rows += [(name, NONE, *cells({"search": one})) for name, one in measured["players"].items()]
    constant = measured["positions"].get("constant_mse")
    known = "" if constant is None else f" The best constant has {number(constant, 3)}."
    note = (
        f"After iteration {_iterations(measured)[-1]}. Shares of contested positions in which the "
        "move keeps the result (best move: reaches the best score); value error: mean squared, of "
        f"the network without search.{known} Recalibrated: what is left of it where each of ten "
        "bins of the value stands for its mean exact result, so what the value knows, however sure "
        "it is of it; one that knows nothing has the constant's. Mean over seeds ± standard error."
    )
    title = "Moves and values against exact solutions"
    return Table(title, ("player", "seeds", *HEADERS), tuple(rows), note)


def cells(record: dict[str, Any]) -> tuple[str, ...]:
    """A record's numbers, ± standard error where it has one, for the columns of `HEADERS`."""
    values = [_value(record, path) for _, path in _COLUMNS]
    return tuple(NONE if math.isnan(mean) else plus_minus(mean, error, 3) for mean, error in values)
