"""Self-play: which moves are sampled, what is learned from, and a game depends on its key alone.

The network is a deterministic stub; games are replayed with the plain-Python rules.
"""

import functools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchOptions
from jaxzero.training import heldout, learner, selfplay
from jaxzero.training import moves as moves_lib
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import JaxGame
from tests.oracles.stub_network import jax_stub_evaluate
from tests.training.stub_games import (
    ALWAYS,
    LANES,
    LINE,
    NEVER,
    SEED,
    SIMULATIONS,
    game_in,
    moves,
    play,
    program,
    signed,
)


def test_moves_are_sampled_in_plies_1_to_t_minus_1_only() -> None:
    for temperature_plies in (NEVER, 1, 2, 3, 6):
        games, _ = play(LINE, temperature_plies)
        sampled = max(temperature_plies - 1, 0)
        best = games.policy.argmax(-1)
        greedy = games.valid & (np.arange(games.valid.shape[0]) >= sampled)[:, None]
        np.testing.assert_array_equal(games.action[greedy], best[greedy])
        if sampled:  # the last of the sampled plies is one
            ply = sampled - 1
            assert (games.action[ply] != best[ply])[games.valid[ply]].any()
        # Whatever is equal up to there is equal to the end.
        prefixes = {tuple(games.action[:sampled, lane]) for lane in range(LANES)}
        assert len({tuple(games.action[:, lane]) for lane in range(LANES)}) == len(prefixes)
        assert len(prefixes) > 1 or not sampled


def test_moves_are_sampled_in_proportion_to_the_visits() -> None:
    count, visits = 20_000, np.array([0.0, 0.5, 0.125, 0.375], np.float32)
    result = SimpleNamespace(
        policy=jnp.broadcast_to(visits, (count, 4)),
        visit_counts=jnp.broadcast_to((8 * visits).astype(np.int32), (count, 4)),
        action=jnp.full((count,), 1, jnp.int32),
    )
    keys = jax.random.split(jax.random.key(0), count)
    choose = functools.partial(moves_lib.choose, options=SearchOptions())
    action, policy = choose(keys, result, jnp.bool_(True), one_hot_after_temperature=True)
    shares = np.bincount(np.asarray(action), minlength=4) / count
    np.testing.assert_allclose(shares, visits, atol=5 * 0.5 / np.sqrt(count))
    assert shares[0] == 0
    np.testing.assert_array_equal(policy[0], visits)
    action, policy = choose(keys, result, jnp.bool_(False), one_hot_after_temperature=True)
    assert (action == 1).all()
    np.testing.assert_array_equal(policy[0], [0, 1, 0, 0])


def test_policy_targets_are_visits_over_the_legal_moves_at_any_temperature() -> None:
    sampled, greedy = play(LINE, ALWAYS)[0], play(LINE, NEVER)[0]
    for games in (sampled, greedy):
        valid = games.valid
        np.testing.assert_allclose(games.policy[valid].sum(-1), 1, rtol=1e-6)
        assert (games.policy >= 0).all()
        assert not games.policy[~games.legal].any()
        visits = games.policy[valid] * SIMULATIONS
        np.testing.assert_allclose(visits, np.round(visits), atol=1e-5)
    # Equal histories have equal targets, whatever was going to be played.
    compared = 0
    for lane in range(LANES):
        for ply in range(sampled.plies[lane]):
            if moves(sampled, lane)[:ply] != moves(greedy, 0)[:ply]:
                break
            np.testing.assert_array_equal(sampled.policy[ply, lane], greedy.policy[ply, 0])
            compared += 1
    assert compared > LANES


def test_one_hot_after_temperature() -> None:
    plies = 4
    published, corrected = play(LINE, plies, "one_hot_after_temperature")[0], play(LINE, plies)[0]
    np.testing.assert_array_equal(published.action, corrected.action)
    np.testing.assert_array_equal(published.policy[: plies - 1], corrected.policy[: plies - 1])
    late = published.valid & (np.arange(published.valid.shape[0]) >= plies - 1)[:, None]
    one_hot = np.eye(4, dtype=np.float32)[published.action[late]]
    np.testing.assert_array_equal(published.policy[late], one_hot)
    assert (corrected.policy[late].max(-1) < 1).any()


def test_root_expansion_counts() -> None:
    (published, cost), (corrected, full) = (
        play(LINE, NEVER, root_expansion_counts=on) for on in (True, False)
    )
    assert cost.simulations == (SIMULATIONS - 1) * published.valid.sum()
    assert full.simulations == SIMULATIONS * corrected.valid.sum()
    visits = published.policy[published.valid] * (SIMULATIONS - 1)
    np.testing.assert_allclose(visits, np.round(visits), atol=1e-5)


@pytest.mark.parametrize("flags", [(), ("keep_tree",)])
@pytest.mark.parametrize("root_expansion_counts", [False, True])
def test_a_greedy_game_equals_a_plain_python_search(
    flags: tuple[str, ...], root_expansion_counts: bool
) -> None:
    games, cost = play(LINE, NEVER, *flags, root_expansion_counts=root_expansion_counts)
    game = signed(LINE)
    oracle = JaxGame(game, jax_stub_evaluate(game.num_actions, SEED))
    position = oracle.init()
    tree, most = None, 0
    for ply, action in enumerate(moves(games, 0)):
        fresh = tree is None or not flags
        if fresh:
            tree = Tree(oracle, position, dtype=np.float32)
        tree.run(SIMULATIONS - (root_expansion_counts and fresh))
        visits = tree.visits()
        np.testing.assert_allclose(games.policy[ply, 0], visits / visits.sum(), atol=1e-6)
        np.testing.assert_allclose(games.root_value[ply, 0], tree.value(), atol=1e-5)
        assert action == int(np.argmax(visits))
        most = max(most, visits.sum())
        position = oracle.step(position, action)
        child = tree.root.children.get(action)
        tree = tree.advance(action) if flags and child is not None else None
    assert position.terminal
    assert (most > SIMULATIONS) == bool(flags)  # keep_tree: visits of earlier plies count
    assert cost.simulations <= SIMULATIONS * games.valid.sum()


def test_a_game_depends_on_its_own_key_alone() -> None:
    keys = jax.random.split(jax.random.key(7), 3)
    run = program(LINE, SearchOptions(capacity=SIMULATIONS + 1, ties="random"), ())
    together, _ = run(keys, np.ones(3, bool), ALWAYS)
    alone, _ = run(keys[2:], np.ones(1, bool), ALWAYS)
    small.assert_equal(game_in(together, 2), game_in(alone, 0))
    assert moves(together, 0) != moves(together, 1)


def test_games_with_a_network_depend_on_their_own_keys_alone() -> None:
    spec = small.small_spec()
    network = jax.jit(functools.partial(learner.init, spec))(jax.random.key(0))

    @jax.jit
    def run(keys: jax.Array, active: jax.Array) -> Trajectory:
        return selfplay.play(
            spec.game,
            learner.acting(spec, network),
            keys,
            active,
            options=spec.search,
            num_simulations=4,
            c_puct=1.0,
            temperature_plies=8,
        )[0]

    keys = jax.random.split(jax.random.key(1), 4)
    games = run(keys, np.ones(4, bool))
    order = np.array([2, 0, 3, 1])
    shuffled = run(keys[order], np.array([True, False, True, True]))
    for place in (0, 2, 3):
        small.assert_equal(game_in(shuffled, place), game_in(games, order[place]))
    assert len({tuple(moves(games, i)) for i in range(4)}) > 1


def test_games_that_were_not_asked_for_stay_empty() -> None:
    active = np.arange(LANES) % 3 == 0
    some, cost = play(LINE, ALWAYS, active=active)
    everyone, _ = play(LINE, ALWAYS)
    np.testing.assert_array_equal(some.active, active)
    assert not some.plies[~active].any()
    assert not some.valid[:, ~active].any()
    assert not some.policy[:, ~active].any()
    assert (some.action[:, ~active] == -1).all()
    for i in np.flatnonzero(active):
        small.assert_equal(game_in(some, i), game_in(everyone, i))
    assert cost.simulations == SIMULATIONS * some.plies.sum()
    nobody, cost = play(LINE, ALWAYS, active=np.zeros(LANES, bool))
    assert not nobody.valid.any()
    assert cost.evaluations == 0


def test_gumbel_explores_where_moves_are_sampled_and_only_there() -> None:
    for temperature_plies in (ALWAYS, NEVER):
        games, cost = play(LINE, temperature_plies, algorithm="gumbel", max_considered_actions=4)
        valid = games.valid
        np.testing.assert_allclose(games.policy[valid].sum(-1), 1, rtol=1e-5)
        assert not games.policy[~games.legal].any()
        assert np.isfinite(games.policy).all()
        played = np.take_along_axis(games.legal, np.maximum(games.action, 0)[..., None], -1)[..., 0]
        assert played[valid].all()
        assert cost.simulations == SIMULATIONS * valid.sum()
        distinct = {tuple(moves(games, i)) for i in range(LANES)}
        assert (len(distinct) > 1) == (temperature_plies == ALWAYS)


def test_dirichlet_noise_makes_greedy_games_differ() -> None:
    assert len({tuple(moves(play(LINE, NEVER)[0], i)) for i in range(LANES)}) == 1
    games, _ = play(LINE, NEVER, dirichlet_fraction=0.5, dirichlet_alpha=1.0)
    assert len({tuple(moves(games, i)) for i in range(LANES)}) > 1
    np.testing.assert_allclose(games.policy[games.valid].sum(-1), 1, rtol=1e-6)


def test_the_heldout_games_are_always_the_same_and_truly_labelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game, traced = signed(LINE), []

    def noted(*args: Any, **options: Any) -> Any:
        traced.append(args)
        return real(*args, **options)

    real = selfplay.play
    monkeypatch.setattr(selfplay, "play", noted)
    (examples, counts), again = (
        heldout.make(game, num_games=4, num_simulations=3) for _ in range(2)
    )
    assert len(traced) == 1  # compiled once
    small.assert_equal((examples, counts), again)
    found = jax.eval_shape(lambda: (examples, counts))
    assert heldout.shapes(game, num_games=4) == found
    assert examples.policy.shape == (4 * game.max_plies, game.num_actions)
    count = int(counts.sum())
    assert counts[:count].all()
    np.testing.assert_allclose(examples.policy[:count].sum(-1), 1, rtol=1e-6)
    assert set(np.asarray(examples.value[:count]).tolist()) <= {-1.0, 0.0, 1.0}
    starts = np.flatnonzero(~np.asarray(examples.observation[:count]).any((1, 2, 3)))
    assert len(starts) == 4
    for begin, end in zip(starts, [*starts[1:], count], strict=True):
        value = np.asarray(examples.value[begin:end])
        np.testing.assert_array_equal(value, value[0] * (-1.0) ** np.arange(end - begin))
