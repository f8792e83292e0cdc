"""Round robins: repeated games say nothing new, and every row belongs to the right players."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.matches import arena, round_robin, tournament
from jaxzero.matches.arena import Match
from jaxzero.players import no_cost, random_players
from jaxzero.ratings import DEFAULT_DRAW_ELO, bayes_elo
from tests.matches.scripted import HIGHEST, LOWEST, MIDDLE, match_of, scripted_players

NAME = "connect_four_4x4"


def made_up_match(outcomes: np.ndarray) -> Match:
    """A match with these results of the first mover, [M, k]; its games differ."""
    pairs, games = outcomes.shape
    return Match(
        outcome=np.stack([outcomes, -outcomes], -1).astype(np.float32),
        played=np.ones(outcomes.shape, bool),
        actions=np.arange(pairs * games, dtype=np.int16).reshape(1, pairs, games),
        cost=no_cost(),
    )


def test_repeated_games_of_an_ordered_pair_are_left_out() -> None:
    actions = np.zeros((3, 2, 4), np.int16)
    actions[:, 0] = np.array([[1, 1, 2, 1], [0, 0, 0, 0], [-1, -1, -1, 3]])
    actions[:, 1] = actions[:, 0, :1]  # the other pair repeats itself only
    played = np.ones((2, 4), bool)
    played[0, 2] = False
    new = tournament.is_first_of_its_kind(actions, played)
    np.testing.assert_array_equal(new, [[1, 0, 0, 1], [1, 0, 0, 0]])


def test_rows_count_wins_draws_and_losses_of_the_first() -> None:
    outcomes = np.array([[1, 1, 0, -1], [-1, -1, -1, 0]])
    match = made_up_match(outcomes)
    counted = np.array([[1, 1, 1, 1], [1, 1, 0, 1]], bool)
    rows = tournament.result_rows(match.outcome, counted, arena.ordered_pairs(2))
    np.testing.assert_array_equal(rows, [[0, 1, 2, 1, 1], [1, 0, 0, 1, 2]])


def test_merged_colours() -> None:
    rows = np.array(
        [[0, 1, 5, 1, 0], [0, 2, 1, 2, 3], [1, 0, 2, 0, 4], [1, 2, 0, 0, 6], [2, 0, 1, 1, 1],
         [2, 1, 6, 0, 0]]
    )  # fmt: skip
    merged = tournament.merge_colours(rows, [0, 1, 2])
    np.testing.assert_array_equal(merged, [[0, 1, 9, 1, 2], [0, 2, 2, 3, 4], [1, 2, 0, 0, 12]])
    other = tournament.merge_colours(rows, [2, 0, 1])
    np.testing.assert_array_equal(other, [[0, 1, 9, 1, 2], [2, 0, 4, 3, 2], [2, 1, 12, 0, 0]])
    assert merged[:, 2:].sum() == rows[:, 2:].sum()


def test_ratings_belong_to_the_players() -> None:
    # Player 2 beats everyone with both colours, player 0 loses to everyone.
    strength = np.array([0, 1, 2])
    pairs = arena.ordered_pairs(3)
    outcomes = np.repeat(np.sign(strength[pairs[:, :1]] - strength[pairs[:, 1:]]), 6, axis=1)
    rated = tournament.rate(made_up_match(outcomes), 3)
    assert rated.games == rated.distinct == 36
    assert list(np.argsort(rated.ratings.elo)) == [0, 1, 2]
    np.testing.assert_allclose(rated.ratings.elo.mean(), 0, atol=1e-6)
    expected = bayes_elo(rated.results, advantage="fit", draw_elo="fit", num_players=3)
    np.testing.assert_array_equal(rated.ratings.elo, expected.elo)


def test_elo_first_listed_advantage() -> None:
    # Everyone wins moving first, mostly: all are equal, but not to whoever thinks that the
    # first-listed player always had the advantage and sees every pair split evenly.
    match = made_up_match(np.tile([1] * 9 + [-1], (6, 1)))
    corrected = tournament.rate(match, 3)
    np.testing.assert_allclose(corrected.ratings.elo, 0, atol=1e-6)
    assert corrected.ratings.advantage > 100
    listed = [1, 0, 2]
    published = tournament.rate(match, 3, advantage=32.8, draw_elo=97.3, listed=listed)
    assert published.ratings.elo[1] < -5 < 5 < published.ratings.elo[2]
    np.testing.assert_array_equal(published.results, corrected.results)
    merged = tournament.merge_colours(published.results, listed)
    expected = bayes_elo(merged, advantage=32.8, draw_elo=97.3, num_players=3)
    np.testing.assert_array_equal(published.ratings.elo, expected.elo)


def test_a_round_robin_counts_distinct_games_only() -> None:
    game = make_game(NAME)
    kinds = [scripted_players(NAME, (LOWEST, HIGHEST, MIDDLE)), random_players(game)]
    play = round_robin.compile_round_robin(game, kinds, games_per_direction=5, opening_plies=0)
    match = play([players.params for players in kinds], jax.random.key(0))
    assert all(isinstance(x, np.ndarray) for x in jax.tree.leaves(match))
    rated = tournament.rate(match, 4)
    assert rated.games == 12 * 5
    for first, second, *counts in rated.results.tolist():
        scripted = 3 not in (first, second)
        assert sum(counts) == 1 if scripted else sum(counts) > 1
    assert rated.distinct == rated.results[:, 2:].sum()
    # Other players of the same kinds need no other program.
    swapped = play([jnp.array([HIGHEST, LOWEST, MIDDLE]), kinds[1].params], jax.random.key(0))
    np.testing.assert_array_equal(swapped.actions[:, 0], match.actions[:, 3])
    np.testing.assert_array_equal(swapped.outcome[3], match.outcome[0])


@pytest.mark.parametrize("openings", [0, 2])
def test_openings_make_games_count(openings: int) -> None:
    rated = tournament.rate(match_of("othello_4x4", openings=openings), 3)
    assert (rated.distinct == 6) == (openings == 0)
    assert rated.distinct <= rated.games == 18


def test_a_pool_in_which_the_second_mover_never_wins_is_rated() -> None:
    outcomes = np.ones((6, 4))
    outcomes[1, 0] = 0  # one draw
    rated = tournament.rate(made_up_match(outcomes), 3)
    assert np.isfinite(rated.ratings.elo).all()
    assert rated.ratings.advantage > 0
    assert rated.ratings.draw_elo == DEFAULT_DRAW_ELO
    assert tournament.rate(made_up_match(outcomes), 3, advantage=0.0).ratings.advantage == 0


SEEN = (1, 0, 1, 0, 2, 1)  # once: no finite draw_elo explains them best


@pytest.mark.parametrize("players", [2, 3])
def test_every_pool_of_a_few_games_is_rated(players: int) -> None:
    pairs = list(itertools.permutations(range(players), 2))
    possible = list(itertools.product(range(3), repeat=len(pairs)))  # win, draw, loss
    for outcomes in [*possible[::7], *[SEEN] * (players == 3)]:
        rows = np.hstack([pairs, np.eye(3, dtype=np.int64)[list(outcomes)]])
        assert np.isfinite(tournament.fit(rows, players).elo).all(), outcomes
