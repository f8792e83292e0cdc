"""Windows that hold a number of games: when the oldest leave, and where a batch goes."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from jaxzero.settings.config import default_config, section
from jaxzero.training import game_window
from jaxzero.training.spec import ReplaySettings
from jaxzero.training.windows import Batch
from tests import small


def window_of_24_games():
    changes = {"replay.minimum_games": (24,), "replay.window": 3}  # of 8 games each
    return game_window.GameWindow(small.small_spec(changes))


def test_the_oldest_games_leave():
    plan = section(ReplaySettings, default_config().replay, minimum_games=(350, 500))
    filled = game_window.GameWindowState(jnp.int32(10), jnp.int32(1), jnp.full((12,), 200))
    assert int(game_window.games_in(filled)) == 2000
    left = game_window.leave(plan, filled)
    assert (int(left.oldest), int(game_window.games_in(left))) == (2, 1800)
    few = game_window.GameWindowState(jnp.int32(7), jnp.int32(1), jnp.full((12,), 50))
    assert (
        int(game_window.leave(plan, few).oldest) == 2
    )  # 35 of 350 games: the nearest batch is one
    one = game_window.GameWindowState(jnp.int32(1), jnp.int32(1), jnp.full((12,), 50))
    assert int(game_window.leave(dataclasses.replace(plan, leaving=1.0), one).oldest) == 1
    assert [int(game_window.goal(plan, jnp.int32(i))) for i in (1, 2, 3, 9)] == [350, 500, 500, 500]


def test_a_full_window_makes_room_for_a_batch():
    window = window_of_24_games()

    def play(progress, key):
        count = jnp.int32(5)
        return Batch(window.room(window.spec.positions), count, jnp.int32(8), progress, {})

    held, found = window.begin(), []
    for number in (1, 2):
        _, held = window.take_in(held, play, (), jnp.int32(number), jax.random.key(0))
        found.append((int(held.filled.oldest), int(held.filled.newest)))
    assert found == [(1, 3), (2, 4)]
    assert int(window.source(held, jnp.int32(2), jnp.int32(9)).count) == 3 * 5


def test_batches_of_an_iteration_are_different_games_and_are_counted_together():
    window = window_of_24_games()

    def play(progress, key):
        drawn = jax.random.uniform(key)
        held, counts = window.room(window.spec.positions), {"count/x": drawn, "newest": drawn}
        return Batch(held, jnp.int32(5), jnp.int32(8), progress + 1, counts)

    key = jax.random.key(0)
    batch, _ = window.take_in(window.begin(), play, jnp.int32(0), jnp.int32(1), key)
    drawn = [float(jax.random.uniform(jax.random.fold_in(key, number))) for number in (1, 2, 3)]
    assert int(batch.progress) == 3
    assert float(batch.metrics["newest"]) == pytest.approx(drawn[-1])
    assert float(batch.metrics["count/x"]) == pytest.approx(sum(drawn))
