"""Players who search, in a match: every move is that of a plain-Python search."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.matches import arena
from jaxzero.matches.arena import Match
from jaxzero.players import Searcher, search_players
from jaxzero.search import SearchOptions
from tests.matches.scripted import moves
from tests.matches.test_one_by_one import signed
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import JaxGame
from tests.oracles.stub_network import jax_stub_evaluate

SIMULATIONS = 5


REVERSI = "reversi_4x4"


@functools.cache
def searched_match(keep_tree: bool, root_expansion_counts: bool) -> Match:
    """Two searching players of unlike strength, opposite tastes, in Reversi."""
    game = make_game(REVERSI)
    searchers = Searcher(jnp.array([1.0, -1.0]), jnp.array([SIMULATIONS, 3]), jnp.array([1.0, 0.5]))
    players = search_players(
        game,
        functools.partial(signed, REVERSI),
        searchers,
        SearchOptions(capacity=8 * SIMULATIONS, root_expansion_counts=root_expansion_counts),
        keep_tree=keep_tree,
    )
    return jax.device_get(
        jax.jit(
            lambda key: arena.play_match(
                game, [players], key, games_per_direction=2, opening_plies=2
            )
        )(jax.random.key(0))
    )


@pytest.mark.parametrize("keep_tree", [False, True])
def test_searching_players_equal_the_plain_python_search(keep_tree: bool) -> None:
    match = searched_match(keep_tree, keep_tree)
    game = make_game(REVERSI)
    stub = jax_stub_evaluate(game.num_actions, 3)
    signs, budgets, cs = (1.0, -1.0), (SIMULATIONS, 3), (1.0, 0.5)
    kept_visits = 0

    def signed(sign: float) -> Callable[[jax.Array], tuple]:
        return lambda observation: tuple(
            x * s for x, s in zip(stub(observation), (sign, sign, 0), strict=True)
        )

    oracles = [JaxGame(game, signed(sign)) for sign in signs]
    for m, pair in enumerate(arena.ordered_pairs(2).tolist()):
        for g in range(2):
            positions = [oracle.init() for oracle in oracles]
            trees: list[Tree | None] = [None, None]
            for ply, action in enumerate(moves(match, m, g)):
                player = pair[positions[0].to_move]
                if ply >= 2:
                    tree = trees[player] if keep_tree else None
                    fresh = tree is None
                    if tree is None:
                        tree = Tree(
                            oracles[player], positions[player], c_puct=cs[player], dtype=np.float32
                        )
                    kept_visits += tree.visits().sum()
                    tree.run(budgets[player] - (fresh and keep_tree))
                    assert action == int(np.argmax(tree.visits())), (pair, g, ply)
                    trees[player] = tree
                for i in range(2):  # both players' trees follow every move
                    positions[i] = oracles[i].step(positions[i], action)
                    tree = trees[i]
                    child = tree.root.children.get(action) if tree else None
                    trees[i] = (
                        tree.advance(action) if tree and child and not child.finished else None
                    )
            assert positions[0].terminal
    assert (kept_visits > 0) == keep_tree


def test_evaluations_are_counted() -> None:
    match = searched_match(False, False)
    assert 0 < match.cost.useful_evaluations <= match.cost.evaluations
    # A ply of an opening costs nothing; any other costs at most its player's m and the root.
    plies = sum(len(moves(match, m, g)) - 2 for m in range(2) for g in range(2))
    assert match.cost.useful_evaluations <= plies * (SIMULATIONS + 1)
