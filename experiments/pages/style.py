"""How figures look: palette, fonts, small drawing helpers shared by all of them."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.pages.study import Band

# Okabe and Ito's palette (the purple is Tol's), safe for the colour-blind; markers tell the lines
# apart in grey print.
COLOURS: Final = {
    "policy": "#0072B2",
    "value": "#D55E00",
    "sum": "#009E73",
    "product": "#AA4499",
    "weighted": "#56B4E9",
    "untrained": "#6B6B6B",
    "random": "#9A9A9A",
    "rollouts": "#333333",
}
MARKERS: Final = {"policy": "o", "value": "s", "sum": "^", "product": "D", "weighted": "v"}
_L: Final = "\N{SCRIPT SMALL L}"
_RAMP: Final = LinearSegmentedColormap.from_list("lambda", ["#7F3B08", "#B8860B", "#2D2A6E"])
SYMBOLS: Final = {
    "policy": f"{_L}ₚ",
    "value": f"{_L}ᵥ",
    "sum": f"{_L}₊",
    "product": f"{_L}ₓ",
    "weighted": f"{_L}(λ)",
}
_PLAIN: Final = {"l_p": "policy", "l_v": "value", "l_+": "sum", "l_x": "product"}
INK: Final = "#222222"
FAINT: Final = "#8A8A8A"

RC: Final[Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 7.0,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "jaxzero",
    "figure.dpi": 110,
}
styled = matplotlib.rc_context(RC)  # decorates every function that builds or saves a figure

_VECTOR_POINTS = 18000  # thin lines of more points than this are stored as an image in the SVG


def colour(name: str) -> str:
    """Of a target or a kind of player; of l_lambda between those of l_v (0) and l_p (1)."""
    weight = weight_of(name)
    return COLOURS.get(name, FAINT) if weight is None else to_hex(_RAMP(weight))


def weight_of(target: str) -> float | None:
    """0.25 of `lambda_0.25`; None for other targets."""
    return float(target.removeprefix("lambda_")) if target.startswith("lambda_") else None


def label(target: str) -> str:
    """`policy ℓₚ`, `λ = 0.25`."""
    if weight_of(target) is not None:
        return f"λ = {target.removeprefix('lambda_')}"
    return f"{target} {SYMBOLS[target]}" if target in SYMBOLS else target


def symbols(text: str) -> str:
    """`l_v` and the other losses of a sentence as they are printed elsewhere."""
    for plain, target in _PLAIN.items():
        text = text.replace(plain, SYMBOLS[target])
    return text


def canvas(figure: Figure) -> Figure:
    """Gives a figure that no window shows something to be drawn on."""
    FigureCanvasAgg(figure)
    return figure


def new_figure(
    rows: int, columns: int, *, panel: tuple[float, float], share_y: bool = False, spare: int = 0
) -> tuple[Figure, list[Axes]]:
    """A figure of `rows * columns - spare` panels, each `panel` inches, read row by row."""
    figure = Figure(figsize=(columns * panel[0], rows * panel[1] + 0.35), layout="constrained")
    canvas(figure)
    axes = figure.subplots(rows, columns, sharey=share_y, squeeze=False).ravel().tolist()
    for unused in axes[len(axes) - spare :]:
        unused.remove()
    return figure, axes[: len(axes) - spare]


def iteration_axis(axes: Axes, last: float, *, text: str = "iteration") -> None:
    margin = 0.015 * max(last, 1)  # keeps the markers at both ends whole
    axes.set_xlim(-margin, max(last, 1) + margin)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=2))
    axes.set_xlabel(text)


def draw_band(
    axes: Axes,
    band: Band,
    name: str,
    *,
    dashed: bool = False,
    strong: bool = True,
    seeds: bool = True,
    shade: str | None = None,
) -> None:
    """Mean, +-1 standard deviation and every seed of one metric, in the colour of `name`."""
    shade = shade or colour(name)
    if seeds and len(band.seeds) > 1:
        for values in band.seeds:
            axes.plot(
                band.iterations,
                values,
                color=shade,
                linewidth=0.5,
                alpha=0.4,
                zorder=1.5,
                label="_seed",
            )
    if np.isfinite(band.sd).any():
        axes.fill_between(
            band.iterations,
            band.mean - band.sd,
            band.mean + band.sd,
            color=shade,
            alpha=0.15,
            linewidth=0,
            zorder=1.4,
        )
    axes.plot(
        band.iterations,
        band.mean,
        color=shade,
        linestyle="--" if dashed else "-",
        linewidth=2.1 if strong else 1.3,
        marker=MARKERS.get(name, "o"),
        markersize=4,
        markevery=max(1, len(band.iterations) // 6),
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=3,
    )
    mark_non_finite(axes, band.iterations, band.mean)


def mark_non_finite(axes: Axes, iterations: np.ndarray, values: np.ndarray) -> None:
    """A cross on the top edge wherever a value is not a number."""
    where = iterations[~np.isfinite(values)]
    if len(where):
        axes.plot(
            where,
            np.full(len(where), 0.985),
            "x",
            color="#B00020",
            markersize=6,
            markeredgewidth=1.6,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            zorder=5,
            label="_non-finite",
        )


def has_non_finite(figure: Figure) -> bool:
    return any(line.get_label() == "_non-finite" for axes in figure.axes for line in axes.lines)


def bad_key(figure: Figure) -> list[Line2D]:
    """The legend entry of `mark_non_finite`, where it marked something."""
    if not has_non_finite(figure):
        return []
    return [key("not finite", color="#B00020", linestyle="", marker="x")]


def same_height(row: Sequence[Axes]) -> None:
    """Gives panels one y axis, labelled on the left."""
    limits = [axes.get_ylim() for axes in row]
    for axes in row:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    for axes in row[1:]:
        axes.tick_params(labelleft=False)


def limit_height(axes: Axes, values: Sequence[np.ndarray], *, bottom: float | None = 0.0) -> None:
    """Scales y to the bulk of `values`; what is far above is cut off, and the axes say so."""
    finite = np.concatenate([np.ravel(v)[np.isfinite(np.ravel(v))] for v in values] or [[]])
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
            color="#B00020",
        )


def levels(axes: Axes, named: Iterable[tuple[str, float]]) -> None:
    """Dashed lines across the panel at heights that have names; call when all else is drawn.

    Names stand to the right of their lines, moved up where they would cover each other.
    """
    lines = sorted(((value, text) for text, value in named), key=lambda line: line[0])
    for value, _ in lines:
        axes.axhline(value, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)  # names do not change the scale
    place = -np.inf
    for value, text in lines:
        place = max(value, place + 0.045 * (high - low))
        axes.annotate(
            text,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color="#555555",
        )


def in_order(names: Iterable[str]) -> list[str]:
    """Targets and kinds of players in the papers' order, unknown ones last."""
    order = list(COLOURS)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def corner(axes: Axes, text: str) -> None:
    """Small grey words in the lower left corner of a panel, on white."""
    if text:
        axes.text(
            0.015,
            0.02,
            text,
            transform=axes.transAxes,
            fontsize=7.8,
            color="#555555",
            va="bottom",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.5},
            zorder=6,
        )


def handle(name: str, text: str | None = None, **options: Any) -> Line2D:
    """A legend entry in the colour and marker of `name`."""
    shown = {"color": colour(name), "marker": MARKERS.get(name), "markersize": 5} | options
    return Line2D([], [], label=text or label(name), **shown)


def key(text: str, **options: Any) -> Line2D:
    """A grey legend entry that explains a line style."""
    return Line2D([], [], label=text, **({"color": "#555555"} | options))


def legend_below(figure: Figure, handles: Sequence[Line2D], *, columns: int) -> None:
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=columns,
        handlelength=2.4,
        columnspacing=1.6,
    )


def lighten(figure: Figure) -> None:
    """Turns the thin lines of single seeds into images where they would bloat the SVG."""
    thin = [line for axes in figure.axes for line in axes.lines if line.get_label() == "_seed"]
    if sum(len(np.asarray(line.get_xdata())) for line in thin) > _VECTOR_POINTS:
        for line in thin:
            line.set_rasterized(True)
