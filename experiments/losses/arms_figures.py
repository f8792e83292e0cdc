"""The figures of a study of arms, one function each. A figure without data is None, never empty."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.losses.arms_results import ArmsStudy
from experiments.pages import draw, style
from experiments.strength.ladder_figures import StrengthCurve

COLUMNS: Final = 6  # arms
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_WEIGHTS: Final = {"value": 0.0, "policy": 1.0}  # lambda of the targets that are ends of the sweep


@style.styled
def strength(study: ArmsStudy) -> Figure:
    """Elo above random by iteration, a panel for each arm."""
    names = study.names
    figure, panels = style.new_figure(len(names), columns=2, panel=(4.4, 2.9), share_y=True)
    for axes, name in zip(panels, names, strict=True):
        last = 1.0
        for target, group in study.curves(name).items():
            draw.band(axes, group.band, target)
            last = max(last, float(group.band.iterations[-1]))
        axes.set_title(name)
        draw.iteration_axis(axes, last)
    style.label_rows(panels, "Elo above the random player")
    style.legend_below(figure, [style.handle(target) for target in study.targets], columns=6)
    return figure


@style.styled
def final(study: ArmsStudy) -> Figure | None:
    """Elo of the last measured networks by arm, losses side by side; None: too many for a page."""
    targets, names = study.targets, study.names
    if len(names) > COLUMNS:
        return None
    figure, (axes,) = style.new_figure(panel=(max(6.0, 1.9 * len(names)), 3.4))
    for place, name in enumerate(names):
        groups = study.curves(name)
        for index, target in enumerate(t for t in targets if t in groups):
            group, last = groups[target], groups[target].band.last
            x = place + 0.7 * ((index + 0.5) / len(targets) - 0.5)
            _seeds(axes, x, group.band.seeds[:, last], style.colour(target))
            draw.error_bars(axes, x, group.band.mean[last], group.error_of_mean(last), target)
    draw.name_columns(axes, names)
    for place in range(1, len(names)):
        axes.axvline(place - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.set_ylabel("Elo above the random player")
    handles = [
        style.handle(target, linestyle="", marker=style.MARKERS.get(target, "o"))
        for target in targets
    ]
    style.legend_below(figure, handles, columns=6)
    return figure


@style.styled
def defects(study: ArmsStudy) -> Figure:
    """Elo of l_v less that of each rival, a line for each arm, with its interval."""
    rows = [row for row in study.results["effects"] if row["kind"] == "loss"]
    names = [name for name in study.names if any(row["arm"] == name for row in rows)]
    rivals = list(dict.fromkeys(row["target"] for row in rows))
    figure, (axes,) = style.new_figure(panel=(7.0, 0.8 + 0.3 * len(names)))
    for row in rows:
        shift = 0.5 * ((rivals.index(row["target"]) + 0.5) / len(rivals) - 0.5)
        y, shade = names.index(row["arm"]) + shift, style.colour(row["target"])
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [y, y], color=shade, linewidth=1.5)
        axes.plot(row["effect"], y, "o", color=shade, markersize=4)
    axes.axvline(0, color="#777777", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("Elo of l_v less that of the rival")
    handles = [style.handle(rival, linestyle="", marker="o") for rival in rivals]
    style.legend_below(figure, handles, columns=4)
    return figure


@style.styled
def sweep(study: ArmsStudy) -> Figure | None:
    """Strength at the end over lambda, a line for each arm; None without lambdas."""
    if not any(style.weight_of(target) is not None for target in study.targets):
        return None
    figure, (axes,) = style.new_figure(panel=(6.4, 3.4))
    handles = []
    for index, name in enumerate(study.names):
        marker = _MARKERS[index % len(_MARKERS)]
        shade, shift = study.shade(name), 0.012 * (index - (len(study.names) - 1) / 2)
        _sweep_line(axes, _by_weight(study.curves(name).items()), shade, marker, shift)
        handles.append(style.key(name, color=shade, marker=marker, markersize=5))
    axes.set_xlabel("λ, weight of the policy loss")
    axes.set_ylabel("Elo above the random player")
    axes.set_xlim(-0.04, 1.04)
    style.legend_below(figure, handles, columns=5)
    return figure


def _by_weight(groups: Iterable[tuple[str, StrengthCurve]]) -> dict[float, StrengthCurve]:
    """Groups by lambda, ascending; a lambda that was run under its own name goes before."""
    by_weight: dict[float, StrengthCurve] = {}
    for target, group in groups:
        weight = style.weight_of(target)
        if weight is None and target in _WEIGHTS:
            by_weight.setdefault(_WEIGHTS[target], group)
        elif weight is not None:
            by_weight[weight] = group
    return dict(sorted(by_weight.items()))


def _sweep_line(
    axes: Axes, groups: dict[float, StrengthCurve], shade: str, marker: str, shift: float
) -> None:
    if not groups:
        return
    ends = [(group, group.band.last) for group in groups.values()]
    x = np.array(list(groups)) + shift
    for at, (group, last) in zip(x, ends, strict=True):
        _seeds(axes, at, group.band.seeds[:, last], shade)
    means = [float(group.band.mean[last]) for group, last in ends]
    errors = [group.error_of_mean(last) for group, last in ends]
    draw.error_bars(axes, x, means, errors, "", color=shade, marker=marker, linewidth=1.4)


def _seeds(axes: Axes, x: float, elo: np.ndarray, shade: str) -> None:
    """Single seeds as small points."""
    axes.plot(np.full(len(elo), x), elo, ".", color=shade, alpha=0.45, markersize=3.5)
