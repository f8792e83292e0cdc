"""Searches that games share: the same games, from fewer searches, in smaller batches."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero.games import make_game
from jaxzero.loops import DATA_AXIS, MEMBER_AXIS
from jaxzero.search import SearchOptions
from jaxzero.training import episodes, selfplay, sharing
from jaxzero.training.selfplay import PlayoutCaps
from jaxzero.training.sharing import Costs, Memory, Sharing
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.oracles.stub_network import jax_stub_evaluate
from tests.training.common import fresh

GAMES = 16
SIMULATIONS = 6
GAME = make_game("connect_four_3x3_line3", observation="signed")
OPTIONS = SearchOptions(
    capacity=SIMULATIONS + 1, ties="random", dirichlet_fraction=0.5, dirichlet_alpha=1.0
)
KEY = jax.random.key(3)
EACH = Sharing(KEY)  # keys of positions, nothing shared
CACHE = Sharing(KEY, (4, GAMES), 300)
TOO_SMALL = Sharing(KEY, (4, GAMES), 5)


def play(how: Sharing, keys: jax.Array, temperature_plies: Any) -> tuple[Trajectory, Costs]:
    """Games by a stub network, with noise, random ties and fast searches."""
    return selfplay.play(
        GAME,
        jax_stub_evaluate(GAME.num_actions, 5),
        keys,
        jnp.ones(keys.shape, bool),
        options=OPTIONS,
        num_simulations=SIMULATIONS,
        c_puct=1.0,
        temperature_plies=temperature_plies,
        caps=PlayoutCaps(0.25, 3, 0.1),
        sharing=how,
    )


def game_keys() -> jax.Array:
    return jax.vmap(jax.random.fold_in, (None, 0))(KEY, jnp.arange(GAMES))


@functools.cache
def played(how: str) -> tuple[Trajectory, Costs]:
    """`GAMES` games, what stands in the rows after their ends emptied."""
    named = {"each": EACH, "cache": CACHE}
    games, costs = jax.jit(functools.partial(play, named[how]))(game_keys(), 7)
    return emptied(games), jax.device_get(costs)


def emptied(games: Trajectory) -> Trajectory:
    valid = np.asarray(games.valid)

    def empty(x: Any) -> np.ndarray:
        x = np.asarray(x)
        by_ply = x.shape[:2] == valid.shape
        rows = valid.reshape(valid.shape + (1,) * (x.ndim - 2)) if by_ply else True
        return np.where(rows, x, np.zeros_like(x))

    return jax.tree.map(empty, games)


def assert_same_games(games: Trajectory, expected: Trajectory) -> None:
    """Bit for bit; JAX 0.7 rounds by the size of a batch: there the root's value to two bits."""
    if jax.__version_info__ < (0, 8):
        values = games.root_value, expected.root_value
        np.testing.assert_array_max_ulp(*values, maxulp=2)
        games = dataclasses.replace(games, root_value=expected.root_value)
    chex.assert_trees_all_equal(games, expected)


def test_games_with_a_cache_are_the_same_from_fewer_searches() -> None:
    (expected, plain), (games, costs) = played("each"), played("cache")
    assert_same_games(games, expected)
    np.testing.assert_array_equal(costs.nodes, plain.nodes)
    assert len({tuple(actions) for actions in games.action.T}) > GAMES // 2
    assert plain.memory.searches == expected.valid.sum()
    assert costs.simulations < plain.simulations
    assert costs.evaluations < plain.evaluations  # of a stub, made for whole batches: they shrink
    asked = zip(games.observation[games.valid], games.recorded[games.valid], strict=True)
    questions = {(position.tobytes(), bool(is_full)) for position, is_full in asked}
    assert costs.memory.searches == costs.memory.stored == len(questions)


def test_games_that_share_plies_on_eight_devices_are_those_of_one() -> None:
    mesh = jax.make_mesh((8,), (DATA_AXIS,), axis_types=(jax.sharding.AxisType.Auto,))
    how = Sharing(KEY, sizes=(1, GAMES // 8))
    axes = dict.fromkeys(vars(played("each")[0]), P(None, DATA_AXIS))
    axes |= dict.fromkeys(("outcome", "plies", "active", "start", "rolled_back"), P(DATA_AXIS))
    run = jax.shard_map(
        lambda keys: play(how, keys, 7)[0],
        mesh=mesh,
        in_specs=P(DATA_AXIS),
        out_specs=Trajectory(**axes),
        check_vma=False,
    )
    assert_same_games(emptied(jax.jit(run)(game_keys())), played("each")[0])


def test_members_of_a_population_share_among_themselves() -> None:
    """Each with a table of its own, which is too small for all that they find."""
    keys = jnp.stack([game_keys(), game_keys()[::-1]])
    run = jax.jit(jax.vmap(functools.partial(play, TOO_SMALL), axis_name=MEMBER_AXIS))
    games, costs = run(keys, jnp.array([7, 2]))
    one, other = (jax.tree.map(lambda x, i=i: x[i], games) for i in range(2))
    assert_same_games(emptied(one), played("each")[0])
    assert costs.memory.searches[0] == played("cache")[1].memory.searches
    np.testing.assert_array_equal(costs.memory.stored, 5)
    assert costs.memory.searches[1] < costs.memory.searches[0]  # greedy games repeat
    assert other.valid.any()


@pytest.mark.parametrize("hashes", [1, 7, 10**6])
def test_equals_are_found_whatever_their_hashes(hashes: int) -> None:
    rng = np.random.default_rng(hashes)
    words = rng.integers(0, 2, (200, 4)).astype(np.uint32)
    hashed = np.stack([words @ [1, 2, 4, 8] % hashes] * 2, 1).astype(np.uint32)
    wanted = rng.random(200) < 0.6
    first = np.asarray(jax.jit(sharing.first_of_equals)(words, hashed, wanted))
    np.testing.assert_array_equal(words[first[wanted]], words[wanted])
    assert wanted[first[wanted]].all()
    chosen = wanted & (first == np.arange(200))
    np.testing.assert_array_equal(chosen[first[wanted]], True)
    if hashes > 16:  # no two have one hash
        assert chosen.sum() == len(np.unique(words[wanted], axis=0))
    rows = np.asarray(sharing.in_front(jnp.asarray(chosen)))
    np.testing.assert_array_equal(rows[: chosen.sum()], np.flatnonzero(chosen))
    assert (rows[chosen.sum() :] == 200).all()


@pytest.mark.parametrize(("capacity", "hashes"), [(256, 10**6), (37, 10**6), (256, 3)])
def test_a_table_never_mistakes_one_question_for_another(capacity: int, hashes: int) -> None:
    rng = np.random.default_rng(capacity + hashes)
    table = Memory(
        searches=jnp.float32(0),
        stored=jnp.float32(0),
        owner=jnp.zeros(capacity, jnp.int32),
        words=jnp.zeros((capacity, 2), jnp.uint32),
        answers=jnp.zeros(capacity, jnp.float32),
    )
    asked: dict[tuple, float] = {}
    insert, look_up = jax.jit(sharing.insert), jax.jit(sharing.look_up)
    for _ in range(4):
        words = np.unique(rng.integers(0, 9, (30, 2)).astype(np.uint32), axis=0)[:15]
        hashed = np.stack([words @ [1, 9], words @ [9, 1]], 1).astype(np.uint32) % hashes
        place, found = look_up(table, words, hashed)
        known = np.asarray(table.answers)[place]
        chosen = ~np.asarray(found) & (rng.random(15) < 0.8)
        for i, question in enumerate(map(tuple, words)):
            if found[i]:
                assert known[i] == asked[question]
            if chosen[i]:
                asked[question] = float(words[i] @ [1, 100])
        answers = (words @ [1, 100]).astype(np.float32)
        table = insert(table, words, hashed, answers, chosen)
        _, found_now = look_up(table, words, hashed)
        if capacity == 256 and hashes > 3:  # there is room for all
            np.testing.assert_array_equal(found_now, np.asarray(found) | chosen)
    assert table.stored == (np.asarray(table.owner) > 0).sum() <= len(asked)
    assert (table.stored == len(asked)) == (capacity == 256 and hashes > 3)


def test_all_sizes_give_a_network_batches_of_one_size() -> None:
    for games, at_once in ((1, 32), (50, 32), (100, 32), (256, 32), (4096, 32), (4096, 0), (3, 0)):
        found = sharing.sizes(games, at_once)
        assert found[-1] == games
        assert list(found) == sorted(set(found))
        units = {-(-size // -(-size // at_once)) for size in found} if at_once else {0}
        assert len(units) == 1
    assert len(sharing.sizes(4096, 32)) == 5


def test_an_iteration_with_a_network(request: pytest.FixtureRequest) -> None:
    """Settings reach the games, which are the same, and their costs reach the metrics."""
    specs = [
        small.small_spec({
            "game": "connect_four_3x3_line3", "selfplay.episodes": 8, "search.key": "position",
            "network.name": "resnet", "network.blocks": 1,
            "search.dirichlet_fraction": 0.25, "selfplay.share": share, "arena.gate": "none",
            "execution.evaluate_at_once": 4, "search.num_simulations": 4,
        })
        for share in ("none", "cache")
    ]  # fmt: skip
    network = fresh(specs[0])
    request.getfixturevalue("as_users_run")
    results = []
    for spec in specs:
        run: Callable = functools.partial(episodes.self_play, spec, small.small_hyper())
        games, metrics = jax.jit(run)(network, KEY)
        results.append((emptied(games), jax.device_get(metrics)))
    (plain, expected), (games, metrics) = results
    chex.assert_trees_all_equal(games, plain)
    assert expected["count/searches"] == expected["selfplay/positions"]
    assert metrics["count/searches"] < 0.8 * metrics["selfplay/positions"]
    assert metrics["count/table_overflow"] == 0
    assert metrics["selfplay/table_use"] == metrics["count/searches"] / (2 * 8 * 9)
    fewer = {"count/selfplay_evaluations", "count/selfplay_useful_evaluations", "count/searches"}
    fewer |= {"count/selfplay_simulations", "count/selfplay_finished_leaves"}
    for name in expected.keys() - {"search/depth_mean", "search/depth_max"}:
        assert (metrics[name] < expected[name]) == (name in fewer), name
