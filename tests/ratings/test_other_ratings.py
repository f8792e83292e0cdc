"""Incremental Elo, and the wrapper of the optional whole-history rating."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from jaxzero.ratings import expected_score, incremental_elo, whole_history_ratings


def test_expected_score():
    np.testing.assert_allclose(expected_score([0, 400, -400]), [1 / 2, 10 / 11, 1 / 11])


def test_each_game_moves_both_players_by_the_surprise():
    history = incremental_elo([[0, 1, 1.0], [1, 2, 0.5], [0, 1, 0.0]])
    first = 1600 + 16
    np.testing.assert_allclose(history[0], 1600)
    np.testing.assert_allclose(history[1], [first, 1584, 1600])
    # A draw takes |K (0.5 - E)| from the higher rated.
    moved = 32 * (0.5 - expected_score(-16))
    np.testing.assert_allclose(history[2], [first, 1584 + moved, 1600 - moved])
    assert history[3, 0] < first
    np.testing.assert_allclose(history.sum(axis=1), 3 * 1600)


def test_incremental_settings():
    history = incremental_elo([[1, 0, 1]], k_factor=10, start=[0, 400, 7], num_players=3)
    change = 10 / 11
    np.testing.assert_allclose(history[-1], [-change, 400 + change, 7])
    assert incremental_elo([], num_players=2).shape == (1, 2)


def test_incremental_approaches_the_true_difference():
    rng = np.random.default_rng(0)
    wins = rng.random(20_000) < expected_score(200)
    games = np.column_stack([np.zeros(20_000), np.ones(20_000), wins])
    history = incremental_elo(games, k_factor=4)
    difference = (history[5000:, 0] - history[5000:, 1]).mean()
    assert difference == pytest.approx(200, abs=15)


@pytest.mark.parametrize(
    ("games", "settings", "message"),
    [
        ([[0, 1]], {}, r"must be \[G, 3\]"),
        ([[0, 0, 1]], {}, "play itself"),
        ([[0, -1, 1]], {}, "integers from 0"),
        ([[0, 1, 2]], {}, r"scores must be in \[0, 1\]"),
        ([[0, 5, 1]], {"num_players": 3}, "player 5 is out of range"),
    ],
)
def test_malformed_games_raise(games, settings, message):
    with pytest.raises(ValueError, match=message):
        incremental_elo(games, **settings)


def test_whole_history_names_the_package_that_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "whr", None)
    with pytest.raises(ImportError, match=r"\.\[whr\]"):
        whole_history_ratings([[0, 1, 1, 1]])


@pytest.mark.parametrize(
    "games", [[[0, 1, 1]], [[0, 1, 0.3, 1]], [[0, 0, 1, 1]], [[0, -1, 1, 1]], [[0, 1, 1, 0.5]], []]
)
def test_whole_history_refuses_malformed_games(games):
    with pytest.raises(ValueError, match=r"must|play itself"):
        whole_history_ratings(games)


def test_whole_history_follows_a_player_who_improves():
    pytest.importorskip("whr")
    rng = np.random.default_rng(0)
    games = []
    for time in range(1, 11):
        for game in range(60):
            first = game % 2  # 0 improves from -300 to 300 against 1
            chance = expected_score((time - 5.5) / 4.5 * 300 * (1 if first == 0 else -1))
            games.append([first, 1 - first, float(rng.random() < chance), time])
    learner, opponent = whole_history_ratings(games, w2=2000.0)
    assert learner.shape == opponent.shape == (10, 3)
    np.testing.assert_array_equal(learner[:, 0], range(1, 11))
    gap = learner[:, 1] - opponent[:, 1]
    assert gap[0] < -100
    assert gap[-1] > 100
    assert (learner[:, 2] > 0).all()


def test_whole_history_of_one_day_in_closed_form():
    pytest.importorskip("whr")
    wins, losses = 30, 10
    games = [[0, 1, 1, 1]] * wins + [[0, 1, 0, 1]] * losses
    first, second = whole_history_ratings(games)
    natural = np.log(10) / 400

    def loss(r):  # Bradley-Terry at +-r, and half a win and half a loss of each against 0
        chances = wins * log_expit(2 * r) + losses * log_expit(-2 * r)
        return -(chances + log_expit(r) + log_expit(-r))

    expected = minimize_scalar(loss).x / natural
    np.testing.assert_allclose([first[0, 1], second[0, 1]], [expected, -expected], atol=1)
    # docs/ratings.md: its errors take the opponents' ratings as known.
    won, above = expit(2 * expected * natural), expit(expected * natural)
    known = (wins + losses) * won * (1 - won) + above * (1 - above)
    assert first[0, 2] == pytest.approx(1 / natural / np.sqrt(known), rel=0.1)


@pytest.mark.parametrize("both_colours", [False, True])
def test_whole_history_takes_the_advantage_of_the_first_off(both_colours):
    pytest.importorskip("whr")
    scores = [1] * 16 + [0] * 9  # as those of a player who is 100 Elo stronger
    assert np.mean(scores) == pytest.approx(expected_score(100), abs=1e-3)
    pairs = [(0, 1), (1, 0)] if both_colours else [(0, 1)]
    games = [[*pair, score, 1] for pair in pairs for score in scores * 2]

    def lead(advantage):
        first, second = whole_history_ratings(games, advantage=advantage)
        return first[0, 1] - second[0, 1]

    assert lead(100.0) == pytest.approx(0, abs=2)  # equal players
    assert lead(0.0) == pytest.approx(0 if both_colours else 97, abs=4)  # the prior takes a little
    if both_colours:
        assert lead("fit") == pytest.approx(0, abs=2)
    with pytest.raises(ValueError, match="finite number"):
        lead(float("nan"))
