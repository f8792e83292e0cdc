"""Population-based training: who copies whom with which constants, and resuming."""

import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxzero import files
from jaxzero.runs import generations, population
from jaxzero.runs.generations import Generation, Generations
from jaxzero.runs.runner import Observer
from jaxzero.settings.config import ConfigError
from jaxzero.training.league import Range
from tests import small
from tests.runs.trained import rows_of, train
from tests.small import assert_equal

WITHIN = {"c_puct": Range(0.25, 4.0), "draw_value": Range(-1.0, 1.0)}
OWN = {"c_puct": 1.5, "draw_value": 0.4}


def test_the_first_generation_begins_with_the_settings_own_constants() -> None:
    first = generations.begin(OWN, WITHIN, 400, seed=3)
    assert first.donor == list(range(400))
    c, draw = (np.array(first.constants[name]) for name in WITHIN)
    assert (c[0], draw[0]) == (1.5, 0.4)
    assert c.min() >= 0.25
    assert c.max() <= 4
    # By its logarithm: half of them below the geometric mean of the ends.
    assert np.mean(c < 1) == pytest.approx(0.5, abs=0.1)
    assert np.mean(draw < 0) == pytest.approx(0.5, abs=0.1)


def test_the_worst_fifth_become_changed_copies_of_the_best_fifth() -> None:
    """Held against the rule in plain Python, over many generations."""
    rng = np.random.default_rng(0)
    factors: list[float] = []
    for _ in range(200):
        before = generations.begin(OWN, WITHIN, 11, seed=int(rng.integers(1000)))
        fitness = rng.permutation(11) / 11
        after = generations.following(before, 8, fitness.tolist(), WITHIN, rng)
        ranked = sorted(range(11), key=lambda i: fitness[i])
        assert after.iteration == 8
        for i in range(11):
            values = {name: after.constants[name][i] for name in WITHIN}
            if i not in ranked[:2]:
                assert after.donor[i] == i
                assert all(before.constants[name][i] == x for name, x in values.items())
                continue
            assert after.donor[i] in ranked[-2:]
            assert all(low <= values[name] <= high for name, (low, high) in WITHIN.items())
            factors.append(values["c_puct"] / before.constants["c_puct"][after.donor[i]])
    near = [any(np.isclose(x, f) for f in (0.8, 1.2)) for x in factors]
    # A quarter is drawn afresh; a few more are cut at an end of the range.
    assert np.mean(near) == pytest.approx(0.72, abs=0.08)


def test_a_constant_moves_by_its_distance_from_a_loss() -> None:
    rng = np.random.default_rng(1)
    moved = {round(generations.perturbed(0.5, WITHIN["draw_value"], rng), 6) for _ in range(20)}
    assert moved == {0.2, 0.8}


def test_nobody_copies_an_equal() -> None:
    before = generations.begin(OWN, WITHIN, 5, seed=0)
    after = generations.following(before, 2, [0.5] * 5, WITHIN, np.random.default_rng(0))
    assert after.donor == [0, 1, 2, 3, 4]
    assert after.constants == before.constants


def test_the_lineage_of_a_run() -> None:
    held = [Generation(i, None, donor, {}) for i, donor in enumerate(([0, 1], [1, 1], [0, 0]))]
    assert generations.lineage([*held, Generation(3, None, [0, 1], {})], 1) == [1, 0, 1]


def test_ranges_hold_the_settings_own_constants() -> None:
    spec = small.small_spec()
    own = {"dirichlet_alpha": 20.38, "learning_rate": 0.1}
    found = generations.ranges(tuple(own), own, spec)
    assert found["dirichlet_alpha"] == (0.5, 20.38)
    assert found["learning_rate"] == pytest.approx((0.025, 0.4))


def observer_of(directory: Path, watched: list[Any]) -> Observer:
    """A generation every two iterations; the learning rate and c evolve; notes what it changed."""
    own = {"c_puct": 1.0, "learning_rate": 0.02}
    spec = small.small_spec()
    within = generations.ranges(tuple(own), own, spec)
    first = generations.begin(own, within, 2, seed=5)
    given = {"every": 2, "copies": True, "seed": 5}
    found = Generations(directory, first, within, spec.search, weights, **given)

    def change(done: int, hypers: Any, states: Any) -> Any:
        after = found.change(done, hypers, states)
        watched.append((done, small.to_numpy((states, after))))
        return after

    return Observer(2, found.look, change)


def weights(networks: Any) -> list[float]:
    """A fitness that differs between runs."""
    leaves = jax.tree.leaves(networks.params)
    return [sum(float(np.abs(x[i]).sum()) for x in leaves) for i in range(2)]


def test_resumed_amid_a_generation_is_bit_equal(tmp_path: Path) -> None:
    four = {"train.iterations": 4, "execution.checkpoint_every": 1}
    watched: list[Any] = []
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    expected = train(whole, four, observer=observer_of(whole, watched))
    # Killed after the comparison of iteration 4, which is not saved.
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "4")
    resumed = train(cut, four, observer=observer_of(cut, []))
    assert_equal(resumed.states, expected.states)
    assert rows_of(cut) == rows_of(whole)
    assert generations.read(cut) == generations.read(whole)
    # What happened: one run went on as the other, with its own key and another learning rate.
    stored = [Generation(**each) for each in generations.read(whole)]
    assert [each.iteration for each in stored] == [0, 2, 4]
    better = stored[1].donor[0]
    assert stored[1].donor == [better, better]
    by_done = {done: (before, *after) for done, (before, after) in watched}
    before, hypers, after = by_done[2]
    for run in (0, 1):
        donor = jax.tree.map(lambda x: x[better], (before.learner, before.replay))
        mine = jax.tree.map(lambda x, run=run: x[run], (after.learner, after.replay))
        assert_equal(mine, donor)
    for name, values in stored[1].constants.items():
        np.testing.assert_array_equal(getattr(hypers, name), np.float32(values))
        np.testing.assert_array_equal(getattr(by_done[3][1], name), np.float32(values))
        np.testing.assert_array_equal(
            getattr(by_done[1][1], name), np.float32(stored[0].constants[name])
        )
    assert hypers.numbers is None
    # Without its record it can't go on.
    files.write_json(cut / generations.FILE, [each._asdict() for each in stored[:1]])
    with pytest.raises(ConfigError, match="does not say what came after iteration 2"):
        observer_of(cut, []).change(4, None, None)  # type: ignore[arg-type]


def test_a_generation_that_is_due_now_must_be_known_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not say what came after iteration 2"):
        observer_of(tmp_path, []).change(2, None, None)  # type: ignore[arg-type]


def test_a_copy_keeps_its_own_random_key() -> None:
    """Else it would play the games of the run that it copies."""
    init = small.compiled_init(small.small_spec())
    states = population.stack([init(0), init(1)])
    after = generations.taken_over(states, np.array([1, 1]))
    assert_equal(after.key, states.key)
    assert_equal(population.member(after.learner, 0), population.member(states.learner, 1))


def test_numbers_of_the_search_are_traced_where_one_evolves() -> None:
    hypers = jax.tree.map(lambda x: x[None].repeat(3, 0), small.small_hyper())
    constants = {"c_puct": [1.0, 2.0, 3.0], "unvisited_q": [0.1, 0.2, 0.3]}
    options = small.small_spec().search
    found = generations.with_constants(hypers, constants, options)
    for values, own in (
        (found.numbers.c_puct, "c_puct"),
        (found.numbers.unvisited_q, "unvisited_q"),
    ):
        np.testing.assert_array_equal(values, np.float32(constants[own]))
    np.testing.assert_array_equal(found.numbers.dirichlet_alpha, np.float32(3 * [0.3]))
    np.testing.assert_array_equal(found.c_puct, np.float32(constants["c_puct"]))


def test_c_stays_the_runs_own_where_other_numbers_evolve() -> None:
    hypers = jax.tree.map(lambda x: x[None].repeat(3, 0), small.small_hyper())
    options = small.small_spec().search
    found = generations.with_constants(hypers, {"unvisited_q": [0.1, 0.2, 0.3]}, options)
    np.testing.assert_array_equal(found.numbers.c_puct, hypers.c_puct)
