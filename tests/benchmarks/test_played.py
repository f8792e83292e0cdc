"""The campaign's check of games and examples passes what is right and sees what is wrong."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.reliability import played
from jaxzero.settings.config import changed, default_config
from jaxzero.training import episodes, learner
from jaxzero.training import spec as spec_lib
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import Spec
from jaxzero.training.trajectory import Trajectory

DISCOUNT = 0.9


def spec_of() -> Spec:
    small = {"game": "gobang_5x5", "search.discount": DISCOUNT, "replay.window": 1}
    return spec_lib.make_spec(changed(default_config(), small))


def game(**changes: Any) -> Trajectory:
    """Two plies of one game of three moves, which the second player won; the third is no ply."""
    column = np.array([[1], [1], [0]], bool)
    fields: dict[str, Any] = {
        "observation": np.zeros((3, 1, 1, 1, 1), np.int8),
        "policy": np.array([[[0.5, 0.5, 0]], [[0, 1, 0]], [[0, 0, 0]]], np.float32),
        "legal": np.array([[[1, 1, 0]], [[0, 1, 1]], [[0, 0, 0]]], bool),
        "to_move": np.array([[0], [1], [0]], np.int8),
        "action": np.array([[0], [1], [-1]], np.int32),
        "root_value": np.zeros((3, 1), np.float32),
        "value": np.array([[-DISCOUNT * DISCOUNT], [DISCOUNT], [0]], np.float32),
        "drawn": np.zeros((3, 1), np.float32),
        "valid": column,
        "recorded": column,
        "outcome": np.array([[-1, 1]], np.float32),
        "plies": np.array([2], np.int32),
        "active": np.array([True]),
    }
    return Trajectory(**fields | {name: np.asarray(value) for name, value in changes.items()})


def examples(**changes: Any) -> Examples:
    fields: dict[str, Any] = {
        "observation": np.zeros((1, 1, 1, 1), np.int8),
        "policy": np.array([[0.5, 0.5, 0]], np.float32),
        "value": np.array([-0.5], np.float32),
        "legal": np.array([[1, 1, 0]], bool),
        "draw": np.array([0.5], np.float32),
    }
    return Examples(**fields | {name: np.asarray(value) for name, value in changes.items()})


def test_what_is_right_passes() -> None:
    assert played.wrong(spec_of(), game(), examples()) == []
    drawn = {"value": np.zeros((3, 1)), "drawn": np.ones((3, 1))}
    assert played.wrong(spec_of(), game(**drawn), examples(value=[0.0], draw=[1.0])) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"action": [[2], [1], [-1]]}, ["illegal moves"]),
        ({"action": [[0], [-1], [-1]]}, ["illegal moves"]),
        ({"value": [[DISCOUNT], [DISCOUNT], [0]]}, ["labels that are not zero-sum"]),
        ({"value": [[-DISCOUNT], [DISCOUNT], [0]]}, ["labels that are not zero-sum"]),
        ({"drawn": [[0.5], [0.5], [0]]}, ["shares of games"]),
        (
            {"policy": [[[0.5, 0.5, 0]], [[0.5, 0.5, 0]], [[0, 0, 0]]]},
            ["policies of illegal moves"],
        ),
        (
            {"policy": [[[0.5, 0.4, 0]], [[0, 1, 0]], [[0, 0, 0]]]},
            ["policies that are no shares"],
        ),
        ({"policy": [[[1.5, -0.5, 0]], [[0, 1, 0]], [[0, 0, 0]]]}, ["policies below 0"]),
    ],
)
def test_what_is_wrong_with_games_is_seen(changes: dict[str, Any], what: list[str]) -> None:
    assert played.wrong(spec_of(), game(**changes), examples()) == what


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"draw": [0.6]}, ["shares of examples"]),
        ({"draw": [-0.1]}, ["shares of examples"]),
        ({"value": [np.nan]}, ["shares of examples"]),
        ({"legal": [[1, 0, 1]]}, ["policies of illegal moves"]),
    ],
)
def test_what_is_wrong_with_examples_is_seen(changes: dict[str, Any], what: list[str]) -> None:
    assert played.wrong(spec_of(), game(), examples(**changes)) == what


def as_any(module: Any) -> Any:
    return module


def test_iterations_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of()
    room = spec.window_capacity

    def self_play(action: jax.Array) -> tuple[Trajectory, dict[str, jax.Array]]:
        return dataclasses.replace(jax.tree.map(jnp.asarray, game()), action=action), {}

    monkeypatch.setattr(episodes, "self_play", self_play)
    monkeypatch.setattr(learner, "fit", lambda *_: None)

    def iterate(action: jax.Array) -> None:
        games = as_any(episodes).self_play(action)[0]
        held = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), examples())
        first = jax.tree.map(lambda room, x: room.at[:1].set(x), held, examples())
        source = Source(games.valid.sum() // 2, lambda at: jax.tree.map(lambda x: x[at], first))
        as_any(learner).fit(spec, None, None, source)

    for actions, what in (([[0], [1], [-1]], []), ([[2], [1], [-1]], ["illegal moves"])):
        with played.watched(spec) as found:
            jax.jit(lambda given: iterate(given))(jnp.int32(actions))  # traced again
        assert found == what
