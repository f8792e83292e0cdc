"""Round robins in parts: every game once, and the games that the whole would have played."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.matches import arena, round_robin
from jaxzero.matches.arena import Match
from jaxzero.players import Players, Searcher, random_players, search_players
from jaxzero.search import SearchOptions
from tests.matches.scripted import HIGHEST, LOWEST, MIDDLE, scripted_players
from tests.oracles.stub_network import jax_stub_evaluate
from tests.small import assert_equal

NAME = "connect_four_4x4"


@pytest.mark.parametrize("players", [2, 3, 5, 12])
@pytest.mark.parametrize("games", [1, 2, 7, 10])
@pytest.mark.parametrize(("wanted", "least"), [(1, 1), (24, 1), (24, 8), (1000, 1), (5, 1000)])
def test_every_game_is_in_one_part(players: int, games: int, wanted: int, least: int) -> None:
    parts = round_robin.cut(players, games, parts=wanted, least=least)
    found = []
    for first_round, first_game in parts.starts:
        pairs = round_robin.round_pairs(players, first_round, parts.rounds)
        assert len(pairs) == players * parts.rounds  # equal shapes: one program
        np.testing.assert_array_equal(pairs[:, 0], np.sort(pairs[:, 0]))
        np.testing.assert_array_equal(np.sort(pairs[:, 1]), pairs[:, 0])
        found += [
            (i, j, g)
            for i, j in pairs.tolist()
            for g in range(first_game, min(first_game + parts.games, games))
            if i != j
        ]
    everything = [(i, j, g) for i, j in arena.ordered_pairs(players).tolist() for g in range(games)]
    assert sorted(found) == sorted(everything)
    own = min((players - 1) * games, max(least, 1))
    assert 2 * parts.rounds * parts.games >= min(own, games)  # of each player at a time
    assert len(parts.starts) <= max(2 * wanted, players - 1, 2)


def test_traced_rounds_are_the_same_rounds() -> None:
    traced = jax.jit(lambda r: round_robin.round_pairs(5, r, 3))
    for first_round in (1, 2, 4):
        np.testing.assert_array_equal(
            traced(jnp.int32(first_round)), round_robin.round_pairs(5, first_round, 3)
        )


def play(kinds: Sequence[Players], name: str, games: int, wanted: int, **options: Any) -> Match:
    """A round robin in about so many parts."""
    count = sum(players.size for players in kinds)
    run = round_robin.compile_round_robin(
        make_game(name),
        kinds,
        games_per_direction=games,
        opening_plies=2,
        parts=round_robin.cut(count, games, parts=wanted, least=1),
    )
    return run([players.params for players in kinds], jax.random.key(7), **options)


def test_parts_play_the_games_of_the_whole() -> None:
    game = make_game(NAME)
    kinds = [scripted_players(NAME, (LOWEST, HIGHEST, MIDDLE)), random_players(game, 2)]
    whole = jax.jit(
        lambda key: arena.play_match(game, kinds, key, games_per_direction=3, opening_plies=2)
    )(jax.random.key(7))
    for wanted in (3, 100):
        assert_equal(play(kinds, NAME, 3, wanted), whole, f"{wanted} parts")
    assert whole.played.all()
    random = arena.ordered_pairs(5).min(-1) > 2
    after_openings = np.asarray(whole.actions)[2:4, random]
    assert (after_openings[0] != after_openings[1]).any()  # every ply draws its own move


def test_kept_trees_follow_their_games_through_the_parts() -> None:
    # In a round the opponents are no pairs: who plays whom as the first differs from who plays
    # whom as the second. Reversi lets games wait for a turn besides.
    name, count = "reversi_4x4", 3
    game = make_game(name)
    stub = jax_stub_evaluate(game.num_actions, 1)
    kinds = [
        search_players(
            game,
            lambda scale: lambda observation: tuple(x * scale for x in stub(observation)[:2]),
            Searcher(jnp.array([1.0, 0.5, -1.0]), jnp.array([9, 3, 6]), jnp.ones(count)),
            SearchOptions(capacity=64),
            keep_tree=True,
        )
    ]
    whole, parts = (play(kinds, name, 2, wanted) for wanted in (1, 100))
    np.testing.assert_array_equal(parts.actions, whole.actions)
    np.testing.assert_array_equal(parts.outcome, whole.outcome)
    assert parts.cost.useful_evaluations == whole.cost.useful_evaluations > 0


def test_the_forecast_is_of_the_longest_games() -> None:
    alternating, other = make_game(NAME), make_game("reversi_4x4")
    each = 2 * 3  # games of one player at a time
    for game, turns in ((alternating, alternating.max_plies), (other, 2 * other.max_plies)):
        found = round_robin.forecast(game, [0, 9, 4], 3)
        assert found.games == 3 * each
        assert found.evaluations == (0, turns * each * (9 + 1), turns * each * (4 + 1))


def test_a_bar_counts_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [scripted_players(NAME, (LOWEST, HIGHEST, MIDDLE))]
    play(kinds, NAME, 2, 4)
    assert not capsys.readouterr().err
    play(kinds, NAME, 2, 4, title="some tournament")
    shown = capsys.readouterr().err
    assert "some tournament" in shown
    assert "12/12" in shown


def test_a_match_may_leave_pairs_out() -> None:
    # The first three meet the last two only, who meet everyone: rows of unequal length.
    pairs = np.array([p for p in arena.ordered_pairs(5).tolist() if max(p) > 2], np.int32)
    game = make_game(NAME)
    kinds = [scripted_players(NAME, (LOWEST, HIGHEST, MIDDLE)), random_players(game, 2)]

    def match(key: jax.Array, pairs: Any, opponents: Any) -> Match:
        return arena.play_match(
            game,
            kinds,
            key,
            games_per_direction=3,
            pairs=pairs,
            opponents=opponents,
            opening_plies=1,
        )

    key = jax.random.key(2)
    some = jax.jit(lambda key: match(key, pairs, None))(key)
    everyone = jax.jit(lambda key: match(key, None, None))(key)
    everywhere = arena.ordered_pairs(5).tolist()
    where = np.array([everywhere.index(p) for p in pairs.tolist()])
    np.testing.assert_array_equal(some.actions, everyone.actions[:, where])
    np.testing.assert_array_equal(some.outcome, everyone.outcome[where])
    traced = jax.jit(lambda key, pairs: match(key, pairs, (2, 4)))
    assert_equal(traced(key, pairs), some)
    sitting_out = pairs.copy()
    sitting_out[sitting_out.min(1) > 2] = [[3, 3], [4, 4]]  # the last two, against each other
    fewer = traced(key, sitting_out)
    np.testing.assert_array_equal(fewer.played.all(-1), sitting_out[:, 0] != sitting_out[:, 1])
    kept = np.asarray(fewer.played)
    np.testing.assert_array_equal(fewer.outcome[kept], some.outcome[kept])
    assert not np.asarray(fewer.outcome)[~kept].any()
