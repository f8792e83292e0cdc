"""Tournaments of a study: a figure by target, ratings with errors, and who scored against whom."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import published
from experiments.claims.ranking import ranking
from experiments.pages import style
from experiments.pages.boxplots import BOX, NOTCH, box
from experiments.pages.study import Study, floats
from experiments.pages.style import label
from experiments.pages.tables import Table
from experiments.pages.wording import ABSENT, NONE, number, percent


@style.styled
def figure(played: dict[str, Any]) -> Figure | None:
    """Ratings of one whole tournament by target and kind of player, boxes and points."""
    elo, stderr = floats(played.get("elo") or []), floats(played.get("stderr") or [])
    places = columns(played)
    if not len(elo) or not places:
        return None
    stderr = stderr if len(stderr) == len(elo) else np.full(len(elo), np.nan)
    drawn, (axes,) = style.new_figure(1, 1, panel=(max(5.5, 1.25 * len(places) + 1.2), 3.9))
    for place, (name, members) in enumerate(places.items()):
        _column(axes, place, name, elo[members], stderr[members])
    ticks = [f"{label(name)}\nn = {len(members)}" for name, members in places.items()]
    axes.set_xticks(range(len(places)), ticks)
    axes.set_xlim(-0.6, len(places) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color="#AAAAAA", linewidth=0.8, zorder=0)
    axes.set_ylabel("Elo in the tournament (mean 0)")
    handles = [style.key("one player ± standard error", linestyle="", marker="o", markersize=5)]
    if any(len(members) >= BOX for members in places.values()):
        handles.append(style.key(f"box: quartiles and median, notched from {NOTCH} players"))
    style.legend_below(drawn, handles, columns=3)
    return drawn


def columns(played: dict[str, Any]) -> dict[str, list[int]]:
    """Player indices by target, then by kind of the untrained and scripted players."""
    found: dict[str, list[int]] = {}
    for index, player in enumerate(played.get("players") or []):
        trained = player.get("kind") == "trained"
        found.setdefault(str(player.get("target" if trained else "kind")), []).append(index)
    return {name: found[name] for name in style.in_order(found)}


def _column(axes: Axes, place: int, name: str, elo: np.ndarray, stderr: np.ndarray) -> None:
    """One column of a tournament figure: a box from three players on, and every player."""
    shade = style.colour(name)
    box(axes, place, name, elo)
    spread = 0.3 if len(elo) > 1 else 0.0
    x = place + np.linspace(-spread / 2, spread / 2, len(elo))
    axes.errorbar(
        x,
        elo,
        yerr=np.where(np.isfinite(stderr), stderr, 0.0),
        fmt="o",
        color=shade,
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        elinewidth=0.9,
        zorder=3,
    )


def targets(study: Study, played: dict[str, Any]) -> Table | None:
    """Mean rating of every target's networks, with its interval."""
    rated = ranking(played)
    if not rated:
        return None
    theirs = published.tournament(study.game) or {}
    rows = tuple(
        (
            label(r.target),
            str(r.seeds),
            number(r.mean, 1),
            ABSENT if math.isnan(r.stderr) else number(r.stderr, 1),
            f"{number(r.low, 0)} to {number(r.high, 0)}",
            number(r.sd, 1) if r.seeds > 1 else NONE,
            number(float(np.mean(theirs[r.target])), 0) if r.target in theirs else NONE,
        )
        for r in rated
    )
    headers = (
        "minimised",
        "seeds",
        "mean Elo",
        "± error",
        "95 % interval",
        "sd over seeds",
        "published mean",
    )
    note = (
        "The error of a mean is the larger of the spread over seeds and the ratings' own "
        "error; intervals use Student's t. Pools differ: compare order and gaps with the "
        "published means, not levels."
    )
    return Table("Rating by loss", headers, rows, note)


def ratings(played: dict[str, Any]) -> Table | None:
    """Every player of a tournament, best first."""
    players, elo = played.get("players") or [], played.get("elo") or []
    if not elo:
        return None
    stderr = played.get("stderr") or [None] * len(elo)
    points, games = pairings(played)
    order = np.argsort(-np.nan_to_num(floats(elo), nan=-math.inf), kind="stable").tolist()
    rows = []
    for place, i in enumerate(order, start=1):
        target, seed = players[i].get("target"), players[i].get("seed")
        total = float(games[i].sum())
        rows.append(
            (
                str(place),
                str(players[i]["name"]),
                label(str(target)) if target else NONE,
                NONE if seed is None else str(seed),
                number(elo[i], 1),
                number(stderr[i], 1),
                number(int(total)),
                percent(points[i].sum() / total if total else math.nan),
            )
        )
    headers = ("", "player", "minimised", "seed", "Elo", "± error", "games", "score")
    return Table("Ratings", headers, tuple(rows), "", text_columns=3)


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
    rows = []
    for name, mine in groups.items():
        cells = [
            _score(points[np.ix_(mine, theirs)], games[np.ix_(mine, theirs)])
            if theirs != mine
            else NONE
            for theirs in groups.values()
        ]
        rows.append((name, *cells))
    title = "Scores by player" if by_player else "Scores by loss"
    note = "Score in per cent of the row against the column, a draw counts half."
    return Table(title, ("", *groups), tuple(rows), note, folded=by_player)


def _score(points: np.ndarray, games: np.ndarray) -> str:
    return f"{100 * points.sum() / games.sum():.1f}" if games.sum() else "not played"
