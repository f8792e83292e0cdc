"""Where games begin: after random plies, or taken back from where random play ended them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.games.playouts import mean_random_plies
from jaxzero.settings.config import ConfigError
from jaxzero.training import episodes, learner, openings
from jaxzero.training.openings import random_openings
from tests import small

LANES = 48
LINE = make_game("connect_four_3x3_line3")  # random games last 5 to 9 plies


@jax.jit
def opened(keys, plies, kept):
    asked_for = jnp.arange(LANES) < LANES - 1
    return random_openings(LINE, keys, asked_for, plies=plies, kept=kept)


@functools.cache
def begun(plies, kept):
    keys = jax.random.split(jax.random.key(3), LANES)
    return jax.device_get(opened(keys, jnp.int32(plies), jnp.float32(kept)))


def test_games_begin_with_so_many_random_plies():
    found = begun(4, 0.5)  # too early for an end
    assert (found.plies[:-1] == 4).all()
    assert not found.rolled_back.any()
    stones = np.unpackbits(found.states.stones.view(np.uint8), axis=-1).sum((1, 2))
    np.testing.assert_array_equal(stones, found.plies)
    assert found.plies[-1] == 0  # not asked for
    assert len({s.tobytes() for s in found.states.stones}) > LANES // 3


@pytest.mark.parametrize("kept", [0.1, 0.33, 0.5])
def test_games_that_random_play_ends_are_taken_back_by_their_share(kept):
    most = 8
    found = begun(most, kept)
    going = ~jax.vmap(LINE.is_terminal)(found.states)
    assert going[:-1].all()
    assert 5 < found.rolled_back.sum() < LANES
    assert (found.plies[:-1][~found.rolled_back[:-1]] == most).all()
    for lane in np.flatnonzero(found.rolled_back):
        length = next(k for k in range(1, most + 1) if begun(k, kept).rolled_back[lane])
        expected = length - max(1, round(kept * length))
        assert found.plies[lane] == expected
        # The position is one of the same random game.
        np.testing.assert_array_equal(
            found.states.stones[lane], begun(expected, kept).states.stones[lane]
        )


def test_openings_are_of_all_lengths_and_not_learned_from():
    most = 5  # nobody has won by then
    chosen = small.small_spec({"selfplay.opening_plies": most})

    @jax.jit
    def play(seed):
        network, hyper = learner.init(chosen, jax.random.key(seed)), small.small_hyper()
        return episodes.self_play(chosen, hyper, network, jax.random.key(7))

    found, metrics = jax.device_get(play(0))
    assert len(set(found.start.tolist())) > 1
    assert found.start.max() <= most
    assert not found.rolled_back.any()
    stones = (found.observation[0] != 0).sum((1, 2, 3))
    np.testing.assert_array_equal(stones, found.start)
    np.testing.assert_array_equal(found.to_move[0], found.start % 2)
    assert metrics["selfplay/positions"] == found.plies.sum()
    lengths = openings.lengths(jax.random.split(jax.random.key(0), 3000), most)
    np.testing.assert_allclose(np.bincount(lengths) / 3000, 1 / (most + 1), atol=0.04)


def test_openings_and_a_curriculum_are_refused_together():
    with pytest.raises(ConfigError, match=r"opening_plies=3.*curriculum='none'"):
        small.small_spec({"selfplay.opening_plies": 3, "selfplay.curriculum": "horizon"})


def test_random_games_have_a_length():
    assert 5 <= mean_random_plies(LINE) <= 9
