"""One iteration: what the gate keeps and restores, and that traced settings are really traced."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.training import episodes, iteration, learner, replay
from jaxzero.training.iteration import RunState
from jaxzero.training.spec import Spec
from tests import small
from tests.small import Metrics, assert_equal

LAYERS = ("conv_0", "conv_1", "conv_2", "conv_3", "hidden_0", "hidden_1")
BEFORE_NORM = {f"{layer}/bias" for layer in LAYERS}  # batch norm would take them away again
FEWER = {
    "search.num_simulations": 5,
    "selfplay.episodes": 5,
    "train.epochs": 1,
    "arena.games": 2,
    "replay.window": 1,
}


@functools.cache
def spec() -> Spec:
    """Shared with the tests of populations."""
    return small.small_spec()


@functools.cache
def history(threshold: float, iterations: int = 3) -> list[tuple[RunState, Metrics]]:
    """A run whose gate nobody passes (2), or everybody (0)."""
    hyper = dataclasses.replace(small.small_hyper(), threshold=jnp.float32(threshold))
    return small.run_alone(spec(), hyper, seed=0, iterations=iterations)


def test_rejection_restores_everything_but_the_examples() -> None:
    before = small.compiled_init(spec())(0)
    for number, (state, metrics) in enumerate(history(2.0), 1):
        assert metrics["arena/accepted"] == 0
        assert metrics["count/gradient_steps"] > 0
        assert_equal(state.learner, before.learner, "weights, batch statistics, optimiser")
        assert (state.best, state.iteration) == (0, number)
        assert number in np.asarray(state.replay.iteration)
        assert state.replay.count[number % 2] > 0
    # The candidates were other networks: they lost nothing but their place.
    assert len({metrics["heldout/value"].tobytes() for _, metrics in history(2.0)}) == 3


def test_training_goes_on_from_the_latest_where_that_is_asked_for(tmp_path: Path) -> None:
    """As in West 2020: the best network plays, whoever is trained."""
    own = small.small_spec({"arena.continue_from": "latest"})

    def run(threshold: float) -> list[tuple[Any, Metrics]]:
        hyper = dataclasses.replace(small.small_hyper(), threshold=jnp.float32(threshold))
        return small.run_alone(own, hyper, seed=0, iterations=3)

    before, steps = small.compiled_init(own)(0), 0.0
    assert_equal(before.latest, before.learner)
    rejected = run(2.0)
    for (state, metrics), (other, _) in zip(rejected, history(2.0), strict=True):
        steps += metrics["count/gradient_steps"]
        assert_equal(state.learner, before.learner)
        assert_equal(state.replay, other.replay)  # the same games: by the network that is best
        assert optimiser_steps(state.replace(learner=state.latest)) == steps
        assert (int(state.best), metrics["arena/opponent"]) == (0, 0)
    assert_equal(rejected[0][1], history(2.0)[0][1])
    Checkpoints(tmp_path).save(3, rejected[2][0])
    assert_equal(Checkpoints(tmp_path).restore(3, jax.eval_shape(lambda: before)), rejected[2][0])
    # Who is always accepted is the best and the latest.
    for (state, metrics), (other, measured) in zip(run(0.0), history(0.0), strict=True):
        assert_equal(state.latest, state.learner)
        assert_equal(state.learner, other.learner)
        assert_equal(metrics, measured)


def test_acceptance_takes_the_candidate() -> None:
    before = small.compiled_init(spec())(0)
    for number, (state, metrics) in enumerate(history(0.0), 1):
        assert metrics["arena/accepted"] == 1
        assert state.best == number
        steps = sum(m["count/gradient_steps"] for _, m in history(0.0)[:number])
        assert optimiser_steps(state) == steps
        for name in ("params", "batch_stats"):
            new, old = (getattr(x.learner, name) for x in (state, before))
            changed = jax.tree.map(lambda a, b: (np.asarray(a) != np.asarray(b)).any(), new, old)
            paths = [path for path, does in jax.tree.leaves_with_path(changed) if not does]
            kept_as_they_were = {"/".join(key.key for key in path) for path in paths}
            assert kept_as_they_were == (BEFORE_NORM if name == "params" else set())
        kept = small.to_numpy(evaluate(state, small.heldout(spec().game)))
        for name, value in kept.items():
            np.testing.assert_allclose(metrics[f"heldout/{name}"], value, rtol=1e-6)


def test_the_opponent_is_the_best_so_far() -> None:
    assert [m["arena/opponent"] for _, m in history(2.0)] == [0, 0, 0]
    assert [m["arena/opponent"] for _, m in history(0.0)] == [0, 1, 2]


def test_self_play_is_by_the_best_network() -> None:
    # The games of iteration 1 know nothing of the gate, those of iteration 2 do.
    (first_kept, _), (second_kept, _) = history(2.0)[:2]
    (first_new, _), (second_new, _) = history(0.0)[:2]
    assert_equal(first_kept.replay, first_new.replay)
    assert (slot(second_kept, 2).policy != slot(second_new, 2).policy).any()
    assert_equal(second_kept.key, second_new.key)  # which random numbers come is not its business


def test_the_window_holds_the_newest_iterations() -> None:
    states = [state for state, _ in history(0.0)]
    assert sorted(np.asarray(states[0].replay.iteration).tolist()) == [-1, 1]
    for number, state in enumerate(states[1:], 2):
        assert sorted(np.asarray(state.replay.iteration).tolist()) == [number - 1, number]
        assert_equal(slot(state, number - 1), slot(states[number - 2], number - 1))
    for number, (state, metrics) in enumerate(history(0.0), 1):
        assert metrics["count/examples"] == np.asarray(state.replay.count).sum() * 2
        assert metrics["selfplay/positions"] == state.replay.count[number % 2]


def test_a_smaller_window_trains_on_fewer_examples() -> None:
    hyper = dataclasses.replace(small.small_hyper(), window=jnp.int32(1), threshold=jnp.float32(0))
    for state, metrics in small.run_alone(spec(), hyper, seed=0, iterations=3):
        newest = int(state.replay.count[int(state.iteration) % 2])
        assert metrics["count/examples"] == 2 * newest
        assert metrics["count/gradient_steps"] == 2 * (2 * newest // 16)


@pytest.mark.parametrize("threshold", [0.0, 2.0])
def test_metrics_are_finite_and_agree_with_each_other(threshold: float) -> None:
    for _, m in history(threshold):
        assert all(np.isfinite(value).all() for value in m.values())
        assert all(value.dtype == np.float32 for value in m.values())
        assert m["arena/wins"] + m["arena/draws"] + m["arena/losses"] == 4
        first = [m[f"arena/{x}_moving_first"] for x in ("wins", "draws", "losses")]
        assert sum(first) == 2
        # Either the candidate moved first and won, or the best network did.
        second_lost = m["arena/losses"] - m["arena/losses_moving_first"]
        assert m["arena/first_mover_wins"] == m["arena/wins_moving_first"] + second_lost
        assert 1 <= m["arena/distinct_games"] <= 4
        shares = [m[f"selfplay/{x}"] for x in ("first_player_wins", "second_player_wins", "draws")]
        np.testing.assert_allclose(sum(shares), 1, rtol=1e-6)
        assert m["count/games"] == 8
        assert m["selfplay/positions"] == m["selfplay/plies"] * m["count/games"]
        assert m["selfplay/plies"] <= m["selfplay/plies_max"] <= 25
        assert 1 <= m["selfplay/distinct_games"] <= 8
        assert m["selfplay/distinct_positions"] <= m["selfplay/positions"]
        assert 0 < m["selfplay/policy_entropy"] <= np.log(5) + 1e-6
        assert m["count/gradient_steps"] == 2 * (m["count/examples"] // 16)
        for phase in ("selfplay", "arena"):
            useful = m[f"count/{phase}_useful_evaluations"]
            assert 0 < useful <= m[f"count/{phase}_evaluations"]
        # Every position is searched with m simulations, and its root is evaluated besides.
        assert m["count/selfplay_simulations"] == 8 * m["selfplay/positions"]
        assert m["count/selfplay_useful_evaluations"] == (
            m["count/selfplay_simulations"]
            - m["count/selfplay_finished_leaves"]
            + m["selfplay/positions"]
        )
        assert 1 <= m["search/depth_mean"] <= m["search/depth_max"] <= 8
        assert 0 < m["search/tree_occupancy"] <= 1
        assert -1 <= m["search/root_value_at_start"] <= 1
        assert m["loss/policy"].shape == (2,)
        np.testing.assert_allclose(m["loss/sum"], m["loss/policy"] + m["loss/value"], rtol=1e-5)
        np.testing.assert_allclose(m["loss/minimised"], m["loss/sum"], rtol=1e-6)


def test_unseen_losses_are_those_before_training_on_the_newest_games() -> None:
    networks = [small.compiled_init(spec())(0), *(state for state, _ in history(0.0)[:-1])]
    for number, (network, (state, metrics)) in enumerate(
        zip(networks, history(0.0), strict=True), 1
    ):
        examples = slot(state, number)
        valid = jnp.arange(spec().positions) < state.replay.count[number % 2]
        for name, value in evaluate(network, (examples, valid)).items():
            np.testing.assert_allclose(metrics[f"unseen/{name}"], value, rtol=1e-5)


def test_a_curriculum_counts_the_epochs_that_were_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> Any:
        raise StopIteration(int(given[4]))

    monkeypatch.setattr(episodes, "play_batch", stop)
    state = small.compiled_init(spec())(0).replace(iteration=jnp.int32(3))
    with pytest.raises(StopIteration, match=r"^6$"):  # of two epochs each
        iteration.iterate(spec(), small.small_hyper(), state, small.heldout(spec().game))


def test_an_iteration_is_traced_and_compiled_once() -> None:
    """Whatever `Hyper` holds and however old the run is."""
    iterate = small.compiled_iterate(spec())
    state = small.compiled_init(spec())(3)
    for changes in ({}, FEWER, {"train.loss": "product", "train.learning_rate": 0.1}):
        state, _ = iterate(small.small_hyper(changes), state, small.heldout(spec().game))
    assert int(state.iteration) == 3
    assert iterate._cache_size() == 1


def test_traced_settings_equal_a_program_of_that_size() -> None:
    exact = small.small_spec(FEWER)
    assert (exact.selfplay.episodes, exact.num_simulations) == (5, 5)
    assert (exact.train.epochs, exact.replay.window) == (1, 1)
    hyper = dataclasses.replace(small.small_hyper(FEWER), learning_rate=jnp.float32(1e-4))
    for (roomy, metrics), (state, expected) in zip(
        small.run_alone(spec(), hyper, seed=1, iterations=2),
        small.run_alone(exact, hyper, seed=1, iterations=2),
        strict=True,
    ):
        number = int(state.iteration)
        count = int(state.replay.count[0])
        assert roomy.replay.count[number % 2] == count
        for ours, theirs in zip(
            jax.tree.leaves(slot(roomy, number)), jax.tree.leaves(slot(state, number)), strict=True
        ):
            np.testing.assert_array_equal(ours[:count], theirs[:count])
            assert not ours[count:].any()
        assert metrics.keys() == expected.keys()
        for name, value in expected.items():
            if name.startswith("loss/"):
                np.testing.assert_allclose(metrics[name][:1], value, rtol=1e-5)
                assert np.isnan(metrics[name][1:]).all()
            elif name == "search/tree_occupancy":  # of the room that the trees have
                np.testing.assert_allclose(metrics[name] * 9, value * 6, rtol=1e-6)
            elif name not in ("count/selfplay_evaluations", "count/arena_evaluations"):
                # Lanes that are not asked for are evaluated, but of no use.
                np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)


def test_equal_seeds_start_equal_and_others_do_not() -> None:
    one, same, other = (small.compiled_init(spec())(seed) for seed in (0, 0, 1))
    assert_equal(one, same)
    kernels = [np.asarray(x.learner.params["policy"]["kernel"]) for x in (one, other)]
    assert (kernels[0] != kernels[1]).all()
    assert (one.iteration, one.best) == (0, 0)
    assert np.asarray(one.replay.count).sum() == 0


def optimiser_steps(state: RunState) -> int:
    """How often Adam was asked."""
    [count] = [x for x in jax.tree.leaves(state.learner.opt_state) if x.shape == ()]
    return int(count)


def slot(state: RunState, number: int) -> replay.Examples:
    """The examples of one iteration."""
    return jax.tree.map(lambda x: x[number % x.shape[0]], state.replay.examples)


@functools.cache
def _evaluate() -> Any:
    return jax.jit(functools.partial(learner.evaluate_losses, spec()))


def evaluate(state: RunState, examples: tuple[replay.Examples, jax.Array]) -> Any:
    """Losses of a run's network."""
    return _evaluate()(state.learner, *examples)
