"""Plain MCTS with random rollouts: unbiased playouts, and a search that finds what they show."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.players import rollout_evaluate
from jaxzero.search import SearchResult, search
from tests.oracles.mcts_games import JaxGame, Position
from tests.search.common import AGAIN, SMALL, game_named, oracle_game, play, random_game, stack

PLAYOUTS = 2000


@functools.cache
def playouts(name: str) -> Any:
    """(keys [N], states [N]) -> (logits, values)."""
    return jax.jit(rollout_evaluate(game_named(name)).fn)


def expected_result(game: JaxGame, position: Position, memo: dict[Any, float]) -> float:
    """Of uniformly random play, for the player to move, by looking at everything."""
    if position.terminal:
        return position.outcome[position.to_move]
    key = game.key(position)
    if key not in memo:
        results = []
        for action in np.flatnonzero(position.legal):
            child = game.step(position, int(action))
            value = expected_result(game, child, memo)
            results.append(value if child.to_move == position.to_move else -value)
        memo[key] = float(np.mean(results))
    return memo[key]


@pytest.mark.parametrize("name", [SMALL, AGAIN])
def test_rollouts_average_to_the_expectation_of_random_play(name: str) -> None:
    game, memo = oracle_game(name), dict[Any, float]()
    positions = [random_game(name, seed)[-4] for seed in range(2)]
    positions.append(random_game(name, 0)[-1])
    for seed, position in enumerate(positions):
        keys = jax.random.split(jax.random.key(seed), PLAYOUTS)
        states = jax.tree.map(lambda x: jnp.stack([x] * PLAYOUTS), position.state)
        logits, values = jax.device_get(playouts(name)(keys, states))
        assert not logits.any()
        assert set(values.tolist()) <= {-1.0, 0.0, 1.0}
        expected = expected_result(game, position, memo)
        if position.terminal:
            assert (values == position.outcome[position.to_move]).all()
        error = 5 * max(values.std(), 0.01) / np.sqrt(PLAYOUTS)
        assert values.mean() == pytest.approx(expected, abs=error)


def test_rollouts_find_a_win_and_a_defence() -> None:
    name = "connect_four_5x5"
    win = play(name, [0, 4, 1, 4, 2, 1])  # the first player completes row 4 in column 3
    defence = play(name, [0, 4, 1, 1, 2])  # the second player must go there
    other_win = play(name, [1, 0, 1, 0, 4, 0, 4])  # the second player completes column 0
    game, positions = game_named(name), [win, defence, other_win]

    @jax.jit
    def run(key: jax.Array, states: Any) -> SearchResult:
        return search(game, rollout_evaluate(game), key, states, num_simulations=150, ties="random")

    result = run(jax.random.key(0), stack(positions))
    assert result.action.tolist() == [3, 3, 0]
    assert result.value[0] > 0.5
    assert result.value[2] > 0.5
    assert result.q[0, 3] == 1
    other = run(jax.random.key(1), stack(positions))
    assert (np.asarray(other.visit_counts) != np.asarray(result.visit_counts)).any()
