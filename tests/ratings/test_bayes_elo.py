"""Bayesian Elo against closed forms, brute force, simulation and the BayesElo program."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

from jaxzero.ratings import bayes_elo, displayed_scale
from tests.ratings.tournaments import chances, round_robin, simulate


def _log_posterior(parameters, results, prior, count):
    """Written from the model's definition alone. parameters: ratings, advantage, draw_elo."""
    elo, advantage, draw_elo = parameters[:count], *parameters[count:]
    games = np.zeros(count)
    for first, second, *counts in results:
        games[[first, second]] += sum(counts)
    total = 0.0
    for first, second, *counts in results:
        three = chances(elo[first] - elo[second], advantage, draw_elo)
        total += sum(n * np.log(p) for n, p in zip(counts, three, strict=True) if n)
        for player in (first, second):
            virtual = prior / 4 * sum(counts) / games[player]
            total += virtual * np.log(three[1])
            total += virtual * np.log(chances(elo[second] - elo[first], advantage, draw_elo)[1])
    return total


@pytest.mark.parametrize(("wins", "losses"), [(10, 0), (7, 3), (1, 9), (60, 40)])
@pytest.mark.parametrize("prior", [0.5, 2.0])
def test_two_players_without_draws_in_closed_form(wins, losses, prior):
    # With draw_elo 0 a draw counts as a win and a loss. Each player's virtual draws are prior / 4
    # with either colour, so the pair has `prior` of them.
    ratings = bayes_elo([[0, 1, wins, 0, losses]], advantage=0.0, draw_elo=0.0, prior=prior)
    expected = 400 * np.log10((wins + prior) / (losses + prior))
    assert ratings.difference(0, 1)[0] == pytest.approx(expected, abs=1e-8)
    natural = np.log(10) / 400
    weight = wins + losses + 2 * prior
    share = (wins + prior) / weight
    error = 1 / np.sqrt(weight * share * (1 - share)) / natural
    assert ratings.difference(0, 1)[1] == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(ratings.stderr, error / 2, rtol=1e-9)


@pytest.mark.parametrize("draw_elo", [97.3, 200.0])
def test_two_players_with_draws_solve_the_score_equation(draw_elo):
    wins, draws, losses, prior = 11, 6, 4, 2.0
    ratings = bayes_elo([[0, 1, wins, draws, losses]], advantage=0.0, draw_elo=draw_elo)
    delta = ratings.difference(0, 1)[0] / displayed_scale(draw_elo)
    win, _, loss = chances(delta, 0.0, draw_elo)
    up, down = wins + draws + prior, losses + draws + prior
    assert up * (1 - win) == pytest.approx(down * (1 - loss), rel=1e-10)


def test_equal_results_give_zero_and_half():
    circle = [[0, 1, 3, 1, 2], [1, 0, 3, 1, 2], [1, 2, 4, 0, 4], [2, 0, 1, 5, 1]]
    ratings = bayes_elo(circle, advantage=0.0)
    np.testing.assert_allclose(ratings.elo, 0, atol=1e-9)
    np.testing.assert_allclose(ratings.superiority, 0.5, atol=1e-9)


def test_advantage_moves_a_one_colour_pair_by_its_size():
    # All games have player 0 first; without a prior the advantage is subtracted in full.
    results = [[0, 1, 12, 4, 7]]
    without, with_advantage = (
        bayes_elo(results, advantage=advantage, prior=0.0).difference(0, 1)[0]
        for advantage in (0.0, 50.0)
    )
    assert without - with_advantage == pytest.approx(50 * displayed_scale(97.3), abs=1e-8)


def test_displayed_scale():
    assert displayed_scale(97.3) == pytest.approx(0.925, abs=5e-4)
    assert displayed_scale(0.0) == 1.0
    results = [[0, 1, 5, 3, 2], [1, 2, 4, 4, 1], [2, 0, 2, 1, 6]]
    ratings = bayes_elo(results)
    model = minimize(
        lambda p: -_log_posterior([*p, 32.8, 97.3], results, 2.0, 3), np.zeros(3), tol=1e-12
    ).x
    np.testing.assert_allclose(
        ratings.elo, displayed_scale(97.3) * (model - model.mean()), atol=0.01
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fit", [False, True])
def test_equals_brute_force(seed, fit):
    rng = np.random.default_rng(seed)
    count, prior = 5, 1.5
    results = [[a, b, *rng.integers(0, 9, 3)] for a in range(count) for b in range(count) if a != b]
    setting = {"advantage": "fit", "draw_elo": "fit"} if fit else {"advantage": 20.0}
    ratings = bayes_elo(results, prior=prior, **setting)

    def loss(p):
        tail = p[count:] if fit else [20.0, 97.3]
        # Holds the mean at 0 without moving the maximum.
        return -_log_posterior([*p[:count], *tail], results, prior, count) + p[:count].mean() ** 2

    start = np.append(np.zeros(count), [0.0, 80.0]) if fit else np.zeros(count)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(
        ratings.elo / displayed_scale(ratings.draw_elo), best.x[:count], atol=0.02
    )
    if fit:
        np.testing.assert_allclose([ratings.advantage, ratings.draw_elo], best.x[count:], atol=0.02)


@pytest.mark.parametrize("fit", [False, True])
def test_covariance_is_the_inverse_of_the_numerical_hessian(fit):
    rng = np.random.default_rng(4)
    count = 4
    results = [[a, b, *rng.integers(1, 20, 3)] for a in range(count) for b in range(a)]
    ratings = bayes_elo(results, **({"advantage": "fit", "draw_elo": "fit"} if fit else {}))
    scale = displayed_scale(ratings.draw_elo)
    # Coordinates that keep the mean at 0: all ratings but the last, then the fitted ones.
    to_all = np.vstack([np.eye(count - 1), -np.ones(count - 1)])
    tail = [ratings.advantage, ratings.draw_elo]
    at = np.append(ratings.elo[:-1] / scale, tail if fit else [])

    def value(p):
        parameters = np.append(to_all @ p[: count - 1], p[count - 1 :] if fit else tail)
        return _log_posterior(parameters, results, 2.0, count)

    size, step = len(at), 0.5
    shifts = step * np.eye(size)
    hessian = np.array(
        [
            [
                value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)
                for b in shifts
            ]
            for a in shifts
        ]
    ) / (4 * step**2)
    inverse = np.linalg.inv(-hessian)
    expected = scale**2 * to_all @ inverse[: count - 1, : count - 1] @ to_all.T
    np.testing.assert_allclose(ratings.covariance, expected, rtol=1e-3)
    np.testing.assert_allclose(ratings.covariance.sum(axis=1), 0, atol=1e-6)
    if fit:
        errors = [ratings.advantage_stderr, ratings.draw_elo_stderr]
        np.testing.assert_allclose(errors, np.sqrt(np.diag(inverse)[-2:]), rtol=1e-3)


def test_mean_is_zero_and_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    results = simulate(rng, rng.normal(0, 200, 8), 400)
    ratings = bayes_elo(results)
    assert abs(ratings.elo.mean()) < 1e-9
    shuffled = bayes_elo(rng.permutation(results))
    np.testing.assert_allclose(shuffled.elo, ratings.elo, atol=1e-8)
    np.testing.assert_allclose(shuffled.covariance, ratings.covariance, rtol=1e-8, atol=1e-8)


def test_the_movers_advantage_and_that_of_the_listed_are_told_apart():
    rng = np.random.default_rng(5)
    truth = rng.normal(0, 150, 12)
    truth -= truth.mean()
    by_mover = round_robin(rng, truth, 132 * 60, advantage=80.0)
    listed = by_mover.copy()  # the same games, the lower number first in every row
    swapped = listed[:, 0] > listed[:, 1]
    listed[swapped] = listed[swapped][:, [1, 0, 4, 3, 2]]
    mover, first = (bayes_elo(rows, advantage="fit", draw_elo="fit") for rows in (by_mover, listed))
    assert abs(mover.advantage - 80) < 4 * mover.advantage_stderr
    assert abs(first.advantage) < 4 * first.advantage_stderr  # both move first equally often
    np.testing.assert_allclose(first.elo, mover.elo, atol=15)
    # Taking 32.8 for the listed: the lower numbers are thought weaker than they are.
    published = bayes_elo(listed, advantage=32.8)
    lower = np.polyfit(np.arange(12), published.elo - mover.elo, 1)[0]
    assert lower > 1  # Elo for each number further down


def test_a_fixed_advantage_of_the_listed_moves_a_balanced_pair_by_its_size():
    # Both colours in one row, nobody better: all that is left is the advantage that is taken off.
    elo, _ = bayes_elo([[0, 1, 20, 10, 20]], advantage=32.8, prior=0.0).difference(0, 1)
    assert elo == pytest.approx(-32.8 * displayed_scale(97.3), abs=1e-8)


def test_fit_recovers_advantage_and_draw_elo():
    rng = np.random.default_rng(11)
    deviations = []
    for _ in range(20):
        results = simulate(rng, rng.normal(0, 150, 10), 2000, advantage=60.0, draw_elo=120.0)
        ratings = bayes_elo(results, advantage="fit", draw_elo="fit")
        deviations.append(
            [
                (ratings.advantage - 60) / ratings.advantage_stderr,
                (ratings.draw_elo - 120) / ratings.draw_elo_stderr,
            ]
        )
    assert np.abs(np.mean(deviations, axis=0)).max() < 4 / np.sqrt(20)
    assert 0.6 < np.std(deviations) < 1.4


def test_stderr_shrinks_as_the_square_root_of_games():
    rng = np.random.default_rng(2)
    results = simulate(rng, np.linspace(-100, 100, 6), 600)
    more = results.copy()
    more[:, 2:] *= 16
    few, many = (bayes_elo(rows, prior=0.0).stderr for rows in (results, more))
    np.testing.assert_allclose(few / many, 4.0, rtol=1e-9)


def test_superiority_follows_from_differences():
    ratings = bayes_elo([[0, 1, 8, 2, 3], [1, 2, 6, 1, 6], [2, 0, 2, 2, 9]])
    np.testing.assert_allclose(ratings.superiority + ratings.superiority.T, 1, atol=1e-12)
    elo, error = ratings.difference(0, 2)
    draws = np.random.default_rng(0).multivariate_normal(ratings.elo, ratings.covariance, 200_000)
    assert elo == pytest.approx((draws[:, 0] - draws[:, 2]).mean(), abs=1)
    assert error == pytest.approx((draws[:, 0] - draws[:, 2]).std(), rel=0.01)
    assert ratings.superiority[0, 2] == pytest.approx((draws[:, 0] > draws[:, 2]).mean(), abs=5e-3)
    for i, j in itertools.permutations(range(3), 2):
        elo, error = ratings.difference(i, j)
        assert ratings.superiority[i, j] == pytest.approx(ndtr(elo / error), abs=1e-12)


def test_long_chain_of_perfect_scores_converges():
    # As a run's arena games: each of 120 networks beat the one before it 40 to 0.
    chain = [[new, new - 1, 40, 0, 0] for new in range(1, 121)]
    ratings = bayes_elo(chain)
    assert (np.diff(ratings.elo) > 100).all()
    assert np.isfinite(ratings.stderr).all()
    assert ratings.difference(120, 0)[1] > ratings.difference(1, 0)[1]


def test_fit_without_any_draw():
    results = [[0, 1, 6, 0, 4], [1, 0, 5, 0, 5]]
    ratings = bayes_elo(results, draw_elo="fit", prior=0.0, advantage=0.0)
    assert ratings.draw_elo == ratings.draw_elo_stderr == 0
    assert ratings.difference(0, 1)[0] == pytest.approx(400 * np.log10(11 / 9), abs=1e-8)
    assert 0 < bayes_elo(results, draw_elo="fit").draw_elo < 97.3  # the prior's are draws


def test_repeated_and_empty_rows_and_weights():
    whole = bayes_elo([[0, 1, 6, 2, 3], [1, 0, 1, 1, 1]])
    parts = bayes_elo([[0, 1, 4, 0, 3], [1, 0, 1, 1, 1], [0, 1, 2, 2, 0], [1, 0, 0, 0, 0]])
    np.testing.assert_allclose(parts.elo, whole.elo, atol=1e-8)
    halves = bayes_elo([[0, 1, 3.0, 1.0, 1.5], [1, 0, 0.5, 0.5, 0.5]], prior=1.0)
    np.testing.assert_allclose(halves.elo, whole.elo, atol=1e-8)
    np.testing.assert_allclose(halves.covariance, 2 * whole.covariance, rtol=1e-8)


@pytest.mark.parametrize(
    ("results", "settings", "message"),
    [
        ([[0, 1, 1, 0]], {}, r"results must be int\[M, 5\]"),
        ([], {}, r"results must be int\[M, 5\]"),
        ([[0, 1, 0, 0, 0]], {}, "no game"),
        ([[0, 1, -1, 0, 3]], {}, "at least 0"),
        ([[0, 1, np.nan, 0, 3]], {}, "finite"),
        ([[-1, 1, 1, 0, 3]], {}, "integers from 0"),
        ([[0, 0.5, 1, 0, 3]], {}, "integers from 0"),
        ([[0, 1, 1, 0, 3], [2, 2, 1, 0, 0]], {}, "player 2 plays itself"),
        ([[0, 4, 1, 0, 3]], {"num_players": 4}, "player 4 is out of range"),
        ([[0, 1, 1, 0, 3]], {"num_players": 3}, "players 2 and 0 are in groups that never met"),
        ([[0, 1, 1, 0, 3], [2, 3, 1, 0, 1]], {}, "never met"),
        ([[0, 1, 3, 0, 0]], {"prior": 0.0}, "without a prior"),
        ([[0, 1, 3, 0, 1]], {"prior": 0.0, "advantage": "fit"}, "no finite maximum"),
        ([[0, 1, 3, 0, 0], [1, 0, 3, 0, 0]], {"prior": 0.0, "advantage": "fit"}, "no finite"),
        ([[0, 1, 1, 0, 3]], {"prior": -1.0}, "prior must be at least 0"),
        ([[0, 1, 1, 0, 3]], {"draw_elo": -1.0}, "draw_elo must be at least 0"),
        ([[0, 1, 1, 0, 3]], {"advantage": "fitted"}, 'advantage must be a finite number or "fit"'),
        ([[0, 1, 1, 0, 3]], {"draw_elo": np.inf}, 'draw_elo must be a finite number or "fit"'),
    ],
)
def test_malformed_input_raises_one_line(results, settings, message):
    with pytest.raises(ValueError, match=message) as caught:
        bayes_elo(results, **settings)
    assert "\n" not in str(caught.value)
