"""What an examination says of answers that are known: perfect, uniform, and the network's own."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.settings.config import ConfigError
from jaxzero.training import examination, examined_positions
from jaxzero.training.examination import Answers, Positions
from tests import small

COUNT, ACTIONS = 60, 5


@pytest.fixture(scope="module")
def positions() -> Positions:
    """Made up: one or two right moves of five, all results, plies 3 to 20."""
    rng = np.random.default_rng(3)
    right = np.zeros((COUNT, ACTIONS), bool)
    right[np.arange(COUNT), rng.integers(0, ACTIONS, COUNT)] = True
    right[::2, 0] = True
    return Positions(
        states=(),
        right=jnp.asarray(right),
        value=jnp.asarray(rng.integers(-1, 2, COUNT), jnp.float32),
        contested=jnp.asarray(rng.random(COUNT) < 0.7),
        plies=jnp.asarray(rng.integers(3, 21, COUNT), jnp.int32),
    )


def knowing(positions: Positions) -> Answers:
    """Somebody who knows every solution."""
    policy = positions.right / positions.right.sum(-1, keepdims=True)
    return Answers(policy, policy, policy, positions.value, positions.value)


def uniform(positions: Positions) -> Answers:
    """Somebody who knows nothing, and always expects the mean result."""
    policy = jnp.full((COUNT, ACTIONS), 1 / ACTIONS)
    value = jnp.full((COUNT,), positions.value.mean())
    return Answers(policy, policy, policy, value, value)


def scored(answers: Answers, positions: Positions) -> dict[str, Any]:
    found = jax.device_get(jax.jit(examination.score)(answers, positions))
    return {name.removeprefix(examination.PREFIX): value for name, value in found.items()}


def test_who_knows_the_solution_is_always_right(positions: Positions) -> None:
    found = scored(knowing(positions), positions)
    for name in ("network", "network_mean", "search", "target", "target_mean"):
        assert found[name] == pytest.approx(1.0), name
    errors = [name for name in found if "value_error" in name]
    assert len(errors) == 6
    assert all(found[name] == 0 for name in errors)
    assert found["calibration_error"] == 0
    assert found["recalibrated_error"] == pytest.approx(0, abs=1e-6)
    assert found["calibration_share"].sum() == pytest.approx(1)


def test_who_knows_nothing_gets_the_known_numbers(positions: Positions) -> None:
    found = scored(uniform(positions), positions)
    right, contested = np.asarray(positions.right), np.asarray(positions.contested)
    assert found["network_mean"] == pytest.approx(right.mean(-1)[contested].mean())
    assert found["network"] == pytest.approx(right[contested, 0].mean())  # the lowest of equals
    assert found["prior_entropy"] == pytest.approx(np.log(ACTIONS), rel=1e-5)
    assert found["value_error"] == pytest.approx(found["constant_error"], rel=1e-5)
    assert found["constant_error"] == pytest.approx(np.asarray(positions.value).var(), rel=1e-5)
    value = np.asarray(positions.value)
    errors = (value - value.mean()) ** 2
    stderr = errors.std(ddof=1) / np.sqrt(len(value))
    assert found["value_error_stderr"] == pytest.approx(stderr, rel=1e-4)
    assert found["value_gain_stderr"] == pytest.approx(0, abs=1e-5)  # it is the constant
    assert found["calibration_error"] == pytest.approx(0, abs=1e-6)
    assert np.isnan(found["calibration_predicted"]).sum() == examination.BINS - 1


def test_a_stage_is_judged_by_its_own_constant(positions: Positions) -> None:
    found = scored(uniform(positions), positions)
    value, plies = np.asarray(positions.value), np.asarray(positions.plies)
    early = plies <= 8  # the first third of 3 to 20
    assert found["constant_error_early"] == pytest.approx(value[early].var(), rel=1e-5)
    assert found["value_error_early"] >= found["constant_error_early"]


def test_the_divergence_of_the_target_is_nothing_from_the_prior_itself(
    positions: Positions,
) -> None:
    same = scored(uniform(positions), positions)
    assert same["target_divergence"] == pytest.approx(0, abs=1e-6)
    sharp = jax.nn.one_hot(jnp.zeros(COUNT, int), ACTIONS)
    apart = scored(uniform(positions).replace(target=sharp), positions)
    assert apart["target_divergence"] == pytest.approx(np.log(ACTIONS), rel=1e-5)
    assert apart["target_entropy"] == pytest.approx(0, abs=1e-6)


def test_positions_that_nothing_depends_on_do_not_count(positions: Positions) -> None:
    answers = knowing(positions)
    wrong = jax.nn.one_hot((~positions.right).argmax(-1), ACTIONS)
    blundering = jnp.where(positions.contested[:, None], answers.searched, wrong)
    assert scored(answers.replace(searched=blundering), positions)["search"] == 1


def test_solved_positions_are_those_of_the_solver(tmp_path: Any) -> None:
    game = make_game("connect_four_4x4")
    solved = examined_positions.solved(game, 40)
    assert len(solved.plies) == 40
    assert bool((solved.right & ~jax.vmap(game.legal_actions)(solved.states)).any()) is False
    assert bool(solved.right.any(-1).all())
    examined_positions.save(tmp_path / "positions.npz", solved)
    loaded = examined_positions.load(tmp_path / "positions.npz", game)
    assert jax.tree.structure(loaded) == jax.tree.structure(solved)
    jax.tree.map(np.testing.assert_array_equal, loaded, solved)
    for spoilt in (solved.replace(plies=solved.plies[:-1]), solved.replace(value=solved.value / 0)):
        examined_positions.save(tmp_path / "positions.npz", spoilt)
        with pytest.raises(ConfigError, match=r"positions.npz is damaged \(leaf_"):
            examined_positions.load(tmp_path / "positions.npz", game)


def test_many_positions_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "SIMULATIONS", 8)
    spec, hyper = small.small_spec(), small.small_hyper()
    learner = small.compiled_init(spec)(0).learner
    solved = examined_positions.solved(spec.game, 13)
    found = []
    for entries in (1 << 23, 4 * 9 * spec.game.num_actions):  # all, four at a time
        monkeypatch.setattr(examination, "_ENTRIES", entries)
        ask = functools.partial(examination.ask, spec, hyper)
        found.append(jax.jit(ask)(learner, solved))
    assert examination.trees_at_once(spec.game, 9) == 4
    small.assert_close(found[1], found[0], 1e-5)


def test_where_nothing_solves_a_long_search_says_what_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examined_positions, "LONG", 8)
    spec = small.small_spec({"game": "gobang_5x5"})
    assert not examined_positions.has_solver(spec.game)
    teacher = small.compiled_init(spec)(0).learner
    found = examined_positions.searched(spec, teacher, 16)
    legal = jax.vmap(spec.game.legal_actions)(found.states)
    assert not bool(jax.vmap(spec.game.is_terminal)(found.states).any())
    assert len(np.unique(found.plies)) > 3
    np.testing.assert_array_equal((found.right & legal).sum(-1), 1)
    assert float(jnp.abs(found.value).max()) <= 1
    np.testing.assert_array_equal(found.contested, legal.sum(-1) > 1)


def test_a_searchs_value_has_an_error_of_its_own(positions: Positions) -> None:
    found = scored(uniform(positions).replace(searched_value=positions.value), positions)
    assert found["search_value_error"] == 0 < found["value_error"]


def test_bins_of_the_prediction_count_by_their_positions(positions: Positions) -> None:
    exact, high = np.asarray(positions.value), np.arange(COUNT) % 3 == 0
    found = scored(uniform(positions).replace(value=jnp.where(high, 0.9, -0.9)), positions)
    expected = sum(m.mean() * abs(p - exact[m].mean()) for m, p in ((high, 0.9), (~high, -0.9)))
    assert found["calibration_error"] == pytest.approx(expected, rel=1e-4)
    within = sum(((exact[m] - exact[m].mean()) ** 2).sum() for m in (high, ~high))
    assert found["recalibrated_error"] == pytest.approx(within / (COUNT - 2), rel=1e-4)
