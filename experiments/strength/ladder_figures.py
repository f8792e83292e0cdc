"""Strength against fixed opponents: curves of runs on one scale, and where they begin and end."""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.pages import style
from experiments.pages.study import Band, Study, band_of, floats
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, number, plus_minus

# Runs that no target gives a colour to (Okabe and Ito's palette, the purple is Tol's).
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#B8860B", "#E69F00")


class StrengthCurve(NamedTuple):
    """Runs that are drawn as one curve, by iteration.

    Attributes:
      band: Elo above the random player, of each run and in the mean.
      errors: float[S, N], its standard error of each run, NaN where a run was not measured.
    """

    band: Band
    errors: np.ndarray

    def error_of_mean(self, at: int) -> float:
        """The larger of the spread over the runs and the ratings' own error, of the mean."""
        errors = self.errors[:, at][np.isfinite(self.errors[:, at])]
        count = max(len(errors), 1)
        of_ratings = math.sqrt(float((errors**2).sum())) / count
        return float(np.fmax(of_ratings, self.band.sd[at] / math.sqrt(count)))


def groups_of(found: Mapping[str, Any], targets: Mapping[str, str]) -> dict[str, StrengthCurve]:
    """The curves of a ladder by what was minimised.

    Args:
      found: a ladder as stored: `runs`: {name: {iterations, elo, stderr}}.
      targets: of the runs, by name; a run without one is a group of its own.
    """
    members: dict[str, list[str]] = {}
    for name in found.get("runs") or {}:
        members.setdefault(targets.get(name, name), []).append(name)
    groups = {}
    for target, names in members.items():
        curves = [found["runs"][name] for name in names]
        band, errors = (
            band_of(
                [(np.asarray(curve["iterations"], int), floats(curve[key])) for curve in curves]
            )
            for key in ("elo", "stderr")
        )
        if band is not None and errors is not None:
            groups[target] = StrengthCurve(band, errors.seeds)
    return groups


@style.styled
def figure(groups: Mapping[str, StrengthCurve], anchors: list[dict[str, Any]]) -> Figure:
    """Elo above the random player by iteration, a curve for each group; dashed: the opponents."""
    drawn, (axes,) = style.new_figure(1, 1, panel=(7.6, 3.6))
    handles = []
    for place, (name, group) in enumerate(groups.items()):
        shade = style.COLOURS.get(name, PALETTE[place % len(PALETTE)])
        style.draw_band(axes, group.band, name, shade=shade)
        if len(group.band.seeds) == 1:  # no spread over seeds: the ratings' own errors
            axes.errorbar(
                group.band.iterations,
                group.band.mean,
                yerr=group.errors[0],
                fmt="none",
                ecolor=shade,
                elinewidth=1.0,
            )
        handles.append(style.handle(name, color=shade))
    style.levels(axes, [(anchor["name"], anchor["elo"]) for anchor in anchors])
    style.iteration_axis(axes, max(group.band.iterations[-1] for group in groups.values()))
    axes.set_ylabel("Elo above the random player")
    style.legend_below(drawn, handles, columns=5)
    return drawn


def of_study(study: Study) -> dict[str, StrengthCurve]:
    """The groups of a loss study, in its order of targets; none where nothing was measured."""
    found = groups_of(study.results.get("ladder") or {}, {r.name: r.target for r in study.runs})
    return {target: found[target] for target in study.targets if target in found}


def table(groups: Mapping[str, StrengthCurve]) -> Table:
    """Elo above random of every group at its first and its last measured iteration."""
    rows = []
    for name, group in groups.items():
        band, last = group.band, group.band.last
        first = (plus_minus(float(band.mean[0]), group.error_of_mean(0)),) if last else (NONE,)
        rows.append(
            (
                style.label(name),
                str(len(band.seeds)),
                *first,
                str(band.iterations[last]),
                plus_minus(float(band.mean[last]), group.error_of_mean(last)),
                number(float(band.mean[last] - band.mean[0])) if last else NONE,
            )
        )
    headers = ("minimised", "seeds", "untrained", "iteration", "Elo above random", "gain")
    note = (
        "Means over seeds ± standard error, the larger of the spread over seeds and the ratings' "
        "own error."
    )
    return Table("Strength against fixed opponents", headers, tuple(rows), note)


def anchors_table(found: Mapping[str, Any]) -> Table:
    """The opponents' own ratings."""
    rows = tuple(
        (anchor["name"], number(float(anchor["elo"])), number(float(anchor["stderr"])))
        for anchor in sorted(found["anchors"], key=lambda anchor: -anchor["elo"])
    )
    return Table("Fixed opponents", ("opponent", "Elo above random", "± error"), rows)
