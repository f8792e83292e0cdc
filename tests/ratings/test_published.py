"""Bayesian Elo gives the ratings that the papers published, from the papers' own game counts."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import published
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
