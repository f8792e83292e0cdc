"""Bootstrap, Holm's correction and numbers of seeds, against closed forms and simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from experiments.claims import decisions, inference


@pytest.mark.parametrize(("seeds", "low"), [(5, 0.93), (8, 0.93), (20, 0.92)])
def test_intervals_cover_the_truth(seeds: int, low: float) -> None:
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(500):
        found = inference.estimate([rng.normal(70.0, 30.0, seeds)], resamples=1000)
        covered.append(found.interval[0] < 70.0 < found.interval[1])
    assert low < np.mean(covered) <= 0.995  # binomial sd 0.01


def test_intervals_cover_a_skewed_truth_and_a_difference_of_boards() -> None:
    rng = np.random.default_rng(4)
    skewed, between = [], []
    for _ in range(400):
        found = inference.estimate([rng.exponential(50.0, 10)], resamples=1000)
        skewed.append(found.interval[0] < 50.0 < found.interval[1])
        pair = [rng.normal(100.0, 20.0, 8), rng.normal(40.0, 60.0, 8)]
        found = inference.estimate(pair, (1.0, -1.0), resamples=1000)
        between.append(found.interval[0] < 60.0 < found.interval[1])
    assert np.mean(skewed) > 0.87
    assert 0.92 < np.mean(between) <= 0.995


def test_p_values_are_uniform_without_an_effect() -> None:
    rng = np.random.default_rng(5)
    p = [
        inference.estimate([rng.normal(0.0, 1.0, 12)], resamples=1000).p_value() for _ in range(500)
    ]
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.06)


def test_the_resampling_is_that_of_all_resamples() -> None:
    """With five seeds all 3,125 resamples can be written down."""
    values = np.array([3.0, 8.0, 1.0, 12.0, 7.5])
    every = np.array(list(itertools.product(values, repeat=5)))
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.abs(every.mean(axis=1) - values.mean()) / (
            every.std(axis=1, ddof=1) / np.sqrt(5)
        )
    found = inference.estimate([values], resamples=40_000)
    t = values.mean() / (values.std(ddof=1) / np.sqrt(5))
    assert found.p_value() == pytest.approx(np.mean(scores >= t), abs=0.004)
    middle = float(np.median(scores[np.isfinite(scores)]))
    assert np.mean(found.scores <= middle) == pytest.approx(np.mean(scores <= middle), abs=0.01)


def test_many_seeds_give_students_t() -> None:
    values = np.random.default_rng(6).normal(1.0, 4.0, 100)
    found = inference.estimate([values])
    reach = stats.t.ppf(0.975, 99) * values.std(ddof=1) / 10
    np.testing.assert_allclose(
        found.interval, [values.mean() - reach, values.mean() + reach], atol=0.05
    )
    assert found.p_value() == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)


def test_few_seeds_decide_nothing() -> None:
    for seeds in range(1, inference.FEWEST):
        found = inference.estimate([np.full(seeds, 400.0) + np.arange(seeds)])
        assert found.effect > 0
        assert np.isnan(found.interval).all()
        assert found.p_value() == 1.0
        assert not found.within(1e9)
    found = inference.estimate([np.full(inference.FEWEST, 400.0) + np.arange(inference.FEWEST)])
    assert found.interval[0] > 300


def test_holm_against_its_definition() -> None:
    """H_(k) is rejected iff p_(j) <= level / (K - j + 1) for every j <= k."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(rng.integers(1, 7)) ** 3
        level = rng.uniform(0.01, 0.5)
        order, rejected = np.argsort(p), set()
        for j, index in enumerate(order):
            if p[index] > level / (len(p) - j):
                break
            rejected.add(int(index))
        assert {i for i, a in enumerate(inference.holm(p.tolist())) if a <= level} == rejected
    assert inference.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert inference.holm([0.4, 0.6]) == [0.8, 0.8]
    assert inference.holm([]) == []


def _share_decided(effect: float, sd: float, seeds: int, direction: str) -> float:
    rng = np.random.default_rng(seeds)
    verdicts = []
    for _ in range(300):
        found = inference.estimate([rng.normal(effect, sd, seeds)], resamples=1000)
        p = found.p_value(50.0 if direction == "equal" else 0.0)
        verdicts.append(decisions.judge(found, direction, 50.0, p))
    return float(np.mean([verdict != decisions.UNDECIDED for verdict in verdicts]))


@pytest.mark.parametrize(
    ("effect", "sd", "direction"),
    [
        (150.0, 200.0, "greater"),
        (0.0, 80.0, "greater"),
        (100.0, 75.0, "greater"),
        (-110.0, 90.0, "equal"),
        (5.0, 70.0, "equal"),
    ],
)
def test_the_seeds_that_are_asked_for_decide(effect: float, sd: float, direction: str) -> None:
    seeds = inference.seeds_needed(effect, sd, 50.0, tests=1, equality=direction == "equal")
    assert seeds is not None
    assert 6 < seeds < 100
    assert 0.7 < _share_decided(effect, sd, seeds, direction) < 0.92  # asked for: 0.8
    assert _share_decided(effect, sd, seeds // 2, direction) < 0.65


def test_seeds_needed_at_the_edges() -> None:
    needed = inference.seeds_needed
    assert needed(400.0, 1.0, 50.0, tests=1, equality=False) == inference.FEWEST
    assert needed(0.0, 0.0, 50.0, tests=1, equality=False) == inference.FEWEST
    assert needed(50.0, 100.0, 50.0, tests=1, equality=True) is None  # on the margin: never
    assert needed(100.0, float("nan"), 50.0, tests=1, equality=False) is None  # one seed
    one, six = (needed(100.0, 150.0, 50.0, tests=k, equality=False) for k in (1, 6))
    assert one is not None
    assert six is not None
    assert one < six
