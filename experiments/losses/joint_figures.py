"""Figures and tables that need several studies: the same losses on other boards."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.claims import effort
from experiments.claims.measured import BoardStudies
from experiments.losses import elo_figures as elo
from experiments.losses import figures
from experiments.pages import draw, style
from experiments.pages.bands import Band, band_of, thinned
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
from experiments.pages.wording import (
    TIMES,
    error_of_mean,
    game_title,
    mean_and_error,
    mean_and_sd,
    number,
    short,
    unpublished,
)
from experiments.strength import absolute_section
from experiments.strength import papers_tournament as papers
from experiments.strength.papers_tournament import RANDOM

OTHELLO: Final = re.compile(r"othello_(\d+)x\1")
_POINTS: Final = 24  # of a curve, about: eight boards and both semantics make 64 panels of losses


def merged(group: BoardStudies) -> Study:
    """The studies of a group as one: same settings, other seeds.

    Ratings of different pools are not compared: tournaments among other losses than the first
    study's are left out, and ladders that were played otherwise than the first one.
    """
    first, *others = group.studies
    if not others:
        return first
    results = dict(first.results)
    results["runs"] = [run for study in group.studies for run in study.results.get("runs") or []]
    same = [study for study in group.studies if study.targets == first.targets]
    results["tournaments"] = [x for study in same for x in study.results.get("tournaments") or []]
    rated = [s.results.get("training_elo") or {} for s in group.studies]
    results["training_elo"] = {name: curve for one in rated for name, curve in one.items()}
    results["ladder"] = _together([x for s in group.studies if (x := s.results.get("ladder"))])
    exact = [x for study in group.studies if (x := study.results.get("absolute_strength"))]
    results["absolute_strength"] = (
        absolute_section.together(exact) if len(exact) == len(group.studies) else None
    )
    rows = {name: own for study in group.studies for name, own in study.rows.items()}
    failed = {name: at for study in group.studies for name, at in study.failed.items()}
    return dataclasses.replace(first, results=results, rows=rows, failed=failed)


def _together(ladders: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Those that were played as the first was; of the fixed opponents the mean."""

    def played(one: Mapping[str, Any]) -> list[Any]:
        settings = one.get("settings") or {}
        return [settings.get(key) for key in ("opponents", "simulations", "openings")]

    same = [one for one in ladders if played(one) == played(ladders[0])]
    elo: dict[str, list[float]] = {}
    for anchor in (anchor for one in same for anchor in one.get("anchors") or []):
        elo.setdefault(anchor["name"], []).append(anchor["elo"])
    return {
        "runs": {name: curve for one in same for name, curve in (one.get("runs") or {}).items()},
        "anchors": [{"name": name, "elo": float(np.mean(all_))} for name, all_ in elo.items()],
    }


def titles(groups: Sequence[BoardStudies]) -> list[str]:
    """`Othello 6x6`, with the semantics where they differ or are not the corrected ones."""
    plain = {group.semantics for group in groups} == {"corrected"}
    return [game_title(g.board) + ("" if plain else f" ({g.semantics})") for g in groups]


@style.styled
def losses(groups: Sequence[BoardStudies]) -> Figure | None:
    """Training losses, a row for each board and a column for each target (000, Figs. 7 to 9)."""
    studies = [merged(group) for group in groups]
    targets = style.in_order({target for study in studies for target in study.targets})
    found = [{t: _bands(study, t) for t in targets} for study in studies]
    if not any(bands for one in found for bands in one.values()):
        return None
    figure, panels = style.new_figure(
        len(groups) * len(targets), columns=len(targets), panel=(2.6, 2.0)
    )
    shown: dict[str, None] = {}
    for row, (study, title) in enumerate(zip(studies, titles(groups), strict=True)):
        known = published.loss_curves(study.game) or published.losses_in_words(study.game)
        curves = known or {}
        own = panels[row * len(targets) : (row + 1) * len(targets)]
        last = max((b.iterations[-1] for bands in found[row].values() for b in bands.values()),
                   default=1)  # fmt: skip
        for axes, target in zip(own, targets, strict=True):
            bands, theirs = found[row][target], curves.get(target, {})
            theirs = {loss: thinned(curve, _POINTS, last) for loss, curve in theirs.items()}
            figures.loss_panel(axes, study, target, bands, curves=theirs, last=last)
            draw.iteration_axis(axes, last, text="iteration" if row == len(groups) - 1 else "")
            means = [band.mean for band in bands.values()]
            means += [curve.mean[curve.iterations <= last] for curve in theirs.values()]
            draw.limit_height(axes, means)
            if not bands:
                draw.corner(axes, "no runs")
            elif not theirs:
                draw.corner(axes, unpublished("losses", study.game))
            if row == 0:
                axes.set_title(f"minimising {style.label(target)}", fontsize=8.5)
            shown |= dict.fromkeys(bands)
        own[0].set_ylabel(f"{title}\nloss", fontsize=8)
    handles = [style.handle(loss) for loss in shown]
    handles.append(style.key("published mean", linestyle=":"))
    style.legend_below(figure, handles + style.bad_key(figure), columns=6)
    return figure


def _bands(study: Study, target: str) -> dict[str, Band]:
    """Losses of the runs of a target; single seeds of the minimised one alone."""
    found = figures.loss_bands(study, target, "loss")
    bands = {loss: thinned(band, _POINTS) for loss, band in found.items()}
    none = {loss: band._replace(seeds=band.seeds[:0]) for loss, band in bands.items()}
    return none | {target: bands[target]} if target in bands else none


@style.styled
def training_elo(groups: Sequence[BoardStudies]) -> Figure | None:
    """Training Elo as the authors computed it, as published, and Elo against fixed opponents.

    A row for each board (000, Fig. 10; 003, Fig. 9), the three side by side.
    """
    studies = [merged(group) for group in groups]
    if not any(elo.knows_arena(study) for study in studies):
        return None
    figure, panels = style.new_figure(3 * len(groups), columns=3, panel=(3.1, 2.15))
    above: set[str] = set()  # boards of earlier rows
    for row, (study, title) in enumerate(zip(studies, titles(groups), strict=True)):
        ours, theirs, level = panels[3 * row : 3 * row + 3]
        rated = {t: band_of(elo.as_authors(study, t)) for t in study.targets}
        ladder = {t: band_of(elo.anchored(study, t)) for t in study.targets}
        _lines(ours, rated, "no arena games")
        known = {} if study.game in above else _published_bands(study.game)
        unknown = "see above" if study.game in above else unpublished("training_elo", study.game)
        _lines(theirs, known, unknown)
        above.add(study.game)
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
    known = {name: thinned(band, _POINTS) for name, band in bands.items() if band is not None}
    for target, band in known.items():
        draw.band(axes, band, target, strong=False, seeds=False)
    if known:
        draw.iteration_axis(axes, max(band.iterations[-1] for band in known.values()))
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        draw.nothing(axes, absent)


def tournaments(groups: Sequence[BoardStudies]) -> Figure | None:
    """A panel of boxes for each board (000, Fig. 11; 003, Fig. 10)."""
    return papers.figure(
        {
            title: (group.board, papers.ratings(merged(group)))
            for title, group in zip(titles(groups), groups, strict=True)
        }
    )


@style.styled
def sizes(groups: Sequence[BoardStudies]) -> Figure | None:
    """Mean tournament Elo over the size of Othello's board, a line for each target (003, Fig. 11).

    None with fewer than two sizes under one semantics.
    """
    by_semantics: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    for group in groups:
        if found := OTHELLO.fullmatch(group.board):
            pool = papers.ratings(merged(group), all_models=True)
            if set(pool) - {RANDOM}:
                by_semantics.setdefault(group.semantics, {})[int(found[1])] = pool
    shown = {meant: pools for meant, pools in by_semantics.items() if len(pools) > 1}
    if not shown:
        return None
    panel = (5.4 if len(shown) == 1 else 4.2, 3.4)
    figure, panels = style.new_figure(len(shown), panel=panel, share_y=True)
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
        x, means = [size + beside for size in own], [float(x.mean()) for x in elos]
        draw.error_bars(axes, x, means, [error_of_mean(x) for x in elos], target, linewidth=1.8)
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
    axes.set_xticks(known, [f"{size}{TIMES}{size}" for size in known])
    axes.margins(x=0.08, y=0.12)
    axes.set_xlabel("board of Othello")
    unknown: dict[str, list[str]] = {}
    for size in (size for size in known if not theirs[size]):
        why = unpublished("tournament", f"othello_{size}x{size}")
        unknown.setdefault(why, []).append(f"{size}{TIMES}{size}")
    if unknown:
        lines = [f"{why} for {', '.join(sizes)}" for why, sizes in unknown.items()]
        draw.corner(axes, "\n".join(lines))


def ratings(groups: Sequence[BoardStudies]) -> Table:
    """Mean tournament Elo of the networks of all seeds, by board and target, the published beside.

    The pool is the papers': these networks and a random player.
    """
    theirs = {group.board: published.tournament(group.board) or {} for group in groups}
    return table(
        "Tournament Elo by board",
        [
            (title, group.board, target, found)
            for title, group in zip(titles(groups), groups, strict=True)
            for target, found in papers.ratings(merged(group), all_models=True).items()
        ],
        {
            "board": lambda row: row[0],
            "minimised": lambda row: style.label(row[2]),
            "players": lambda row: number(len(row[3])),
            "mean Elo": lambda row: mean_and_error(row[3]),
            "published": lambda row: (
                mean_and_sd(theirs[row[1]][row[2]])
                if row[2] in theirs[row[1]]
                else unpublished("tournament", row[1])
            ),
        },
        "Mean ± standard error over networks of different seeds, in published semantics too; "
        "published: mean ± standard deviation of eight entries of one model. Pool of the trained "
        "networks and the random player, mean 0.",
        text_columns=2,
    )


def runs(groups: Sequence[BoardStudies]) -> Table | None:
    """Which directories were counted."""

    def seeds(study: Study) -> str:
        counts = {len(study.runs_of(target)) for target in study.targets}
        return " to ".join(dict.fromkeys(number(s) for s in (min(counts), max(counts))))

    def share(study: Study) -> str | None:
        known = effort.fraction(study)
        return None if known is None else f"{100 * known:.2g} %"

    return table(
        "Runs",
        [
            (title, group, directory, study)
            for title, group in zip(titles(groups), groups, strict=True)
            for directory, study in zip(group.directories, group.studies, strict=True)
        ],
        {
            "board": lambda row: row[0],
            "semantics": lambda row: row[1].semantics,
            "directory": lambda row: str(row[2]),
            "seeds per loss": lambda row: seeds(row[3]),
            "I": lambda row: short(row[3].setting("train.iterations")),
            "of the papers' computing": lambda row: share(row[3]),
            "commit": lambda row: (row[3].results.get("environment") or {}).get("commit"),
        },
        effort.FORMULA,
        text_columns=3,
    )
