"""The papers' tournament: trained networks and a random player, as notched boxes by target.

The final tournament of a study also holds untrained networks and plain MCTS. Ratings depend on who
is in the pool, so for a comparison with the papers' (000, Fig. 11; 001, Fig. 6; 003, Fig. 10) the
same games are rated again without those players: 32 networks and a random player at 8 seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import published
from experiments.claims.measured import AS_PUBLISHED, no_seeds
from experiments.pages import draw, style
from experiments.pages.bands import floats
from experiments.pages.study import Study
from experiments.pages.wording import number, unpublished
from experiments.strength.opponents import Entry, terms
from jaxzero.matches.tournament import fit

RANDOM: Final = "random"
_BESIDE = 0.38  # the published mean stands to the right of our box


def ratings(study: Study, *, all_models: bool = False) -> dict[str, np.ndarray]:
    """Ratings of the final tournament among the trained networks and the random player alone.

    Args:
      study: what was played.
      all_models: of the tournament among the networks of all seeds. Else of the one that was
        played as published, if there is one: its eight entries of a loss are one network, and
        their spread is that of games, not of seeds.

    Returns:
      Elo by target and of `"random"`, the mean of this pool 0; empty without such a tournament.
      Under the switch elo_first_listed_advantage rated as published, else with the mover's
      advantage and the draw rate fitted.
    """
    if all_models and no_seeds(study):
        return {}
    as_published = bool(
        (study.results.get("switches") or {}).get("elo_first_listed_advantage", False)
    )
    found: dict[str, list[float]] = {}
    names = [played["name"] for played in study.tournaments]
    wanted = AS_PUBLISHED if AS_PUBLISHED in names and not all_models else "final"
    for played in study.tournaments:  # several, where studies of other seeds were merged
        if played["name"] == wanted:
            for name, elo in _rated(played, as_published=as_published):
                found.setdefault(name, []).append(elo)
    return {name: floats(found[name]) for name in style.in_order(found)}


def _rated(played: dict[str, Any], *, as_published: bool) -> list[tuple[str, float]]:
    """Target (or random) and rating of every player of the papers' pool."""
    players = played["players"]
    kept = [
        i
        for i, player in enumerate(players)
        if player.get("kind") == "trained" or player.get("kind") == RANDOM
    ]
    numbers = {old: new for new, old in enumerate(kept)}
    rows = [
        (numbers[first], numbers[second], *counts)
        for first, second, *counts in played["results"]
        if first in numbers and second in numbers and sum(counts)
    ]
    met = {i for row in rows for i in row[:2]}
    if len(kept) < 2 or len(met) < len(kept):
        return []
    entries = [Entry(**players[old]) for old in kept]
    rated = fit(np.array(rows, np.int64), len(kept), **terms(entries, as_published=as_published))
    trained = [players[old].get("kind") == "trained" for old in kept]
    names = [
        str(players[old]["target"]) if t else RANDOM for old, t in zip(kept, trained, strict=True)
    ]
    return list(zip(names, rated.elo.tolist(), strict=True))


def figure(panels: Mapping[str, tuple[str, Mapping[str, np.ndarray]]]) -> Figure | None:
    """A panel of boxes for each board; `panels`: by title the board and its `ratings`."""
    shown = {title: found for title, found in panels.items() if set(found[1]) - {RANDOM}}
    return _draw(shown) if shown else None


@style.styled
def _draw(panels: Mapping[str, tuple[str, Mapping[str, np.ndarray]]]) -> Figure:
    columns = min(2, len(panels))
    widest = max(len(set(ratings) - {RANDOM}) for _, ratings in panels.values())
    size = (max(4.6, widest + 0.8) + 1.6 * (columns == 1), 3.6 if len(panels) <= columns else 3.1)
    drawn, all_axes = style.new_figure(len(panels), columns=2, panel=size)
    for axes, (title, (board, ratings)) in zip(all_axes, panels.items(), strict=True):
        boxes(axes, board, ratings)
        if len(panels) > 1:
            axes.set_title(title)
    style.label_rows(all_axes, "Elo (mean of networks and random 0)")
    most = max(len(elo) for _, ratings in panels.values() for elo in ratings.values())
    style.legend_below(drawn, legend(most), columns=3 if columns > 1 else 2)
    return drawn


def legend(most: int) -> list[Line2D]:
    """What the signs mean, where a target has at most so many players."""
    handles = [style.key("one network", linestyle="", marker="o", markersize=4)]
    if most >= draw.BOX:
        text = f"box: quartiles and median, notched from {draw.NOTCH} networks"
        handles.append(style.key(text, linewidth=6, alpha=0.3))
    text = "published mean ± sd of 8 entries"
    handles.append(style.key(text, marker="D", markerfacecolor="none", linewidth=1.0))
    return handles


def boxes(axes: Axes, board: str, ratings: Mapping[str, np.ndarray]) -> None:
    """One board: a box for each target, the published mean beside it, random in words."""
    theirs = published.tournament(board) or {}
    targets = [name for name in ratings if name != RANDOM]
    for place, target in enumerate(targets):
        draw.box(axes, place, target, ratings[target])
        x = draw.beside(place, len(ratings[target]))
        look: dict[str, Any] = {
            "markersize": 3.8,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
        }
        axes.plot(x, ratings[target], "o", color=style.colour(target), zorder=3, **look)
        if target in theirs:
            mean, spread = theirs[target].mean(), theirs[target].std(ddof=1)
            look = {"color": "#444444", "marker": "D", "markerfacecolor": "white", "zorder": 4}
            draw.error_bars(axes, place + _BESIDE, mean, spread, target, **look)
    axes.axhline(0, color="#AAAAAA", linewidth=0.8, zorder=0)
    draw.name_columns(axes, [f"{style.label(t)}\nn = {len(ratings[t])}" for t in targets])
    axes.margins(y=0.14)
    note = _random_words(ratings, theirs)
    draw.corner(
        axes, "\n".join(filter(None, [note, None if theirs else unpublished("tournament", board)]))
    )


def _random_words(
    ratings: Mapping[str, Sequence[float] | np.ndarray], theirs: Mapping[str, np.ndarray]
) -> str | None:
    if RANDOM not in ratings:
        return None
    ours = number(float(np.mean(ratings[RANDOM])), 0)
    if RANDOM not in theirs:
        return f"random player: {ours}"
    return f"random player: {ours} (published {number(float(theirs[RANDOM].mean()), 0)})"
