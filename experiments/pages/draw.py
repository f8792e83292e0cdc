"""What is drawn on the axes of several figures: bands, points with errors, boxes, levels, words."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from experiments.pages.bands import Band
from experiments.pages.style import BAD, FAINT, MARKERS, NON_FINITE, SEED, colour, literal
from experiments.published import Curve

DASHES: Final = (0, (4, 3))
HOVER: Final = "says: "  # begins the id of a point that says the rest of it under the pointer
BOX: Final = 3  # players from which a box says more than the points
NOTCH: Final = 5  # players from which a notch, the median's 95 % interval, means something
_GREY: Final = "#555555"


def iteration_axis(axes: Axes, last: float, *, text: str = "iteration") -> None:
    margin = 0.015 * max(last, 1)  # keeps the markers at both ends whole
    axes.set_xlim(-margin, max(last, 1) + margin)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=2))
    axes.set_xlabel(text)


def band(
    axes: Axes,
    shown: Band,
    name: str,
    *,
    dashed: bool = False,
    strong: bool = True,
    seeds: bool = True,
    shade: str | None = None,
    dashes: str = "-",
) -> None:
    """Mean, +-1 standard deviation and every seed of one metric, in the colour of `name`.

    `dashes`: of the mean, where colours are not enough; `dashed` has its own.
    """
    shade = shade or colour(name)
    if seeds and len(shown.seeds) > 1:
        thin: dict[str, Any] = {"linewidth": 0.5, "alpha": 0.4, "zorder": 1.5, "label": SEED}
        for values in shown.seeds:
            axes.plot(shown.iterations, values, color=shade, **thin)
    spread(axes, shown, shade)
    axes.plot(
        shown.iterations,
        shown.mean,
        color=shade,
        linestyle="--" if dashed else dashes,
        linewidth=2.1 if strong else 1.3,
        marker=MARKERS.get(name, "o"),
        markersize=4,
        markevery=max(1, -(-len(shown.iterations) // 6)),
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=3,
    )
    mark_non_finite(axes, shown.iterations, shown.mean)


def spread(axes: Axes, shown: Band | Curve, shade: str) -> None:
    """Mean ± 1 standard deviation, shaded where it is known."""
    if np.isfinite(shown.sd).any():
        low, high = shown.mean - shown.sd, shown.mean + shown.sd
        axes.fill_between(
            shown.iterations, low, high, color=shade, alpha=0.15, linewidth=0, zorder=1.4
        )


def error_bars(
    axes: Axes, x: ArrayLike, y: ArrayLike, errors: ArrayLike, name: str, **options: Any
) -> None:
    """Points with their errors, in colour and marker of `name`; an unknown error has no bar."""
    bars = np.nan_to_num(np.atleast_1d(np.asarray(errors, float)), nan=0.0)
    looks: dict[str, Any] = {"color": colour(name), "marker": MARKERS.get(name, "o")}
    looks |= {"markersize": 5, "elinewidth": 1.0, "capsize": 2}
    axes.errorbar(np.atleast_1d(x), np.atleast_1d(y), yerr=bars, **(looks | options))


def points(
    axes: Axes, x: Sequence[float], y: Sequence[float], said: Sequence[str], shade: Any
) -> None:
    """Points of one colour, or one each, that say what they are when the pointer rests on them."""
    shades = [shade] * len(x) if isinstance(shade, str) else shade
    for place_x, place_y, text, own in zip(x, y, said, shades, strict=True):
        axes.plot(place_x, place_y, "o", color=own, markeredgecolor="white", gid=f"{HOVER}{text}")


def box(axes: Axes, place: float, name: str, values: np.ndarray) -> None:
    """Quartiles and median of at least three players, notched from five."""
    shade, known = colour(name), values[np.isfinite(values)]
    if len(known) < BOX:
        return
    axes.boxplot(
        [known],
        positions=[place],
        widths=0.5,
        notch=len(known) >= NOTCH,
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": shade, "alpha": 0.2, "edgecolor": shade},
        medianprops={"color": shade, "linewidth": 2},
        whiskerprops={"color": shade, "alpha": 0.35, "linewidth": 3, "solid_capstyle": "butt"},
        capprops={"linewidth": 0},
    )


def beside(place: float, count: int, width: float = 0.26) -> np.ndarray:
    """float[count]: places next to each other around a place, so that equal points can be seen."""
    half = width / 2 if count > 1 else 0.0
    return place + np.linspace(-half, half, count)


def name_columns(axes: Axes, names: Sequence[str]) -> None:
    """Columns at 0, 1, 2, ... with their names below."""
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlim(-0.5, len(names) - 0.4)
    axes.grid(axis="x", visible=False)


def level(axes: Axes, height: float) -> None:
    """A thin dashed line across the panel."""
    axes.axhline(height, color=FAINT, linewidth=0.9, linestyle=DASHES, zorder=1)


def mark_non_finite(axes: Axes, iterations: np.ndarray, values: np.ndarray) -> None:
    """A cross on the top edge wherever a value is not a number."""
    where = iterations[~np.isfinite(values)]
    if len(where):
        axes.plot(
            where,
            np.full(len(where), 0.985),
            "x",
            color=BAD,
            markersize=6,
            markeredgewidth=1.6,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            zorder=5,
            label=NON_FINITE,
        )


def same_height(row: Sequence[Axes]) -> None:
    """Gives panels one y axis, labelled on the left."""
    limits = [axes.get_ylim() for axes in row]
    for axes in row:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    for axes in row[1:]:
        axes.tick_params(labelleft=False)


def limit_height(axes: Axes, values: Sequence[np.ndarray], *, bottom: float | None = 0.0) -> None:
    """Scales y to the bulk of `values`; what is far above is cut off, and the axes say so."""
    finite = np.concatenate([np.empty(0), *(v[np.isfinite(v)] for v in values)])
    if not len(finite):
        return
    bulk, top = float(np.quantile(finite, 0.95)), float(finite.max())
    ceiling = top if top <= 10 * max(bulk, 1e-9) else 3 * bulk
    axes.set_ylim(bottom=bottom, top=1.06 * max(ceiling, 1e-6))
    if ceiling < top:
        axes.text(
            0.98,
            0.96,
            f"↑ off the scale: up to {top:.3g}",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=8,
            color=BAD,
        )


def levels(axes: Axes, named: Iterable[tuple[str, float]]) -> None:
    """Dashed lines across the panel at heights that have names; call when all else is drawn.

    Names stand to the right of their lines, moved up where they would cover each other.
    """
    lines = sorted(((value, text) for text, value in named), key=lambda line: line[0])
    for value, _ in lines:
        level(axes, value)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)  # names do not change the scale
    place = -np.inf
    for value, text in lines:
        place = max(value, place + 0.045 * (high - low))
        axes.annotate(
            literal(text),
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=_GREY,
        )


def corner(axes: Axes, text: str) -> None:
    """Small grey words in the lower left corner of a panel, on white."""
    if text:
        axes.text(
            0.015,
            0.02,
            text,
            transform=axes.transAxes,
            fontsize=7.8,
            color=_GREY,
            va="bottom",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.5},
            zorder=6,
        )


def nothing(axes: Axes, text: str) -> None:
    """Says in the middle of a panel why it is empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=FAINT)
