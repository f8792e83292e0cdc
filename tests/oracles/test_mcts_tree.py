"""The tree of the reference search: kept over moves, and full."""

import numpy as np
import pytest

from tests.oracles.mcts import search
from tests.oracles.toy_games import STUB


def test_runs_add_up() -> None:
    whole = search(STUB, STUB.init(), num_simulations=150)
    parts = search(STUB, STUB.init(), num_simulations=70).run(80)
    assert whole.paths == parts.paths
    np.testing.assert_array_equal(whole.q(), parts.q())


def test_kept_tree_continues_with_all_its_statistics() -> None:
    tree = search(STUB, STUB.init(), num_simulations=100)
    action = int(np.argmax(tree.visits()))
    visited, mean = tree.visits()[action], tree.zero_sum()[action]
    below = [path[1:] for path in tree.paths if path[0] == action]
    tree.advance(action)
    assert tree.visits().sum() == visited - 1  # the first visit made the node
    assert tree.value() == pytest.approx(-mean)
    assert tree.size == visited  # no finished position was visited twice
    fresh = search(STUB, STUB.step(STUB.init(), action), num_simulations=visited - 1)
    assert fresh.paths == below[1:]
    tree.run(60)
    fresh.run(60)
    np.testing.assert_array_equal(tree.visits(), fresh.visits())
    np.testing.assert_array_equal(tree.q(), fresh.q())
    assert tree.visits().sum() == visited - 1 + 60


def test_advance_to_a_child_never_visited() -> None:
    tree = search(STUB, STUB.init(), num_simulations=1)
    action = int(np.argmin(tree.visits()))
    tree.advance(action)
    assert tree.visits().sum() == 0
    assert tree.size == 1
    assert tree.value() == pytest.approx(STUB.evaluate(STUB.step(STUB.init(), action))[1])
    with pytest.raises(ValueError, match="not legal"):
        tree.advance(action)


def test_a_full_tree_still_counts_and_grows_again_after_advance() -> None:
    tree = search(STUB, STUB.init(), num_simulations=100, capacity=12)
    assert tree.size == 12
    assert tree.visits().sum() == 100
    full = search(STUB, STUB.init(), num_simulations=100)
    assert full.paths[:11] == tree.paths[:11]
    assert full.size > 60
    # Some edge to an unstored child was taken repeatedly; it keeps its history once expanded.
    action = int(np.argmax(tree.visits()))
    tree.advance(action)
    child = tree.root
    unstored = [a for a in range(9) if child.n[a] > 1 and a not in child.children]
    assert unstored
    counts, values = child.n.copy(), child.z.copy()
    kept = tree.size
    tree.run(12 - kept)
    assert kept < tree.size <= 12
    assert tree.visits().sum() == counts.sum() + 12 - kept
    assert (child.n >= counts).all()
    same = child.n == counts
    np.testing.assert_array_equal(child.z[same], values[same])
    expanded = [a for a in unstored if a in child.children]
    assert expanded
    for a in expanded:
        assert child.children[a].n.sum() < child.n[a] - 1


def test_capacity_one_stores_the_root_alone() -> None:
    tree = search(STUB, STUB.init(), num_simulations=40, capacity=1)
    assert tree.size == 1
    assert all(len(path) == 1 for path in tree.paths)
    for a in np.flatnonzero(tree.visits()):
        value = STUB.evaluate(STUB.step(STUB.init(), int(a)))[1]
        assert tree.q()[a] == pytest.approx(-value)


def test_advance_can_drop_the_newest_nodes() -> None:
    tree = search(STUB, STUB.init(), num_simulations=100)
    action = int(np.argmax(tree.visits()))
    counts = tree.root.children[action].n.copy()
    serials = sorted(node.serial for node in tree.root.children[action].subtree())
    tree.advance(action, keep=5)
    assert tree.size == 5
    assert sorted(node.serial for node in tree.root.subtree()) == serials[:5]
    np.testing.assert_array_equal(tree.visits(), counts)
