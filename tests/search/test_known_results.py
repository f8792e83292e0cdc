"""Proven results: the same search as a plain-Python one, and true by exact solvers."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxzero import solvers
from jaxzero.search import known_results
from jaxzero.search.known_results import DRAWN, LOST, UNKNOWN, WON
from jaxzero.search.tree import Node
from jaxzero.training import moves
from tests.oracles.mcts import Tree
from tests.oracles.perfect_play import solve
from tests.search.common import (
    AGAIN,
    LANES,
    SMALL,
    assert_same_search,
    game_named,
    options_of,
    oracle_game,
    random_game,
    search_all,
    stack,
    static_search,
    various_positions,
)
from tests.search.common import SIMULATIONS as STATIC
from tests.search.test_kept_tree import GAMES, SIMULATIONS, advance, first_trees, kept_search

KNOWING = options_of(propagate_results=True)
SOLVED = "connect_four_5x5"
PLAIN: dict[str, Any] = {"propagate_results": True, "count_finished": False, "dtype": np.float32}


def root_results(tree: Tree) -> list[int]:
    """Of all actions, as the compiled search has them."""
    found = [tree.proven(tree.root, action) for action in range(len(tree.root.n))]
    return [UNKNOWN if result is None else int(result) for result in found]


@pytest.mark.parametrize(
    ("name", "changes", "oracle"),
    [
        (SMALL, {}, {}),
        (SOLVED, {}, {}),
        (AGAIN, {}, {}),
        (
            SMALL,
            {"draw_value": 0.4, "q_scale": "unit", "discount": 0.9},
            {"draw_value": 0.4, "q_scale": "unit", "discount": 0.9},
        ),
    ],
)
def test_searches_equal_the_oracle(
    name: str, changes: dict[str, Any], oracle: dict[str, Any]
) -> None:
    positions, options = various_positions(name), options_of(propagate_results=True, **changes)
    known, differs = 0, False
    for m, c in ((25, 1.0), (60, 1.5)):
        result = search_all(name, positions, m, c_puct=c, options=options)
        for lane, position in enumerate(positions):
            tree = Tree(oracle_game(name), position, c_puct=c, **PLAIN, **oracle).run(m)
            assert_same_search(result, lane, tree)
            assert result.tree.extra_data.known[lane, 0].tolist() == root_results(tree)
            assert result.action[lane] == tree.choice()
            assert result.diagnostics.nodes[lane] == tree.size
            other = Tree(oracle_game(name), position, c_puct=c, dtype=np.float32, **oracle).run(m)
            differs |= bool((other.visits() != tree.visits()).any())
            known += root_results(tree).count(UNKNOWN) < len(tree.root.n)
    assert known >= LANES
    assert differs


def test_kept_trees_keep_what_is_known() -> None:
    run, trees = kept_search(SMALL, KNOWING), first_trees(SMALL, KNOWING)
    rng = np.random.default_rng(0)
    positions = [oracle_game(SMALL).init()] * GAMES
    oracles = [Tree(oracle_game(SMALL), position, **PLAIN) for position in positions]
    is_kept, inherited = np.zeros(GAMES, bool), 0
    for ply in range(8):
        live = np.array([not position.terminal for position in positions])
        keys = jax.random.split(jax.random.key(ply), GAMES)
        result = run(keys, stack(positions), trees, is_kept, live)
        seen, actions = jax.device_get(result), np.zeros(GAMES, np.int32)
        for lane in np.flatnonzero(live).tolist():
            tree = oracles[lane]
            inherited += any(r != UNKNOWN for r in root_results(tree))
            tree.run(SIMULATIONS)
            assert_same_search(seen, lane, tree, f"ply {ply}")
            assert seen.tree.extra_data.known[lane, 0].tolist() == root_results(tree)
            actions[lane] = tree.choice() if lane else rng.choice(np.flatnonzero(tree.root.legal))
            positions[lane] = tree.advance(int(actions[lane])).root.state
        trees, exists = advance(result.tree, actions)
        is_kept = np.asarray(exists)
    assert inherited > 0


def solved_positions() -> tuple[solvers.Labelled, np.ndarray]:
    """Positions with the plies that best play still takes; a third are wins in two moves."""
    game = game_named(SOLVED)
    states = solvers.sample(game, positions=500, plies=range(13, 19), seed=1)
    labelled = solvers.label(game, states)
    solver, best = solvers.solver_of(game), labelled.scores.max(axis=1)
    plies = np.array(
        [solver.last_stone(int(s), int(n)) - n for s, n in zip(best, labelled.plies, strict=True)]
    )
    soon = np.flatnonzero((best > 0) & (plies == 3))[:LANES]
    others = np.flatnonzero((best <= 0) | (plies > 3))[: 2 * LANES]
    assert len(soon) == LANES
    some = np.concatenate([soon, others])
    states = jax.tree.map(lambda x: x[some], states)
    return solvers.Labelled(game, states, labelled.scores[some], labelled.plies[some]), plies[some]


def without_network(labelled: solvers.Labelled, **given: Any) -> dict[str, np.ndarray]:
    """Searches of all positions by a network that knows nothing."""
    positions = [
        oracle_game(SOLVED).position(jax.tree.map(lambda x, i=i: x[i], labelled.states))
        for i in range(len(labelled.plies))
    ]
    parts = [positions[i : i + LANES] for i in range(0, len(positions), LANES)]
    found = [search_all(SOLVED, part, 250, scale=0.0, **given) for part in parts]
    known = [result.tree.extra_data.known for result in found]
    return {
        "value": np.concatenate([result.value for result in found]),
        "action": np.concatenate([result.action for result in found]),
        "known": np.concatenate([[] if k is None else k[:, 0] for k in known]),
    }


def test_what_is_known_is_true_and_forced_wins_are_found() -> None:
    """Without a network; against the exact solver."""
    labelled, plies = solved_positions()
    found = without_network(labelled, options=KNOWING)
    sure = found["known"] != UNKNOWN
    np.testing.assert_array_equal(found["known"][sure], np.sign(labelled.scores)[sure])
    roots = np.asarray(known_results.node_result(found["known"], labelled.legal))
    assert set(roots.tolist()) >= {WON, LOST, UNKNOWN}
    for i in np.flatnonzero(roots != UNKNOWN):
        assert found["value"][i] == labelled.value[i] == roots[i]
        assert labelled.weak[i, found["action"][i]]
    soon = (labelled.value > 0) & (plies == 3)
    assert soon.sum() >= LANES
    assert (roots[soon] == WON).all()
    plain = without_network(labelled)
    assert (plain["value"][soon] < 1).all()  # averages do not say it


def test_known_results_of_a_small_board_are_those_of_looking_at_everything() -> None:
    game = oracle_game(SMALL)
    memo: dict[Any, float] = {}
    positions = various_positions(SMALL)
    result = search_all(SMALL, positions, 250, scale=0.0, options=KNOWING)
    seen = set()
    for lane, position in enumerate(positions):
        for action in np.flatnonzero(position.legal):
            known = result.tree.extra_data.known[lane, 0, action]
            child = game.step(position, int(action))
            value = solve(game, child, memo)
            value = value if child.to_move == position.to_move else -value
            assert known in (value, UNKNOWN)
            seen.add(int(known))
    assert seen >= {WON, LOST, DRAWN}


def test_moves_known_to_lose_are_not_played() -> None:
    """Neither at temperature 0 nor sampled, nor are they in the policy target."""
    positions = [p for seed in range(30) for p in random_game(SMALL, seed)[2:-1]][: 4 * LANES]
    seen = 0
    for start in range(0, len(positions), LANES):
        result = search_all(SMALL, positions[start : start + LANES], 25, options=KNOWING)
        known, visits = result.tree.extra_data.known[:, 0], result.visit_counts
        legal = np.stack([p.legal for p in positions[start : start + LANES]])
        won = known == WON
        refuted = legal & (known == LOST) & (legal & (known != LOST)).any(-1, keepdims=True)
        refuted |= legal & ~won & won.any(-1, keepdims=True)
        seen += (refuted & (visits > 0)).sum()
        assert not result.policy[refuted].any()
        np.testing.assert_allclose(result.policy.sum(-1), 1, rtol=1e-6)
        for seed in range(20):
            for sampled in (True, False):
                keys = jax.random.split(jax.random.key(seed), LANES)
                played, _ = moves.choose(
                    keys, result, np.bool_(sampled), KNOWING, one_hot_after_temperature=False
                )
                assert not refuted[np.arange(LANES), np.asarray(played)].any()
    assert seen > 10


def test_gumbel_knows_the_truth_too_and_a_search_may_stop_there() -> None:
    game, memo = oracle_game(SMALL), dict[Any, float]()
    positions, found = various_positions(SMALL), []
    for stop in (False, True):
        options = options_of(
            propagate_results=True,
            stop_when_known=stop,
            algorithm="gumbel",
            gumbel_target="visits" if stop else "improved",
        )
        noise = jax.random.gumbel(jax.random.key(0), (LANES, len(positions[0].legal)))
        result = jax.device_get(static_search(SMALL, options)(stack(positions), 1.0, noise))
        legal = np.stack([p.legal for p in positions])
        may = np.asarray(known_results.allowed(result.tree.extra_data.known[:, 0], legal))
        assert not result.policy[~may].any()
        assert may[np.arange(LANES), result.action].all()
        sure = result.known != UNKNOWN
        values = [solve(game, position, memo) for position in positions]
        np.testing.assert_array_equal(result.known[sure], np.array(values)[sure])
        np.testing.assert_array_equal(result.value[sure], result.known[sure])
        found.append(result)
    whole, stopped = found
    np.testing.assert_array_equal(stopped.known, whole.known)
    sure = whole.known != UNKNOWN
    assert 0 < sure.sum() < LANES
    visits = stopped.visit_counts.sum(-1)
    assert (visits[~sure] == STATIC).all()
    assert (visits[sure] < STATIC).all()


@pytest.mark.parametrize(
    ("known", "visits", "expected"),
    [
        ([UNKNOWN, LOST, UNKNOWN, DRAWN], [5, 9, 0, 3], [5, 0, 0, 3]),
        ([UNKNOWN, LOST, WON, DRAWN], [5, 9, 2, 3], [0, 0, 2, 0]),
        ([LOST, LOST, LOST, LOST], [5, 9, 2, 3], [5, 9, 2, 3]),
        ([UNKNOWN, LOST, LOST, LOST], [0, 9, 2, 3], [1, 0, 0, 0]),
    ],
)
def test_what_may_be_chosen(known: list[int], visits: list[int], expected: list[int]) -> None:
    root = Node(
        visits=np.array([visits]),
        q=np.zeros((1, 4)),
        log_prior=np.zeros((1, 4)),
        raw_value=np.zeros(1),
        known=np.array([known], np.int8),
    )
    found = known_results.chosen_from(root)
    assert found.tolist() == [expected]


@pytest.mark.parametrize(
    ("known", "legal", "expected"),
    [
        ([LOST, WON, UNKNOWN], [1, 1, 1], WON),
        ([LOST, DRAWN, UNKNOWN], [1, 1, 1], UNKNOWN),
        ([LOST, DRAWN, UNKNOWN], [1, 1, 0], DRAWN),
        ([LOST, LOST, UNKNOWN], [1, 1, 0], LOST),
        ([UNKNOWN] * 3, [0, 0, 0], UNKNOWN),
    ],
)
def test_a_node_from_its_edges(known: list[int], legal: list[int], expected: int) -> None:
    assert known_results.node_result(np.array(known, np.int8), np.array(legal, bool)) == expected


def test_a_search_without_them_has_no_such_array() -> None:
    assert search_all(SMALL, various_positions(SMALL), 25).tree.extra_data.known is None
