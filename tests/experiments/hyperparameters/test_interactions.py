"""Slopes that depend on another letter: against made-up players whose slopes are known."""

import dataclasses
import math

import numpy as np
import pytest

from experiments.claims import inference
from experiments.hyperparameters.elo_model import _pick
from experiments.hyperparameters.interactions import interactions
from tests.experiments.hyperparameters.test_elo_model import made_up, seeds_of

SLOPES = {"I": 10.0, "E": 20.0, "m": 30.0, "ep": 0.0}


def test_slopes_at_the_ends_of_another_letter_are_found() -> None:
    data = seeds_of([made_up(SLOPES, noise=1, seed=seed) for seed in range(5)])
    extra = 15 * np.log2(data.values[:, 0] / 50) * np.log2(data.values[:, 2] / 50)
    found = {
        (one.letter, one.other): one
        for one in interactions(dataclasses.replace(data, elo=data.elo + extra))
    }
    assert len(found) == 12
    own = found["I", "m"]
    assert (own.least, own.most) == (25, 75)
    assert own.at_least.effect == pytest.approx(10 - 15, abs=2)
    assert own.at_most.effect == pytest.approx(10 + 15 * math.log2(1.5), abs=2)
    assert own.change.effect == pytest.approx(15 * math.log2(3), abs=2)
    decided = {pair for pair, one in found.items() if one.change.p_value() <= one.level}
    assert decided == {("I", "m"), ("m", "I")}
    levels = sorted(one.level for one in found.values())
    assert levels[:2] == pytest.approx([inference.LEVEL / 12, inference.LEVEL / 11])


def test_a_seed_that_lost_settings_is_left_out_where_they_are_needed() -> None:
    data = seeds_of([made_up(SLOPES, noise=1, seed=seed) for seed in range(6)])
    for lost in (data.values[:, 1] == 30, (data.values[:, 1] == 30) & (data.values[:, 2] > 25)):
        kept = _pick(data, np.flatnonzero(~(lost & (data.seed == 3))))
        found = {(one.letter, one.other): one.change for one in interactions(kept)}
        assert found["m", "E"].seeds == 5
        assert found["m", "E"].tested
        assert found["I", "m"].seeds == 6


def test_what_is_not_tested_is_not_counted() -> None:
    """One of five seeds has no setting with the least ep: three changes have four seeds only."""
    data = seeds_of([made_up(SLOPES, noise=1, seed=seed) for seed in range(5)])
    kept = _pick(data, np.flatnonzero((data.seed != 3) | (data.values[:, 3] > 5)))
    found = interactions(kept)
    assert [one.other for one in found if not one.change.tested] == ["ep"] * 3
    levels = [one.level for one in found if one.change.tested]
    assert min(levels) == pytest.approx(inference.LEVEL / 9)


def test_a_letter_that_does_not_vary_is_left_out_and_one_seed_decides_nothing() -> None:
    data = made_up(SLOPES, noise=1)
    fixed = dataclasses.replace(data, values=data.values * [0, 1, 1, 1] + [50, 0, 0, 0])
    found = interactions(fixed)
    assert {one.letter for one in found} == {"E", "m", "ep"}
    assert all(math.isnan(one.change.interval()[0]) for one in found)
