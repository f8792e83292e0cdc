"""A match that stops when it has told enough: where it stops, and what it counts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.matches import arena, sequential
from jaxzero.matches.wilson import BETTER, CLOSE, GOING_ON, WORSE, Rule
from jaxzero.players import Cost, random_players
from tests.matches.test_wilson import newcombe

GAME = make_game("connect_four_3x3_line3")
MOST = 24
RULES = {"wide": Rule(0.6, 0.3), "sure": Rule(0.8, 0.1), "quick": Rule(0.5, 0.2)}
SLOW = [pytest.param(rule, marks=pytest.mark.slow) for rule in ("sure", "quick")]


def counting_players():
    """Two random ones; their moves are what they cost."""
    players = random_players(GAME, 2)

    def choose(params, memory, keys, states, live):
        made = live.sum(dtype=jnp.float32)
        turn = players.choose(params, memory, keys, states, live)
        return turn._replace(cost=Cost(3 * made, made))

    return players._replace(choose=choose)


@functools.cache
def compiled(rule, batch):
    return jax.jit(
        lambda key, limit: sequential.play(
            GAME,
            [counting_players()],
            key,
            RULES[rule],
            most=MOST,
            limit=limit,
            batch=batch,
            opening_plies=1,
        )
    )


@functools.cache
def played(rule, batch, limit, seed):
    return jax.device_get(compiled(rule, batch)(jax.random.key(seed), limit))


@jax.jit
def whole_match(key):
    return arena.play_match(
        GAME, [random_players(GAME, 2)], key, games_per_direction=MOST, opening_plies=1
    )


@functools.cache
def everything(seed):
    match = whole_match(jax.random.key(seed))
    return np.asarray(match.outcome), np.asarray(match.actions)


def by_hand(rule, limit, seed):
    """The same in plain Python, over the games of a match without a rule."""
    outcome, actions = everything(seed)
    points, counts, moves = 0.0, np.zeros((2, 3), int), set()
    z = {0.6: 0.8416212, 0.8: 1.2815516, 0.5: 0.6744898}[rule.confidence]
    for pair in range(limit):
        first, second = outcome[0, pair, 0], outcome[1, pair, 0]
        points += (first + 1) / 2 + (1 - second) / 2
        counts[0, 1 - int(first)] += 1
        counts[1, 1 - int(second)] += 1
        moves |= {actions[:, side, pair].tobytes() for side in (0, 1)}
        low, high = newcombe(points, 2 * (pair + 1), z)
        if low > 0.5 or high < 0.5 or high - low < rule.width:
            return (BETTER if low > 0.5 else WORSE if high < 0.5 else CLOSE), counts, len(moves)
    return GOING_ON, counts, len(moves)


@pytest.mark.parametrize("rule", ["wide", *SLOW])
def test_it_stops_where_plain_python_stops(rule):
    seen = set()
    for seed in range(6):
        said, counts, distinct = by_hand(RULES[rule], MOST, seed)
        found = played(rule, 5, MOST, seed)
        assert int(found.verdict) == said
        np.testing.assert_array_equal(found.counts, counts)
        assert int(found.distinct) == distinct
        seen.add(said)
        begun = min(-(-int(counts.sum()) // 2 // 5) * 5, MOST)  # five pairs at a time
        chosen = (everything(seed)[1][1:, :, :begun] >= 0).sum()  # behind an opening of one ply
        assert (found.cost.useful_evaluations, found.cost.evaluations) == (chosen, 3 * chosen)
    assert seen - {GOING_ON}


@pytest.mark.parametrize("batch", [24, pytest.param(1, marks=pytest.mark.slow)])
def test_how_many_play_at_once_decides_nothing(batch):
    for seed in range(4):
        found, other = played("wide", batch, MOST, seed), played("wide", 5, MOST, seed)
        assert int(found.verdict) == int(other.verdict)
        np.testing.assert_array_equal(found.counts, other.counts)
        assert int(found.distinct) == int(other.distinct)


def test_a_smaller_limit_may_be_traced():
    for seed in range(6):
        said, counts, _ = by_hand(RULES["wide"], 3, seed)
        found = played("wide", 5, 3, seed)
        assert int(found.verdict) == said
        np.testing.assert_array_equal(found.counts, counts)
        assert np.asarray(found.counts).sum() <= 6
