"""How figures look: palette, fonts, panels, legends."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

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
# What no target gives a colour to: runs, arms, networks.
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#B8860B", "#E69F00")
INK: Final = "#222222"
FAINT: Final = "#8A8A8A"
BAD: Final = "#B00020"
SEED: Final = "_seed"  # labels of lines that no legend shows: single seeds, values not finite
NON_FINITE: Final = "_non-finite"

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

_THIN_POINTS = 48000  # of a figure's thin lines together, 6 bytes each in its SVG


def colour(name: str) -> str:
    """Of a target or a kind of player; of l_lambda between those of l_v (0) and l_p (1)."""
    weight = weight_of(name)
    return COLOURS.get(name, FAINT) if weight is None else to_hex(_RAMP(weight))


def line(place: int) -> dict[str, Any]:
    """Colour and line of the n-th of many curves, from 0: 28 differ."""
    dashes = ("-", "--", ":", "-.")
    return {
        "color": PALETTE[place % len(PALETTE)],
        "linestyle": dashes[place // len(PALETTE) % len(dashes)],
    }


def weight_of(target: str) -> float | None:
    """0.25 of `lambda_0.25`; None for other targets."""
    return float(target.removeprefix("lambda_")) if target.startswith("lambda_") else None


def label(target: str) -> str:
    """`policy ℓₚ`, `λ = 0.25`."""
    if weight_of(target) is not None:
        return f"λ = {target.removeprefix('lambda_')}"
    return f"{target} {SYMBOLS[target]}" if target in SYMBOLS else target


def literal(name: str) -> str:
    """A name that somebody chose, e.g. a directory's: two dollar signs do not make it a formula."""
    return name.replace("$", r"\$")


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
    count: int = 1, *, panel: tuple[float, float], columns: int = 4, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, each `panel` inches, at most `columns` in a row."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(columns * panel[0], rows * panel[1] + 0.35), layout="constrained")
    canvas(figure)
    axes = figure.subplots(rows, columns, sharey=share_y, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def label_rows(panels: Sequence[Axes], text: str) -> None:
    """Labels the y axis of the first panel of each row."""
    for axes in panels:
        place = axes.get_subplotspec()
        if place is not None and place.is_first_col():
            axes.set_ylabel(text)


def in_order(names: Iterable[str]) -> list[str]:
    """Targets and kinds of players in the papers' order, unknown ones last."""
    order = list(COLOURS)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def handle(name: str, **options: Any) -> Line2D:
    """A legend entry in the colour and marker of `name`."""
    shown = {"color": colour(name), "marker": MARKERS.get(name), "markersize": 5} | options
    return Line2D([], [], label=literal(label(name)), **shown)


def key(text: str, **options: Any) -> Line2D:
    """A grey legend entry that explains a line style."""
    return Line2D([], [], label=text, **({"color": "#555555"} | options))


def bad_key(figure: Figure) -> list[Line2D]:
    """The legend entry of values that are not finite, where `draw` marked one."""
    lines = [line for axes in figure.axes for line in axes.lines]
    if not any(line.get_label() == NON_FINITE for line in lines):
        return []
    return [key("not finite", color=BAD, linestyle="", marker="x")]


def legend_below(figure: Figure, handles: Sequence[Line2D], *, columns: int) -> None:
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=columns,
        handlelength=2.4,
        columnspacing=1.6,
    )


def lighten(figure: Figure) -> None:
    """Draws every second, third, ... point of single seeds where all would bloat the SVG."""
    thin = [line for axes in figure.axes for line in axes.lines if line.get_label() == SEED]
    step = -(-sum(len(np.asarray(line.get_xdata())) for line in thin) // _THIN_POINTS)
    for line in thin if step > 1 else ():
        line.set_data(np.asarray(line.get_xdata())[::step], np.asarray(line.get_ydata())[::step])
