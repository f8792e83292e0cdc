"""Training Elo: as it was computed, as it was published, and how much of it is self-play's bias."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.claims import measured
from experiments.pages import draw, style
from experiments.pages.bands import Band, band_of, floats
from experiments.pages.study import Study
from experiments.pages.wording import NO_DATA, unpublished

Series = tuple[np.ndarray, np.ndarray]  # iterations int[N], Elo float[N]
AS_AUTHORS: Final = "training Elo as the authors computed it (32.8 for the newer network)"


def as_authors(study: Study, target: str) -> list[Series]:
    """Training Elo of a target's runs by the papers' formula, whatever the study's semantics."""
    rated = study.authors_training_elo
    return [rated[run.name] for run in study.runs_of(target) if run.name in rated]


def knows_arena(study: Study) -> bool:
    """Whether the metrics hold what the papers' formula needs."""
    return bool(study.authors_training_elo)


def computed(study: Study, target: str) -> list[Series]:
    """Training Elo of a target's runs as the study computed it."""
    rated = (study.training_elo(run.name) for run in study.runs_of(target))
    return [(iterations, elo) for iterations, elo, _ in filter(None, rated)]


def anchored(study: Study, target: str) -> list[Series]:
    """Elo above the random player, from games against fixed opponents."""
    curves = (study.results.get("ladder") or {}).get("runs") or {}
    found = [curves[run.name] for run in study.runs_of(target) if run.name in curves]
    return [(np.asarray(curve["iterations"], int), floats(curve["elo"])) for curve in found]


def gains(series: Iterable[Series]) -> Band | None:
    """The same above each curve's own beginning, the untrained network."""
    return band_of([(its, elo - elo[0]) for its, elo in series if len(its) and its[0] == 0])


def tournament_gains(study: Study, target: str) -> np.ndarray:
    """float[S]: Elo of final networks above the untrained one of their seed, full search."""
    found = []
    for run in study.runs_of(target):
        trained = measured.rating(study, "trained", target=target, seed=run.seed)
        start = measured.rating(study, "untrained", target=None, seed=run.seed)
        if trained is not None and start is not None:
            found.append(trained - start)
    return np.array(found)


@style.styled
def bias(study: Study) -> Figure | None:
    """Gain over the untrained network by training Elo and by fixed opponents, on one axis.

    What training Elo gains beyond the others is self-play's bias (000, section 6.3.2).
    """
    shown = {target: found for target in study.targets if (found := _gains_of(study, target))}
    if not shown:
        return None
    figure, panels = style.new_figure(len(shown), panel=(2.55, 2.7), share_y=True)
    theirs = published.training_elo(study.game) or {}
    last = max(band.iterations[-1] for found in shown.values() for band in found.values())
    for axes, (target, found) in zip(panels, shown.items(), strict=True):
        for kind, band in found.items():
            _gain_line(axes, kind, band, style.colour(target))
        end = tournament_gains(study, target)
        if np.isfinite(end).any():
            spread = float(np.nanstd(end, ddof=1)) if len(end) > 1 else 0.0
            look = {"marker": "*", "markersize": 9, "zorder": 5, "clip_on": False}
            draw.error_bars(axes, last, np.nanmean(end), spread, target, color=style.INK, **look)
        if target in theirs:
            curve = theirs[target]
            until = curve.iterations <= last
            axes.plot(curve.iterations[until], (curve.mean - curve.mean[0])[until], ":",
                      color=style.INK, linewidth=1.5)  # fmt: skip
        else:
            draw.corner(axes, unpublished("training_elo", study.game))
        axes.axhline(0, color="#999999", linewidth=0.8, zorder=1)
        axes.set_title(style.label(target))
        draw.iteration_axis(axes, last)
    style.label_rows(panels, "Elo above the untrained network")
    handles = [style.key(text, **_LOOKS[kind]) for kind, text in _TEXTS.items()]
    handles.append(style.key("tournament, mean ± sd", linestyle="", marker="*", markersize=9))
    if theirs:
        handles.append(style.key("published training Elo", linestyle=":"))
    style.legend_below(figure, handles, columns=2)
    return figure


_TEXTS: Final = {
    "authors": AS_AUTHORS,
    "computed": "training Elo, advantage of the mover fitted",
    "anchored": "fixed opponents (the ladder)",
}
_LOOKS: Final[dict[str, dict[str, Any]]] = {
    "authors": {"linestyle": "--", "linewidth": 1.5},
    "computed": {"linestyle": "-", "linewidth": 0.9},
    "anchored": {"linestyle": "-", "linewidth": 2.4, "marker": "o", "markersize": 4},
}


def _gains_of(study: Study, target: str) -> dict[str, Band]:
    first_listed = (study.results.get("switches") or {}).get("elo_first_listed_advantage")
    found = {
        "authors": gains(as_authors(study, target)),
        "computed": None if first_listed else gains(computed(study, target)),
        "anchored": gains(anchored(study, target)),
    }
    return {kind: band for kind, band in found.items() if band is not None}


def _gain_line(axes: Axes, kind: str, band: Band, shade: str) -> None:
    if kind == "anchored":  # few points
        errors = np.where(np.isfinite(band.sd), band.sd, 0.0)
        axes.errorbar(band.iterations, band.mean, yerr=errors, fmt="none", ecolor=shade, capsize=2)
    elif kind != "computed":
        draw.spread(axes, band, shade)
    axes.plot(band.iterations, band.mean, color=shade, zorder=3, **_LOOKS[kind])


@style.styled
def training_elo(study: Study) -> Figure | None:
    """Training Elo against iterations, one panel per target; below it, what was published.

    The published curves have axes of their own: training Elo has no common scale between runs
    (001, section VI), only its course within a run means something (000, Fig. 10).
    """
    rated = as_authors if knows_arena(study) else computed
    bands = {target: band_of(rated(study, target)) for target in study.targets}
    ours = {target: band for target, band in bands.items() if band is not None}
    if not ours:
        return None
    theirs = published.training_elo(study.game) or {}
    count = 2 * len(ours) if theirs else len(ours)
    figure, panels = style.new_figure(count, columns=len(ours), panel=(2.4, 2.35))
    upper, lower = panels[: len(ours)], panels[len(ours) :]
    last = max(band.iterations[-1] for band in ours.values())
    for axes, (target, band) in zip(upper, ours.items(), strict=True):
        for other in ours.values():
            axes.plot(other.iterations, other.mean, color="#D0D0D0", linewidth=1.0, zorder=1)
        draw.band(axes, band, target)
        axes.set_title(style.label(target))
        draw.iteration_axis(axes, last)
    for axes, target in zip(lower, ours, strict=False):
        _published_elo(axes, target, theirs)
    for row in (upper, lower):
        draw.same_height(row)
    if not theirs:
        draw.corner(upper[0], unpublished("training_elo", study.game))
    upper[0].set_ylabel("training Elo, this study")
    if lower:
        lower[0].set_ylabel("training Elo, published")
    handles = [
        style.key("mean ± sd over seeds", marker="o", markersize=4),
        style.key("single seed", linewidth=0.5),
        style.key("the other losses", color="#D0D0D0"),
    ]
    if theirs:
        handles.append(style.key("published mean ± sd", linestyle=":"))
    style.legend_below(figure, handles + style.bad_key(figure), columns=5)
    return figure


def _published_elo(axes: Axes, target: str, theirs: dict[str, published.Curve]) -> None:
    for curve in theirs.values():
        axes.plot(curve.iterations, curve.mean, color="#D0D0D0", linewidth=1.0, zorder=1)
    draw.iteration_axis(axes, max(curve.iterations[-1] for curve in theirs.values()))
    if target not in theirs:
        draw.nothing(axes, NO_DATA)
        return
    curve, shade = theirs[target], style.colour(target)
    draw.spread(axes, curve, shade)
    axes.plot(curve.iterations, curve.mean, ":", color=shade, linewidth=1.8)
