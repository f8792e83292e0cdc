"""The figures of a study of arms, one function each. A figure without data is None, never empty."""

import math
from collections.abc import Iterable
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.losses.arms_study import Arms
from experiments.pages import style
from experiments.strength.ladder_figures import StrengthCurve

_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_WEIGHTS: Final = {"value": 0.0, "policy": 1.0}  # lambda of the targets that are ends of the sweep


@style.styled
def strength(found: Arms) -> Figure:
    """Elo above random by iteration, a panel for each arm."""
    names = found.names
    columns = min(len(names), 2)
    rows = math.ceil(len(names) / columns)
    figure, panels = style.new_figure(
        rows, columns, panel=(4.4, 2.9), share_y=True, spare=rows * columns - len(names)
    )
    for axes, name in zip(panels, names, strict=True):
        last = 1.0
        for target, group in found.curves(name).items():
            style.draw_band(axes, group.band, target)
            last = max(last, float(group.band.iterations[-1]))
        axes.set_title(name)
        style.iteration_axis(axes, last)
    for axes in panels[::columns]:
        axes.set_ylabel("Elo above the random player")
    style.legend_below(figure, [style.handle(target) for target in found.targets], columns=6)
    return figure


@style.styled
def final(found: Arms) -> Figure:
    """Elo of the last measured networks by arm, losses side by side."""
    targets, names = found.targets, found.names
    figure, (axes,) = style.new_figure(1, 1, panel=(max(6.0, 1.9 * len(names)), 3.4))
    for place, name in enumerate(names):
        groups = found.curves(name)
        for index, target in enumerate(t for t in targets if t in groups):
            group, last = groups[target], groups[target].band.last
            x = place + 0.7 * ((index + 0.5) / len(targets) - 0.5)
            shade = style.colour(target)
            axes.plot(
                np.full(len(group.band.seeds), x), group.band.seeds[:, last], ".", color=shade,
                alpha=0.5, markersize=4,
            )  # fmt: skip
            axes.errorbar(
                [x], [group.band.mean[last]], yerr=[group.error_of_mean(last)], color=shade,
                marker=style.MARKERS.get(target, "o"), markersize=6, markeredgecolor="white",
                elinewidth=1.5,
            )  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(axis="x", visible=False)
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
def sweep(found: Arms) -> Figure | None:
    """Strength at the end over lambda, a line for each arm; None without lambdas."""
    if not any(style.weight_of(target) is not None for target in found.targets):
        return None
    figure, (axes,) = style.new_figure(1, 1, panel=(6.4, 3.4))
    handles = []
    for index, name in enumerate(found.names):
        marker = _MARKERS[index % len(_MARKERS)]
        shade, shift = found.shade(name), 0.012 * (index - (len(found.names) - 1) / 2)
        _sweep_line(axes, _by_weight(found.curves(name).items()), shade, marker, shift)
        handles.append(style.key(name, color=shade, marker=marker, markersize=5))
    axes.set_xlabel("λ, weight of the policy loss")
    axes.set_ylabel("Elo above the random player")
    axes.set_xlim(-0.04, 1.04)
    style.legend_below(figure, handles, columns=5)
    return figure


def _by_weight(groups: Iterable[tuple[str, StrengthCurve]]) -> dict[float, StrengthCurve]:
    """Groups by lambda, ascending; a lambda that was run under its own name goes before."""
    found: dict[float, StrengthCurve] = {}
    for target, group in groups:
        weight = style.weight_of(target)
        if weight is None and target in _WEIGHTS:
            found.setdefault(_WEIGHTS[target], group)
        elif weight is not None:
            found[weight] = group
    return dict(sorted(found.items()))


def _sweep_line(
    axes: Axes, groups: dict[float, StrengthCurve], shade: str, marker: str, shift: float
) -> None:
    if not groups:
        return
    last = {weight: group.band.last for weight, group in groups.items()}
    x = np.array(list(groups)) + shift
    for at, (weight, group) in zip(x, groups.items(), strict=True):
        seeds = group.band.seeds[:, last[weight]]
        axes.plot(np.full(len(seeds), at), seeds, ".", color=shade, alpha=0.4, markersize=3)
    axes.errorbar(
        x,
        [float(group.band.mean[last[weight]]) for weight, group in groups.items()],
        yerr=[group.error_of_mean(last[weight]) for weight, group in groups.items()],
        color=shade, marker=marker, markersize=5, markeredgecolor="white", elinewidth=1.2,
        linewidth=1.4,
    )  # fmt: skip
