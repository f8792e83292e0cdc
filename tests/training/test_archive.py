"""Games that begin in earlier games: which positions are kept, and what begins at them."""

import dataclasses
import functools
import itertools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games.playouts import starts
from jaxzero.settings.config import ConfigError
from jaxzero.training import archive, episodes, learner, past
from jaxzero.training.openings import Openings
from jaxzero.training.trajectory import Trajectory
from tests import small
from tests.training.common import games_and_batch

BOARD = "connect_four_3x3_line3"
SETTINGS = {
    "game": BOARD,
    "network.name": "resnet",
    "network.blocks": 1,
    "selfplay.episodes": 12,
    "selfplay.archive_share": 0.7,
    "selfplay.archive_positions": 20,
    "search.num_simulations": 4,
}


@functools.cache
def spec(kind: str) -> Any:
    return small.small_spec(SETTINGS | {"selfplay.archive": kind})


@functools.cache
def compiled(kind: str) -> Any:
    """(what is kept, key, how many games) -> (games, what is kept, metrics)."""
    own = spec(kind)

    @jax.jit
    def play(kept: Any, key: jax.Array, episodes: int) -> Any:
        network = learner.init(own, jax.random.key(1))
        hyper = dataclasses.replace(small.small_hyper(SETTINGS), episodes=episodes)
        games, batch = games_and_batch(own, hyper, network, kept, jnp.int32(0), key)
        return games, batch.progress, batch.metrics

    return play


@functools.cache
def batches(kind: str, count: int = 3) -> list[tuple[Trajectory, Any, Any]]:
    """(games, archive, metrics) of batches that follow one another."""
    run, kept, found = compiled(kind), past.begin(spec(kind), jax.random.key(2)), []
    for number in range(count):
        games, kept, metrics = run(kept, jax.random.key(number), SETTINGS["selfplay.episodes"])
        found.append(jax.device_get((games, kept.archive, metrics)))
    return found


def stones(states: Any) -> np.ndarray:
    return np.unpackbits(np.asarray(states.stones).view(np.uint8), axis=-1).sum((1, 2))


def rows_of(games: Trajectory) -> list[tuple[int, int]]:
    return [(t, b) for b in range(len(games.plies)) for t in range(games.plies[b])]


def boards(games: Trajectory) -> set[bytes]:
    return {games.observation[t, b].tobytes() for t, b in rows_of(games)}


@pytest.mark.parametrize("kind", ["visited", "losses"])
def test_games_begin_where_the_archive_says_and_report_nothing_before(kind: str) -> None:
    (first, kept, _), (second, _, metrics), _ = batches(kind)
    assert (first.start == 0).all()  # an empty archive
    inside = second.start > 0
    assert 0 < inside.sum() < len(inside)
    held = {s.tobytes() for s in kept.states.stones[: kept.total]}
    assert all(s.tobytes() in held for s in second.begun.stones[inside])
    np.testing.assert_array_equal(stones(second.begun), second.start)
    np.testing.assert_array_equal((second.observation[0] != 0).sum((1, 2, 3)), second.start)
    assert second.valid[0].all()
    np.testing.assert_allclose(metrics["selfplay/start_plies"], second.start.mean(), rtol=1e-6)
    game = spec(kind).game
    ended = jax.jit(jax.vmap(game.is_terminal))(kept.states)
    assert not np.asarray(ended)[: kept.total].any()


def test_games_that_nobody_asked_for_have_no_plies() -> None:
    kept = past.Past(archive=batches("visited")[-1][1])
    games, _, metrics = jax.device_get(compiled("visited")(kept, jax.random.key(7), 5))
    assert games.start[:5].any()
    assert not games.start[5:].any()
    whole = games.start[:5] + games.plies[:5]
    np.testing.assert_allclose(metrics["selfplay/plies"], whole.mean(), rtol=1e-6)
    assert metrics["selfplay/plies_max"] == whole.max()


def test_a_position_of_each_game_is_kept_and_the_ring_keeps_the_newest() -> None:
    observe = jax.jit(jax.vmap(spec("visited").game.observe))
    seen: set[bytes] = set()
    total = 0
    for games, kept, _ in batches("visited"):
        seen |= boards(games)
        total += (games.plies > 1).sum()
        assert kept.total == total
        held = min(total, SETTINGS["selfplay.archive_positions"])
        observed = np.asarray(observe(kept.states))[:held]
        assert all(board.tobytes() in seen for board in observed)
        assert (kept.plies[:held] >= 1).all()
        np.testing.assert_array_equal(stones(kept.states)[:held], kept.plies[:held])
    assert total > held
    # The newest stand where the ring ends.
    newest = np.asarray(observe(kept.states))[(total - 1) % held]
    assert newest.tobytes() in boards(games)


def plain_retries(games: Trajectory) -> list[tuple[int, int] | None]:
    """(row, move) where each game is tried again: the rule, position by position."""
    tried = {
        (games.observation[t, b].tobytes(), int(games.action[t, b])) for t, b in rows_of(games)
    }
    found: list[tuple[int, int] | None] = []
    for b, outcome in enumerate(games.outcome):
        loser = int(outcome[0] > outcome[1])
        own = [t for t in range(games.plies[b]) if games.to_move[t, b] == loser]
        candidates = []
        for t, later in itertools.pairwise(own):
            board, legal = games.observation[t, b].tobytes(), np.flatnonzero(games.legal[t, b])
            moves = [int(a) for a in legal if (board, int(a)) not in tried]
            if moves:
                best = max(moves, key=lambda a: (games.policy[t, b, a], -a))
                candidates.append((games.root_value[t, b] - games.root_value[later, b], -t, best))
        drawn = outcome[0] == outcome[1]
        fall = max(candidates, default=None)
        found.append(None if drawn or fall is None else (-fall[1], fall[2]))
    return found


def test_a_lost_game_is_tried_again_where_the_value_fell_most() -> None:
    game = spec("losses").game
    step, retries = jax.jit(game.step), jax.jit(archive.retries)
    positions = jax.jit(functools.partial(archive.positions, game))
    some = 0
    for games, _, _ in batches("losses"):
        expected = plain_retries(games)
        ply, move, whether = jax.device_get(retries(games))
        assert whether.tolist() == [one is not None for one in expected]
        chosen = [(int(ply[b]), int(move[b])) for b in np.flatnonzero(whether)]
        assert chosen == [one for one in expected if one is not None]
        after = jax.device_get(positions(games.begun, games, ply, move))
        for b in np.flatnonzero(whether):
            state = jax.tree.map(lambda x, b=b: x[b], games.begun)
            for action in (*games.action[: ply[b], b], move[b]):
                state = step(state, action)
            np.testing.assert_array_equal(state.stones, after.stones[b])
        some += len(chosen)
    assert 4 < batches("losses")[-1][1].total <= some  # without moves that win at once


def test_a_move_that_ends_the_game_is_no_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    own, [(games, _, _), *_] = spec("losses"), batches("losses")
    last = games.plies - 1
    moves = games.action[last, np.arange(12)]
    chosen = last, moves, np.ones(12, bool)
    monkeypatch.setattr(archive, "retries", lambda _: chosen)
    empty = archive.begin(own.selfplay, own.game)
    assert empty is not None
    learn = jax.jit(functools.partial(archive.learn, own.selfplay, own.game))
    after = learn(empty, games, jax.random.key(0))
    assert after.total == 0


def test_who_begins_in_the_archive_was_not_rolled_back() -> None:
    states = jax.tree.map(jnp.array, starts(spec("visited").game, 4))
    held = archive.Archive(states, jnp.full((4,), 2, jnp.int32), jnp.int32(4))
    others = Openings(states, jnp.zeros((4,), jnp.int32), rolled_back=jnp.ones((4,), bool))
    keys = jax.random.split(jax.random.key(0), 4)
    draw = jax.jit(archive.draw)
    for share, expected in ((1.0, False), (0.0, True)):
        begun = draw(held, keys, share, others)
        assert (begun.rolled_back == expected).all()
        assert (begun.plies == (0 if expected else 2)).all()


def test_games_that_are_not_played_begin_nowhere() -> None:
    own = spec("losses")
    empty = archive.begin(own.selfplay, own.game)
    assert empty is not None
    games: Any = SimpleNamespace(start=jnp.array([2, 4, 9]), active=jnp.array([True, True, False]))
    assert archive.describe(empty, games)["selfplay/start_plies"] == 3


def test_games_that_began_elsewhere_are_told_apart_and_by_the_first_player() -> None:
    for games, _, metrics in batches("visited"):
        begun = [
            (games.observation[0, b].tobytes(), games.action[:, b].tobytes()) for b in range(12)
        ]
        assert metrics["selfplay/distinct_games"] == len(set(begun))
        of_first = np.where(games.to_move[0] == 0, 1, -1) * games.root_value[0]
        assert metrics["search/root_value_at_start"] == pytest.approx(of_first.mean(), abs=1e-6)
    alike = dataclasses.replace(games, action=np.repeat(games.action[:, :1], 12, 1))
    found = jax.jit(functools.partial(episodes._describe, spec("visited")))(alike)
    assert found["selfplay/distinct_games"] == len({board for board, _ in begun}) > 1
    assert (games.to_move[0] == 1).any()


def test_a_run_remembers_no_more_than_its_settings_need() -> None:
    assert not jax.tree.leaves(past.begin(small.small_spec(), jax.random.key(2)))
    begun = past.begin(spec("visited"), jax.random.key(2))
    assert isinstance(begun.archive, archive.Archive)
    assert dataclasses.replace(begun, archive=None) == past.NOTHING


@pytest.mark.parametrize(
    "changes",
    [
        {"selfplay.archive_positions": 11},
        {"selfplay.curriculum": "schedule", "selfplay.curriculum_initial_plies": 9.0},
        {"selfplay.archive": "losses", "switches.one_hot_after_temperature": True},
    ],
)
def test_what_does_not_go_with_an_archive_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"config\.selfplay\.archive") as refusal:
        small.small_spec(SETTINGS | changes)
    assert "\n" not in str(refusal.value)
