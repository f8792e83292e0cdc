"""Circles of players: found where they are, and as many by luck as luck makes."""

import itertools

import numpy as np
import pytest

from jaxzero.ratings import bayes_elo
from jaxzero.ratings.triples import Triple, _replays, find, intransitivity, shares


def rows_of(scores: dict[tuple[int, int], tuple[int, int, int]]) -> np.ndarray:
    """int[M, 5] of (first, second): (wins, draws, losses)."""
    return np.array([[*pair, *counts] for pair, counts in scores.items()])


def test_a_circle_is_found_once_with_its_scores() -> None:
    rows = rows_of(
        {
            (0, 1): (3, 0, 1),  # 0 beats 1, with both colours together by 5 of 8
            (1, 0): (2, 0, 2),
            (1, 2): (4, 0, 0),
            (0, 2): (0, 2, 2),  # 2 beats 0 by 3 of 4
            (3, 0): (4, 0, 0),
            (3, 1): (4, 0, 0),
            (2, 3): (0, 1, 3),
        }
    )
    [triple] = find(rows, 4)
    assert triple == Triple((0, 1, 2), (0.625, 1.0, 0.75))


def test_half_of_the_points_is_no_win() -> None:
    rows = rows_of({(0, 1): (2, 0, 2), (1, 2): (4, 0, 0), (2, 0): (4, 0, 0)})
    assert not find(rows, 3)


def test_the_other_way_round_is_a_circle_too() -> None:
    rows = rows_of({(1, 0): (4, 0, 0), (2, 1): (4, 0, 0), (0, 2): (3, 1, 0)})
    assert find(rows, 3) == (Triple((0, 2, 1), (0.875, 1.0, 1.0)),)


def test_shares_of_both_sides_add_up() -> None:
    share = shares(rows_of({(0, 1): (1, 2, 5), (1, 0): (0, 4, 0)}), 3)
    assert share[0, 1] == pytest.approx((1 + 1 + 2) / 12)
    assert share[0, 1] + share[1, 0] == pytest.approx(1)
    assert np.isnan(share[2]).all()


def test_all_circles_of_a_random_tournament() -> None:
    rng, count = np.random.default_rng(0), 9
    rows = np.array(
        [[i, j, *rng.multinomial(3, [0.4, 0.2, 0.4])] for i, j in
         itertools.permutations(range(count), 2) if rng.random() < 0.9]
    )  # fmt: skip
    share = shares(rows, count)
    expected = set()
    for a, b, c in itertools.permutations(range(count), 3):
        if share[a, b] > 0.5 and share[b, c] > 0.5 and share[c, a] > 0.5:
            expected.add(frozenset((a, b, c)))
    found = find(rows, count)
    assert {frozenset(t.players) for t in found} == expected
    assert len(found) == len(expected) > 5
    lowest = [min(t.scores) for t in found]
    assert lowest == sorted(lowest, reverse=True)
    met = ~np.isnan(share)
    compared = sum(
        met[a, b] and met[b, c] and met[c, a] for a, b, c in itertools.combinations(range(count), 3)
    )
    rated = intransitivity(rows, bayes_elo(rows, num_players=count))
    assert rated.triples == found
    assert rated.compared == compared


def test_luck_makes_circles_of_equals_and_none_of_unequals() -> None:
    # Three equals who play one decisive game each: two of eight tournaments are circles.
    one_game = rows_of({(0, 1): (1, 0, 0), (1, 2): (1, 0, 0), (2, 0): (1, 0, 0)})
    equal = bayes_elo(one_game, advantage=0.0, draw_elo=0.0)
    np.testing.assert_allclose(equal.elo, 0, atol=1e-6)
    found = intransitivity(one_game, equal)
    assert len(found.triples) == found.compared == 1
    truth = (0.25, np.sqrt(0.25 * 0.75))  # of 200 replays; the error of the mean is 0.03
    assert (found.expected, found.spread) == pytest.approx(truth, abs=0.06)
    clear = rows_of({(0, 1): (90, 0, 10), (1, 2): (90, 0, 10), (0, 2): (99, 0, 1)})
    found = intransitivity(clear, bayes_elo(clear, advantage=0.0, draw_elo=0.0))
    assert not found.triples
    assert found.expected == found.spread == 0


def test_the_replays_have_the_models_chances() -> None:
    # A first mover who always wins makes no circle of equals: each pair shares its points.
    rows = rows_of(dict.fromkeys(itertools.permutations(range(3), 2), (50, 0, 0)))
    found = intransitivity(rows, bayes_elo(rows, advantage="fit"))
    assert found.expected < 0.25
    # Of the chances that explain results best, the mean results are the results.
    rows = rows_of({(0, 1): (20, 60, 20), (1, 2): (25, 65, 10), (2, 0): (10, 60, 30)})
    rated = bayes_elo(rows, advantage="fit", draw_elo="fit", prior=0)
    points = shares(np.concatenate(_replays(rows, rated, np.random.default_rng(0))), 3)
    np.testing.assert_allclose(points[0, 1] + points[0, 2], 0.5 + 0.6, atol=0.01)
