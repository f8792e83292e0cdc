"""The reference search chooses as its formulas say: by hand, and recounted from its paths."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tests.oracles.mcts import Tree, search
from tests.oracles.mcts_games import JaxGame, OracleGame
from tests.oracles.perfect_play import best_actions, solve
from tests.oracles.stub_network import jax_stub_evaluate
from tests.oracles.toy_games import STUB, AgainNim, Bandit, JaxTicTacToe, TicTacToe


def recount(game: OracleGame, tree: Tree, c: float, **options: Any) -> None:
    """Checks every choice in `tree.paths` against sums over all earlier simulations.

    No tree is built: a simulation is a path of actions and what its end was worth to player 0.
    """
    scale = (lambda q: (q + 1) / 2) if options.get("q_scale") == "unit" else (lambda q: q)
    draw_value = options.get("draw_value", 0.0)
    history: list[tuple[tuple[int, ...], float, float]] = []
    for number, path in enumerate(tree.paths):
        state = tree.root.state
        for depth, action in enumerate(path):
            passed = [h for h in history if h[0][:depth] == path[:depth] and len(h[0]) > depth]
            sign = 1 if game.to_move(state) == 0 else -1
            logits = np.asarray(game.evaluate(state)[0], float)
            legal = np.array(game.legal(state))
            kept = legal if options.get("renormalise", True) else np.ones_like(legal)
            prior = np.exp(logits) / np.exp(logits[kept]).sum()
            scores = {}
            for a in np.flatnonzero(legal):
                mine = [h for h in passed if h[0][depth] == a]
                q = options.get("unvisited_q") or 0.0
                if mine:
                    z = sign * sum(h[1] for h in mine) / len(mine)
                    q = scale(z + draw_value * sum(h[2] for h in mine) / len(mine))
                if options.get("sqrt_form") == "plus":
                    root = math.sqrt(len(passed)) + 1e-5
                else:
                    root = math.sqrt(len(passed) + 1e-8)
                scores[int(a)] = q + c * prior[a] * root / (1 + len(mine))
            best = max(scores.values())
            assert scores[action] >= best - 1e-9, f"simulation {number}, depth {depth}"
            state = game.step(state, action)
        sign = 1 if game.to_move(state) == 0 else -1
        if game.terminal(state):
            first, second = game.outcome(state)
            history.append((path, first, float(first == second)))
        else:
            seen_before = any(h[0] == path for h in history)
            assert "capacity" in options or not seen_before, "a leaf was reached twice"
            _, value, draw = game.evaluate(state)
            history.append((path, sign * float(value), float(draw)))
    counts = np.bincount([h[0][0] for h in history], minlength=tree.visits().size)
    np.testing.assert_array_equal(tree.visits(), counts)
    sign = 1 if game.to_move(tree.root.state) == 0 else -1
    total = sign * sum(h[1] for h in history) + draw_value * sum(h[2] for h in history)
    assert tree.value(include_root=False) == pytest.approx(total / len(history))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"renormalise": False, "q_scale": "unit", "unvisited_q": 0.85, "sqrt_form": "plus"},
    {"draw_value": -0.5, "unvisited_q": None},
    {"draw_value": 0.4, "q_scale": "unit", "unvisited_q": 0.5},
    {"draw_value": 0.4, "capacity": 20},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("game", [STUB, AgainNim(9)], ids=["tic-tac-toe", "moves again"])
def test_every_choice_follows_from_the_history(game: Any, options: dict[str, Any]) -> None:
    tree = search(game, game.init(), num_simulations=120, c_puct=1.5, **options)
    assert tree.visits().sum() == 120
    assert max(map(len, tree.paths)) >= 3
    recount(game, tree, 1.5, **options)


def test_bandit_by_hand() -> None:
    # Prior 1/2, 1/4, 1/4 of which the last is illegal: 2/3 and 1/3. The first simulation sees
    # N = 0 and takes the larger prior (-1). Then action 1 scores sqrt(1)/3 > -1 + 1/3, pays 0,
    # and keeps ahead: sqrt(N)/3/(1+n) > 0 > -1 + sqrt(N)/3 for N < 9.
    game = Bandit([-1.0, 0.0, 1.0], [math.log(2), 0.0, 0.0], [True, True, False])
    tree = search(game, None, num_simulations=8)
    assert tree.paths == [(0,)] + [(1,)] * 7
    np.testing.assert_allclose(tree.prior(), [2 / 3, 1 / 3, 0])
    np.testing.assert_array_equal(tree.q(), [-1, 0, 0])
    assert tree.value(include_root=False) == pytest.approx(-1 / 8)
    assert tree.value() == pytest.approx((0.25 - 1) / 9)
    raw = Tree(game, None, renormalise=False)
    np.testing.assert_allclose(raw.prior(), [1 / 2, 1 / 4, 0])
    unit = search(game, None, num_simulations=2, q_scale="unit", unvisited_q=0.8)
    np.testing.assert_allclose(unit.q(), [0, 0.5, 0.8])


def test_ties_go_to_the_lowest_index() -> None:
    game = Bandit([0.0] * 4, [0.0] * 4, [False, True, True, True])
    assert search(game, None, num_simulations=6).paths == [(1,), (2,), (3,)] * 2


def test_root_noise_mixes_and_stays_at_the_root() -> None:
    game = Bandit([0.0] * 3, [0.0] * 3, [True, True, False])
    tree = Tree(game, None, noise=[0.0, 1.0, 0.0], noise_fraction=0.25)
    np.testing.assert_allclose(tree.prior(), [0.375, 0.625, 0])
    assert tree.run(1).paths == [(1,)]
    tree = search(STUB, STUB.init(), num_simulations=50, noise=np.eye(9)[8], noise_fraction=0.5)
    assert tree.prior()[8] > 0.5
    plain = Tree(STUB, STUB.step(STUB.init(), 8))
    np.testing.assert_array_equal(tree.advance(8).prior(), plain.prior())


def test_a_draw_costs_both_sides() -> None:
    # The last free cell draws; it is O's turn one ply before, X's at the end of it.
    game = TicTacToe()
    last = game.position("XOX XOO OX.")  # X completes the board
    before = game.position("XOX XO. OX.")  # O has two moves
    for state in (last, before):
        for draw_value in (-0.5, 0.0, 0.5):
            tree = search(game, state, num_simulations=60, draw_value=draw_value)
            favourite = int(np.argmax(tree.visits()))
            if game.to_move(state) == 0:
                assert tree.q()[favourite] == draw_value
            assert tree.draw()[favourite] == pytest.approx(1, abs=0.1)
            assert tree.zero_sum()[favourite] == pytest.approx(0, abs=0.1)
            assert tree.value() == pytest.approx(draw_value, abs=0.1)


def test_draw_value_changes_the_choice_of_either_player() -> None:
    # Action 0 draws, action 1 has two outcomes of mean 0 behind it that are never drawn.
    class Choice(Bandit):
        def __init__(self, player: int) -> None:
            super().__init__([0.0, 0.1, -0.1], [0.0] * 3, [True, True, False])
            self.player = player

        def to_move(self, state: Any) -> int:
            return self.player if state is None else 1 - self.player

    for player in (0, 1):
        small = 0.1 if player == 0 else -0.1  # what action 1 pays to the mover
        for draw_value, favourite in ((-0.5, 1), (0.5, 0), (0.0, 1 if small > 0 else 0)):
            tree = search(Choice(player), None, num_simulations=200, draw_value=draw_value)
            assert np.argmax(tree.visits()) == favourite
            np.testing.assert_allclose(tree.q()[:2], [draw_value, small])


def test_terminal_scoring_hook() -> None:
    def tie_loses(outcome: tuple[float, float], to_move: int) -> float:
        return outcome[to_move] or -1.0

    game = TicTacToe()
    tree = search(game, game.position("XOX XOO OX."), num_simulations=3, terminal_value=tie_loses)
    assert tree.q()[8] == 1  # -1 to the side to move after the last stone
    assert tree.visits()[8] == 3


def test_finished_root() -> None:
    game = TicTacToe()
    tree = Tree(game, game.position("XXX OO. ..."))
    assert tree.value() == -1
    with pytest.raises(ValueError, match="finished"):
        tree.run(1)


def test_jax_game_searches_like_the_plain_one() -> None:
    game = JaxGame(JaxTicTacToe(), jax_stub_evaluate(9, seed=1))
    options: dict[str, Any] = {"draw_value": -0.3, "dtype": np.float32, "num_simulations": 200}
    compiled = search(game, JaxTicTacToe().init(), **options)
    plain = search(STUB, STUB.init(), **options)
    assert compiled.paths == plain.paths
    np.testing.assert_array_equal(compiled.q(), plain.q())
    assert compiled.q().dtype == np.float32
    state = game.init()
    for action in (0, 4, 1, 8):
        state = game.step(state, action)
    assert solve(game, state) == 1
    assert best_actions(game, state) == [2, 3, 6]


def test_all_arithmetic_is_in_the_chosen_type() -> None:
    for dtype, form in itertools.product((np.float32, np.float64), ("inside", "plus")):
        tree = search(
            STUB,
            STUB.init(),
            num_simulations=30,
            dtype=dtype,
            sqrt_form=form,
            q_scale="unit",
            noise=np.full(9, 1 / 9),
            noise_fraction=0.25,
        )
        for array in (tree.q(), tree.prior(), tree.zero_sum(), tree.draw()):
            assert array.dtype == dtype
