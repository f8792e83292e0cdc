"""Elo explained by I, E, m and ep: against made-up players whose slopes are known."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.claims import section as claims_section
from experiments.hyperparameters import correlation_report, elo_model
from experiments.hyperparameters.elo_model import Data
from experiments.pages.study import Study


def made_up(slopes: dict[str, float], *, noise: float, seed: int = 0) -> Data:
    """81 players whose Elo and cost are known functions of their values."""
    rng = np.random.default_rng(seed)
    values = np.array(
        list(itertools.product((25, 50, 75), (10, 20, 30), (25, 50, 75), (5, 10, 15)))
    )
    logs = np.log2(values)
    elo = logs @ [slopes[letter] for letter in elo_model.VARIED] + noise * rng.normal(size=81)
    play, learn = values[:, :3].prod(1) / 1000, values[:, 0] * values[:, 1] * values[:, 3] / 100
    cluster = np.array([hash(tuple(v)) for v in values[:, 1:].tolist()])
    return Data(
        values.astype(float),
        elo,
        np.eye(81),
        np.stack([play, learn], 1).astype(float),
        np.unique(cluster, return_inverse=True)[1],
        np.zeros(81, int),
    )


def seeds_of(parts: list[Data]) -> Data:
    """The same settings with several seeds."""
    return Data(
        values=np.concatenate([d.values for d in parts]),
        elo=np.concatenate([d.elo for d in parts]),
        covariance=np.eye(81 * len(parts)),
        seconds=np.concatenate([d.seconds for d in parts]),
        cluster=np.concatenate([d.cluster + 27 * i for i, d in enumerate(parts)]),
        seed=np.repeat(np.arange(len(parts)), 81),
    )


def test_slopes_are_found() -> None:
    truth = {"I": 80.0, "E": 40.0, "m": 20.0, "ep": -5.0}
    exact = made_up(truth, noise=0)
    np.testing.assert_allclose(elo_model.slopes(exact.values, exact.elo), list(truth.values()))
    noisy = made_up(truth, noise=10)
    fitted = elo_model.fit(noisy)
    assert fitted["explained"] == pytest.approx(1 - 100 / noisy.elo.var(), abs=0.01)
    found = fitted["elo_for_each_doubling"]
    for letter, slope in truth.items():
        assert found[letter]["value"] == pytest.approx(slope, abs=8), letter
        assert 2 < found[letter]["high"] - found[letter]["low"] < 25
    fixed = dataclasses.replace(exact, values=exact.values * [0, 1, 1, 1] + [50, 0, 0, 0])
    assert np.isnan(elo_model.slopes(fixed.values, fixed.elo)).tolist() == [True] + [False] * 3


def test_what_is_explained_does_not_depend_on_where_ratings_are_zero() -> None:
    noisy = made_up({"I": 80.0, "E": 40.0, "m": 20.0, "ep": -5.0}, noise=10)
    moved = dataclasses.replace(noisy, elo=noisy.elo + 1000)
    both = [elo_model.fit(data)["explained"] for data in (noisy, moved)]
    assert both[0] == pytest.approx(both[1])


def test_intervals_cover_the_truth() -> None:
    truth = {"I": 50.0, "E": 30.0, "m": 20.0, "ep": 10.0}
    covered, widths = [], []
    for seed in range(12):
        found = elo_model.fit(made_up(truth, noise=30, seed=seed))["elo_for_each_doubling"]
        covered += [found[x]["low"] < truth[x] < found[x]["high"] for x in elo_model.VARIED]
        widths += [(found[x]["high"] - found[x]["low"]) / 2 for x in elo_model.VARIED]
    assert np.mean(covered) > 0.85
    # The classical ones of as many trainings: 27, less 5 parameters.
    errors = 30 / (9 * np.log2(made_up(truth, noise=0).values).std(0))
    ratio = np.reshape(widths, (12, 4)) / errors / stats.t.isf(0.025, 22)
    assert ratio.mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("slopes", "verdicts"),
    [
        (
            {"I": 80.0, "E": 60.0, "m": 15.0, "ep": 15.0},
            {"more_I": "reproduced", "outer_over_inner": "reproduced"}
            | {"iterations_over_rest_at_cost": "reproduced", "more_selfplay_time": "reproduced"}
            | {"more_m_at_most": "reproduced", "more_ep_at_most": "contradicted"},
        ),
        (
            {"I": -40.0, "E": 0.0, "m": 60.0, "ep": 60.0},
            {"more_I": "contradicted", "more_E": "equivalent", "outer_over_inner": "contradicted"}
            | {"iterations_over_rest_at_cost": "contradicted"},
        ),
        (
            {"I": -40.0, "E": -30.0, "m": -40.0, "ep": 0.0},
            {"more_selfplay_time": "contradicted", "more_training_time": "contradicted"}
            | {"more_m_at_most": "contradicted", "more_ep_at_most": "reproduced"},
        ),
    ],
)
def test_verdicts_on_the_correlation(slopes: dict[str, float], verdicts: dict[str, str]) -> None:
    parts = [made_up(slopes, noise=3, seed=seed) for seed in range(5)]
    found = {claim["id"]: claim["verdict"] for claim in elo_model.claims(seeds_of(parts))}
    assert len(found) == 16
    assert {name: found[name] for name in verdicts} == verdicts


def test_four_seeds_decide_nothing() -> None:
    slopes = {"I": -40.0, "E": 0.0, "m": 60.0, "ep": 60.0}
    parts = [made_up(slopes, noise=3, seed=seed) for seed in range(4)]
    claims = elo_model.claims(seeds_of(parts))
    assert {claim["verdict"] for claim in claims} == {"undecided"}
    assert all(claim["of_networks"] for claim in claims)
    assert all(low <= high for low, high in (claim["interval"] for claim in claims))


def test_elo_at_equal_cost_is_the_slope_over_that_of_the_cost() -> None:
    """Of networks whose Elo is 40 for each doubling of the cost."""
    data = made_up(dict.fromkeys(elo_model.VARIED, 0.0), noise=0)
    players = [
        {"training": "one", "seed": 0, "values": dict(zip(elo_model.VARIED, row, strict=True))}
        | {"seconds": dict(zip(("selfplay", "training"), seconds, strict=True))}
        for row, seconds in zip(data.values, data.seconds, strict=True)
    ]
    data = elo_model.collect(players, 40 * np.log2(data.total), data.covariance)
    several = seeds_of([data] * 5)
    fitted = elo_model.fit(several)["log2_cost_for_each_doubling"]
    cost = {letter: one["value"] for letter, one in fitted.items()}
    assert (cost["I"], cost["E"]) == pytest.approx((1, 1))
    assert cost["ep"] > 0.1
    found = {claim["id"]: claim["effect"] for claim in elo_model.claims(several)}
    assert found["outer_over_inner"] == pytest.approx(40 - 20 * (cost["m"] + cost["ep"]))
    assert found["outer_over_inner_at_cost"] == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(data.seconds[:, 0], data.values[:, :3].prod(1) / 1000)


def test_elo_at_the_papers_cost_is_the_slope_over_that_of_their_hours() -> None:
    """Of networks whose Elo is 40 for each doubling of the papers' hours."""
    hours = dict(zip(elo_model.VARIED, elo_model.published_cost(), strict=True))
    ends = {"I": (50, 150, 23.8, 60.3), "E": (10, 100, 17.4, 87.7)}
    ends |= {"m": (25, 200, 26.0, 64.8), "ep": (5, 15, 43.4, 55.7)}  # Wang 2020, Tables 1 and 3
    for letter, (low, high, least, most) in ends.items():
        assert hours[letter] == pytest.approx(np.log2(most / least) / np.log2(high / low), abs=0.05)
    several = seeds_of([made_up({x: 40 * hours[x] for x in hours}, noise=0)] * 5)
    found = {claim["id"]: claim["effect"] for claim in elo_model.claims(several)}
    assert found["outer_over_inner_at_published_cost"] == pytest.approx(0, abs=1e-9)
    assert found["iterations_over_rest_at_published_cost"] == pytest.approx(0, abs=1e-9)
    assert abs(found["iterations_over_rest_at_cost"]) > 1


def test_slopes_at_the_largest_outer_values_and_over_one_time() -> None:
    """Elo is 30 for each doubling of m there, 0 elsewhere; then 25 for each of training's time."""
    data = made_up(dict.fromkeys(elo_model.VARIED, 0.0), noise=0)
    top = (data.values[:, :2] == [75, 30]).all(1)
    there = dataclasses.replace(data, elo=np.where(top, 30 * np.log2(data.values[:, 2]), 0.0))
    found = {claim["id"]: claim["effect"] for claim in elo_model.claims(seeds_of([there] * 5))}
    assert found["more_m_at_most"] == pytest.approx(30)
    assert found["more_ep_at_most"] == pytest.approx(0, abs=1e-9)
    assert 0 < found["more_m"] < 10
    timed = dataclasses.replace(data, elo=25 * np.log2(data.seconds[:, 1]))
    found = {claim["id"]: claim["effect"] for claim in elo_model.claims(seeds_of([timed] * 5))}
    assert found["more_training_time"] == pytest.approx(25)
    assert 0 < found["more_selfplay_time"] < 25


def test_slopes_that_differ_from_seed_to_seed_have_the_error_of_seeds() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(100):
        own = 20 + 8 * rng.normal(size=5)
        parts = [
            made_up({"I": x, "E": 0.0, "m": 0.0, "ep": 0.0}, noise=5, seed=int(rng.integers(1e9)))
            for x in own
        ]
        parts = [dataclasses.replace(d, elo=d.elo + 50 * rng.normal()) for d in parts]
        found = elo_model.fit(seeds_of(parts))["elo_for_each_doubling"]["I"]
        covered.append(found["low"] < 20 < found["high"])
    assert np.mean(covered) > 0.88


def test_recorded_verdicts_are_decided_from_the_ratings_where_the_seeds_are_enough() -> None:
    slopes = {"I": 80.0, "E": 60.0, "m": 15.0, "ep": 15.0}
    for seeds in (4, 5):
        data = seeds_of([made_up(slopes, noise=3, seed=seed) for seed in range(seeds)])
        columns = zip(data.values, data.seconds, data.seed, strict=True)
        players = [
            {
                "training": "one",
                "seed": seed,
                "values": dict(zip(elo_model.VARIED, row, strict=True)),
            }
            | {"seconds": dict(zip(elo_model.PHASES, seconds, strict=True))}
            for row, seconds, seed in columns
        ]
        played = {"name": "own", "elo": [*data.elo, -400.0]}  # a random player comes last
        stored: dict[str, Any] = {"players": players, "own": {"claims": ["as stored"]}}
        if seeds == 5:
            stored["own"]["claims"] = [{"id": "more_I"}]  # of an older program
        study = Study("study", {"tournaments": [played], "correlation": stored}, {})
        found = correlation_report.claims(study)["own"]
        assert found == (["as stored"] if seeds == 4 else elo_model.claims(data))


def test_a_claim_of_too_few_seeds_keeps_its_interval_whose_errors_are_not_stored() -> None:
    parts = [
        made_up({"I": 80.0, "E": 60.0, "m": 40.0, "ep": 0.0}, noise=1, seed=s) for s in range(5)
    ]
    several = seeds_of(parts)
    lost = (several.seed == 3) & (several.values == [75, 30, 75, 10]).all(1)
    data = elo_model._pick(several, np.flatnonzero(~lost))
    columns = zip(data.values, data.seconds, data.seed, strict=True)
    players = [
        {"training": "one", "seed": seed, "values": dict(zip(elo_model.VARIED, row, strict=True))}
        | {"seconds": dict(zip(elo_model.PHASES, seconds, strict=True))}
        for row, seconds, seed in columns
    ]
    earlier = {"id": "ep_10_beats_15", "interval": (-84.0, -1.0)}
    results = {
        "tournaments": [{"name": "own", "elo": [*data.elo, -400.0]}],
        "correlation": {"players": players, "own": {"claims": [earlier]}},
    }
    found = correlation_report.claims(Study("study", results, {}))["own"]
    own = {claim["id"]: claim for claim in found}
    assert own["ep_10_beats_15"] == earlier
    assert own["more_I"]["verdict"] == "reproduced"


def test_a_resample_in_which_a_letter_does_not_vary_is_drawn_again() -> None:
    data = made_up({"I": 80.0, "E": 60.0, "m": 40.0, "ep": 0.0}, noise=3)
    two = np.isin(data.values, [25, 75, 10, 30, 5, 15]).all(1) & (data.values[:, 1] != 25)
    fitted = elo_model.fit(elo_model._pick(data, np.flatnonzero(two)))  # of 8 trainings
    for one in fitted["elo_for_each_doubling"].values():
        assert one["low"] < one["value"] < one["high"]


def test_the_corner_and_the_front() -> None:
    data = made_up({"I": 80.0, "E": 60.0, "m": 40.0, "ep": 0.0}, noise=0)
    top = (data.values[:, :3] == [75, 30, 75]).all(1)
    elo = data.elo - np.where(top & (data.values[:, 3] == 15), 60.0, 0.0)
    elo = elo - 5 * np.log2(data.values[:, 3])  # so that low ep is on the front
    found = {c["id"]: c for c in elo_model.claims(dataclasses.replace(data, elo=elo))}
    for claim in ("ep_10_beats_15", "low_ep_on_front"):
        assert found[claim]["of_networks"]
        assert found[claim]["verdict"] == "undecided"  # two networks are not two settings
    gap = 60 + 5 * math.log2(1.5)
    assert found["ep_10_beats_15"]["effect"] == pytest.approx(gap)
    low, high = found["ep_10_beats_15"]["interval"]  # errors of 1 Elo each
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(2), rel=0.15)
    noise = np.random.default_rng(0).normal(size=(6, 81))
    several = seeds_of([dataclasses.replace(data, elo=elo + own) for own in noise])
    found = {c["id"]: c for c in elo_model.claims(several)}
    assert found["ep_10_beats_15"]["effect"] == pytest.approx(gap, abs=2)
    assert found["ep_10_beats_15"]["verdict"] == "reproduced"
    assert found["low_ep_on_front"]["verdict"] == "reproduced"
    assert found["low_ep_on_selfplay_front"]["verdict"] == "reproduced"
    rising = 20 * np.log2(data.values[:, 3])  # more epochs cost no self-play
    several = seeds_of([dataclasses.replace(data, elo=data.elo + rising + own) for own in noise])
    contrary = {c["id"]: c for c in elo_model.claims(several)}["low_ep_on_selfplay_front"]
    assert contrary["verdict"] == "contradicted"
    assert contrary["effect"] == pytest.approx(math.log2(15) - np.log2([5, 10, 15]).mean())
    fronts = elo_model.fronts(dataclasses.replace(data, elo=elo))
    assert [(p["m"], p["ep"]) for p in fronts["total"]] == [(25, 5), (50, 5), (75, 5)]


def test_a_lost_run_costs_its_seed_and_no_verdict() -> None:
    data = made_up({"I": 80.0, "E": 60.0, "m": 40.0, "ep": 0.0}, noise=0)
    top = (data.values[:, :3] == [75, 30, 75]).all(1)
    elo = data.elo - np.where(top & (data.values[:, 3] == 15), 60.0, 0.0)
    noise = np.random.default_rng(0).normal(size=(6, 81))
    several = seeds_of([dataclasses.replace(data, elo=elo + own) for own in noise])
    lost = (several.seed == 3) & (several.values == [75, 30, 75, 10]).all(1)
    kept = np.flatnonzero(~lost)
    fewer = dataclasses.replace(elo_model._pick(several, kept), covariance=np.eye(len(kept)))
    found = {c["id"]: c for c in elo_model.claims(fewer)}["ep_10_beats_15"]
    assert (found["verdict"], found["seeds"]) == ("reproduced", 5)


def test_ep_that_is_one_value_is_not_compared_with_itself() -> None:
    data = seeds_of([made_up({"I": 8.0, "E": 6.0, "m": 4.0, "ep": 0.0}, noise=1)] * 6)
    same = dataclasses.replace(data, values=data.values * [1, 1, 1, 0] + [0, 0, 0, 10])
    found = {claim["id"]: claim for claim in elo_model.claims(same)}
    for name in ("ep_10_beats_15", "low_ep_on_front", "more_ep"):
        assert found[name]["verdict"] == "undecided"
        assert math.isnan(found[name]["effect"])


def test_undecided_claims_say_how_many_seeds_would_decide() -> None:
    noisy = seeds_of([made_up(dict.fromkeys("IEm", 12.0) | {"ep": 0.0}, noise=40, seed=s)
                      for s in range(5)])  # fmt: skip
    found = {c["id"]: c for c in elo_model.claims(noisy)}
    needed = [c["seeds_to_decide"] for c in found.values() if c["verdict"] == "undecided"]
    assert any(count is not None and count > 5 for count in needed)
    rows = claims_section.of_results("", [found["outer_over_inner"]], "").rows
    assert "mean(I, E) \N{MINUS SIGN} mean(m, ep) > 0" in " ".join(rows[0])


def test_gains_are_over_the_untrained_network_of_the_same_seed() -> None:
    data = seeds_of([made_up({"I": 80.0, "E": 0.0, "m": 0.0, "ep": 0.0}, noise=0)] * 2)
    moved = dataclasses.replace(data, elo=data.elo + 300 * data.seed)
    rows = {(r["letter"], r["value"]): r for r in elo_model.gains(moved, {0: 100.0, 1: 400.0})}
    for value in (25, 50, 75):
        assert rows["I", value]["elo"] == pytest.approx(80 * math.log2(value) - 100)
        assert rows["I", value]["stderr"] == pytest.approx(0)
    means = {rows[letter, value]["elo"] for letter, value in (("E", 10), ("m", 75), ("ep", 5))}
    assert max(means) == pytest.approx(min(means))
    assert {r["seeds"] for r in rows.values()} == {2}
