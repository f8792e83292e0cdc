"""Whether intervals of ratings hold the truth as often as they say, in made-up tournaments."""

import numpy as np
import pytest

from jaxzero.ratings import bayes_elo, displayed_scale
from tests.ratings.tournaments import neighbours, round_robin, simulate


def _coverage(pairing, *, fit, sd=150.0, advantage=60.0, draw_elo=97.3, tournaments=20, **settings):
    """(share of 95% intervals with the truth in them, standard deviation of error / stderr).

    30 players with true strengths from a normal distribution, 3,000 games with draws and an
    advantage of the first, over some tournaments; the truth on the scale that is displayed. Where
    only neighbours meet, intervals of their differences: all others add up the same errors.
    """
    rng = np.random.default_rng(7)
    deviations = []
    for _ in range(tournaments):
        truth = rng.normal(0, sd, 30)
        truth -= truth.mean()
        results = pairing(rng, truth, 3000, advantage=advantage, draw_elo=draw_elo)
        known = {"advantage": advantage, "draw_elo": draw_elo}
        given = dict.fromkeys(known, "fit") if fit else known
        ratings = bayes_elo(results, **given, **settings)
        truth = displayed_scale(draw_elo) * truth
        if pairing is neighbours:
            rated = np.array([ratings.difference(i, i + 1) for i in range(29)])
            deviations.append((rated[:, 0] + np.diff(truth)) / rated[:, 1])
        else:
            deviations.append((ratings.elo - truth) / ratings.stderr)
    deviations = np.array(deviations)
    return (np.abs(deviations) < 1.96).mean(), deviations.std()


@pytest.mark.parametrize("fit", [False, True])
@pytest.mark.parametrize("pairing", [simulate, round_robin, neighbours])
def test_intervals_cover_the_truth(pairing, fit):
    # About 600 intervals: a standard deviation of 0.009 if they were independent; they nearly are.
    covered, spread = _coverage(pairing, fit=fit)
    assert 0.92 < covered < 0.98
    assert 0.88 < spread < 1.12


@pytest.mark.parametrize("draw_elo", [20.0, 250.0])
def test_intervals_cover_the_truth_with_few_and_many_draws(draw_elo):
    covered, _ = _coverage(round_robin, fit=True, draw_elo=draw_elo)
    assert 0.92 < covered < 0.98


def test_the_default_prior_pulls_wide_pools_together_and_a_smaller_one_does_not():
    # docs/ratings.md: what a prior of 2 does to players who are 600 Elo (one sd) from the mean.
    default, _ = _coverage(round_robin, fit=True, sd=600.0)
    smaller, _ = _coverage(round_robin, fit=True, sd=600.0, prior=0.5)
    assert default < 0.88
    assert 0.92 < smaller < 0.98
