"""The page of a tournament between runs: `report.html` and its figures, from results.json."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.pages import draw, page, record, style
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.tables import Table
from experiments.pages.wording import (
    duration,
    game_title,
    joined,
    moving_first,
    number,
    percent,
    plural,
    plus_minus,
)
from experiments.strength import run_means
from experiments.strength import tournament_figures as pools
from jaxzero import workdir

_SHOWN_TRIPLES = 30
_SURE = 0.95


def build(directory: Path) -> Page:
    """The page of a finished tournament, figures drawn, nothing written yet."""
    name, results = directory.resolve().name, workdir.read_results(directory)
    [as_played] = results["tournaments"]
    played = pools.by_rating(as_played)
    runs = run_means.means_table(as_played)
    return Page(
        title=f"Tournament: {game_title(results['game'])}",
        subtitle=f"{results['game']}, {name}",
        verdicts=sentences(played),
        missing=_missing(played),
        facts=_facts(results, played),
        sections=[
            section("Runs", runs),
            _ratings(played),
            _training(played),
            _scores(played),
            _circles(played),
        ],
    )


def sentences(played: dict[str, Any]) -> list[str]:
    """Who is best and how sure that is, and how well a line of ratings fits; best first."""
    names = [player["name"] for player in played["players"]]
    elo, errors = played["elo"], played["stderr"]
    lines = [f"{names[0]} is rated highest, {plus_minus(elo[0], errors[0])} Elo."]
    surer = [i for i in range(1, len(names)) if played["superiority"][0][i] >= _SURE]
    if len(surer) == len(names) - 1:
        lines[0] += " It is stronger than every other player with 95 % likelihood or more."
    else:
        rivals = [names[i] for i in range(1, len(names)) if i not in surer]
        shown = rivals if len(rivals) < 6 else [*rivals[:4], f"{len(rivals) - 4} more"]
        lines.append(f"With less than 95 % likelihood it is stronger than {joined(shown)}.")
    circles = played["intransitive"]
    if circles["of"]:
        lines.append(
            f"{number(circles['count'])} of {plural(circles['of'], 'triple')} of players beat "
            "each other in a circle; if the ratings were the whole truth, luck would make "
            f"{plus_minus(circles['expected'], circles['spread'], 1)}."
        )
    return lines


def _missing(played: dict[str, Any]) -> list[str]:
    games, distinct = played["games"], played["distinct_games"]
    if distinct < games / 2:
        return [
            f"Only {number(distinct)} of {number(games)} games differ, and only those count: more "
            "random plies before the games (--openings) make more of them."
        ]
    return []


def _facts(results: dict[str, Any], played: dict[str, Any]) -> page.Facts:
    settings, m = results["settings"], results["settings"]["simulations"]
    games = (
        f"{number(played['games'])} ({number(played['games_per_pair'])} a pair, both colours), "
        f"{number(played['distinct_games'])} of them distinct; "
        f"{number(settings['openings'])} random plies before each pair of games"
    )
    told = played.get("draw_elo_stderr") != 0  # else the games do not determine it
    ratings = (
        f"Bayesian Elo, mean 0; {moving_first(played)}, "
        f"draw Elo {number(played['draw_elo'], 1)}, "
        + ("both fitted" if told else "BayesElo's, as the games do not tell it")
    )
    return [
        ("Runs", "; ".join(settings["runs"])),
        ("Players", number(len(played["players"]))),
        ("Games", games),
        ("Search", f"m = {m}" if m else "m = each network's own"),
        ("Ratings", ratings),
        ("Evaluations", number(int(played["evaluations"]))),
        ("Wall time", duration(results["cost"]["wall_seconds"])),
        *record.software(results),
        *page.origin(results),
    ]


def _ratings(played: dict[str, Any]) -> Section:
    caption = (
        "Points are ratings, bars their standard errors against the mean of all, which is "
        "0. Grey: players that do not learn."
    )
    shown = plate("ratings", ratings_figure(played), "Ratings", caption)
    return section("Ratings", shown, pools.ratings(played))


def _colours(played: dict[str, Any]) -> dict[tuple[Any, Any], str]:
    """A colour for each run, or for each target where there is one run."""
    learned = [p for p in played["players"] if p.get("run")]
    runs = dict.fromkeys(p["run"] for p in learned)
    if len(runs) == 1:
        return {(p["run"], p["target"]): style.colour(str(p["target"])) for p in learned}
    shades = {run: style.PALETTE[i % len(style.PALETTE)] for i, run in enumerate(sorted(runs))}
    return {(p["run"], p["target"]): shades[p["run"]] for p in learned}


def _colour(player: dict[str, Any], colours: dict[tuple[Any, Any], str]) -> str:
    return colours.get((player.get("run"), player.get("target")), "#6B6B6B")


@style.styled
def ratings_figure(played: dict[str, Any]) -> Figure:
    """Every player's rating with its error, best on top."""
    players, colours = played["players"], _colours(played)
    figure, (axes,) = style.new_figure(panel=(7.6, 0.55 + 0.21 * len(players)))
    for place, player in enumerate(players):
        axes.errorbar(
            played["elo"][place],
            -place,
            xerr=played["stderr"][place],
            fmt="o" if player.get("run") else "s",
            color=_colour(player, colours),
            markersize=4.5,
            elinewidth=1.2,
        )
    axes.set_yticks(
        range(0, -len(players), -1), [style.literal(player["name"]) for player in players]
    )
    axes.set_ylim(-len(players) + 0.4, 0.6)
    axes.set_xlabel("Elo (mean of all players 0)")
    return figure


def _training(played: dict[str, Any]) -> Section:
    curves = training_curves(played)
    if not curves:
        return section("Over training")
    shown = plate(
        "training",
        training_figure(played),
        "Ratings over training",
        "Networks of one run after several iterations, in this tournament: unlike training Elo, "
        "all curves have one scale. Bars are standard errors.",
    )
    return section("Over training", shown)


def training_curves(played: dict[str, Any]) -> dict[str, list[int]]:
    """Players of one network's run by iteration, where there are several: name -> numbers.

    An untrained network begins the curves of all runs of its seed.
    """
    players = played["players"]
    networks = [i for i, player in enumerate(players) if player.get("run")]
    curves: dict[str, list[int]] = {}
    for i in networks:
        if players[i]["target"]:
            curves.setdefault(players[i]["name"].rpartition("@")[0], []).append(i)
    for indices in curves.values():
        own = players[indices[0]]
        indices += [
            i
            for i in networks
            if not players[i]["target"]
            and (players[i]["run"], players[i]["seed"]) == (own["run"], own["seed"])
        ]
    return {
        name: sorted(indices, key=lambda i: players[i]["iteration"])
        for name, indices in sorted(curves.items())
        if len(indices) > 1
    }


@style.styled
def training_figure(played: dict[str, Any]) -> Figure:
    """Rating by iteration, a line for each member; dashed: players that do not learn."""
    curves, colours = training_curves(played), _colours(played)
    figure, (axes,) = style.new_figure(panel=(7.6, 3.4))
    players = played["players"]
    labelled: set[str] = set()
    runs = sorted({run for run, _ in colours})
    one_run = len(runs) == 1
    for indices in curves.values():
        first = players[indices[-1]]
        group = style.label(str(first["target"])) if one_run else style.literal(str(first["run"]))
        dashes = "-" if one_run else style.line(runs.index(first["run"]))["linestyle"]
        axes.errorbar(
            [players[i]["iteration"] for i in indices],
            [played["elo"][i] for i in indices],
            yerr=[played["stderr"][i] for i in indices],
            color=_colour(first, colours),
            linestyle=dashes,
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            elinewidth=0.8,
            label=None if group in labelled else group,
        )
        labelled.add(group)
    last = max(players[i]["iteration"] for indices in curves.values() for i in indices)
    draw.iteration_axis(axes, last)
    rated = zip(players, played["elo"], strict=True)
    draw.levels(axes, [(player["name"], elo) for player, elo in rated if not player.get("run")])
    axes.set_ylabel("Elo (mean of all players 0)")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _scores(played: dict[str, Any]) -> Section:
    note = (
        "Likelihood in per cent that the row's player is stronger than the column's, from all "
        "games."
    )
    better = np.array(played["superiority"])
    return section(
        "Who scored against whom",
        pools.scores(played),
        pools.square(played, "Likelihood of superiority", better, note),
    )


def _circles(played: dict[str, Any]) -> Section:
    circles = played["intransitive"]
    if not circles["of"]:
        return section("Circles")
    shown = circles["triples"][:_SHOWN_TRIPLES]
    more = circles["count"] - len(shown)
    names = [player["name"] for player in played["players"]]
    rows = tuple(
        (*(names[i] for i in triple["players"]), *map(percent, triple["scores"]))
        for triple in shown
    )
    headers = ("first", "second", "third", "1st : 2nd", "2nd : 3rd", "3rd : 1st")
    note = "The circle whose lowest score is highest comes first." + (
        f" {plural(more, 'more circle')}: see results.json." if more else ""
    )
    return section(
        "Circles",
        f"{number(circles['count'])} of {plural(circles['of'], 'triple')} of players who all met: "
        "the first beat the second, the second the third and the third the first, each by more "
        "than half of the points. Replaying the same games with the ratings' own chances makes "
        f"{plus_minus(circles['expected'], circles['spread'], 1)} (mean and standard deviation "
        "of 200 replays): only what is clearly above that is a trait of the players.",
        Table("Circles", headers, rows, note, text_columns=3) if rows else None,
    )
