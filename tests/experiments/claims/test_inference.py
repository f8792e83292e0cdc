"""Student's t, Holm's correction and numbers of seeds, against closed forms and simulation."""

import numpy as np
import pytest
from scipy import stats

from experiments.claims import decision, inference
from experiments.claims.decision import CONTRADICTED, EQUIVALENT, REPRODUCED, UNDECIDED
from experiments.claims.inference import Estimate
from experiments.claims.papers import Contrast

DRAWN = {  # differences of seeds: (how they are drawn, their mean)
    "normal": (lambda rng, shape: rng.normal(70.0, 30.0, shape), 70.0),
    "skewed": (lambda rng, shape: rng.exponential(50.0, shape), 50.0),
    "heavy": (lambda rng, shape: rng.standard_t(4, shape), 0.0),
}


def intervals(samples: np.ndarray, level: float) -> np.ndarray:
    """float[2, B]: of samples [B, S], all as `Estimate` has them (one is compared)."""
    seeds = samples.shape[1]
    middle, error = samples.mean(1), samples.std(1, ddof=1) / np.sqrt(seeds)
    reach = error * stats.t.isf(level / 2, seeds - 1)
    ends = np.stack([middle - reach, middle + reach])
    if seeds >= inference.FEWEST:
        found = inference.estimate([samples[0]])
        np.testing.assert_allclose(found.interval(level), ends[:, 0])
    return ends


@pytest.mark.parametrize("seeds", [3, 5, 8])
@pytest.mark.parametrize(
    ("drawn", "least", "most"),
    [("normal", 0.945, 0.955), ("skewed", 0.88, 0.95), ("heavy", 0.95, 0.97)],
)
def test_intervals_of_few_seeds_cover_the_truth(
    drawn: str, least: float, most: float, seeds: int
) -> None:
    draw, truth = DRAWN[drawn]
    rng = np.random.default_rng(3)
    low, high = intervals(draw(rng, (40_000, seeds)), 0.05)
    assert least < np.mean((low < truth) & (truth < high)) < most  # binomial sd 0.001
    # Skewed seeds are paired with others alike: what they share in shape goes out.
    pairs = draw(rng, (40_000, seeds)) - draw(rng, (40_000, seeds))
    low, high = intervals(pairs, 0.05)
    assert 0.945 < np.mean((low < 0) & (high > 0)) < 0.975
    # At the strictest level of a claim with six contrasts.
    low, high = intervals(draw(rng, (40_000, seeds)), 0.05 / 6)
    assert np.mean((low < truth) & (truth < high)) > (0.95 if drawn == "skewed" else 0.988)


def test_half_widths_are_alike_from_sample_to_sample() -> None:
    """In standard errors there is one: what of the spread is luck is in the standard error."""
    samples = np.random.default_rng(0).exponential(1.0, (20, 8))
    found = [inference.estimate([sample]) for sample in samples]
    wide = [(e.interval()[1] - e.effect) / e.stderr for e in found]
    np.testing.assert_allclose(wide, stats.t.isf(0.025, 7))


def test_scipy_finds_the_same() -> None:
    rng = np.random.default_rng(6)
    one, other = rng.normal(1.0, 4.0, 9), rng.normal(2.0, 1.0, 6)
    alone = inference.estimate([one])
    assert alone.p_value() == pytest.approx(stats.ttest_1samp(one, 0).pvalue)
    welch = inference.difference(dict(enumerate(one)), dict(enumerate(other, 100)))
    assert welch.p_value() == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue)
    assert welch.seeds == 6
    between = inference.estimate([one, other], (1.0, -1.0))
    expected = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.99)
    np.testing.assert_allclose(between.interval(0.01), expected)
    shared = inference.difference(dict(enumerate(one)), dict(enumerate(other)))
    assert shared.p_value() == pytest.approx(stats.ttest_rel(one[:6], other).pvalue)


def test_errors_of_the_values_bound_the_spread_from_below() -> None:
    values = np.full(6, 400.0) + 0.1 * np.arange(6)
    assert inference.estimate([values], own_error=20.0).stderr == 20.0
    assert inference.estimate([values]).stderr < 1
    assert inference.estimate([values[:1]], own_error=20.0).stderr == 20.0
    assert inference.estimate([np.full(6, 400.0)], own_error=20.0).freedom == 5


def test_few_seeds_decide_nothing() -> None:
    for seeds in range(1, inference.FEWEST):
        found = inference.estimate([np.full(seeds, 400.0) + np.arange(seeds)])
        assert found.effect > 0
        assert np.isnan(found.interval()).all()
        assert found.p_value() == 1.0
        assert decision.judge(found, "greater", 1e9, 0.05, 0.05) == UNDECIDED
    found = inference.estimate([np.full(inference.FEWEST, 400.0) + np.arange(inference.FEWEST)])
    assert found.interval()[0] > 300


def test_holm_against_its_definition() -> None:
    """H_(k) is rejected iff p_(j) <= level / (K - j + 1) for every j <= k."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(rng.integers(1, 7)) ** 3 / 3
        order, rejected = np.argsort(p), set()
        for j, index in enumerate(order):
            if p[index] > inference.LEVEL / (len(p) - j):
                break
            rejected.add(int(index))
        found = inference.holm(p.tolist())
        assert {i for i, (adjusted, _) in enumerate(found) if adjusted <= 0.05} == rejected
        assert {i for i, (_, level) in enumerate(found) if p[i] <= level} == rejected
    adjusted, levels = zip(*inference.holm([0.01, 0.04, 0.03, 0.005]), strict=True)
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert levels == pytest.approx([0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4])
    assert inference.holm([0.4, 0.6]) == [(0.8, 0.025), (0.8, 0.025)]
    assert inference.holm([]) == []


@pytest.mark.parametrize(("direction", "margin"), [("greater", 0.0), ("not_greater", 1.0)])
def test_verdicts_are_those_of_the_intervals_and_of_the_p_values(
    direction: str, margin: float
) -> None:
    """The same procedure: a family decided by its intervals is the one decided by Holm's p."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(60):
        found = [inference.estimate([rng.normal(rng.choice([0, 2]), 1, 8)]) for _ in range(4)]
        tests = decision.decide([Contrast(direction=direction, margin=margin)] * 4, found)
        for test in tests:
            low, high = test.interval
            decided = low > margin or high < margin
            assert decided == (test.adjusted <= 0.05) == (test.verdict != UNDECIDED)
            seen.add(test.verdict)
    assert {UNDECIDED, REPRODUCED} <= seen


def test_what_is_absent_is_not_corrected_for() -> None:
    there = inference.estimate([np.arange(8.0)])
    few = inference.estimate([np.arange(3.0)])
    contrasts = [Contrast(direction="greater")] * 3
    [first, second, third] = decision.decide(contrasts, [there, None, few])
    assert (first.adjusted, first.level) == (there.p_value(), 0.05)
    assert [test.verdict for test in (second, third)] == [UNDECIDED] * 2
    assert np.isnan([*second.interval, *third.interval]).all()


def test_what_is_tested_and_what_is_there_are_counted_apart() -> None:
    """One is tested now, two will be with more seeds; of the third there is nothing."""
    inside = Estimate(40.0, 4.3, 20, 19.0)  # of the margin at 95 %, not at 97.5 or 98.3 %
    few = Estimate(100.0, 40.0, 3, 2.0)
    contrasts = [Contrast(direction="different", margin=50.0)] * 3
    [first, second, third] = decision.decide(contrasts, [inside, few, None])
    assert (first.verdict, first.needed) == (CONTRADICTED, None)
    one, two, three = (
        inference.seeds_needed(few.effect, few.sd, 50.0, tests=k, direction="different")
        for k in (1, 2, 3)
    )
    assert len({one, two, three}) == 3
    assert (second.verdict, second.needed) == (UNDECIDED, two)
    assert (third.verdict, third.needed) == (UNDECIDED, None)


def test_what_is_undecided_needs_more_seeds_than_it_has() -> None:
    """Also where its interval is wider than so many seeds would make another one."""
    found = Estimate(100.0, 20.0, 20, 1.0)
    others = inference.seeds_needed(100.0, found.sd, 0.0, tests=1, direction="greater")
    assert others is not None
    assert others < 20
    [test] = decision.decide([Contrast(direction="greater")], [found])
    assert (test.verdict, test.needed) == (UNDECIDED, 21)


def test_wrong_differences_are_rare_in_a_family() -> None:
    """Of six contrasts without an effect any is called different in at most 5 %."""
    rng = np.random.default_rng(2)
    shared = rng.normal(size=(2000, 1, 8))  # they have one side in common
    samples = rng.normal(size=(2000, 6, 8)) - shared
    p = stats.ttest_1samp(samples, 0, axis=2).pvalue
    wrong = [min(adjusted for adjusted, _ in inference.holm(row)) <= 0.05 for row in p]
    assert np.mean(wrong) < 0.06  # binomial sd 0.005


def test_the_smallest_of_many_effects_is_not_too_small_by_its_rank() -> None:
    """Of 16 effects of just the margin any is called too small to matter in at most 5 %."""
    rng, wrong = np.random.default_rng(4), 0
    contrasts = [Contrast(direction="different", margin=50.0)] * 16
    for _ in range(200):
        found = [inference.estimate([rng.normal(50.0, 30.0, 20)]) for _ in contrasts]
        tests = decision.decide(contrasts, found)
        wrong += any(test.verdict == CONTRADICTED for test in tests)
    assert wrong < 18  # binomial sd 3; 40 at the levels of Holm's steps
    alone = Estimate(40.0, 4.0, 20, 19.0)  # inside the margin at 95 %, not at 99.7 %
    clear = Estimate(400.0, 4.0, 20, 19.0)
    [one] = decision.decide(contrasts[:1], [alone])
    assert one.verdict == CONTRADICTED
    assert decision.decide(contrasts, [alone, *[clear] * 15])[0].verdict == REPRODUCED


def _share_decided(effect: float, sd: float, seeds: int, direction: str) -> float:
    """Of 300 made-up studies."""
    samples = np.random.default_rng(seeds).normal(effect, sd, (300, seeds))
    found = [Estimate(s.mean(), s.std(ddof=1) / seeds**0.5, seeds, seeds - 1) for s in samples]
    return np.mean(
        [decision.judge(e, direction, 50.0, 0.05, 0.05) != UNDECIDED for e in found]
    ).item()


@pytest.mark.parametrize(
    ("effect", "sd", "direction"),
    [
        (150.0, 200.0, "greater"),
        (0.0, 80.0, "greater"),
        (100.0, 95.0, "greater"),
        (-110.0, 90.0, "equal"),
        (5.0, 70.0, "equal"),
        (-30.0, 100.0, "not_greater"),
        (120.0, 90.0, "not_greater"),
        (10.0, 60.0, "not_greater"),
    ],
)
def test_the_seeds_that_are_asked_for_decide(effect: float, sd: float, direction: str) -> None:
    seeds = inference.seeds_needed(effect, sd, 50.0, tests=1, direction=direction)
    assert seeds is not None
    assert 6 < seeds < 100
    assert 0.7 < _share_decided(effect, sd, seeds, direction) < 0.92  # asked for: 0.8
    assert _share_decided(effect, sd, seeds // 2, direction) < 0.65


def test_seeds_needed_at_the_edges() -> None:
    needed = inference.seeds_needed
    assert needed(400.0, 1.0, 50.0, tests=1, direction="greater") == inference.FEWEST
    assert needed(0.0, 0.0, 50.0, tests=1, direction="greater") == inference.FEWEST
    assert needed(50.0, 100.0, 50.0, tests=1, direction="equal") is None  # on the margin: never
    assert needed(100.0, float("nan"), 50.0, tests=1, direction="greater") is None  # one seed
    # By the normal approximation (2.8016 / effect)^2: 872, 993 and 1014.
    assert needed(0.0949, 1.0, 0.0, tests=1, direction="greater") == pytest.approx(874, abs=3)
    assert needed(0.0889, 1.0, 0.0, tests=1, direction="greater") == pytest.approx(995, abs=3)
    assert needed(0.088, 1.0, 0.0, tests=1, direction="greater") is None  # over `MOST_SEEDS`
    one, six = (needed(100.0, 150.0, 50.0, tests=k, direction="greater") for k in (1, 6))
    assert one is not None
    assert six is not None
    assert one < six


def test_the_verdict_on_a_claim_is_the_worst_of_its_contrasts() -> None:
    order = (CONTRADICTED, UNDECIDED, EQUIVALENT, REPRODUCED)
    assert [decision.all_of(order[i:][::-1]) for i in range(4)] == [*order]


def test_equality_is_decided_at_its_own_level() -> None:
    """Both bounds must hold, so nothing is corrected: Holm's method would ask for more."""
    inside = Estimate(40.0, 4.3, 20, 19.0)  # of the margin at 95 %, not at 98.3 %
    assert decision.judge(inside, "equal", 50.0, 0.05, 0.05 / 3) == REPRODUCED
