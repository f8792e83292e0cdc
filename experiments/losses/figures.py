"""The figures of a loss study, one function each. A figure without data is None, never empty."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.losses.tables import MEASURED
from experiments.pages import draw, style
from experiments.pages.bands import Band, floats
from experiments.pages.study import Run, Study
from experiments.pages.wording import NO_DATA, plural, unpublished

# Panels of the self-play figure: metric, axis label, a second metric drawn dashed. Axes start at 0
# except for those metrics whose zero means nothing.
HEALTH: Final = (
    ("selfplay/first_player_wins", "first player wins\n(fraction of games)", None),
    ("selfplay/draws", "draws\n(fraction of games)", None),
    ("selfplay/plies", "length of a game\n(plies)", None),
    ("selfplay/distinct_games", "distinct games\n(per iteration)", None),
    ("selfplay/distinct_positions", "distinct positions\n(per iteration)", None),
    ("selfplay/policy_entropy", "entropy of the\nsearch policy (nats)", None),
    ("search/depth_mean", "search depth (plies)\nmean; dashed: deepest", "search/depth_max"),
    ("arena/accepted", "networks accepted\n(cumulative)", None),
)
AFLOAT: Final = ("selfplay/plies", "selfplay/policy_entropy")


@style.styled
def losses(study: Study) -> Figure | None:
    """Training losses against iterations, one panel per minimised loss (000, Figs. 7 and 8)."""
    curves = published.loss_curves(study.game) or published.losses_in_words(study.game) or {}
    return _loss_panels(study, "loss", curves=curves)


@style.styled
def held_out(study: Study) -> Figure | None:
    """The same on held-out positions (dashed), beside the mean training losses (thin)."""
    return _loss_panels(study, "heldout", curves={})


def _loss_panels(
    study: Study, prefix: str, *, curves: dict[str, dict[str, published.Curve]]
) -> Figure | None:
    bands = {target: loss_bands(study, target, prefix) for target in study.targets}
    bands = {target: found for target, found in bands.items() if found}
    if not bands:
        return None
    dashed = prefix == "heldout"
    figure, panels = style.new_figure(len(bands), columns=2, panel=(4.5, 2.9), share_y=True)
    last = max(band.iterations[-1] for found in bands.values() for band in found.values())
    for axes, (target, found) in zip(panels, bands.items(), strict=True):
        loss_panel(
            axes, study, target, found, dashed=dashed, curves=curves.get(target, {}), last=last
        )
        seeds = plural(len(study.runs_of(target)), "seed")
        axes.set_title(f"minimising {style.label(target)}  ({seeds})")
        draw.iteration_axis(axes, last)
    everything = [
        values
        for found in bands.values()
        for band in found.values()
        for values in (band.seeds, band.mean + band.sd)
    ]
    everything += [
        np.where(curve.iterations <= last, curve.mean, np.nan)
        for target in bands
        for curve in curves.get(target, {}).values()
    ]
    draw.limit_height(panels[0], everything)
    kind = "held-out" if dashed else "training"
    style.label_rows(panels, f"{kind} loss ({study.loss_units})")
    shown_losses = dict.fromkeys(loss for found in bands.values() for loss in found)
    handles = [style.handle(loss, linestyle="--" if dashed else "-") for loss in shown_losses]
    if dashed:
        handles.append(style.key("training, mean", linewidth=0.9))
    if curves:
        handles.append(style.key("published mean", linestyle=":"))
    else:
        draw.corner(panels[0], NO_DATA if dashed else unpublished("losses", study.game))
    style.legend_below(figure, handles + style.bad_key(figure), columns=6)
    return figure


def loss_panel(
    axes: Axes,
    study: Study,
    target: str,
    found: Mapping[str, Band],
    *,
    curves: Mapping[str, published.Curve],
    last: float,
    dashed: bool = False,
) -> None:
    """One panel: losses of the runs of a target, by measured loss, published means dotted.

    `dashed`: they are of held-out games, and the mean training losses stand beside them.
    """
    for loss, band in found.items():
        draw.band(axes, band, loss, dashed=dashed, strong=loss == target)
        if dashed and (training := study.band(target, f"loss/{loss}")) is not None:
            look: dict[str, Any] = {"linewidth": 0.9, "alpha": 0.75, "zorder": 2}
            axes.plot(training.iterations, training.mean, color=style.colour(loss), **look)
    for loss, curve in curves.items():
        shown, look = curve.iterations <= last, {"linewidth": 1.6, "zorder": 2.5}
        x, y = curve.iterations[shown], curve.mean[shown]
        two_numbers = len(curve.iterations) == 2  # two numbers of the text
        axes.plot(x, y, "D" if two_numbers else ":", color=style.colour(loss), **look)


def loss_bands(study: Study, target: str, prefix: str) -> dict[str, Band]:
    names = (*MEASURED, "minimised") if target not in MEASURED and prefix == "loss" else MEASURED
    found = {name: study.band(target, f"{prefix}/{name}") for name in names}
    return {
        target if name == "minimised" else name: band
        for name, band in found.items()
        if band is not None
    }


@style.styled
def epochs(study: Study, run: Run) -> Figure | None:
    """Losses of every epoch of every iteration of one run (000, Fig. 2)."""
    figure, (axes,) = style.new_figure(panel=(7.6, 3.0))
    curves = {loss: _by_epoch(study, run, loss) for loss in MEASURED}
    curves = {loss: (x, y) for loss, (x, y) in curves.items() if len(x)}
    if not curves:
        return None
    last = max(float(np.nanmax(x)) for x, _ in curves.values())
    for loss, (x, y) in curves.items():
        dots = "." if len(x) < 300 else ""
        axes.plot(x, y, color=style.colour(loss), linewidth=1.0, marker=dots, markersize=3)
        draw.mark_non_finite(axes, x[np.isfinite(x)], y[np.isfinite(x)])
    draw.iteration_axis(axes, last, text="iteration (a line is the epochs of one iteration)")
    draw.limit_height(axes, [y for _, y in curves.values()])
    axes.set_ylabel(f"training loss\n({study.loss_units})")
    axes.set_title(f"one run: minimising {style.label(run.target)}, seed {run.seed}")
    draw.corner(axes, unpublished("epochs", study.game))
    handles = [style.handle(loss, marker=None) for loss in curves] + style.bad_key(figure)
    style.legend_below(figure, handles, columns=5)
    return figure


def _by_epoch(study: Study, run: Run, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Time in iterations and loss, both [N]; x is NaN at the breaks between iterations.

    The epochs of iteration i end at i, where the other figures show its last epoch.
    """
    x, y = [np.empty(0)], [np.empty(0)]
    for iteration, row in sorted(study.rows.get(run.name, {}).items()):
        values = floats(row.get(f"loss_epochs/{loss}") or [])
        if len(values):
            fractions = np.arange(1, len(values) + 1) / len(values)
            x += [iteration - 1 + fractions, np.array([math.nan])]
            y += [values, np.array([math.nan])]
    return np.concatenate(x), np.concatenate(y)


@style.styled
def health(study: Study) -> Figure | None:
    """What self-play, search and arena did, over iterations, in the colour of each target."""
    panels = [
        (key, text, second)
        for key, text, second in HEALTH
        if any(study.band(target, key, first=1) for target in study.targets)
    ]
    if not panels:
        return None
    figure, all_axes = style.new_figure(len(panels), panel=(2.4, 2.05))
    last = max((i for run in study.runs if (i := study.reached(run.name)) is not None), default=1)
    for axes, (key, text, second) in zip(all_axes, panels, strict=True):
        for target in study.targets:
            _health_lines(axes, study, target, key, second)
        axes.set_ylabel(text, fontsize=8.5)
        if key == "selfplay/first_player_wins":
            axes.set_ylim(0, 1)
            draw.level(axes, 0.5)
        elif key not in AFLOAT:
            axes.set_ylim(bottom=0)
        draw.iteration_axis(axes, last)
    episodes = study.setting("selfplay.episodes")
    for axes, (key, _, _) in zip(all_axes, panels, strict=True):
        if key == "selfplay/distinct_games" and episodes:
            draw.level(axes, float(episodes))
            axes.set_ylim(top=1.12 * float(episodes))
    handles = [style.handle(target) for target in study.targets]
    style.legend_below(figure, handles + style.bad_key(figure), columns=6)
    return figure


def _health_lines(axes: Axes, study: Study, target: str, key: str, second: str | None) -> None:
    band = study.band(target, key, first=1)
    if band is None:
        return
    band = band._replace(sd=np.full(len(band.sd), np.nan))
    if key == "arena/accepted":  # 0 or 1 in an iteration: the running sum is what can be read
        band = band._replace(mean=np.cumsum(band.mean), seeds=np.cumsum(band.seeds, axis=1))
    draw.band(axes, band, target, strong=False)
    if second and (deepest := study.band(target, second, first=1)) is not None:
        axes.plot(deepest.iterations, deepest.mean, "--", color=style.colour(target), linewidth=1.0)
