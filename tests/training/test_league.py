"""Players that evolve: each rule against a plain-Python twin, and their games in a run."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from jaxzero.games.playouts import starts
from jaxzero.loops import DATA_AXIS
from jaxzero.search import core
from jaxzero.search.options import Numbers
from jaxzero.settings.config import ConfigError
from jaxzero.training import episodes, league, learner, past, seen
from jaxzero.training.league import League
from jaxzero.training.selfplay import Trajectory
from jaxzero.training.spec import Spec
from tests import small

SETTINGS: dict[str, Any] = {
    "game": "connect_four_3x3_line3",
    "network.name": "resnet",
    "network.blocks": 1,
    "network.value_head": "wdl",
    "search.q_scale": "unit",
    "search.dirichlet_fraction": 0.25,
    "search.num_simulations": 6,
    "selfplay.episodes": 16,
    "selfplay.league": "wins",
    "selfplay.league_players": 6,
    "selfplay.league_parents": 2,
    "selfplay.league_games": 5.0,
    "selfplay.league_pairing": "skewed",
}
NOVEL = {"selfplay.league": "novel_wins", "selfplay.seen_positions": 4096}


@functools.cache
def spec_of(changes: tuple[tuple[str, Any], ...] = ()) -> Spec:
    return small.small_spec(SETTINGS | dict(changes))


SPEC = spec_of()
OWN = SPEC.selfplay


def made_up(seed: int = 0, generation: int = 2) -> League:
    """A league of 15 players in 24 places, of different ages."""
    first = league.begin(OWN, SPEC.search, jax.random.key(seed))
    assert first is not None
    rng = np.random.default_rng(seed)
    places = len(first.born)
    return dataclasses.replace(
        first,
        rating=jnp.asarray(rng.permutation(places) * 10 + 1500, jnp.float32),
        born=jnp.where(jnp.arange(places) < 15, jnp.arange(places) % (generation + 1), -1),
        games=jnp.asarray(rng.integers(0, 9, places), jnp.float32),
        generation=jnp.int32(generation),
    )


def test_the_first_generation_fills_its_ranges() -> None:
    own = dataclasses.replace(OWN, league_players=500)
    begun = league.begin(own, SPEC.search, jax.random.key(1))
    assert begun is not None
    alive = np.asarray(begun.born) == 0
    assert alive.sum() == 500
    low, high = league.bounds(own, SPEC.search)
    assert low.tolist() == [0.25, 0.0, -1.0]
    assert high.tolist() == [4.0, 1.0, 1.0]
    low, high = np.asarray(low), np.asarray(high)
    place = (np.asarray(begun.values) - low) / (high - low)
    spread = np.asarray(begun.spreads) / (high - low)
    for found, most in ((place, 1.0), (spread, 0.5)):
        assert (found >= 0).all()
        assert (found <= most).all()
        np.testing.assert_allclose(found.mean(0), most / 2, atol=0.03)


def plain_elo(ratings: list[float], games: list[tuple[int, int, float]]) -> list[float]:
    """K = 32, a difference of 400 for odds of ten, one game after another."""
    ratings = list(ratings)
    for first, second, score in games:
        expected = 1 / (1 + 10 ** ((ratings[second] - ratings[first]) / 400))
        change = 32 * (score - expected)
        ratings[first] += change
        ratings[second] -= change
    return ratings


def test_ratings_are_those_of_elo_one_game_after_another() -> None:
    rng, before = np.random.default_rng(0), made_up()
    who = np.array([rng.permutation(15)[:2] for _ in range(40)])
    score, active = rng.choice([0, 0.5, 1], 40), rng.random(40) < 0.8
    found = jax.jit(league.elo)(before.rating, who, jnp.float32(score), active)
    games = [(int(a), int(b), s) for (a, b), s, on in zip(who, score, active, strict=True) if on]
    np.testing.assert_allclose(found, plain_elo(before.rating.tolist(), games), atol=0.01)
    np.testing.assert_allclose(found.sum(), before.rating.sum(), rtol=1e-6)


@pytest.mark.parametrize("pairing", ["even", "skewed"])
def test_who_plays_whom(pairing: str) -> None:
    own = dataclasses.replace(OWN, league_pairing=pairing)
    before = made_up()
    who = np.asarray(league.pairs(own, before, jax.random.key(0), 4000))
    assert (who[:, 0] != who[:, 1]).all()
    alive = [i for i in np.argsort(-np.asarray(before.rating)) if before.born[i] >= 0]
    best, listed = alive[:6], alive[: 12 if pairing == "skewed" else 6]
    assert before.order[:15].tolist() == alive
    for column, among in ((0, best), (1, listed)):
        players, counts = np.unique(who[:, column], return_counts=True)
        assert set(players) == set(among)
        assert counts.min() > 0.6 * 4000 / len(among)
    early = league.pairs(own, dataclasses.replace(before, born=before.born.at[2:].set(-1)),
                         jax.random.key(0), 50)  # fmt: skip
    assert set(np.asarray(early).ravel().tolist()) == {0, 1}


def plain_is_over(own: Any, one: League) -> bool:
    alive = [i for i in range(len(one.born)) if one.born[i] >= 0]
    best = sorted(alive, key=lambda i: -one.rating[i])[: own.league_players]
    newest = [i for i in best if one.born[i] == one.generation]
    share = 0.6 if one.generation == 0 else 1.0
    return sum(float(one.games[i]) for i in newest) >= share * own.league_games * len(newest)


def test_a_generation_is_over_when_its_best_have_played_enough() -> None:
    found = []
    for seed in range(12):
        one = made_up(seed, generation=seed % 3)
        found.append(plain_is_over(OWN, one))
        assert bool(league.is_over(OWN, one)) == found[-1]
    assert set(found) == {True, False}
    nobody = dataclasses.replace(made_up(), generation=jnp.int32(9))
    assert bool(league.is_over(OWN, nobody))
    novel = dataclasses.replace(OWN, league="novelty", league_points=10.0)
    for given in (9.0, 10.0):
        one = dataclasses.replace(made_up(), given=jnp.float32(given))
        assert bool(league.is_over(novel, one)) == (given == 10.0)


def test_the_next_generation_are_copies_of_the_best_in_free_places() -> None:
    before = made_up()
    still = dataclasses.replace(before, spreads=jnp.zeros_like(before.spreads))
    after = league.next_generation(OWN, SPEC.search, still, jax.random.key(0))
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
    after = league.next_generation(OWN, SPEC.search, full, jax.random.key(0))
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


@functools.cache
def batches(changes: tuple[tuple[str, Any], ...], count: int = 3) -> list[tuple[Any, ...]]:
    """(games, league before, league after, metrics) of batches that follow one another."""
    own = spec_of(changes)
    hyper = small.small_hyper(SETTINGS | dict(changes))

    def play(kept: Any, key: jax.Array) -> Any:
        network = learner.init(own, jax.random.key(1))
        games, _ = episodes.self_play(own, hyper, network, key, past=past.unpack(kept))
        batch = episodes.play_batch(own, hyper, network, kept, jnp.int32(0), key)
        return games, batch.progress, batch.metrics

    run, kept, found = jax.jit(play), past.begin(own, jax.random.key(5)), []
    for number in range(count):
        before = kept
        games, kept, metrics = run(kept, jax.random.key(number))
        found.append(jax.device_get((games, before, kept, metrics)))
    return found


def test_each_player_searches_with_its_own_numbers() -> None:
    games, before, _, _ = batches(())[0]
    key, network = jax.random.key(0), learner.init(SPEC, jax.random.key(1))
    who = np.asarray(league.pairs(OWN, before.league, key, 16))
    game_keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(16))

    @jax.jit
    def search(states: Any, ply: Any, values: Any) -> tuple[jax.Array, Any]:
        keys = jax.vmap(jax.random.fold_in, (0, None))(game_keys, ply)
        c, unvisited_q, draw_value = values.T
        own = Numbers(c, unvisited_q, draw_value, jnp.float32(0.3), 0.0)
        policy = core.run(
            SPEC.game,
            learner.acting(SPEC, network),
            jax.vmap(jax.random.split)(keys)[:, 0],
            states,
            options=SPEC.search.of_games(own),
            num_simulations=6,
            c_puct=c,
        ).policy
        return policy, jax.vmap(SPEC.game.step)(states, jnp.asarray(games.action)[ply])

    states = starts(SPEC.game, 16)
    for ply in (0, 1, 2):
        movers = who[np.arange(16), games.to_move[ply]]
        policy, states = search(states, ply, before.league.values[movers])
        np.testing.assert_allclose(games.policy[ply], policy, atol=1e-5)
    assert len(np.unique(games.policy[0], axis=0)) > 3


def test_a_league_of_wins_follows_its_rules_in_a_run() -> None:
    generation = 0
    for number, (games, before, after, metrics) in enumerate(batches(())):
        old, new = before.league, after.league
        who = np.asarray(league.pairs(OWN, old, jax.random.key(number), 16))
        score = (1 + np.sign(games.outcome[:, 0] - games.outcome[:, 1])) / 2
        played = [(a, b, s) for (a, b), s in zip(who.tolist(), score, strict=True)]
        rated = dataclasses.replace(
            old,
            rating=np.asarray(plain_elo(old.rating.tolist(), played), np.float32),
            games=old.games + np.bincount(who.ravel(), minlength=24),
        )
        over = plain_is_over(OWN, rated)
        assert new.generation - old.generation == over
        alive = (new.born >= 0) & (new.born <= old.generation)
        np.testing.assert_allclose(new.rating[alive], rated.rating[alive], atol=0.01)
        np.testing.assert_allclose(new.games[alive], rated.games[alive])
        best = max((i for i in range(24) if new.born[i] >= 0), key=lambda i: new.rating[i])
        assert metrics["league/rating_best"] == new.rating[best]
        assert metrics["league/generation"] == new.generation
        generation = int(new.generation)
    assert generation > 0


def plain_new(seen_before: set[bytes], games: Trajectory) -> list[int]:
    """New positions of each game; of equal ones in one batch the first ply's first game counts."""
    found = [0] * len(games.plies)
    for t in range(len(games.valid)):
        for b in range(len(games.plies)):
            board = games.observation[t, b].tobytes()
            if games.valid[t, b] and board not in seen_before:
                seen_before.add(board)
                found[b] += 1
    return found


def test_novelty_gives_points_for_positions_that_the_run_had_not_seen() -> None:
    boards: set[bytes] = set()
    shares = []
    for number, (games, before, after, metrics) in enumerate(batches(tuple(NOVEL.items()))):
        new = plain_new(boards, games)
        assert after.seen.stored == len(boards)
        np.testing.assert_allclose(metrics["selfplay/new_share"], sum(new) / games.valid.sum())
        shares.append(float(metrics["selfplay/new_share"]))
        who = np.asarray(league.pairs(OWN, before.league, jax.random.key(number), 16))
        points = before.league.rating.copy()
        for b, pair in enumerate(who):
            for side, player in enumerate(pair):
                if games.outcome[b, side] > 0 and before.league.born[player] == 0:
                    points[player] += new[b]
        np.testing.assert_allclose(after.league.rating, points)
        np.testing.assert_allclose(after.league.given, points.sum())
        if not number:  # of pure novelty both get them
            own = dataclasses.replace(OWN, league="novelty")
            earlier, on_device = jax.tree.map(jnp.asarray, (before.league, games))
            both = league.rate(own, earlier, who, on_device, jnp.asarray(new, jnp.float32))
            expected = np.zeros(24)
            np.add.at(expected, who.ravel(), np.repeat(new, 2))
            np.testing.assert_allclose(both.rating, expected)
    assert shares[0] > shares[-1]


def test_what_finds_no_room_stays_new() -> None:
    games = batches(tuple(NOVEL.items()))[0][0]
    tiny = seen.begin(dataclasses.replace(OWN, seen_positions=8))
    assert tiny is not None
    look = jax.jit(seen.look)
    memory, first = look(tiny, games)
    memory, again = look(memory, games)
    assert memory.stored == 8
    assert first.sum() - 8 == again.sum()


@pytest.mark.parametrize(
    "changes",
    [
        {"search.algorithm": "gumbel"},
        {"search.loop": "mctx"},
        {"search.key": "position"},
        {"network.value_head": "scalar"},
        {"switches.keep_tree": True},
        {"selfplay.league_evolves": ()},
        {"selfplay.league_evolves": ("c_puct", "c_puct")},
        {"selfplay.league_evolves": ("dirichlet_alpha",), "search.dirichlet_fraction": 0.0},
        {"selfplay.league_evolves": ("kld_stop",)},
        {"selfplay.league_parents": 7},
        {"selfplay.league": "novelty"},
    ],
)
def test_what_does_not_go_with_a_league_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"config\.selfplay\.league") as refusal:
        small.small_spec(SETTINGS | changes)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_a_league_and_an_archive_are_the_same_on_two_devices() -> None:
    changes = SETTINGS | {
        "selfplay.episodes": 15,  # one device plays a game less
        "selfplay.archive_share": 0.5,
        "selfplay.archive_positions": 20,
        "selfplay.league": "novelty",
        "selfplay.league_points": 20.0,
        "selfplay.seen_positions": 4096,
    }
    found, hyper = [], small.small_hyper(changes)
    for devices in (1, 2):
        own = small.small_spec(changes, data_devices=devices)
        network = learner.init(small.small_spec(changes), jax.random.key(1))

        def play(network: Any, kept: Any, key: jax.Array, own: Spec = own) -> Any:
            return episodes.play_batch(own, hyper, network, kept, jnp.int32(0), key).progress

        if devices > 1:
            mesh = jax.make_mesh((2,), (DATA_AXIS,), axis_types=(jax.sharding.AxisType.Auto,))
            play = jax.shard_map(play, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
        run, kept = jax.jit(play), past.begin(own, jax.random.key(5))
        for number in range(3):
            kept = run(network, kept, jax.random.key(number))
        found.append(kept)
    assert int(found[0].league.generation) > 0
    assert int(found[0].archive.total) > 30
    one, two = ((kept.archive, kept.league, kept.seen.words) for kept in found)
    small.assert_close(two, one, 1e-4)
