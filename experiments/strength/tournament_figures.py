"""Tournaments of a study: a figure by target, ratings with errors, and who scored against whom."""

import math
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
from experiments.pages.wording import ABSENT, NONE, interval, maybe, number, percent

_WIDE = 16  # players from which square tables are shown closed


@style.styled
def figure(played: dict[str, Any]) -> Figure | None:
    """Ratings of one whole tournament by target and kind of player, boxes and points."""
    elo, stderr = floats(played["elo"]), floats(played["stderr"])
    places = columns(played)
    if not places:
        return None
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
    for index, player in enumerate(played["players"]):
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


def by_rating(played: dict[str, Any]) -> dict[str, Any]:
    """The same tournament with its players renumbered, best first."""
    order = np.argsort(-np.nan_to_num(floats(played["elo"]), nan=-math.inf), kind="stable")
    place = np.argsort(order)
    kept = ("players", "elo", "stderr")
    lists: dict[str, Any] = {name: [played[name][i] for i in order] for name in kept}
    if better := played.get("superiority"):
        lists["superiority"] = [[better[i][j] for j in order] for i in order]
    lists["results"] = [
        [int(place[i]), int(place[j]), *counts] for i, j, *counts in played["results"]
    ]
    if circles := played.get("intransitive"):
        triples = [
            {**triple, "players": [int(place[i]) for i in triple["players"]]}
            for triple in circles["triples"]
        ]
        lists["intransitive"] = {**circles, "triples": triples}
    return {**played, **lists}


def ratings(played: dict[str, Any]) -> Table:
    """Every player, best first (`by_rating`)."""
    points, games = pairings(played)
    players, better = played["players"], played.get("superiority")
    elo, last = played["elo"], len(players) - 1
    stderr = played["stderr"]
    return table(
        "Ratings",
        range(len(elo)),
        {
            "": lambda i: str(i + 1),
            "player": lambda i: players[i]["name"],
            "m": lambda i: str(m) if (m := players[i].get("simulations")) else None,
            "Elo": lambda i: number(elo[i], 1),
            "± error": lambda i: number(stderr[i], 1),
            "above the next": lambda i: percent(better[i][i + 1]) if better and i < last else None,
            "games": lambda i: number(int(games[i].sum())),
            "score": lambda i: share(points[i], games[i]) if games[i].sum() else None,
        },
        "m: simulations of a move. Above the next: likelihood that the player is stronger than the "
        "one below it. Games: distinct ones, a repeated game counts once.",
        text_columns=2,
    )


def share(points: np.ndarray, games: np.ndarray) -> str:
    """`53.1 %` of the points of some games."""
    return percent(float(points.sum()) / float(games.sum()) if games.sum() else math.nan)


def pairings(played: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Points and games of every player (row) against every other (column), each [P, P]."""
    count = len(played["players"])
    points, games = np.zeros((count, count)), np.zeros((count, count))
    for first, second, wins, draws, losses in played["results"]:
        points[first, second] += wins + 0.5 * draws
        points[second, first] += losses + 0.5 * draws
        games[first, second] += wins + draws + losses
        games[second, first] += wins + draws + losses
    return points, games


def cross(played: dict[str, Any]) -> Table | None:
    """Score of each row against each column in per cent, by target and kind of player."""
    if not played.get("results"):
        return None
    points, games = pairings(played)
    groups = {label(name): members for name, members in columns(played).items()}
    rows = tuple(
        (name, *(_score(points, games, mine, theirs) for theirs in groups.values()))
        for name, mine in groups.items()
    )
    note = "Score in per cent of the row against the column, a draw counts half."
    return Table("Scores by loss", ("", *groups), rows, note)


def _score(points: np.ndarray, games: np.ndarray, mine: list[int], theirs: list[int]) -> str:
    if mine == theirs:
        return NONE
    own, played = points[np.ix_(mine, theirs)].sum(), games[np.ix_(mine, theirs)].sum()
    return f"{100 * own / played:.1f}" if played else "not played"


def scores(played: dict[str, Any]) -> Table:
    """The cross table of players, best first (`by_rating`)."""
    points, games = pairings(played)
    with np.errstate(invalid="ignore"):
        shares = points / games
    note = (
        "Score in per cent of the row against the column, best players first; a draw counts half, "
        "a repeated game once."
    )
    return square(played, "Cross table", shares, note)


def square(played: dict[str, Any], title: str, shares: np.ndarray, note: str) -> Table:
    """Players against players, in per cent; shares float[P, P], NaN where there is none."""
    cells = 100 * shares
    np.fill_diagonal(cells, np.nan)
    rows = tuple(
        (str(i), player["name"], *(maybe(float(cell)) for cell in row))
        for i, (player, row) in enumerate(zip(played["players"], cells, strict=True), start=1)
    )
    headers = ("", "player", *(str(i + 1) for i in range(len(rows))))
    return Table(title, headers, rows, note, text_columns=2, folded=len(rows) >= _WIDE)
