"""Tournaments of a study: a figure by target, ratings with errors, and who scored against whom."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments import published
from experiments.claims.ranking import ranking
from experiments.pages import draw, style
from experiments.pages.bands import floats
from experiments.pages.study import Study
from experiments.pages.style import label
from experiments.pages.tables import Table, table
from experiments.pages.wording import ABSENT, NONE, interval, number, percent


@style.styled
def figure(played: dict[str, Any]) -> Figure | None:
    """Ratings of one whole tournament by target and kind of player, boxes and points."""
    elo, stderr = floats(played.get("elo") or []), floats(played.get("stderr") or [])
    places = columns(played)
    if not len(elo) or not places:
        return None
    stderr = stderr if len(stderr) == len(elo) else np.full(len(elo), np.nan)
    drawn, (axes,) = style.new_figure(panel=(max(5.5, 1.25 * len(places) + 1.2), 3.9))
    for place, (name, members) in enumerate(places.items()):
        draw.box(axes, place, name, elo[members])
        x, look = draw.beside(place, len(members), 0.3), {"marker": "o", "markeredgecolor": "white"}
        draw.error_bars(axes, x, elo[members], stderr[members], name, linestyle="", **look)
    ticks = [f"{label(name)}\nn = {len(members)}" for name, members in places.items()]
    draw.name_columns(axes, ticks)
    axes.axhline(0, color="#AAAAAA", linewidth=0.8, zorder=0)
    axes.set_ylabel("Elo in the tournament (mean 0)")
    handles = [style.key("one player ± standard error", linestyle="", marker="o", markersize=5)]
    if any(len(members) >= draw.BOX for members in places.values()):
        handles.append(style.key(f"box: quartiles and median, notched from {draw.NOTCH} players"))
    style.legend_below(drawn, handles, columns=3)
    return drawn


def columns(played: dict[str, Any]) -> dict[str, list[int]]:
    """Player indices by target, then by kind of the untrained and scripted players."""
    found: dict[str, list[int]] = {}
    for index, player in enumerate(played.get("players") or []):
        trained = player.get("kind") == "trained"
        found.setdefault(str(player.get("target" if trained else "kind")), []).append(index)
    return {name: found[name] for name in style.in_order(found)}


def targets(study: Study, played: dict[str, Any]) -> Table:
    """Mean rating of every target's networks, with its interval."""
    rated = ranking(played)
    theirs = published.tournament(study.game) or {}
    return table(
        "Rating by loss",
        rated,
        {
            "minimised": lambda r: label(r.target),
            "seeds": lambda r: str(r.seeds),
            "mean Elo": lambda r: number(r.mean, 1),
            "± error": lambda r: ABSENT if math.isnan(r.stderr) else number(r.stderr, 1),
            "95 % interval": lambda r: interval((r.low, r.high)),
            "sd over seeds": lambda r: number(r.sd, 1) if r.seeds > 1 else None,
            "published mean": lambda r: (
                number(float(np.mean(theirs[r.target]))) if r.target in theirs else None
            ),
        },
        "The error of a mean is the larger of the spread over seeds and the ratings' own "
        "error; intervals use Student's t. Pools differ: compare order and gaps with the "
        "published means, not levels.",
    )


def ratings(played: dict[str, Any]) -> Table | None:
    """Every player of a tournament, best first."""
    players, elo = played.get("players") or [], played.get("elo") or []
    if not elo:
        return None
    stderr = played.get("stderr") or [None] * len(elo)
    points, games = pairings(played)
    order = np.argsort(-np.nan_to_num(floats(elo), nan=-math.inf), kind="stable").tolist()
    columns: dict[str, Callable[[int], str | None]] = {
        "": lambda i: str(order.index(i) + 1),
        "player": lambda i: str(players[i]["name"]),
        "minimised": lambda i: label(t) if (t := players[i].get("target")) else None,
        "seed": lambda i: None if players[i].get("seed") is None else str(players[i]["seed"]),
        "Elo": lambda i: number(elo[i], 1),
        "± error": lambda i: number(stderr[i], 1),
        "games": lambda i: number(int(games[i].sum())),
        "score": lambda i: share(points[i], games[i]),
    }
    return table("Ratings", order, columns, text_columns=3)


def share(points: np.ndarray, games: np.ndarray) -> str:
    """`53.1 %` of the points of some games."""
    return percent(points.sum() / games.sum() if games.sum() else math.nan)


def pairings(played: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Points and games of every player (row) against every other (column), each [P, P]."""
    count = len(played.get("players") or [])
    points, games = np.zeros((count, count)), np.zeros((count, count))
    for first, second, wins, draws, losses in played.get("results") or []:
        points[first, second] += wins + 0.5 * draws
        points[second, first] += losses + 0.5 * draws
        games[first, second] += wins + draws + losses
        games[second, first] += wins + draws + losses
    return points, games


def cross(played: dict[str, Any], *, by_player: bool) -> Table | None:
    """Score of each row against each column in per cent, by target or by player."""
    if not played.get("results"):
        return None
    points, games = pairings(played)
    names = [str(player["name"]) for player in played["players"]]
    groups = (
        {name: [i] for i, name in enumerate(names)}
        if by_player
        else {label(name): ids for name, ids in columns(played).items()}
    )
    rows = tuple(
        (name, *(_score(points, games, mine, theirs) for theirs in groups.values()))
        for name, mine in groups.items()
    )
    title = "Scores by player" if by_player else "Scores by loss"
    note = "Score in per cent of the row against the column, a draw counts half."
    return Table(title, ("", *groups), rows, note, folded=by_player)


def _score(points: np.ndarray, games: np.ndarray, mine: list[int], theirs: list[int]) -> str:
    if mine == theirs:
        return NONE
    own, played = points[np.ix_(mine, theirs)].sum(), games[np.ix_(mine, theirs)].sum()
    return f"{100 * own / played:.1f}" if played else "not played"
