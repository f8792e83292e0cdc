"""The ladder's matches: which games of a round robin they are, and what they count."""

import jax
import numpy as np
import pytest
from tqdm import tqdm

from jaxzero.games import make_game
from jaxzero.matches import arena
from jaxzero.matches.ladder import Ladder, above, ladder_pairs
from jaxzero.players import random_players
from jaxzero.ratings import bayes_elo
from tests.matches.scripted import HIGHEST, LOWEST, MIDDLE, scripted_players

NAME = "connect_four_4x4"


def test_a_ladder_leaves_out_games_of_newcomers_only() -> None:
    pairs = ladder_pairs(3, 2).tolist()
    everyone = arena.ordered_pairs(5).tolist()
    assert pairs == [pair for pair in everyone if max(pair) >= 3]
    assert len(pairs) == 2 * 3 * 2 + 2


@pytest.mark.parametrize("at_once", [2, 3])
def test_a_climb_is_part_of_the_round_robin(at_once: int) -> None:
    game = make_game(NAME)
    candidates, references = scripted_players(NAME, (LOWEST, HIGHEST)), random_players(game, 2)
    matches = Ladder(
        game, candidates, [references], games_per_direction=3, opening_plies=1, at_once=at_once
    )
    with tqdm(disable=True) as bar:
        rows = matches.play(candidates.params, jax.random.key(1), bar)
    whole = jax.jit(
        lambda key: arena.play_match(
            game, [candidates, references], key, games_per_direction=3, opening_plies=1
        )
    )(jax.random.key(1))
    counts = np.asarray(arena.count_results(whole))
    expected = [
        [*pair, *counts[m].tolist()]
        for m, pair in enumerate(arena.ordered_pairs(4).tolist())
        if max(pair) >= 2
    ]
    assert rows.tolist() == expected
    assert matches.games == 3 * len(expected)


def test_a_game_of_an_earlier_match_is_not_counted_again() -> None:
    candidates = scripted_players(NAME, (LOWEST,))  # after one of four random moves they repeat
    matches = Ladder(
        make_game(NAME), candidates, [scripted_players(NAME, (HIGHEST, MIDDLE))],
        games_per_direction=10, opening_plies=1, at_once=10,
    )  # fmt: skip
    earlier: list[set[bytes]] = [set() for _ in matches.pairs]
    with tqdm(disable=True) as bar:
        rows = [matches.play(candidates.params, jax.random.key(k), bar, earlier) for k in range(3)]
    assert rows[0][:, 2:].sum() > 0
    assert (sum(part[:, 2:].sum(axis=1) for part in rows) <= 4).all()


def test_other_newcomers_need_no_other_program() -> None:
    name = "othello_4x4"
    candidates = scripted_players(name, (LOWEST, HIGHEST))
    matches = Ladder(
        make_game(name),
        candidates,
        [scripted_players(name, (MIDDLE,))],
        games_per_direction=1,
        opening_plies=0,
        at_once=1,
    )
    with tqdm(disable=True) as bar:
        rows = matches.play(candidates.params, jax.random.key(1), bar)
        swapped = matches.play(candidates.params[::-1], jax.random.key(1), bar)
    exchanged = [[{0: 1, 1: 0}.get(i, i) for i in row[:2]] + row[2:] for row in swapped.tolist()]
    assert sorted(exchanged) == sorted(rows.tolist())
    assert rows.tolist() != swapped.tolist()


def test_elo_above_a_player() -> None:
    rows = [[0, 1, 7, 1, 2], [1, 2, 6, 0, 4], [2, 0, 3, 3, 4]]
    ratings = bayes_elo(rows)
    elo, stderr = above(ratings, 1)
    for i in range(3):
        np.testing.assert_allclose((elo[i], stderr[i]), ratings.difference(i, 1), atol=1e-9)
    assert elo[1] == stderr[1] == 0
