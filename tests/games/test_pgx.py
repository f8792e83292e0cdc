"""Our rules and pgx's in lock-step, and pgx's games behind our protocol."""

import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import PGX_EXAMPLES, conformance, make_game, pgx_adapter
from jaxzero.games.base import Game
from jaxzero.games.playouts import random_playout, view_of
from tests.oracles.pgx_games import PGX, check_pgx

pgx = pytest.importorskip("pgx")

# ---- pgx as an oracle ----


@pytest.mark.parametrize("name", PGX)
def test_the_same_games_as_in_pgx(name):
    assert check_pgx(name, random_playout(make_game(name), num_games=64)) > 64 * 6


# ---- the adapter ----


@pytest.mark.parametrize("name", PGX_EXAMPLES)
def test_adapted_games_conform(name):
    game = make_game(name)
    assert game.name == name
    assert isinstance(game, Game)
    report = conformance.check_game(game, num_games=4)
    assert set(report.skipped) == {"symmetric_games", "symmetric_positions", "flipped_colours"}


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["gardner_chess", "animal_shogi"])
def test_larger_adapted_games_conform(env_id):
    conformance.check_game(make_game(f"pgx:{env_id}"), num_games=4)


@pytest.mark.slow  # importing these modules computes large tables
def test_limits_are_those_of_pgx():
    for env_id in ("go_9x9", "go_19x19"):
        game = pgx.make(env_id)._game
        assert pgx_adapter.MAX_PLIES[env_id] == game.max_termination_steps
    for module, env_id in (
        ("pgx.gardner_chess", "gardner_chess"),
        ("pgx.animal_shogi", "animal_shogi"),
        ("pgx._src.games.chess", "chess"),
        ("pgx._src.games.shogi", "shogi"),
    ):
        limit = importlib.import_module(module).MAX_TERMINATION_STEPS
        assert pgx_adapter.MAX_PLIES[env_id] == limit


def test_every_environment_of_pgx_is_known():
    assert set(pgx.available_envs()) <= set(pgx_adapter.MAX_PLIES) | set(pgx_adapter.REFUSED)


@pytest.mark.parametrize("key", [0, 1, 2, 3])
@pytest.mark.parametrize("env_id", ["tic_tac_toe", "hex"])
def test_player_zero_moves_first_whoever_pgx_chose(env_id, key, monkeypatch):
    """The adapter must not depend on which number pgx gives to the first player."""
    start = pgx.make(env_id).init(jax.random.PRNGKey(key))
    monkeypatch.setattr(pgx_adapter, "_first_state", lambda _: jax.tree.map(np.asarray, start))
    pgx_adapter._start.cache_clear()
    game = make_game(f"pgx:{env_id}")
    width = game.observation_shape[1]
    state, step = game.init(), jax.jit(lambda s, a: game.step(s, a))
    assert game.to_move(state) == 0
    # Player 0 goes down the second column; in Hex that joins the top and the bottom.
    for row in range(width):
        state = step(state, jnp.int32(row * width + 1))
        if not game.is_terminal(state):
            assert game.to_move(state) == 1
            state = step(state, jnp.int32(row * width))
    pgx_adapter._start.cache_clear()
    assert game.is_terminal(state)
    np.testing.assert_array_equal(game.outcome(state), [1, -1])


def test_hex_allows_taking_over_the_first_stone_once():
    game = make_game("pgx:hex")
    step = jax.jit(game.step)
    takes_over = game.num_actions - 1
    first = step(game.init(), jnp.int32(1))  # row 0, column 1
    assert not game.legal_actions(game.init())[takes_over]
    assert game.legal_actions(first)[takes_over]
    taken = step(first, jnp.int32(takes_over))
    assert game.to_move(taken) == 0
    assert not game.legal_actions(taken)[takes_over]
    planes = np.asarray(game.observe(taken))
    assert planes[..., 0].sum() == 0  # player 0 has no stone left
    assert np.argwhere(planes[..., 1]).tolist() == [[1, 0]]  # mirrored, as the goals are
    assert planes.dtype == np.int8


def test_states_carry_no_observation():
    state = make_game("pgx:go_9x9").init()
    assert state.observation.size == 0


def test_the_start_can_first_be_asked_for_inside_a_compiled_function():
    pgx_adapter._start.cache_clear()
    pgx_adapter._first_state.cache_clear()
    game = make_game("pgx:tic_tac_toe")
    view = jax.jit(lambda: view_of(game, game.init()))()
    assert view.legal.all()
    assert game.legal_actions(game.init()).all()


def test_a_missing_pgx_is_explained_in_one_line(monkeypatch):
    pgx_adapter._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "pgx", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[pgx\]"') as caught:
        make_game("pgx:hex")
    assert "\n" not in str(caught.value)
