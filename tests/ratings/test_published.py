"""Bayesian Elo gives the ratings that the papers published, from the papers' own game counts."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import published
from experiments.strength.opponents import Entry, listed_as_published
from jaxzero.matches.tournament import merge_colours
from jaxzero.ratings import bayes_elo

TOURNAMENT = Path(__file__).parents[1] / "data" / "tournament_connect_four_5x5.json"


@functools.cache
def tournament() -> dict[str, Any]:
    """Counts and ratings of the papers' tournament of Connect Four 5x5: 33 players."""
    return json.loads(TOURNAMENT.read_text(encoding="utf-8"))


def test_the_counts_are_a_whole_tournament() -> None:
    results = np.array(tournament()["results"])
    first, second = results[:, 0], results[:, 1]
    assert len({frozenset(pair) for pair in zip(first, second, strict=True)}) == 33 * 32 // 2
    assert (results[:, 2:].sum(axis=1) == 20).all()
    assert results[:, 3].any()  # draws take part
    by_target: dict[str, list[int]] = {}
    for name, elo in zip(tournament()["players"], tournament()["elo"], strict=True):
        by_target.setdefault(name.partition("_")[0], []).append(elo)
    theirs = published.tournament("connect_four_5x5")
    assert theirs is not None
    assert {t: sorted(elo) for t, elo in by_target.items()} == {
        target: sorted(elo.tolist()) for target, elo in theirs.items()
    }


def test_published_ratings_are_reproduced() -> None:
    ours = bayes_elo(tournament()["results"], advantage=32.8, draw_elo=97.3, prior=2.0)
    difference = ours.elo - np.array(tournament()["elo"])
    assert np.sqrt(np.mean(difference**2)) <= 0.5  # whole numbers were published: 0.29 is rounding
    assert np.abs(difference).max() <= 2.0


@pytest.mark.parametrize(
    "other", [{"advantage": 0.0}, {"draw_elo": 120.0}, {"draw_elo": 0.0}, {"prior": 0.2}]
)
def test_no_other_settings_reproduce_them(other: dict[str, float]) -> None:
    options = {"advantage": 32.8, "draw_elo": 97.3, "prior": 2.0} | other
    ours = bayes_elo(tournament()["results"], **options)
    assert np.sqrt(np.mean((ours.elo - np.array(tournament()["elo"])) ** 2)) > 0.5


def _elo_of_sorted_colours(players: list[Entry], listed: list[int] | None) -> dict[str, float]:
    """Mean rating by kind from the papers' counts, halved by colour and players in our order."""
    names = tournament()["players"]
    ours = {names.index(player.name): n for n, player in enumerate(players)}
    rows = []
    for first, second, wins, draws, losses in tournament()["results"]:
        a, b, half = ours[first], ours[second], (wins // 2, draws // 2, losses // 2)
        rows.append([a, b, *half])
        rows.append([b, a, losses - half[2], draws - half[1], wins - half[0]])
    merged = merge_colours(np.array(sorted(rows)), listed or range(len(players)))
    elo = bayes_elo(merged, advantage=32.8, draw_elo=97.3).elo
    kinds = [player.target or player.kind for player in players]
    return {k: float(elo[[kind == k for kind in kinds]].mean()) for k in dict.fromkeys(kinds)}


def test_players_are_listed_as_the_papers_listed_them() -> None:
    """Their means come out of counts by colour in an order of ours; without their list they don't:
    the first-listed player's advantage moves l_v against l_+ by some 40 Elo."""
    targets = ("policy", "value", "sum", "product")
    players = [Entry(f"{t}_{s}", "trained", t, s) for t in targets for s in range(8)]
    players.append(Entry("random", "random"))
    theirs = published.tournament("connect_four_5x5")
    assert theirs is not None
    expected = {name: elo.mean() for name, elo in theirs.items()}
    found = _elo_of_sorted_colours(players, listed_as_published(players))
    assert found == pytest.approx(expected, abs=1.0)
    other = _elo_of_sorted_colours(players, None)
    gaps = [elo["value"] - elo["sum"] for elo in (found, other)]
    assert abs(gaps[0] - gaps[1]) > 25


def test_players_that_the_papers_do_not_have_are_listed_last() -> None:
    players = [
        Entry("untrained_seed0", "untrained", None, 0),
        Entry("product_seed0", "trained", "product", 0),
        Entry("sum_seed1", "trained", "sum", 1),
        Entry("sum_seed0", "trained", "sum", 0),
        Entry("mcts_50", "rollouts"),
        Entry("random", "random"),
    ]
    assert listed_as_published(players) == [5, 2, 3, 1, 0, 4]
