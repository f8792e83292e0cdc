"""Figures and tables that need several studies: the same losses on other boards."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.claims import effort
from experiments.claims.measured import Group
from experiments.losses import elo, figures
from experiments.pages import boxplots, style
from experiments.pages.boxplots import NO_DATA, RANDOM
from experiments.pages.study import Band, Study, band_of
from experiments.pages.tables import Table
from experiments.pages.wording import NONE, game_title, number, plus_minus, short

OTHELLO: Final = re.compile(r"othello_(\d+)x\1")


def merged(group: Group) -> Study:
    """The studies of a group as one: same settings, other seeds."""
    first, *others = group.studies
    if not others:
        return first
    results = dict(first.results)
    for key in ("runs", "tournaments"):
        results[key] = [x for study in group.studies for x in study.results.get(key) or []]
    results["training_elo"] = _union(group, "training_elo")
    curves = [(s.results.get("ladder") or {}).get("runs") or {} for s in group.studies]
    results["ladder"] = {"runs": {name: curve for one in curves for name, curve in one.items()}}
    rows = {name: own for study in group.studies for name, own in study.rows.items()}
    return dataclasses.replace(first, results=results, rows=rows)


def _union(group: Group, key: str) -> dict[str, object]:
    return {n: x for study in group.studies for n, x in (study.results.get(key) or {}).items()}


def titles(groups: Sequence[Group]) -> list[str]:
    """`Othello 6x6`, with the semantics where they differ or are not the corrected ones."""
    plain = {group.semantics for group in groups} == {"corrected"}
    return [game_title(g.board) + ("" if plain else f" ({g.semantics})") for g in groups]


@style.styled
def losses(groups: Sequence[Group]) -> Figure | None:
    """Training losses, a row for each board and a column for each target (000, Figs. 7 to 9)."""
    studies = [merged(group) for group in groups]
    targets = style.in_order({target for study in studies for target in study.targets})
    found = [{t: figures.loss_bands(study, t, "loss") for t in targets} for study in studies]
    if not any(bands for one in found for bands in one.values()):
        return None
    figure, panels = style.new_figure(len(groups), len(targets), panel=(2.6, 2.0))
    shown: dict[str, None] = {}
    for row, (study, title) in enumerate(zip(studies, titles(groups), strict=True)):
        curves = published.loss_curves(study.game) or {}
        own = panels[row * len(targets) : (row + 1) * len(targets)]
        last = max((b.iterations[-1] for bands in found[row].values() for b in bands.values()),
                   default=1)  # fmt: skip
        for axes, target in zip(own, targets, strict=True):
            bands, theirs = found[row][target], curves.get(target, {})
            figures.loss_panel(axes, study, target, bands, curves=theirs, last=last)
            style.iteration_axis(axes, last, text="iteration" if row == len(groups) - 1 else "")
            means = [band.mean for band in bands.values()]
            means += [curve.mean[curve.iterations <= last] for curve in theirs.values()]
            style.limit_height(axes, means)
            if not bands:
                style.corner(axes, "no runs")
            elif not theirs:
                style.corner(axes, NO_DATA)
            if row == 0:
                axes.set_title(f"minimising {style.label(target)}", fontsize=8.5)
            shown |= dict.fromkeys(bands)
        own[0].set_ylabel(f"{title}\nloss", fontsize=8)
    handles = [style.handle(loss) for loss in shown]
    handles.append(style.key("published mean", linestyle=":"))
    style.legend_below(figure, handles + style.bad_key(figure), columns=6)
    return figure


@style.styled
def training_elo(groups: Sequence[Group]) -> Figure | None:
    """Training Elo as the authors computed it, as published, and Elo against fixed opponents.

    A row for each board (000, Fig. 10; 003, Fig. 9), the three side by side.
    """
    studies = [merged(group) for group in groups]
    if not any(elo.knows_arena(study) for study in studies):
        return None
    figure, panels = style.new_figure(len(groups), 3, panel=(3.1, 2.15))
    for row, (study, title) in enumerate(zip(studies, titles(groups), strict=True)):
        ours, theirs, level = panels[3 * row : 3 * row + 3]
        rated = {t: band_of(elo.as_authors(study, t)) for t in study.targets}
        ladder = {t: band_of(elo.anchored(study, t)) for t in study.targets}
        _lines(ours, rated, "no arena games")
        _lines(theirs, _published_bands(study.game), NO_DATA)
        _lines(level, ladder, "no ladder was played")
        ours.set_ylabel(f"{title}\nElo", fontsize=8)
        if row == 0:
            for axes, text in zip(
                (ours, theirs, level),
                ("training Elo, as the authors", "training Elo, published", "fixed opponents"),
                strict=True,
            ):
                axes.set_title(text, fontsize=8.5)
    targets = style.in_order({target for study in studies for target in study.targets})
    style.legend_below(figure, [style.handle(target) for target in targets], columns=6)
    return figure


def _published_bands(board: str) -> dict[str, Band | None]:
    """The published curves, their own spread as the band."""
    found: dict[str, Band | None] = {}
    for target, curve in (published.training_elo(board) or {}).items():
        reached = np.full(len(curve.mean), 8)
        found[target] = Band(curve.iterations, curve.mean[None], curve.mean, curve.sd, reached)
    return found


def _lines(axes: Axes, bands: Mapping[str, Band | None], absent: str) -> None:
    known = {target: band for target, band in bands.items() if band is not None}
    for target, band in known.items():
        style.draw_band(axes, band, target, strong=False, seeds=False)
    if known:
        style.iteration_axis(axes, max(band.iterations[-1] for band in known.values()))
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.text(0.5, 0.5, absent, transform=axes.transAxes, ha="center", color=style.FAINT)


def tournaments(groups: Sequence[Group]) -> Figure | None:
    """A panel of boxes for each board (000, Fig. 11; 003, Fig. 10)."""
    return boxplots.figure(
        {
            title: (group.board, boxplots.papers_pool(merged(group)))
            for title, group in zip(titles(groups), groups, strict=True)
        }
    )


@style.styled
def sizes(groups: Sequence[Group]) -> Figure | None:
    """Mean tournament Elo over the size of Othello's board, a line for each target (003, Fig. 11).

    None with fewer than two sizes under one semantics.
    """
    by_semantics: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    for group in groups:
        if found := OTHELLO.fullmatch(group.board):
            pool = boxplots.papers_pool(merged(group))
            if set(pool) - {RANDOM}:
                by_semantics.setdefault(group.semantics, {})[int(found[1])] = pool
    shown = {meant: pools for meant, pools in by_semantics.items() if len(pools) > 1}
    if not shown:
        return None
    figure, panels = style.new_figure(
        1, len(shown), panel=(5.4 if len(shown) == 1 else 4.2, 3.4), share_y=True
    )
    for axes, (meant, pools) in zip(panels, shown.items(), strict=True):
        _size_lines(axes, pools)
        axes.set_title(f"{meant} semantics")
    panels[0].set_ylabel("mean tournament Elo")
    targets = style.in_order({t for pools in shown.values() for p in pools.values() for t in p})
    handles = [style.handle(target) for target in targets if target != RANDOM]
    handles.append(style.key("published mean", linestyle=":", marker="D", markerfacecolor="none"))
    style.legend_below(figure, handles, columns=3)
    return figure


def _size_lines(axes: Axes, pools: Mapping[int, Mapping[str, np.ndarray]]) -> None:
    known = sorted(pools)
    theirs = {size: published.tournament(f"othello_{size}x{size}") or {} for size in known}
    targets = style.in_order({t for pool in pools.values() for t in pool} - {RANDOM})
    for place, target in enumerate(targets):
        beside = 0.03 * (place - (len(targets) - 1) / 2)  # equal means do not cover each other
        own = [size for size in known if target in pools[size]]
        elos = [pools[size][target] for size in own]
        errors = [x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else 0.0 for x in elos]
        axes.errorbar(
            [size + beside for size in own],
            [float(x.mean()) for x in elos],
            yerr=errors,
            color=style.colour(target),
            marker=style.MARKERS.get(target, "o"),
            markersize=5,
            linewidth=1.8,
            elinewidth=1.0,
            capsize=2,
        )
        published_sizes = [size for size in known if target in theirs[size]]
        axes.plot(
            [size + beside for size in published_sizes],
            [float(theirs[size][target].mean()) for size in published_sizes],
            ":D",
            color=style.colour(target),
            markerfacecolor="none",
            markersize=4.5,
            linewidth=1.2,
        )
    axes.set_xticks(known, [f"{size}\N{MULTIPLICATION SIGN}{size}" for size in known])
    axes.margins(x=0.08, y=0.12)
    axes.set_xlabel("board of Othello")
    unknown = [f"{size}\N{MULTIPLICATION SIGN}{size}" for size in known if not theirs[size]]
    if unknown:
        style.corner(axes, f"{NO_DATA} for {', '.join(unknown)}")


def ratings(groups: Sequence[Group]) -> Table | None:
    """Mean tournament Elo in the papers' pool, by board and target, the published beside it."""
    rows = []
    for title, group in zip(titles(groups), groups, strict=True):
        theirs = published.tournament(group.board) or {}
        for target, found in boxplots.papers_pool(merged(group)).items():
            error = found.std(ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
            rows.append(
                (
                    title,
                    style.label(target),
                    number(len(found)),
                    plus_minus(float(found.mean()), float(error)),
                    _published_mean(theirs, target),
                )
            )
    headers = ("board", "minimised", "players", "mean Elo", "published")
    note = (
        "Mean ± standard error over networks; published: mean ± standard deviation of eight "
        "entries of one model. Pool of the trained networks and the random player, mean 0."
    )
    title = "Tournament Elo by board"
    return Table(title, headers, tuple(rows), note, text_columns=2) if rows else None


def _published_mean(theirs: Mapping[str, np.ndarray], target: str) -> str:
    if target not in theirs:
        return NO_DATA
    spread = float(theirs[target].std(ddof=1)) if len(theirs[target]) > 1 else math.nan
    return plus_minus(float(theirs[target].mean()), spread)


def runs(groups: Sequence[Group]) -> Table:
    """Which directories were counted."""
    rows = []
    for title, group in zip(titles(groups), groups, strict=True):
        for directory, study in zip(group.directories, group.studies, strict=True):
            seeds = {len(study.runs_of(target)) for target in study.targets}
            share = effort.fraction(study)
            environment = study.results.get("environment") or {}
            rows.append(
                (
                    title,
                    group.semantics,
                    str(directory),
                    " to ".join(dict.fromkeys(number(s) for s in (min(seeds), max(seeds)))),
                    short(study.setting("train.iterations")),
                    NONE if share is None else f"{100 * share:.2g} %",
                    str(environment.get("commit", NONE)),
                )
            )
    headers = ("board", "semantics", "directory", "seeds per loss", "I", "of the papers' computing",
               "commit")  # fmt: skip
    return Table("Runs", headers, tuple(rows), effort.FORMULA, text_columns=3)
