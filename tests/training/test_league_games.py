"""Games of players that evolve: their searches, ratings and novelty in a run."""

import dataclasses
import functools
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
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.training.common import games_and_batch
from tests.training.plain_league import OWN, SETTINGS, SPEC, plain_elo, plain_is_over, spec_of

NOVEL = {"selfplay.league": "novel_wins", "selfplay.seen_positions": 4096}


@functools.cache
def network() -> Learner:
    """Of all leagues: what evolves is how it searches."""
    return jax.jit(functools.partial(learner.init, SPEC))(jax.random.key(1))


@functools.cache
def batches(changes: tuple[tuple[str, Any], ...], count: int = 3) -> list[tuple[Any, ...]]:
    """(games, league before, league after, metrics) of batches that follow one another."""
    own = spec_of(changes)
    hyper = small.small_hyper(SETTINGS | dict(changes))

    def play(network: Any, kept: Any, key: jax.Array) -> Any:
        games, batch = games_and_batch(own, hyper, network, kept, jnp.int32(0), key)
        return games, batch.progress, batch.metrics

    run, kept, found = jax.jit(play), past.begin(own, jax.random.key(5)), []
    for number in range(count):
        before = kept
        games, kept, metrics = run(network(), kept, jax.random.key(number))
        found.append(jax.device_get((games, before, kept, metrics)))
    return found


@jax.jit
def search(network: Any, states: Any, ply: Any, values: Any, actions: Any) -> tuple[jax.Array, Any]:
    """The policies of a ply of the first batch, by numbers [B, 3], and where its moves lead."""
    game_keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(0), jnp.arange(16))
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
    return policy, jax.vmap(SPEC.game.step)(states, actions)


def test_each_player_searches_with_its_own_numbers() -> None:
    games, before, _, _ = batches(())[0]
    who = np.asarray(league.pairs(OWN, before.league, jax.random.key(0), 16))
    states = starts(SPEC.game, 16)
    for ply in (0, 1, 2):
        movers = who[np.arange(16), games.to_move[ply]]
        values = before.league.values[movers]
        policy, states = search(network(), states, ply, values, games.action[ply])
        np.testing.assert_allclose(games.policy[ply], policy, atol=1e-5)
    assert len(np.unique(games.policy[0], axis=0)) > 3


def test_a_run_searches_with_traced_numbers_of_its_own() -> None:
    """In place of its spec's, and of its hyper-parameters' c."""
    own = spec_of((("selfplay.league", "none"),))
    hyper, learned = small.small_hyper(SETTINGS), network()

    @jax.jit
    def play(numbers: Numbers) -> Trajectory:
        given = hyper.replace(numbers=numbers)  # type: ignore[attr-defined]
        return episodes.self_play(own, given, learned, jax.random.key(0))[0]

    for c, unvisited_q, draw_value in ((0.5, 0.9, -0.5), (3.0, 0.1, 0.5)):
        games = play(Numbers(c, unvisited_q, draw_value, 0.3, 0.0))
        states = starts(own.game, 16)
        for ply in (0, 1):
            values = np.tile(np.float32([c, unvisited_q, draw_value]), (16, 1))
            policy, states = search(network(), states, ply, values, games.action[ply])
            np.testing.assert_allclose(games.policy[ply], policy, atol=1e-5)


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
