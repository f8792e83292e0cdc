"""What stands in a tree after a search: legal edges, true results, statistics that add up."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.runs import flops
from jaxzero.search import SearchResult
from tests.search.common import (
    AGAIN,
    GAMES,
    GUMBEL_GAMES,
    LANES,
    SIMULATIONS,
    SMALL,
    WITH_FINISHED,
    compiled,
    options_of,
    oracle_game,
    positions_with_an_end,
    random_game,
    search_all,
    stack,
    static_search,
    various_positions,
    visited_edges,
)


def check_tree(name: str, result: SearchResult, lane: int, simulations: int) -> tuple[int, int]:
    """Visits of finished positions in this lane: (of the most visited one, of all)."""
    game, visits = oracle_game(name), []
    tree = result.tree
    assert result.visit_counts[lane].sum() == simulations
    stored = 1
    for edge in visited_edges(name, result, lane):
        assert not edge.parent.terminal
        assert edge.parent.legal[edge.action]
        assert -1 <= edge.q <= 1
        child = game.step(edge.parent, edge.action)
        if child.terminal:
            assert edge.child_index == -1
            assert edge.q == child.outcome[edge.parent.to_move]
            visits.append(edge.visits)
        else:
            stored += 1
            assert edge.child_index > 0
            assert edge.visits == 1 + edge.visits_below
            assert tree.extra_data.to_move[lane, edge.child_index] == child.to_move
    assert stored == tree.extra_data.size[lane]
    assert not tree.children_visits[lane, stored:].any()
    assert (tree.children_index[lane] >= 0).sum() == stored - 1
    return max(visits, default=0), sum(visits)


@pytest.mark.parametrize("name", GAMES)
def test_puct_trees(name: str) -> None:
    result = search_all(name, various_positions(name), 60)
    finished = [check_tree(name, result, lane, 60) for lane in range(LANES)]
    assert max(most for most, _ in finished) >= 10
    counts, tree = result.diagnostics, result.tree
    assert sum(every for _, every in finished) == counts.finished_leaves
    assert counts.simulations == LANES * 60
    assert (
        counts.useful_evaluations
        == counts.nodes.sum()
        == LANES + 60 * LANES - sum(every for _, every in finished)
    )
    depth = np.ones(tree.node_visits.shape, int)  # of the edges from each node; parents come first
    for node in range(1, depth.shape[1]):
        depth[:, node] = 1 + depth[np.arange(LANES), tree.parents[:, node]]
    visits = tree.children_visits.sum(-1)  # every simulation left one on each edge of its way
    assert counts.depth_sum == visits.sum()
    assert counts.depth_max == depth[visits > 0].max()


@pytest.mark.parametrize("name", [*GUMBEL_GAMES, "othello_4x4"])
def test_gumbel_trees(name: str) -> None:
    positions, options = positions_with_an_end(name), options_of(algorithm="gumbel")
    noise = np.zeros((len(positions), positions[0].legal.size), np.float32)
    result = jax.device_get(static_search(name, options)(stack(positions), 1.0, noise))
    most = 0
    for lane in range(LANES):
        if lane == WITH_FINISHED:
            assert not result.tree.children_visits[lane].any()
            continue
        most = max(most, check_tree(name, result, lane, SIMULATIONS)[0])
        legal = positions[lane].legal
        assert legal[result.action[lane]]
        assert not result.policy[lane][~legal].any()
        assert result.policy[lane].sum() == pytest.approx(1, abs=1e-5)
    assert most >= 2


def test_mctx_visits_no_illegal_edge_of_the_root() -> None:
    positions = positions_with_an_end(AGAIN)
    noise = np.zeros((LANES, positions[0].legal.size), np.float32)
    result = static_search(AGAIN, options_of(loop="mctx"))(stack(positions), 1.5, noise)
    for lane, position in enumerate(positions):
        assert not np.asarray(result.visit_counts)[lane][~position.legal].any()


@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_finished_games_are_idle_lanes(name: str) -> None:
    ends = [random_game(name, seed)[-1] for seed in range(4)]
    positions = [various_positions(name)[0], *ends]
    result = search_all(name, positions, 25)
    assert result.visit_counts[0].sum() == 25
    assert not result.visit_counts[1:].any()
    assert not result.policy[1:].any()
    results = [end.outcome[end.to_move] for end in ends]
    assert result.value[1:].tolist() == results
    assert (result.diagnostics.nodes[1:] == 1).all()

    def finite(x: Any) -> bool:
        return not np.issubdtype(np.asarray(x).dtype, np.floating) or bool(np.isfinite(x).all())

    assert all(map(finite, jax.tree.leaves(result)))


def test_a_batch_of_finished_games_alone() -> None:
    result = search_all(SMALL, [random_game(SMALL, seed)[-1] for seed in range(LANES)], 25)
    assert not result.visit_counts.any()
    assert result.diagnostics.simulations == 0
    assert result.diagnostics.useful_evaluations == 0
    assert result.diagnostics.evaluations == LANES * 26


@pytest.mark.parametrize("changes", [{}, {"propagate_results": True}, {"backs_up_draws": True}])
def test_no_two_trees_write_in_one_place(changes: dict[str, bool]) -> None:
    # If XLA did not know, it would sort the places with `execution.deterministic_gpu`.
    search = compiled(SMALL, options_of(**changes))
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), LANES))
    states = stack([various_positions(SMALL)[0]] * LANES)
    traced = jax.make_jaxpr(search)(keys, states, 8, 1.0, 1.0, jnp.ones((LANES,), bool))
    written = [e for e in flops.equations(traced.jaxpr) if e.primitive.name == "scatter"]
    assert len(written) > 5
    assert all(each.params["unique_indices"] for each in written)
