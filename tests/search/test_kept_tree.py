"""Trees kept between moves: the same counts as a plain-Python tree that is kept, move for move."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxzero.search import SearchOptions, core, subtree, whole_tree
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import Position
from tests.search.common import (
    AGAIN,
    assert_same_search,
    game_named,
    options_of,
    oracle_game,
    random_game,
    scaled_network,
    stack,
)

SIMULATIONS = 20
GAMES = 3


@functools.cache
def kept_search(name: str, options: SearchOptions) -> Callable[..., Any]:
    """(keys, states, trees, is_kept, active) -> result."""

    def run(keys: Any, states: Any, trees: Any, is_kept: Any, active: Any) -> Any:
        return core.run(
            game_named(name),
            scaled_network(name, 1.0),
            keys,
            states,
            options=options,
            num_simulations=SIMULATIONS,
            trees=trees,
            is_kept=is_kept,
            active=active,
        )

    return jax.jit(run)


@functools.cache
def first_trees(name: str, options: SearchOptions) -> Any:
    """Trees of the start position; only their shape matters where `is_kept` is False."""
    states = stack([oracle_game(name).init()] * GAMES)
    keys = jax.random.split(jax.random.key(0), GAMES)
    start = functools.partial(core.start, game_named(name), scaled_network(name, 1.0))
    return jax.jit(lambda k, s: start(k, s, options)[0])(keys, states)


advance = jax.jit(subtree.advance)


def oracle_tree(name: str, position: Position, capacity: int) -> Tree:
    """A tree in which, as in the arrays, only unfinished positions take room."""
    return Tree(
        oracle_game(name), position, capacity=capacity, count_finished=False, dtype=np.float32
    )


def choose(lane: int, visits: np.ndarray, legal: np.ndarray, rng: np.random.Generator) -> int:
    """Lane 0 plays the best move, lane 1 a visited one, lane 2 any legal one."""
    if lane == 0:
        return int(np.argmax(visits))
    return int(rng.choice(np.flatnonzero(visits if lane == 1 else legal)))


@pytest.mark.parametrize(
    ("name", "capacity"), [("connect_four_5x5", 256), ("connect_four_5x5", 23), (AGAIN, 30)]
)
def test_whole_games_equal_the_oracle(name: str, capacity: int) -> None:
    options = options_of(capacity=capacity)
    run, trees = kept_search(name, options), first_trees(name, options)
    rng = np.random.default_rng(0)
    positions = [oracle_game(name).init()] * GAMES
    oracles = [oracle_tree(name, position, capacity) for position in positions]
    is_kept = np.zeros(GAMES, bool)
    searches, full, dropped, kept_visits = 0, 0, 0, 0
    while not all(position.terminal for position in positions):
        live = np.array([not position.terminal for position in positions])
        keys = jax.random.split(jax.random.key(searches), GAMES)
        result = run(keys, stack(positions), trees, is_kept, live)
        seen = jax.device_get(result)
        actions = np.zeros(GAMES, np.int32)
        is_stored = np.zeros(GAMES, bool)
        for lane in np.flatnonzero(live).tolist():
            tree = oracles[lane]
            before = tree.visits().sum()
            tree.run(SIMULATIONS)
            assert_same_search(seen, lane, tree, f"search {searches}")
            assert seen.visit_counts[lane].sum() == before + SIMULATIONS
            assert seen.diagnostics.nodes[lane] == tree.size
            full += tree.size == capacity
            kept_visits += before
            actions[lane] = choose(lane, tree.visits(), positions[lane].legal, rng)
            child = tree.root.children.get(int(actions[lane]))
            is_stored[lane] = child is not None and not child.finished
            tree.advance(int(actions[lane]))
            positions[lane] = tree.root.state
            dropped += not is_stored[lane] and not positions[lane].terminal
        assert not seen.policy[~live].any()
        trees, exists = advance(result.tree, actions)
        is_kept = np.asarray(exists)
        np.testing.assert_array_equal(is_kept[live], is_stored[live])
        searches += 1
    assert searches >= 8
    assert kept_visits > 0
    assert dropped > 0  # some lane had to start afresh
    assert (full > 0) == (capacity < 256)


def test_a_lane_that_is_not_kept_starts_afresh() -> None:
    name, options = "connect_four_5x5", options_of(capacity=256)
    run, trees = kept_search(name, options), first_trees(name, options)
    positions = [random_game(name, seed)[4] for seed in range(GAMES)]
    keys = jax.random.split(jax.random.key(0), GAMES)
    nobody, everybody = np.zeros(GAMES, bool), np.ones(GAMES, bool)
    fresh = run(keys, stack(positions), trees, nobody, everybody)
    some = run(keys, stack(positions), fresh.tree, np.array([True, False, True]), everybody)
    counts, again = np.asarray(fresh.visit_counts), np.asarray(some.visit_counts)
    np.testing.assert_array_equal(counts.sum(-1), [20, 20, 20])
    np.testing.assert_array_equal(again.sum(-1), [40, 20, 40])
    np.testing.assert_array_equal(again[1], counts[1])


def test_lanes_that_are_not_active_keep_their_trees() -> None:
    name, options = "connect_four_5x5", options_of(capacity=256)
    run, trees = kept_search(name, options), first_trees(name, options)
    states = stack([random_game(name, seed)[4] for seed in range(GAMES)])
    keys = jax.random.split(jax.random.key(0), GAMES)
    everybody = np.ones(GAMES, bool)
    before = run(keys, states, trees, ~everybody, everybody)
    after = run(keys, states, before.tree, everybody, np.array([True, False, False]))
    for old, new in zip(jax.tree.leaves(before.tree), jax.tree.leaves(after.tree), strict=True):
        np.testing.assert_array_equal(np.asarray(old)[1:], np.asarray(new)[1:])
    assert after.visit_counts[0].sum() == 40


@functools.cache
def searched() -> tuple[Any, Any]:
    """Trees of the start position, and moves; draws that are the values: they must move alike."""
    name, options = "connect_four_5x5", options_of(capacity=256)
    run, trees = kept_search(name, options), first_trees(name, options)
    states = stack([oracle_game(name).init()] * GAMES)
    keys = jax.random.split(jax.random.key(0), GAMES)
    nobody = np.zeros(GAMES, bool)
    result = run(keys, states, trees, nobody, ~nobody)
    extra = dataclasses.replace(
        result.tree.extra_data, draws=result.tree.children_values, raw_draws=result.tree.raw_values
    )
    return result.tree.replace(extra_data=extra), result.action


def test_advance_numbers_nodes_without_gaps() -> None:
    moved, exists = jax.device_get(advance(*searched()))
    assert exists.all()
    np.testing.assert_array_equal(moved.extra_data.draws, moved.children_values)
    np.testing.assert_array_equal(moved.extra_data.raw_draws, moved.raw_values)
    for lane in range(GAMES):
        size = int(moved.extra_data.size[lane])
        children, parents = moved.children_index[lane], moved.parents[lane]
        stored = np.sort(children[children >= 0])
        np.testing.assert_array_equal(stored, np.arange(1, size))
        assert parents[0] == -1
        for child in range(1, size):
            action = moved.action_from_parent[lane, child]
            assert children[parents[child], action] == child
            assert parents[child] < child
        assert not moved.children_visits[lane, size:].any()


def test_a_root_and_a_node_change_places() -> None:
    tree, action = searched()
    extra = dataclasses.replace(tree.extra_data, known=tree.children_visits)
    tree, lanes = tree.replace(extra_data=extra), np.arange(GAMES)
    place = tree.children_index[lanes, 0, action]
    exchange = jax.jit(whole_tree.put_root)
    moved = exchange(tree, place)
    for old, new in zip(
        jax.tree.leaves(tree), jax.tree.leaves(exchange(moved, place)), strict=True
    ):
        np.testing.assert_array_equal(old, new)
    old, new = jax.device_get((tree, moved))
    np.testing.assert_array_equal(new.children_values[:, 0], old.children_values[lanes, place])
    np.testing.assert_array_equal(new.embeddings.stones[:, 0], old.embeddings.stones[lanes, place])
    assert (new.extra_data.to_move[:, 0] == 1).all()
    np.testing.assert_array_equal(new.extra_data.draws, new.children_values)
    np.testing.assert_array_equal(new.extra_data.raw_draws, new.raw_values)
    np.testing.assert_array_equal(new.extra_data.known, new.children_visits)
    for lane in range(GAMES):  # ways up and down agree, and end at what was the root
        for node in range(int(new.extra_data.size[lane])):
            parent, move = new.parents[lane, node], new.action_from_parent[lane, node]
            assert (parent < 0) == (node == place[lane])
            assert parent < 0 or new.children_index[lane, parent, move] == node


def test_a_tree_without_word_on_what_is_kept_is_refused() -> None:
    name, options = "connect_four_5x5", options_of(capacity=256)
    keys = jax.random.split(jax.random.key(0), GAMES)
    states = stack([oracle_game(name).init()] * GAMES)

    def run(trees: Any) -> Any:
        game, evaluate = game_named(name), scaled_network(name, 1.0)
        return core.run(
            game, evaluate, keys, states, options=options, num_simulations=1, trees=trees
        )

    with pytest.raises(ValueError, match="is_kept"):
        jax.eval_shape(run, first_trees(name, options))


@pytest.mark.parametrize(
    "changes", [{"algorithm": "gumbel"}, {"loop": "mctx"}, {"kld_step": 4}], ids=str
)
def test_what_counts_from_an_unvisited_root_keeps_no_trees(changes: dict[str, Any]) -> None:
    name, options = "connect_four_5x5", options_of(capacity=256)
    run = kept_search(name, dataclasses.replace(options, **changes))
    keys = jax.random.split(jax.random.key(0), GAMES)
    states, all_ = stack([oracle_game(name).init()] * GAMES), np.ones(GAMES, bool)
    with pytest.raises(ValueError, match="begin with fresh trees"):
        jax.eval_shape(run, keys, states, first_trees(name, options), all_, all_)
