"""The papers' tournament: trained networks and a random player, as notched boxes by target.

The final tournament of a study also holds untrained networks and plain MCTS. Ratings depend on who
is in the pool, so for a comparison with the papers' (000, Fig. 11; 001, Fig. 6; 003, Fig. 10) the
same games are rated again without those players: 32 networks and a random player at 8 seeds.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import published
from experiments.pages import style
from experiments.pages.study import Study, floats
from experiments.pages.wording import number
from jaxzero.matches.tournament import fit, merge_colours

NO_DATA: Final = "no published data"
RANDOM: Final = "random"
BOX: Final = 3  # players from which a box says more than the points
NOTCH: Final = 5  # players from which a notch, the median's 95 % interval, means something
_BESIDE = 0.38  # the published mean stands to the right of our box


def papers_pool(study: Study) -> dict[str, np.ndarray]:
    """Ratings of the final tournament among the trained networks and the random player alone.

    Returns:
      Elo by target and of `"random"`, the mean of this pool 0; empty without such a tournament.
      Under the switch elo_first_listed_advantage rated as published, else with the mover's
      advantage and the draw rate fitted.
    """
    as_published = bool(
        (study.results.get("switches") or {}).get("elo_first_listed_advantage", False)
    )
    found: dict[str, list[float]] = {}
    for played in study.tournaments:  # several, where studies of other seeds were merged
        if played.get("name") == "final":
            for name, elo in _rated(played, as_published=as_published):
                found.setdefault(name, []).append(elo)
    return {name: floats(found[name]) for name in style.in_order(found)}


def _rated(played: dict[str, Any], *, as_published: bool) -> list[tuple[str, float]]:
    """Target (or random) and rating of every player of the papers' pool."""
    players = played.get("players") or []
    kept = [
        i
        for i, player in enumerate(players)
        if player.get("kind") == "trained" or player.get("kind") == RANDOM
    ]
    numbers = {old: new for new, old in enumerate(kept)}
    rows = [
        (numbers[first], numbers[second], *counts)
        for first, second, *counts in played.get("results") or []
        if first in numbers and second in numbers and sum(counts)
    ]
    met = {i for row in rows for i in row[:2]}
    if len(kept) < 2 or len(met) < len(kept):
        return []
    results = np.array(rows, np.int64)
    rated = fit(
        merge_colours(results) if as_published else results,
        len(kept),
        advantage=published.ADVANTAGE if as_published else "fit",
        draw_elo=published.DRAW_ELO if as_published else "fit",
    )
    trained = [players[old].get("kind") == "trained" for old in kept]
    names = [
        str(players[old]["target"]) if t else RANDOM for old, t in zip(kept, trained, strict=True)
    ]
    return list(zip(names, rated.elo.tolist(), strict=True))


def figure(panels: Mapping[str, tuple[str, Mapping[str, np.ndarray]]]) -> Figure | None:
    """A panel of boxes for each board.

    Args:
      panels: by title the board and its ratings, see `papers_pool`.
    """
    shown = {title: found for title, found in panels.items() if set(found[1]) - {RANDOM}}
    return _draw(shown) if shown else None


@style.styled
def _draw(panels: Mapping[str, tuple[str, Mapping[str, np.ndarray]]]) -> Figure:
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    widest = max(len(set(ratings) - {RANDOM}) for _, ratings in panels.values())
    drawn, all_axes = style.new_figure(
        rows,
        columns,
        panel=(max(4.6, 1.0 * widest + 0.8) + 1.6 * (columns == 1), 3.6 if rows == 1 else 3.1),
        spare=rows * columns - len(panels),
    )
    for axes, (title, (board, ratings)) in zip(all_axes, panels.items(), strict=True):
        boxes(axes, board, ratings)
        if len(panels) > 1:
            axes.set_title(title)
    for axes in all_axes[::columns]:
        axes.set_ylabel("Elo (mean of networks and random 0)")
    most = max(len(elo) for _, ratings in panels.values() for elo in ratings.values())
    style.legend_below(drawn, legend(most), columns=3 if columns > 1 else 2)
    return drawn


def legend(most: int) -> list[Line2D]:
    """What the marks mean, where a target has at most so many players."""
    handles = [style.key("one network", linestyle="", marker="o", markersize=4)]
    if most >= BOX:
        text = f"box: quartiles and median, notched from {NOTCH} networks"
        handles.append(style.key(text, linewidth=6, alpha=0.3))
    text = "published mean ± sd of 8 entries"
    handles.append(style.key(text, marker="D", markerfacecolor="none", linewidth=1.0))
    return handles


def boxes(axes: Axes, board: str, ratings: Mapping[str, np.ndarray]) -> None:
    """One board: a box for each target, the published mean beside it, random in words."""
    theirs = published.tournament(board) or {}
    targets = [name for name in ratings if name != RANDOM]
    for place, target in enumerate(targets):
        box(axes, place, target, ratings[target])
        spread = 0.26 if len(ratings[target]) > 1 else 0.0
        x = place + np.linspace(-spread / 2, spread / 2, len(ratings[target]))
        axes.plot(
            x,
            ratings[target],
            "o",
            color=style.colour(target),
            markersize=3.8,
            markeredgecolor="white",
            markeredgewidth=0.5,
            zorder=3,
        )
        if target in theirs:
            axes.errorbar(
                place + _BESIDE,
                float(theirs[target].mean()),
                yerr=float(theirs[target].std(ddof=1)),
                fmt="D",
                color="#444444",
                markersize=4.5,
                markerfacecolor="white",
                elinewidth=1.1,
                capsize=2.5,
                zorder=4,
            )
    axes.axhline(0, color="#AAAAAA", linewidth=0.8, zorder=0)
    axes.set_xticks(
        range(len(targets)), [f"{style.label(t)}\nn = {len(ratings[t])}" for t in targets]
    )
    axes.set_xlim(-0.5, len(targets) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.14)
    note = _random_words(ratings, theirs)
    style.corner(axes, "\n".join(filter(None, [note, None if theirs else NO_DATA])))


def _random_words(
    ratings: Mapping[str, Sequence[float] | np.ndarray], theirs: Mapping[str, np.ndarray]
) -> str | None:
    if RANDOM not in ratings:
        return None
    ours = number(float(np.mean(ratings[RANDOM])), 0)
    if RANDOM not in theirs:
        return f"random player: {ours}"
    return f"random player: {ours} (published {number(float(theirs[RANDOM].mean()), 0)})"


def box(axes: Axes, place: float, name: str, elo: np.ndarray) -> None:
    """Quartiles and median of at least three players, notched from five."""
    shade, known = style.colour(name), elo[np.isfinite(elo)]
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
