"""The greedy player against an enumeration of its moves in plain Python."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.games.base import CountsMaterial
from jaxzero.games.playouts import random_playout
from jaxzero.players import greedy_players
from tests.games.boards import plain_game
from tests.oracles.boards import PlainGobang

# Small boards where a game ends by the greedy player's own losing move often enough.
NAMES = ("othello_6x6", "othello_4x4", "reversi_4x4", "connect_four_4x5", "gobang_5x5")
TIC_TAC_TOE = "pgx:tic_tac_toe"
TRIES = 96  # of each position: a move that is one of five equals is missed in 1e-9 of the cases


def board_of(name: str) -> Any:
    """The plain board of a game."""
    return PlainGobang(3, 3) if name == TIC_TAC_TOE else plain_game(name)


def discs(board: Any, player: int) -> int:
    """Stones of a player, where stones are what a game is about."""
    counts = not hasattr(board, "line")
    return sum(owner == player for owner in board.stones.values()) if counts else 0


def best_moves(board: Any) -> set[int]:
    """What a greedy player may play, by trying everything."""
    mover, worths = board.to_move(), {}
    for action in np.flatnonzero(board.legal_actions()).tolist():
        after = copy.deepcopy(board)
        after.step(action)
        result = after.outcome()[mover] if after.is_terminal() else 0
        worths[action] = (result, discs(after, mover) - discs(after, 1 - mover))
    return {action for action, worth in worths.items() if worth == max(worths.values())}


@functools.cache
def compiled(name: str) -> Callable[[Any, Any], Any]:
    """(keys, states) [B] -> actions int32[B]."""
    game = make_game(name)
    players = greedy_players(game)

    def choose(keys: jax.Array, states: Any) -> jax.Array:
        live = jnp.ones((len(keys),), bool)
        return players.choose(players.params[0], (), keys, states, live).action

    return jax.jit(choose)


def choices(name: str, states: Any, count: int) -> np.ndarray:
    """int32[B, TRIES]: what it plays in each of B positions, with one key after another."""
    keys = jax.random.split(jax.random.key(5), (TRIES, count))
    found = [np.asarray(compiled(name)(k, states)) for k in keys]
    return np.stack(found, axis=1)


@pytest.mark.parametrize("name", [*NAMES, TIC_TAC_TOE])
def test_it_plays_what_an_enumeration_finds(name: str) -> None:
    if name == TIC_TAC_TOE:
        pytest.importorskip("pgx")
    game = make_game(name)
    playout = random_playout(game, num_games=6, seed=3)
    boards, where = [], []
    for g in range(6):
        board = board_of(name)
        for ply in range(game.max_plies):
            if board.is_terminal():
                break
            boards.append(copy.deepcopy(board))
            where.append((ply, g))
            board.step(int(playout.actions[ply, g]))
    plies, games = np.array(where).T
    states = jax.tree.map(lambda x: jnp.asarray(x[plies, games]), playout.states)
    played = choices(name, states, len(boards))
    narrowed = 0
    for board, actions in zip(boards, played, strict=True):
        expected = best_moves(board)
        assert set(actions.tolist()) <= expected, board.text()
        if len(expected) <= 5:  # ties at random: every one comes up
            assert set(actions.tolist()) == expected, board.text()
        narrowed += len(expected) < sum(board.legal_actions())
    assert narrowed > len(boards) / 20  # it had something to choose


def test_a_win_is_taken_whatever_it_costs() -> None:
    # Positions of Othello 4x4 in which some move of the mover's ends the game.
    game = make_game("othello_4x4")
    playout = random_playout(game, num_games=400, seed=1)
    won = lost = 0
    for g in range(400):
        board = plain_game("othello_4x4")
        for ply in range(game.max_plies):
            if board.is_terminal():
                break
            before = copy.deepcopy(board)
            board.step(int(playout.actions[ply, g]))
            if not board.is_terminal() or sum(before.legal_actions()) < 2:
                continue
            state = jax.tree.map(lambda x, ply=ply, g=g: jnp.asarray(x[ply, g])[None],
                                 playout.states)  # fmt: skip
            action = int(compiled("othello_4x4")(jax.random.split(jax.random.key(g), 1), state)[0])
            after = copy.deepcopy(before)
            after.step(action)
            mover = before.to_move()
            result = board.outcome()[mover]
            won += result > 0
            lost += result < 0
            if result > 0:
                assert after.is_terminal()
                assert after.outcome()[mover] > 0
            if result < 0:
                assert not after.is_terminal() or after.outcome()[mover] > 0 or all(
                    loses(before, a) for a in np.flatnonzero(before.legal_actions())
                )  # fmt: skip
    assert won
    assert lost


def loses(board: Any, action: int) -> bool:
    """Whether a move ends the game lost for the mover."""
    after = copy.deepcopy(board)
    after.step(int(action))
    return after.is_terminal() and after.outcome()[board.to_move()] < 0


@pytest.mark.parametrize("name", ["othello_6x6", "reversi_4x4"])
def test_material_is_the_discs_of_each_player(name: str) -> None:
    game = make_game(name)
    assert isinstance(game, CountsMaterial)
    playout = random_playout(game, num_games=2)
    material = jax.jit(jax.vmap(jax.vmap(game.material)))(playout.states)
    assert material.dtype == jnp.int32
    for g in range(2):
        board = plain_game(name)
        for ply in range(game.max_plies):
            np.testing.assert_array_equal(material[ply, g], [discs(board, 0), discs(board, 1)])
            if board.is_terminal():
                break
            board.step(int(playout.actions[ply, g]))


@pytest.mark.parametrize("name", ["connect_four_4x5", "gobang_5x5", TIC_TAC_TOE])
def test_line_games_count_nothing(name: str) -> None:
    if name == TIC_TAC_TOE:
        pytest.importorskip("pgx")
    assert not isinstance(make_game(name), CountsMaterial)


def test_greedy_players_are_as_many_as_asked_for() -> None:
    assert greedy_players(make_game(NAMES[0]), 3).size == 3
