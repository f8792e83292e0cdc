"""Perfect play of small games, and that the reference search finds it."""

import numpy as np
import pytest

from tests.oracles.mcts import search
from tests.oracles.perfect_play import best_actions, solve
from tests.oracles.toy_games import STUB, AgainNim, TicTacToe


@pytest.mark.parametrize("stub", [TicTacToe(), STUB], ids=["uniform", "stub"])
def test_forced_win_is_found(stub: TicTacToe) -> None:
    state = stub.position("XX. OO. ...")
    tree = search(stub, state, num_simulations=200)
    assert np.argmax(tree.visits()) == 2
    assert tree.q()[2] == 1
    assert tree.value() > 0.8
    assert best_actions(stub, state) == [2]


@pytest.mark.parametrize("stub", [TicTacToe(), STUB], ids=["uniform", "stub"])
def test_forced_block_is_found(stub: TicTacToe) -> None:
    state = stub.position("XX. .O. ...")
    tree = search(stub, state, num_simulations=400)
    assert best_actions(stub, state) == [2]
    assert np.argmax(tree.visits()) == 2


@pytest.mark.parametrize("stones", range(4, 12))
def test_search_agrees_with_solver_where_a_player_moves_again(stones: int) -> None:
    game = AgainNim(stones)
    won = solve(game, game.init())
    tree = search(game, game.init(), num_simulations=1500)
    assert int(np.argmax(tree.visits())) in best_actions(game, game.init())
    assert tree.value() * won > 0.5


def test_solver_knows_tic_tac_toe() -> None:
    game = TicTacToe()
    assert solve(game, game.init()) == 0
    assert best_actions(game, game.init()) == list(range(9))
    assert solve(game, game.position("X.. ... ..O")) == 1
    assert best_actions(game, game.position("X.. ... ...")) == [4]
