"""Players that evolve: each rule against a plain-Python twin."""

import dataclasses
import functools
import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.training import league
from jaxzero.training.league import League
from tests.training.plain_league import OWN, SPEC, plain_elo, plain_is_over


@jax.jit
def begun(key: jax.Array) -> League:
    first = league.begin(OWN, SPEC.search, key)
    assert first is not None
    return first


@jax.jit
def following(before: League) -> League:
    return league.next_generation(OWN, SPEC.search, before, jax.random.key(0))


def made_up(seed: int = 0, generation: int = 2) -> League:
    """A league of 15 players in 24 places, of different ages."""
    first = begun(jax.random.key(seed))
    rng = np.random.default_rng(seed)
    places = len(first.born)
    return dataclasses.replace(
        first,
        rating=jnp.asarray(rng.permutation(places) * 10 + 1500, jnp.float32),
        born=jnp.asarray(
            np.where(np.arange(places) < 15, np.arange(places) % (generation + 1), -1), jnp.int32
        ),
        games=jnp.asarray(rng.integers(0, 9, places), jnp.float32),
        generation=jnp.int32(generation),
    )


def test_the_first_generation_fills_its_ranges() -> None:
    own = dataclasses.replace(OWN, league_players=500)
    first = jax.jit(lambda key: league.begin(own, SPEC.search, key))(jax.random.key(1))
    assert first is not None
    alive = np.asarray(first.born) == 0
    assert alive.sum() == 500
    low, high = league.bounds(own, SPEC.search)
    assert low.tolist() == [0.25, 0.0, -1.0]
    assert high.tolist() == [4.0, 1.0, 1.0]
    low, high = np.asarray(low), np.asarray(high)
    place = (np.asarray(first.values) - low) / (high - low)
    spread = np.asarray(first.spreads) / (high - low)
    for found, most in ((place, 1.0), (spread, 0.5)):
        assert (found >= 0).all()
        assert (found <= most).all()
        np.testing.assert_allclose(found.mean(0), most / 2, atol=0.03)


def test_ratings_are_those_of_elo_one_game_after_another() -> None:
    rng, before = np.random.default_rng(0), made_up()
    who = np.array([rng.permutation(15)[:2] for _ in range(40)])
    score, active = rng.choice([0, 0.5, 1], 40), rng.random(40) < 0.8
    found = jax.jit(league.elo)(before.rating, who, jnp.float32(score), active)
    games = [(int(a), int(b), s) for (a, b), s, on in zip(who, score, active, strict=True) if on]
    np.testing.assert_allclose(found, plain_elo(before.rating.tolist(), games), atol=0.01)
    np.testing.assert_allclose(found.sum(), before.rating.sum(), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "points"), [("novelty", {2: 4.0, 5: 3.0, 8: 3.0}), ("novel_wins", {2: 4.0})]
)
def test_points_are_for_new_positions_of_the_newest_players(
    kind: str, points: dict[int, float]
) -> None:
    before = dataclasses.replace(made_up(), rating=jnp.zeros(24))  # every third is of generation 2
    games: Any = SimpleNamespace(
        active=jnp.array([True, True, False]),
        outcome=jnp.array([[1.0, -1.0], [0.0, 0.0], [1.0, -1.0]]),
    )
    own, who = dataclasses.replace(OWN, league=kind), jnp.array([[2, 0], [5, 8], [2, 5]])
    after = league.rate(own, before, who, games, jnp.array([4.0, 3.0, 9.0]))
    assert {i: x for i, x in enumerate(after.rating.tolist()) if x} == points
    assert after.given == sum(points.values())


@pytest.mark.parametrize("pairing", ["even", "skewed"])
def test_who_plays_whom(pairing: str) -> None:
    own = dataclasses.replace(OWN, league_pairing=pairing)
    before = made_up()
    pairs = jax.jit(functools.partial(league.pairs, own), static_argnums=2)
    who = np.asarray(pairs(before, jax.random.key(0), 4000))
    assert (who[:, 0] != who[:, 1]).all()
    alive = [i for i in np.argsort(-np.asarray(before.rating)) if before.born[i] >= 0]
    best, listed = alive[:6], alive[: 12 if pairing == "skewed" else 6]
    assert before.order[:15].tolist() == alive
    for column, among in ((0, best), (1, listed)):
        players, counts = np.unique(who[:, column], return_counts=True)
        assert set(players) == set(among)
        assert counts.min() > 0.6 * 4000 / len(among)
    two = dataclasses.replace(before, born=before.born.at[2:].set(-1))
    early = pairs(two, jax.random.key(0), 4000)
    assert set(np.asarray(early).ravel().tolist()) == {0, 1}


def test_a_generation_is_over_when_its_best_have_played_enough() -> None:
    is_over, found = jax.jit(functools.partial(league.is_over, OWN)), []
    for seed in range(12):
        one = made_up(seed, generation=seed % 3)
        found.append(plain_is_over(OWN, one))
        assert bool(is_over(one)) == found[-1]
    assert set(found) == {True, False}
    nobody = dataclasses.replace(made_up(), generation=jnp.int32(9))
    assert bool(is_over(nobody))
    novel = dataclasses.replace(OWN, league="novelty", league_points=10.0)
    for given in (9.0, 10.0):
        one = dataclasses.replace(made_up(), given=jnp.float32(given))
        assert bool(league.is_over(novel, one)) == (given == 10.0)


def test_the_next_generation_are_copies_of_the_best_in_free_places() -> None:
    before = made_up()
    still = dataclasses.replace(before, spreads=jnp.zeros_like(before.spreads))
    after = following(still)
    children = np.flatnonzero(np.asarray(after.born) == 3)
    assert len(children) == 4
    assert (np.asarray(before.born)[children] == -1).all()
    parents = np.asarray(before.order[:2])
    for parent in parents:
        same = (np.asarray(after.values)[children] == np.asarray(still.values)[parent]).all(-1)
        assert same.sum() == 2
        assert (np.asarray(after.rating)[children[same]] == before.rating[parent]).all()
    assert (np.asarray(after.games)[children] == 0).all()
    others = np.setdiff1d(np.arange(24), children)
    for name in ("values", "rating", "born"):
        one, other = getattr(after, name), getattr(still, name)
        np.testing.assert_array_equal(one[others], other[others])
    # Without a free place the worst make room.
    full = dataclasses.replace(still, born=jnp.ones_like(still.born))
    after = following(full)
    children = np.flatnonzero(np.asarray(after.born) == 3)
    assert set(children) == set(np.asarray(full.order[-4:]).tolist())


def test_mutations_have_the_published_spreads_and_stay_in_range() -> None:
    low, high = league.bounds(OWN, SPEC.search)
    values, spreads = jnp.array([1.0, 0.5, 0.0]), jnp.array([0.01, 0.004, 0.005])
    run = jax.jit(jax.vmap(league.mutated, (None, None, None, None, 0)))
    keys = jax.random.split(jax.random.key(0), 8000)
    children, own = (np.asarray(x) for x in run(values, spreads, low, high, keys))
    count = 3
    logs = np.log(own / np.asarray(spreads))
    common = 1 / (2 * count)
    expected = np.full((count, count), common) + np.eye(count) / (2 * math.sqrt(count))
    np.testing.assert_allclose(np.cov(logs.T), expected, atol=0.02)
    np.testing.assert_allclose(logs.mean(0), 0, atol=0.02)
    np.testing.assert_allclose(((children - np.asarray(values)) / own).std(0), 1, atol=0.03)
    # Far from the middle they re-enter at the other end.
    wide, _ = run(high - 0.01, jnp.full(3, 0.05) * (high - low), low, high, keys)
    wide = (np.asarray(wide) - np.asarray(low)) / np.asarray(high - low)
    assert (wide >= 0).all()
    assert (wide <= 1).all()
    assert 0.3 < (wide < 0.5).mean() < 0.5


def test_games_that_were_played_change_ratings_and_counts() -> None:
    before, who = made_up(), jnp.array([[2, 0], [5, 8], [2, 5], [0, 5]])
    outcome = jnp.array([[1.0, -1.0], [0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]])
    games = SimpleNamespace(active=jnp.array([True, True, False, True]), outcome=outcome)
    after = league.rate(OWN, before, who, games, jnp.zeros(4))  # type: ignore[arg-type]
    expected = plain_elo(before.rating.tolist(), [(2, 0, 1.0), (5, 8, 0.5), (0, 5, 0.0)])
    np.testing.assert_allclose(after.rating, expected, atol=0.01)
    more = np.zeros(len(before.games))
    np.add.at(more, [2, 0, 5, 8, 0, 5], 1)
    np.testing.assert_array_equal(after.games - before.games, more)


def test_a_new_generation_begins_without_points() -> None:
    before = dataclasses.replace(made_up(), given=jnp.float32(7))
    assert following(before).given == 0


def test_the_best_players_are_described() -> None:
    played = made_up()
    found = jax.jit(functools.partial(league.describe, OWN))(played)
    alive = np.flatnonzero(played.born >= 0)
    best = sorted(alive, key=lambda i: -float(played.rating[i]))[: OWN.league_players]
    rating = np.asarray(played.rating)[best]
    assert found["league/players"] == 15
    assert found["league/newest"] == pytest.approx(np.mean(np.asarray(played.born)[best] == 2))
    assert found["league/rating_best"] == rating[0]
    assert found["league/rating_mean"] == pytest.approx(rating.mean())
    assert found["league/rating_deviation"] == pytest.approx(rating.std())
    for i, name in enumerate(OWN.league_evolves):
        values, spreads = (np.asarray(x)[best, i] for x in (played.values, played.spreads))
        assert found[f"league/{name}"] == pytest.approx(values.mean(), abs=1e-6)
        assert found[f"league/{name}_deviation"] == pytest.approx(values.std(), abs=1e-6)
        assert found[f"league/{name}_best"] == values[0]
        assert found[f"league/{name}_spread"] == pytest.approx(spreads.mean(), abs=1e-6)
