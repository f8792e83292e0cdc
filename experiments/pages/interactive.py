"""Figures whose points say what they are: plain SVG with titles, which browsers show on hovering.

No script and nothing from elsewhere: the page works from a file, offline, in print.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.ticker import MaxNLocator

NAME: Final = "interactive.html"
_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 20, 50
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 62rem; margin: 0 auto; padding: 2rem 1.5rem; }}
body {{ font: 16px/1.5 sans-serif; color: #1d1f21; }}
svg {{ width: 100%; height: auto; font: 12px sans-serif; fill: #444; }}
circle {{ stroke: #fff; stroke-width: 1; }}
circle:hover {{ stroke: #000; stroke-width: 2; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>Rest the pointer on a point to see its setting.</p>
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Point:
    """A point, the text that it shows, its colour, and a label beside it."""

    x: float
    y: float
    text: str
    colour: str = "#0072B2"
    label: str = ""


@dataclass(frozen=True)
class Scatter:
    """Points over two axes; `line` joins some of them, e.g. a Pareto front."""

    title: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    line: tuple[tuple[float, float], ...] = ()


def write(directory: Path, title: str, scatters: Sequence[Scatter]) -> Path:
    """Writes `interactive.html` and returns its path."""
    body = "\n".join(f"<h2>{escape(s.title)}</h2>\n{svg(s)}" for s in scatters)
    path = directory / NAME
    path.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")
    return path


def svg(scatter: Scatter) -> str:
    """The figure as an SVG element; points that are not finite are left out."""
    points = [p for p in scatter.points if math.isfinite(p.x) and math.isfinite(p.y)]
    if not points:
        return "<p>No points.</p>"
    across = _ticks([p.x for p in points])
    up = _ticks([p.y for p in points])

    def x(value: float) -> float:
        return _LEFT + (value - across[0]) / (across[-1] - across[0]) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - up[0]) / (up[-1] - up[0]) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">']
    for tick in up:
        parts.append(
            f'<path d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="#e4e4e4"/>'
            f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    for tick in across:
        parts.append(
            f'<text x="{x(tick):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{escape(scatter.x_label)}</text>"
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(scatter.y_label)}</text>"
    )
    if scatter.line:
        joined = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in scatter.line)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="#0072B2"/>')
    for p in points:
        parts.append(
            f'<circle cx="{x(p.x):.1f}" cy="{y(p.y):.1f}" r="5" fill="{p.colour}">'
            f"<title>{escape(p.text)}</title></circle>"
        )
        if p.label:
            parts.append(
                f'<text x="{x(p.x) + 8:.1f}" y="{y(p.y) + 4:.1f}">{escape(p.label)}</text>'
            )
    return "\n".join([*parts, "</svg>"])


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around all values, two at least."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    ticks = MaxNLocator(nbins=6).tick_values(low, high)
    return [float(t) for t in np.asarray(ticks)]
