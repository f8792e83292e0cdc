"""The window counted in positions, against a Python dict that takes positions one by one."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.settings.config import default_config, section
from jaxzero.training import losses, position_window, replay
from jaxzero.training.position_window import PositionWindowState, size_at
from jaxzero.training.replay import Examples
from jaxzero.training.spec import ReplaySettings

CAPACITY, INCOMING, ACTIONS = 24, 16, 3
OBSERVATION = jax.ShapeDtypeStruct((2, 2, 1), jnp.int8)
EXTRAS = ("draw", "reply")
ROOM = Examples.zeros((CAPACITY,), OBSERVATION, ACTIONS, EXTRAS)
TARGETS = ("policy", "value", "draw", "reply")

empty = jax.jit(position_window.empty)
add = jax.jit(position_window.add, static_argnames="duplicate_weight")


def incoming(rng: np.random.Generator, kinds: int) -> Examples:
    """Positions of few kinds, so that they repeat."""
    boards = np.stack(np.unravel_index(rng.integers(kinds, size=INCOMING), (3, 3, 3, 3)), -1)
    policy = rng.random((INCOMING, ACTIONS)).astype(np.float32)
    return Examples(
        observation=jnp.asarray(boards.reshape(INCOMING, 2, 2, 1), jnp.int8),
        policy=jnp.asarray(policy),
        value=jnp.asarray(rng.uniform(-1, 1, INCOMING), jnp.float32),
        legal=jnp.asarray(policy > 0.2),
        draw=jnp.asarray(rng.random(INCOMING), jnp.float32),
        reply=jnp.asarray(rng.random((INCOMING, ACTIONS)), jnp.float32),
    )


class ByHand:
    """The authors' worker: a dict by position, targets updated, the oldest forgotten."""

    def __init__(self, weight: float) -> None:
        self.weight, self.total = weight, 0
        self.known: dict[Any, dict[str, Any]] = {}

    def add(self, examples: Examples, count: int, size: int) -> None:
        for i in range(count):
            row = {name: getattr(examples, name)[i] for name in TARGETS}
            key: Any = examples.observation[i].tobytes()
            if self.weight == 0:
                key = (key, self.total)
            elif key in self.known:
                old = self.known[key]
                row = {n: old[n] * (1 - self.weight) + row[n] * self.weight for n in TARGETS}
            self.known[key] = row | {"seen": self.total}
            self.total += 1
        newest = sorted(self.known, key=lambda key: -self.known[key]["seen"])[:size]
        self.known = {key: self.known[key] for key in newest}


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.8, 1.0])
def test_against_a_dict(weight: float) -> None:
    rng = np.random.default_rng(int(10 * weight))
    window = empty(ROOM)
    by_hand = ByHand(weight)
    for step, (count, size) in enumerate(
        [(16, 24), (9, 24), (16, 12), (0, 12), (16, 24), (16, 24)]
    ):
        examples = jax.device_get(incoming(rng, kinds=30))
        before = len(by_hand.known)
        window, new = add(window, examples, count, size=size, duplicate_weight=weight)
        by_hand.add(examples, count, 10**6)
        assert new == len(by_hand.known) - before
        by_hand.add(examples, 0, size)
        compare(window, by_hand, f"step {step}")


def compare(window: PositionWindowState, by_hand: ByHand, what: str) -> None:
    window = jax.device_get(window)
    assert window.count == len(by_hand.known), what
    assert window.total == by_hand.total
    for i, (key, row) in enumerate(by_hand.known.items()):  # newest first
        board = key if isinstance(key, bytes) else key[0]
        assert np.asarray(window.examples.observation[i]).tobytes() == board, what
        assert window.seen[i] == row["seen"]
        for name in TARGETS:
            found = np.asarray(getattr(window.examples, name)[i])
            np.testing.assert_allclose(found, row[name], rtol=2e-5, atol=1e-6, err_msg=what)
    assert (np.asarray(window.seen[len(by_hand.known) :]) == -1).all()


def test_positions_with_one_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal positions may then be missed, different ones are never merged."""
    monkeypatch.setattr(
        position_window, "hash_rows", lambda rows: jnp.zeros((rows.shape[0], 2), jnp.uint32)
    )
    examples = incoming(np.random.default_rng(1), kinds=5)
    add = jax.jit(lambda *given: position_window.add(*given, size=24, duplicate_weight=1.0))
    window, _ = jax.device_get(add(empty(ROOM), examples, 16))
    examples = jax.device_get(examples)
    given = {
        (np.asarray(b).tobytes(), float(v))
        for b, v in zip(examples.observation, examples.value, strict=True)
    }
    for i in range(int(window.count)):
        row = np.asarray(window.examples.observation[i]).tobytes()
        assert (row, float(window.examples.value[i])) in given


def test_what_a_move_is_worth_outlives_merging() -> None:
    """One move always wins, another always loses: the head of moves learns just that."""
    move, result = jnp.array([0, 1, 1, 0]), jnp.array([1.0, -1, -1, 1])
    played = jax.nn.one_hot(move, 3)
    examples = Examples(
        observation=jnp.zeros((4, 2, 2, 1), jnp.int8),
        policy=jnp.full((4, 3), 1 / 3),
        value=result,
        legal=jnp.ones((4, 3), bool),
        played=played,
        played_value=played * result[:, None],
    )
    window = empty(jax.device_get(examples))
    for weight, count in ((0.8, 1), (0.0, 4)):
        window, _ = add(window, examples, 4, size=4, duplicate_weight=weight)
        held = jax.tree.map(lambda x, n=count: x[:n], jax.device_get(window.examples))

        @jax.jit
        @jax.value_and_grad
        def loss(q: jax.Array, held: Examples = held) -> jax.Array:
            given = jnp.broadcast_to(q, held.played.shape)
            return losses.move_value_loss(given, held.played, held.played_value).sum()

        right, wrong = jnp.array([1.0, -1.0, 0.3]), jnp.array([0.9, -1.0, 0.3])
        value, gradient = loss(right)
        assert value == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(gradient, 0, atol=1e-6)
        assert loss(wrong)[0] > 1e-3


def settings(**changes: Any) -> ReplaySettings:
    changes = {"window_positions": 2000, "window_grows": (5, 12)} | changes
    return section(ReplaySettings, default_config().replay, **changes)


def test_the_slow_window() -> None:
    """002: 500,000 positions, growing from iteration 5 to 12 to 2,000,000 in equal steps."""
    slow = settings(window_start=500)
    sizes = [int(size_at(slow, jnp.int32(i))) for i in range(1, 15)]
    assert sizes[:5] == [500] * 5
    assert sizes[11:] == [2000] * 3
    steps = np.diff(sizes[4:12])
    assert steps.min() > 0
    assert np.ptp(steps) <= 1
    assert size_at(settings(window_start=0), jnp.int32(1)) == 2000


def test_examples_and_their_images_are_drawn() -> None:
    rng = np.random.default_rng(0)
    window = empty(ROOM)
    window, _ = add(window, incoming(rng, 80), 5, size=24, duplicate_weight=0.0)

    def mirror(observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.stack([observation, observation[:, ::-1]]), jnp.stack([policy, policy[::-1]])

    index = jnp.arange(10)
    stored = position_window.source(window).take(index // 2)
    found = replay.image_of(stored, index % 2, mirror)
    np.testing.assert_array_equal(found.policy[0], window.examples.policy[0])
    np.testing.assert_array_equal(found.policy[3], window.examples.policy[1][::-1])
    assert found.reply is not None
    assert window.examples.reply is not None
    np.testing.assert_array_equal(found.reply[3], window.examples.reply[1][::-1])
    np.testing.assert_array_equal(found.legal[9], window.examples.legal[4][::-1])
