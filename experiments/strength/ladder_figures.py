"""Strength against fixed opponents: curves of runs on one scale, and where they begin and end."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.pages import draw, style
from experiments.pages.bands import Band, band_of, floats
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import number, plus_minus


class StrengthCurve(NamedTuple):
    """Runs that are drawn as one curve, by iteration."""

    band: Band  # Elo above the random player, of each run and in the mean
    # float[S, N], its standard error of each run, NaN where a run was not measured
    errors: np.ndarray
    # float[S, N], the part of it that all runs of the ladder share, of where the random player
    # stands; 0 in older files
    shared: np.ndarray

    def error_of_mean(self, at: int) -> float:
        """Of the mean: the larger of the spread over the runs and the ratings' own error.

        To either is added what the errors of all runs have in common, which no mean makes smaller.
        """
        known = np.isfinite(self.errors[:, at])
        errors, shared = self.errors[known, at], self.shared[known, at]
        count = max(len(errors), 1)
        own = np.maximum(errors**2 - shared**2, 0.0)
        of_ratings = math.sqrt(float(own.sum())) / count
        larger = float(np.fmax(of_ratings, self.band.sd[at] / math.sqrt(count)))
        return math.hypot(larger, float(shared.max(initial=0.0)))

    def mean_and_error(self, at: int) -> str:
        """`407 ± 21`: Elo in the mean over the runs."""
        return plus_minus(float(self.band.mean[at]), self.error_of_mean(at))


def groups_of(found: Mapping[str, Any], targets: Mapping[str, str]) -> dict[str, StrengthCurve]:
    """The curves of a ladder (`runs`: {name: {iterations, elo, stderr}}) by what was minimised.

    `targets`: of the runs, by name; a run without one is a group of its own.
    """
    members: dict[str, list[str]] = {}
    for name in found.get("runs") or {}:
        members.setdefault(targets.get(name, name), []).append(name)
    groups = {}
    for target, names in members.items():
        curves = [
            {"shared_stderr": [0.0] * len(found["runs"][name]["elo"])} | found["runs"][name]
            for name in names
        ]
        band, errors, shared = (
            band_of(
                [(np.asarray(curve["iterations"], int), floats(curve[key])) for curve in curves]
            )
            for key in ("elo", "stderr", "shared_stderr")
        )
        if band is not None and errors is not None and shared is not None:
            groups[target] = StrengthCurve(band, errors.seeds, shared.seeds)
    return groups


@style.styled
def figure(groups: Mapping[str, StrengthCurve], anchors: list[dict[str, Any]]) -> Figure:
    """Elo above the random player by iteration, a curve for each group; dashed: the opponents."""
    drawn, (axes,) = style.new_figure(panel=(7.6, 3.6))
    handles = []
    for place, (name, group) in enumerate(groups.items()):
        line = style.line(place)  # of targets their own colour
        shade, dashes = style.COLOURS.get(name, line["color"]), line["linestyle"]
        draw.band(axes, group.band, name, shade=shade, dashes=dashes)
        if len(group.band.seeds) == 1:  # no spread over seeds: the ratings' own errors
            x, mean, look = group.band.iterations, group.band.mean, {"color": shade, "marker": None}
            draw.error_bars(axes, x, mean, group.errors[0], name, linestyle="", **look)
        handles.append(style.handle(name, color=shade, linestyle=dashes))
    draw.levels(axes, [(anchor["name"], anchor["elo"]) for anchor in anchors])
    draw.iteration_axis(axes, max(group.band.iterations[-1] for group in groups.values()))
    axes.set_ylabel("Elo above the random player")
    style.legend_below(drawn, handles, columns=5)
    return drawn


def of_study(study: Study) -> dict[str, StrengthCurve]:
    """The groups of a loss study, in its order of targets; none where nothing was measured."""
    found = groups_of(study.results.get("ladder") or {}, {r.name: r.target for r in study.runs})
    return {target: found[target] for target in study.targets if target in found}


def strengths(groups: Mapping[str, StrengthCurve]) -> Table:
    """Elo above random of every group at its first and its last measured iteration."""
    return table(
        "Strength against fixed opponents",
        groups.items(),
        {
            "minimised": lambda item: style.label(item[0]),
            "seeds": lambda item: str(len(item[1].band.seeds)),
            "untrained": lambda item: item[1].mean_and_error(0) if _begins(item[1].band) else None,
            "iteration": lambda item: str(item[1].band.iterations[item[1].band.last]),
            "Elo above random": lambda item: item[1].mean_and_error(item[1].band.last),
            "gain": lambda item: _gain(item[1].band),
        },
        "Means over seeds ± standard error: the larger of the spread over seeds and the ratings' "
        "own error, and the error that all networks share, of the random player's place.",
    )


def _begins(band: Band) -> bool:
    """Whether the untrained network was measured, and another one."""
    return bool(band.last) and int(band.iterations[0]) == 0


def _gain(band: Band) -> str | None:
    return number(float(band.mean[band.last] - band.mean[0])) if _begins(band) else None


def opponents(found: Mapping[str, Any]) -> Table:
    """The opponents' own ratings."""
    return table(
        "Fixed opponents",
        sorted(found["anchors"], key=lambda anchor: -anchor["elo"]),
        {
            "opponent": lambda anchor: anchor["name"],
            "Elo above random": lambda anchor: number(float(anchor["elo"])),
            "± error": lambda anchor: number(float(anchor["stderr"])),
        },
    )
