"""Matches: who plays whom, from where, with which colour, and who gets the point.

Scripted players make every game predictable; the plain-Python rules play it again.
"""

import functools
import itertools

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero.games import make_game
from jaxzero.loops import DATA_AXIS
from jaxzero.matches import arena
from jaxzero.matches.arena import Match
from jaxzero.players import random_players
from jaxzero.runs import population
from jaxzero.runs.population import Layout
from tests.games.boards import plain_game
from tests.matches.scripted import (
    BROKEN,
    HIGHEST,
    LOWEST,
    MIDDLE,
    NAMES,
    match_of,
    moves,
    scripted_choice,
    scripted_players,
)
from tests.small import assert_equal


def test_ordered_pairs() -> None:
    expected = [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    np.testing.assert_array_equal(arena.ordered_pairs(3), expected)
    for count in (2, 3, 5):
        pairs = arena.ordered_pairs(count)
        assert len(pairs) == count * (count - 1)
        flip, back = arena._lay_out(pairs, 1).turns
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
                    assert action == scripted_choice(scripts[player], legal), (pair, g, ply)
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
            board.step(scripted_choice((first, second)[board.to_move()], legal))
        results.append({1.0: [3, 0, 0], 0.0: [0, 3, 0], -1.0: [0, 0, 3]}[board.outcome()[0]])
    np.testing.assert_array_equal(counts, results)
    assert len({tuple(row) for row in results}) > 1


def test_colour_swapped_pairs_share_their_openings() -> None:
    match = match_of(openings=2, games=8)
    pairs = arena.ordered_pairs(3).tolist()
    flip, _ = arena._lay_out(arena.ordered_pairs(3), 1).turns
    openings = match.actions[:2]
    np.testing.assert_array_equal(openings, openings[:, flip])
    # Games of a pair, and pairs, start differently.
    starts = {pair: {tuple(openings[:, m, g]) for g in range(8)} for m, pair in
              enumerate(map(tuple, pairs))}  # fmt: skip
    assert all(len(found) > 2 for found in starts.values())
    assert (openings[:, 0] != openings[:, 1]).any()
    assert (openings[0] != openings[1]).any()  # every ply is drawn anew


def test_a_player_whose_moves_are_none_ends_the_match() -> None:
    """In Othello it would pass for ever, and with it the other side."""
    game = make_game("othello_4x4")
    match = match_of("othello_4x4", (BROKEN, BROKEN))
    assert len(match.actions) == game.max_plies
    assert (match.actions == 0).all()
    assert (match.outcome == 0).all()


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
                    assert action == scripted_choice(script, legal)
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
