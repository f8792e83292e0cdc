"""Trees that grow over all games of a match: each move is that of plain-Python trees kept whole."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.loops import MEMBER_AXIS
from jaxzero.matches import arena, one_by_one
from jaxzero.matches.arena import Match
from jaxzero.players import Searcher
from jaxzero.search import SearchOptions
from tests.matches.scripted import moves
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import JaxGame
from tests.oracles.stub_network import jax_stub_evaluate

NAMES = ("connect_four_4x4", "reversi_4x4")  # in Reversi the same player may move twice
BUDGETS, CS, SIGNS = (9, 6), (1.0, 0.5), (1.0, -1.0)  # players of unlike strength and taste
GAMES = 3  # in each direction


def signed(name: str, sign: jax.Array | float) -> Callable[[jax.Array], tuple]:
    stub = jax_stub_evaluate(make_game(name).num_actions, 3)

    def evaluate(observation: jax.Array) -> tuple:
        logits, value, _ = stub(observation)
        return logits * sign, value * sign

    return evaluate


def match_of(
    name: str, games: int = GAMES, signs: Any = SIGNS, **options: Any
) -> Callable[..., Match]:
    """(played) -> match."""
    game = make_game(name)
    nodes = one_by_one.nodes(game, max(BUDGETS), 2 * GAMES)
    searchers = Searcher(jnp.asarray(signs), jnp.array(BUDGETS), jnp.array(CS))
    return functools.partial(
        one_by_one.play_match,
        game,
        functools.partial(signed, name),
        searchers,
        jax.random.key(0),
        options=SearchOptions(capacity=nodes, root_expansion_counts=True, **options),
        games_per_direction=games,
    )


@functools.cache
def compiled(name: str) -> Callable[..., Match]:
    return jax.jit(
        lambda played, signs=SIGNS: match_of(name, signs=jnp.asarray(signs))(played=played)
    )


@pytest.mark.parametrize("name", NAMES)
def test_games_equal_those_of_plain_python_trees(name: str) -> None:
    match = jax.device_get(compiled(name)(GAMES))
    oracles = [JaxGame(make_game(name), signed(name, sign)) for sign in SIGNS]
    trees = [
        Tree(oracle, oracle.init(), c_puct=c, dtype=np.float32)
        for oracle, c in zip(oracles, CS, strict=True)
    ]
    starts, old = [tree.root for tree in trees], 0
    for first in (1, 0):  # the second player moves first in the games of the first half
        for g in range(GAMES):
            for tree, start in zip(trees, starts, strict=True):
                tree.root = start
            is_new = [not start.n.any() for start in starts]
            for action in moves(match, first, g):
                player = first ^ trees[0].root.to_move
                tree = trees[player]
                tree._set_noise(None)
                old += int(tree.visits().sum())
                tree.run(BUDGETS[player] - is_new[player])
                assert action == int(np.argmax(tree.visits())), (first, g)
                for i, each in enumerate(trees):  # both players' trees follow every move
                    child = each.root.children.get(action)
                    is_new[i] = child is None
                    if child is None:
                        child = each._new_node(oracles[i].step(each.root.state, action))
                        each.root.children[action] = child
                    each.root = child
            assert trees[0].root.finished
            outcome = trees[0].root.state.outcome
            np.testing.assert_array_equal(match.outcome[first, g], outcome)
    assert old > sum(BUDGETS)  # trees were found again


@pytest.mark.parametrize("name", NAMES)
def test_games_differ_though_all_begin_alike(name: str) -> None:
    match = compiled(name)(GAMES)
    assert arena.distinct_games(match) > 2
    assert 0 < match.cost.useful_evaluations <= match.cost.evaluations


def test_a_player_that_diverged_ends_its_games() -> None:
    name = "reversi_4x4"
    match = compiled(name)(GAMES, (1.0, float("nan")))
    assert match.played.all()
    assert len(match.actions) == make_game(name).max_plies


def test_fewer_games_are_the_first_of_each_half() -> None:
    """Those of the second half meet smaller trees."""
    some, every = (jax.device_get(compiled(NAMES[0])(n)) for n in (1, GAMES))
    assert some.played.tolist() == [[True, False, False]] * 2
    np.testing.assert_array_equal(some.actions[:, 1, 0], every.actions[:, 1, 0])
    assert (some.actions[:, :, 1:] == -1).all()
    assert arena.count_results(some).sum() == 2


def test_random_ties_do_not_depend_on_games_that_are_not_played() -> None:
    one, some = (
        jax.jit(match_of(NAMES[0], games, ties="random"))(played=1) for games in (1, GAMES)
    )
    np.testing.assert_array_equal(one.actions[:, :, 0], some.actions[:, :, 0])


def test_members_of_a_population_play_as_alone() -> None:
    """One has ended its games long before the other."""
    play = match_of(NAMES[0])
    together = jax.jit(jax.vmap(lambda n: play(played=n), axis_name=MEMBER_AXIS))
    for member, played in enumerate((0, 2)):
        alone, both = compiled(NAMES[0])(played), together(jnp.array([0, 2]))
        for name in ("outcome", "played", "actions"):
            np.testing.assert_array_equal(getattr(both, name)[member], getattr(alone, name))
