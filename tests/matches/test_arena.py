"""Matches: who plays whom, from where, with which colour, and who gets the point.

Scripted players make every game predictable; the plain-Python rules play it again.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero.games import make_game
from jaxzero.loops import DATA_AXIS
from jaxzero.matches import arena
from jaxzero.matches.arena import Match
from jaxzero.players import Players, Searcher, Turn, no_cost, random_players, search_players
from jaxzero.runs import population
from jaxzero.runs.population import Layout
from jaxzero.search import SearchOptions
from tests.games.boards import plain_game
from tests.oracles.mcts import Tree
from tests.oracles.mcts_games import JaxGame
from tests.oracles.stub_network import jax_stub_evaluate
from tests.small import assert_equal

LOWEST, HIGHEST, MIDDLE = range(3)
NAMES = ("connect_four_4x4", "othello_4x4", "reversi_4x4")


def scripted_choice(script: int, legal: Sequence[int], ply: int) -> int:
    """What a scripted player plays: its lowest, highest or middle legal action."""
    return legal[{LOWEST: 0, HIGHEST: len(legal) - 1, MIDDLE: len(legal) // 2}[script]]


def scripted_players(name: str, scripts: Sequence[int]) -> Players:
    """`scripted_choice`, compiled."""
    game = make_game(name)

    def choose_one(script: jax.Array, state: Any) -> jax.Array:
        legal = game.legal_actions(state)
        order = jnp.argsort(~legal)  # stable: the legal ones first, in order
        count = legal.sum()
        return order[jnp.stack([jnp.zeros_like(count), count - 1, count // 2])[script]]

    def choose(script: jax.Array, memory: Any, keys: Any, states: Any, live: Any) -> Turn:
        action = jax.vmap(choose_one, in_axes=(None, 0))(script, states)
        return Turn(action.astype(jnp.int32), memory, no_cost())

    return Players(params=jnp.asarray(scripts), choose=choose)


@functools.cache
def compiled(
    name: str, scripts: tuple[int, ...], games: int, openings: int, draw_for_asked: float
) -> Callable[..., Match]:
    """(key, played) -> match of scripted players."""
    return jax.jit(
        lambda key, played: arena.play_match(
            make_game(name),
            [scripted_players(name, scripts)],
            key,
            games_per_direction=games,
            played=played,
            opening_plies=openings,
            draw_for_asked=draw_for_asked,
        )
    )


def match_of(
    name: str = NAMES[0],
    scripts: tuple[int, ...] = (LOWEST, HIGHEST, MIDDLE),
    *,
    games: int = 3,
    openings: int = 0,
    played: int | None = None,
    draw_for_asked: float = 0.0,
    seed: int = 0,
) -> Match:
    """A match of scripted players, as NumPy."""
    run = compiled(name, scripts, games, openings, draw_for_asked)
    return jax.device_get(run(jax.random.key(seed), games if played is None else played))


def moves(match: Match, pair: int, game: int) -> list[int]:
    """The actions of one game."""
    actions = match.actions[:, pair, game]
    return actions[actions >= 0].tolist()


def test_ordered_pairs() -> None:
    expected = [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    np.testing.assert_array_equal(arena.ordered_pairs(3), expected)
    for count in (2, 3, 5):
        pairs = arena.ordered_pairs(count)
        assert len(pairs) == count * (count - 1)
        flip, back = arena._by_second(pairs)
        np.testing.assert_array_equal(pairs[flip], pairs[:, ::-1])
        np.testing.assert_array_equal(flip, back)


@pytest.mark.parametrize("openings", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_game_is_the_one_that_its_players_play(name: str, openings: int) -> None:
    scripts = (LOWEST, HIGHEST, MIDDLE)
    match = match_of(name, scripts, openings=openings)
    assert match.played.all()
    twice = 0
    for m, pair in enumerate(arena.ordered_pairs(3).tolist()):
        for g in range(3):
            board = plain_game(name)
            played = moves(match, m, g)
            movers = []
            for ply, action in enumerate(played):
                legal = np.flatnonzero(board.legal_actions()).tolist()
                movers.append(board.to_move())
                if ply >= openings:
                    player = pair[board.to_move()]
                    assert action == scripted_choice(scripts[player], legal, ply), (pair, g, ply)
                assert action in legal
                board.step(action)
            assert board.is_terminal()
            assert (match.actions[len(played) :, m, g] == -1).all()
            np.testing.assert_array_equal(match.outcome[m, g], board.outcome())
            twice += sum(a == b for a, b in itertools.pairwise(movers))
    assert (twice > 0) == (name == "reversi_4x4")


def test_results_are_attributed_to_the_right_player() -> None:
    name = "othello_4x4"
    match = match_of(name)
    counts = np.asarray(arena.count_results(match))
    assert counts.shape == (6, 3)
    np.testing.assert_array_equal(counts.sum(-1), 3)
    results = []
    for first, second in arena.ordered_pairs(3).tolist():
        board = plain_game(name)
        while not board.is_terminal():
            legal = np.flatnonzero(board.legal_actions()).tolist()
            board.step(scripted_choice((first, second)[board.to_move()], legal, 0))
        results.append({1.0: [3, 0, 0], 0.0: [0, 3, 0], -1.0: [0, 0, 3]}[board.outcome()[0]])
    np.testing.assert_array_equal(counts, results)
    assert len({tuple(row) for row in results}) > 1


def test_colour_swapped_pairs_share_their_openings() -> None:
    match = match_of(openings=2, games=8)
    pairs = arena.ordered_pairs(3).tolist()
    flip, _ = arena._by_second(arena.ordered_pairs(3))
    openings = match.actions[:2]
    np.testing.assert_array_equal(openings, openings[:, flip])
    # Games of a pair, and pairs, start differently.
    starts = {pair: {tuple(openings[:, m, g]) for g in range(8)} for m, pair in
              enumerate(map(tuple, pairs))}  # fmt: skip
    assert all(len(found) > 2 for found in starts.values())
    assert (openings[:, 0] != openings[:, 1]).any()


def test_an_opening_ends_no_game() -> None:
    # Three plies in a row of four can be the end on a narrow board.
    game = make_game("connect_four_1x4_line2")
    opening = jax.jit(jax.vmap(lambda key: arena.random_opening(game, key, game.max_plies)))
    states, actions = opening(jax.random.split(jax.random.key(0), 64))
    assert not jax.vmap(game.is_terminal)(states).any()
    lengths = np.asarray((actions >= 0).sum(-1))
    assert len(set(lengths.tolist())) > 1
    assert ((actions >= 0) == (np.arange(4)[None] < lengths[:, None])).all()


def test_arena_random_openings() -> None:
    without = match_of(scripts=(LOWEST, HIGHEST), games=8)
    assert arena.distinct_games(without) == 2  # one for each colour
    with_openings = match_of(scripts=(LOWEST, HIGHEST), games=8, openings=2)
    assert arena.distinct_games(with_openings) > 4


def test_fewer_games_may_be_played() -> None:
    everything, some = match_of(openings=2), match_of(openings=2, played=1)
    np.testing.assert_array_equal(some.played, [[True, False, False]] * 6)
    np.testing.assert_array_equal(some.actions[..., 0], everything.actions[..., 0])
    np.testing.assert_array_equal(some.outcome[:, 0], everything.outcome[:, 0])
    np.testing.assert_array_equal(np.asarray(arena.count_results(some)).sum(-1), 1)
    assert arena.distinct_games(some) <= 6
    nothing = match_of(openings=2, played=0)
    assert not np.asarray(arena.count_results(nothing)).any()


def test_a_player_against_its_double_wins_with_one_colour() -> None:
    match = match_of(scripts=(LOWEST, LOWEST))
    assert arena.distinct_games(match) == 1
    counts = np.asarray(arena.count_results(match))
    np.testing.assert_array_equal(counts[0], counts[1])


def test_othello_tie_is_loss_of_asked_in_the_arena() -> None:
    # The arena asks for player 0: a tie is a win for whoever moved second.
    true, published = (
        match_of("othello_4x4", games=24, openings=4, draw_for_asked=d) for d in (0.0, -1.0)
    )
    np.testing.assert_array_equal(true.actions, published.actions)
    tied = true.outcome[..., 0] == 0
    assert tied.any()
    np.testing.assert_array_equal(published.outcome[tied], [[-1, 1]] * tied.sum())
    np.testing.assert_array_equal(published.outcome[~tied], true.outcome[~tied])
    assert not np.asarray(arena.count_results(published))[:, 1].any()


def test_small_draw_value_stays_a_draw_in_the_arena() -> None:
    true, published = (match_of(games=24, openings=6, draw_for_asked=d) for d in (0.0, 1e-4))
    assert np.asarray(arena.count_results(true))[:, 1].any()
    assert_equal(published, true)


@pytest.mark.parametrize(
    ("wins", "losses", "threshold", "accepted"),
    [
        (6, 4, 0.6, True),  # at least u, not more than u
        (59, 41, 0.6, False),
        (24, 16, 0.6, True),
        (23, 17, 0.6, False),
        (3, 0, 0.6, True),  # of the decisive games: 37 draws do not count
        (0, 3, 0.6, False),
        (1, 1, 0.5, True),
        (0, 5, 0.0, True),
        (70_001, 29_999, 0.7, True),
        (110_000, 90_000, 0.55, True),
        (109_999, 90_001, 0.55, False),
    ],
)
def test_the_gate(wins: int, losses: int, threshold: float, accepted: bool) -> None:
    for accept_all_drawn in (True, False):
        found = arena.is_accepted(
            jnp.int32(wins),
            jnp.int32(losses),
            jnp.float32(threshold),
            accept_all_drawn=accept_all_drawn,
        )
        assert found == accepted


@pytest.mark.parametrize("published", [True, False])
def test_accept_all_drawn(published: bool) -> None:
    nothing = jnp.int32(0)
    found = arena.is_accepted(nothing, nothing, jnp.float32(0.6), accept_all_drawn=published)
    assert found == published


def test_players_of_several_kinds_are_numbered_in_order() -> None:
    name = NAMES[0]
    game = make_game(name)
    kinds = [
        scripted_players(name, (LOWEST,)),
        random_players(game),
        scripted_players(name, (HIGHEST, MIDDLE)),
    ]
    match = jax.jit(
        lambda key: arena.play_match(game, kinds, key, games_per_direction=2, opening_plies=1)
    )(jax.random.key(0))
    scripts = (LOWEST, None, HIGHEST, MIDDLE)
    match = jax.device_get(match)
    for m, pair in enumerate(arena.ordered_pairs(4).tolist()):
        for g in range(2):
            board = plain_game(name)
            for ply, action in enumerate(moves(match, m, g)):
                script = scripts[pair[board.to_move()]]
                legal = np.flatnonzero(board.legal_actions()).tolist()
                assert action in legal
                if ply >= 1 and script is not None:
                    assert action == scripted_choice(script, legal, ply)
                board.step(action)
            assert board.is_terminal()
    assert match.cost.evaluations == 0


def test_devices_share_the_games_of_a_match() -> None:
    def play(key: jax.Array, devices: int) -> Match:
        name = NAMES[0]
        return arena.play_match(
            make_game(name),
            [scripted_players(name, (LOWEST, HIGHEST)), random_players(make_game(name))],
            key,
            games_per_direction=4,
            opening_plies=2,
            data_devices=devices,
        )

    key = jax.random.key(3)
    alone = jax.jit(functools.partial(play, devices=1))(key)
    specs = Match(
        outcome=P(None, DATA_AXIS), played=P(None, DATA_AXIS), actions=P(None, None, DATA_AXIS),
        cost=P(),
    )  # fmt: skip
    shared = jax.shard_map(
        functools.partial(play, devices=2),
        mesh=population.make_mesh(Layout(1, 2)),
        in_specs=P(),
        out_specs=specs,
        check_vma=False,
    )
    assert_equal(jax.jit(shared)(key), alone)


SIMULATIONS = 5
REVERSI = "reversi_4x4"


@functools.cache
def searched_match(keep_tree: bool, root_expansion_counts: bool) -> Match:
    """Two searching players of unlike strength, opposite tastes, in Reversi."""
    game = make_game(REVERSI)
    stub = jax_stub_evaluate(game.num_actions, 3)

    def evaluate_with(sign: jax.Array) -> Callable[[jax.Array], tuple]:
        def evaluate(observation: jax.Array) -> tuple:
            logits, value, _ = stub(observation)
            return logits * sign, value * sign

        return evaluate

    searchers = Searcher(jnp.array([1.0, -1.0]), jnp.array([SIMULATIONS, 3]), jnp.array([1.0, 0.5]))
    players = search_players(
        game,
        evaluate_with,
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
