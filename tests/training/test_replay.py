"""The window of examples: what is kept, in which order, and every image exactly once."""

import functools
from collections import Counter, deque
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.games import make_game
from jaxzero.training import replay
from jaxzero.training.replay import Examples
from jaxzero.training.trajectory import Trajectory
from tests import small

PLIES, GAMES, ACTIONS = 5, 4, 3
VALID = np.array(  # which plies of which games were played; game 2 was not asked for
    [[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]], bool
)
pack = jax.jit(replay.from_trajectory, static_argnums=1)
add = jax.jit(replay.add)


def trajectory() -> Trajectory:
    """Every position carries its own number, 10 game + ply, in all that is stored of it."""
    number = np.arange(PLIES)[:, None] + 10.0 * np.arange(GAMES)[None] + 1
    return Trajectory(
        observation=jnp.asarray(np.broadcast_to(number[..., None, None, None], (5, 4, 2, 2, 1))),
        policy=jnp.asarray(np.broadcast_to(number[..., None], (5, 4, ACTIONS)), jnp.float32),
        legal=jnp.asarray(np.broadcast_to(VALID[..., None], (5, 4, ACTIONS))),
        to_move=jnp.zeros((PLIES, GAMES), jnp.int8),
        action=jnp.zeros((PLIES, GAMES), jnp.int32),
        root_value=jnp.zeros((PLIES, GAMES)),
        value=jnp.asarray(number, jnp.float32),
        drawn=jnp.zeros((PLIES, GAMES)),
        valid=jnp.asarray(VALID),
        recorded=jnp.asarray(VALID),
        outcome=jnp.zeros((GAMES, 2)),
        plies=jnp.asarray(VALID.sum(0), jnp.int32),
        active=jnp.asarray(VALID.any(0)),
    )


@pytest.mark.parametrize("capacity", [1, 4, 10, 11, 12, 30])
def test_positions_are_packed_game_by_game_and_the_oldest_fall_out(capacity: int) -> None:
    examples, count = pack(trajectory(), capacity)
    expected = [10.0 * game + ply + 1 for game in range(4) for ply in range(5) if VALID[ply, game]]
    assert len(expected) == 11
    kept = expected[-capacity:]
    assert count == len(kept)
    for stored in (examples.value, examples.policy[:, 0], examples.observation[:, 1, 1, 0]):
        np.testing.assert_array_equal(stored, kept + [0] * (capacity - len(kept)))
    assert examples.legal[: len(kept)].all()
    assert not examples.legal[len(kept) :].any()


@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_the_ring_is_a_queue_of_iterations(window: int) -> None:
    slots, positions = 3, 4
    ring = replay.empty(slots, stored_values([0.0] * positions))
    queue: deque[list[float]] = deque(maxlen=min(window, slots))
    rng = np.random.default_rng(0)
    for iteration in range(1, 9):
        count = int(rng.integers(0, positions + 1))
        values = [100.0 * iteration + i for i in range(positions)]
        ring = add(ring, stored_values(values), jnp.int32(count), jnp.int32(iteration))
        queue.append(values[:count])
        found = take_all(ring, iteration, window, no_symmetries, 1)
        assert Counter(found.value.tolist()) == Counter(v for vs in queue for v in vs)


def test_an_empty_window_has_no_examples() -> None:
    ring = replay.empty(3, stored_values([0.0] * 4))
    assert replay.source(ring, jnp.int32(1), 3).count == 0
    assert ring.examples.observation.dtype == jnp.int8


def test_a_long_window_is_looked_up_without_a_table_of_positions_by_slots() -> None:
    slots, positions = 1000, 100_000
    ring = jax.eval_shape(lambda: replay.empty(slots, stored_values([0.0])))
    take = jax.jit(lambda ring, numbers: replay.source(ring, jnp.int32(9), slots).take(numbers))
    numbers = jax.ShapeDtypeStruct((positions,), jnp.int32)
    used = take.lower(ring, numbers).compile().memory_analysis()
    assert used.temp_size_in_bytes < slots * positions / 4


@pytest.mark.parametrize("name", ["connect_four_5x5", "othello_4x4"])
def test_every_image_of_every_position_has_one_number(name: str) -> None:
    game = make_game(name, observation="signed")
    given = [small.random_examples(game, 3, seed=seed) for seed in range(2)]
    ring = replay.empty(2, given[0])
    for iteration, (examples, count) in enumerate(zip(given, (2, 3), strict=True), 1):
        ring = add(ring, examples, jnp.int32(count), jnp.int32(iteration))
    images = 2 if name.startswith("connect_four") else 8
    taken = take_all(ring, 2, 2, game.symmetries, images)
    expected = Counter()
    for examples, count in zip(given, (2, 3), strict=True):
        for i in range(count):
            boards, policies = game.symmetries(examples.observation[i], examples.policy[i])
            _, legal = game.symmetries(examples.observation[i], examples.legal[i] * 1.0)
            assert boards.shape[0] == images
            for k in range(images):
                expected[as_bytes(boards[k], policies[k], examples.value[i], legal[k] > 0)] += 1
    found = Counter(
        as_bytes(taken.observation[j], taken.policy[j], taken.value[j], taken.legal[j])
        for j in range(5 * images)
    )
    assert found == expected
    assert ((np.asarray(taken.policy) > 0) <= np.asarray(taken.legal)).all()


def test_mirror_without_policy() -> None:
    game = make_game("connect_four_5x5", observation="signed")
    one = jax.tree.map(lambda x: x[0], small.random_examples(game, 1, seed=3))
    published = replay.with_legal(replay.without_policy(game.symmetries))(one)
    corrected = replay.with_legal(game.symmetries)(one)
    np.testing.assert_array_equal(published.observation, corrected.observation)
    np.testing.assert_array_equal(published.policy, np.stack([one.policy] * 2))
    np.testing.assert_array_equal(corrected.policy, [one.policy, one.policy[::-1]])
    assert (published.policy[1] != corrected.policy[1]).any()
    by_square = one.replace(reply=jnp.zeros((5, 5)))  # of a head of one's own, say
    with pytest.raises(ValueError, match=r"\(5, 5\): examples have numbers, rows by action"):
        replay.with_legal(game.symmetries)(by_square)


def stored_values(values: list[float]) -> Examples:
    """Examples that are told apart by their values."""
    count = len(values)
    return Examples(
        observation=jnp.zeros((count, 2, 2, 1), jnp.int8),
        policy=jnp.zeros((count, ACTIONS)),
        value=jnp.asarray(values, jnp.float32),
        legal=jnp.ones((count, ACTIONS), bool),
    )


@functools.partial(jax.jit, static_argnums=(3, 4))
def _take(ring: Any, iteration: Any, window: Any, symmetries: Any, images: int) -> Any:
    source = replay.source(ring, iteration, window)
    index = jnp.arange(ring.examples.value.size * images)
    stored = source.take(index // images)
    return source.count, replay.image_of(stored, index % images, symmetries)


def take_all(ring: Any, iteration: int, window: int, symmetries: Any, images: int) -> Examples:
    """All examples of the last `window` iterations, in their order."""
    count, taken = _take(ring, jnp.int32(iteration), jnp.int32(window), symmetries, images)
    return jax.tree.map(lambda x: np.asarray(x)[: int(count) * images], taken)


def no_symmetries(observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The identity alone."""
    return observation[None], policy[None]


def as_bytes(*arrays: Any) -> tuple[bytes, ...]:
    """Something that can be counted."""
    return tuple(np.asarray(x).tobytes() for x in arrays)
