"""A property suite that any game can be put through: `check_game(game)`.

Random games are played as one compiled, batched program, and every position of every game is held
against the contract of `base.Game`. What rules should be, a property cannot know: for that,
`check_against_reference` (of `reference`) plays the same games on an independent implementation.

Two methods beyond the protocol allow more checks, and are asked for where a game has them:
`image(state, k)`, the k-th symmetric image of a position in the order of `symmetries`, and
`flip_colours(state)`, the position with the two players exchanged.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games.base import Game
from jaxzero.games.playouts import (
    Playout,
    View,
    random_playout,
    replay,
    steps_of,
    view_of,
    views_of,
)
from jaxzero.games.reference import Reference, check_against_reference

__all__ = ["CHECKS", "Reference", "Report", "check_against_reference", "check_game"]


@dataclasses.dataclass(frozen=True)
class Report:
    """What `check_game` did: names of the checks that held, and of those it could not make."""

    passed: tuple[str, ...]
    skipped: tuple[str, ...]


def check_game(game: Game, *, num_games: int = 32, seed: int = 0) -> Report:
    """Plays `num_games` random games of `game` and checks every position.

    Returns:
      which checks ran.

    Raises:
      AssertionError: naming the game, the check and what was found.
    """
    playout = random_playout(game, num_games=num_games, seed=seed)
    passed: list[str] = []
    skipped: list[str] = []
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        try:
            ran = check(game, playout)
        except AssertionError as error:
            raise AssertionError(f"{game.name}: {name}: {error}") from None
        (skipped if ran is SKIPPED else passed).append(name)
    return Report(tuple(passed), tuple(skipped))


# ---- the checks: each raises AssertionError, or returns SKIPPED where it does not apply ----

SKIPPED = "skipped"


def check_static_fields(game: Game, playout: Playout) -> None:
    """Hash and equality, sizes, and a name."""
    copy = dataclasses.replace(game) if dataclasses.is_dataclass(game) else game
    assert copy == game, "a copy is not equal"
    assert hash(copy) == hash(game), "a copy hashes differently"
    assert isinstance(game.name, str), "its name is not text"
    assert game.name, "it has no name"
    assert game.num_actions > 0, "it has no actions"
    assert game.max_plies > 0, "it has no plies"
    assert len(game.observation_shape) == 3, f"observation_shape is {game.observation_shape}"


def check_shapes(game: Game, playout: Playout) -> None:
    """Shapes and dtypes, those of the state kept by a step, and nothing that is not finite."""
    start = jax.eval_shape(game.init)
    successor = jax.eval_shape(game.step, start, jax.ShapeDtypeStruct((), jnp.int32))
    kinds = [jax.tree.map(lambda x: (x.shape, x.dtype), s) for s in (start, successor)]
    assert kinds[0] == kinds[1], "a step changes the shapes or dtypes of the state"
    view = jax.eval_shape(functools.partial(view_of, game), start)
    expected = {
        "observe": (view.observation, game.observation_shape, None),
        "legal_actions": (view.legal, (game.num_actions,), jnp.bool_),
        "is_terminal": (view.terminal, (), jnp.bool_),
        "outcome": (view.outcome, (2,), jnp.float32),
        "to_move": (view.to_move, (), jnp.int32),
    }
    for name, (value, shape, dtype) in expected.items():
        assert value.shape == shape, f"{name} has shape {value.shape}, not {shape}"
        assert dtype is None or value.dtype == dtype, f"{name} is {value.dtype}, not {dtype}"
    for array in (playout.views.observation, playout.views.outcome):
        assert np.isfinite(array.astype(np.float32)).all(), "something observed is not finite"


def check_start(game: Game, playout: Playout) -> None:
    """Player 0 is to move, and the game is not over."""
    view = playout.views
    assert (view.to_move[0] == 0).all(), "player 0 does not move first"
    assert not view.terminal[0].any(), "the game is over at its start"


def check_max_plies(game: Game, playout: Playout) -> None:
    """Every game is finished after `max_plies` plies."""
    going_on = ~playout.views.terminal[-1]
    assert not going_on.any(), (
        f"{going_on.sum()} of {going_on.size} games go on after {game.max_plies} plies"
    )


def check_legal_until_the_end(game: Game, playout: Playout) -> None:
    """There is a legal action exactly as long as the game is not finished."""
    view = playout.views
    some = view.legal.any(axis=-1)
    assert not (some & view.terminal).any(), "an action is legal in a finished game"
    assert (some | view.terminal).all(), "no action is legal in a game that is not finished"


def check_end_is_final(game: Game, playout: Playout) -> None:
    """A step of a finished game, with any action, changes nothing."""
    num_plies, num_games = playout.actions.shape
    last = jax.tree.map(lambda x: np.stack([x[-1]] * num_plies), playout.states)
    finished = playout.views.terminal[-1]
    for begin in range(0, game.num_actions, num_plies):
        actions = (begin + np.arange(num_plies, dtype=np.int32)) % game.num_actions
        successors = steps_of(game, last, np.stack([actions] * num_games, axis=1))
        for old, new in zip(jax.tree.leaves(last), jax.tree.leaves(successors), strict=True):
            changed = (old != new)[:, finished]
            assert not changed.any(), "a step changes a finished game"


def check_outcome(game: Game, playout: Playout) -> None:
    """0 before the end; then -1, 0 or +1 for each, adding up to 0."""
    view = playout.views
    assert not view.outcome[~view.terminal].any(), "the outcome is not 0 before the end"
    values = set(np.unique(view.outcome).tolist())
    assert values <= {-1.0, 0.0, 1.0}, f"outcomes are {sorted(values)}"
    assert not view.outcome.sum(axis=-1).any(), "the two results do not add up to 0"


def check_turns(game: Game, playout: Playout) -> None:
    """Players take turns, unless the game says that one may move twice."""
    to_move = playout.views.to_move
    assert ((to_move == 0) | (to_move == 1)).all(), "to_move is not 0 or 1"
    if game.is_alternating:
        again = ~playout.views.terminal[1:] & (to_move[1:] == to_move[:-1])
        assert not again.any(), "a player moves twice, but is_alternating is set"


def check_batching(game: Game, playout: Playout) -> None:
    """One game, step by step without `vmap`, is as it is in the batch."""
    view_one, step_one = jax.jit(functools.partial(view_of, game)), jax.jit(game.step)
    for ply in sorted({0, 1, game.max_plies // 3}):
        state = jax.tree.map(lambda x, p=ply: x[p, -1], playout.states)
        expected = jax.tree.map(lambda x, p=ply: x[p, -1], playout.views)
        assert _equal(view_one(state), expected), f"ply {ply} looks different when batched"
        following = jax.tree.map(lambda x, p=ply: x[p + 1, -1], playout.states)
        successor = step_one(state, playout.actions[ply, -1])
        assert _equal(successor, following), f"ply {ply} has another successor when batched"


def check_render(game: Game, playout: Playout) -> None:
    """A board for people, before and after the end."""
    for ply in (0, game.max_plies):
        text = game.render(jax.tree.map(lambda x, p=ply: x[p, 0], playout.states))
        assert isinstance(text, str), "render returns no text"
        assert text.strip(), "render returns an empty text"


def check_symmetries_permute(game: Game, playout: Playout) -> None:
    """Each image reorders the policy, all are different, and the identity comes first."""
    observation = playout.views.observation[game.max_plies // 4, 0]
    policy = np.arange(game.num_actions, dtype=np.float32)
    observations, policies = jax.device_get(_symmetries(game, observation, policy))
    assert observations.dtype == observation.dtype, "an image changes the observation's dtype"
    assert observations.shape == (len(policies), *observation.shape), (
        f"the images of an observation have shape {observations.shape}"
    )
    assert policies.shape == (len(policies), game.num_actions), (
        f"the images of a policy have shape {policies.shape}"
    )
    assert (observations[0] == observation).all(), "the first image is not the identity"
    assert (policies[0] == policy).all(), "the first image of a policy is not the identity"
    assert (np.sort(policies, axis=1) == policy).all(), "an image does not permute the policy"
    assert len({row.tobytes() for row in policies}) == len(policies), "two images are the same"


def check_symmetric_games(game: Game, playout: Playout) -> str | None:
    """Image actions played from the start give image positions, where the start is symmetric."""
    starts = [view.observation[0, 0] for view in _image_views(game, playout.views)]
    images = [k for k in range(1, len(starts)) if (starts[k] == starts[0]).all()]
    for k in images:
        expected = _image_views(game, playout.views)[k]
        _assert_same(k, expected, replay(game, _image_actions(game, k, playout)).views)
    return None if images else SKIPPED


def check_symmetric_positions(game: Game, playout: Playout) -> str | None:
    """A step of the image by the image action gives the image of the step."""
    image_views = _image_views(game, playout.views)
    if len(image_views) == 1 or not hasattr(game, "image"):
        return SKIPPED
    for k, images in enumerate(jax.device_get(_images(game, len(image_views), playout.states))):
        _assert_same(k, image_views[k], views_of(game, images))
        successors = _successors(game, images, _image_actions(game, k, playout))
        _assert_same(k, image_views[k], views_of(game, successors))
    return None


def check_flipped_colours(game: Game, playout: Playout) -> str | None:
    """With the players exchanged the same actions are legal, and the results are exchanged."""
    if not hasattr(game, "flip_colours"):
        return SKIPPED
    flipped_states = jax.device_get(_flipped(game, playout.states))
    for states in (flipped_states, _successors(game, flipped_states, playout.actions)):
        flipped, original = views_of(game, states), playout.views
        assert (flipped.outcome == -original.outcome).all(), "the outcome is not exchanged"
        assert (flipped.to_move == 1 - original.to_move).all(), "the turn is not exchanged"
        for name in ("observation", "legal", "terminal"):
            same = getattr(flipped, name) == getattr(original, name)
            assert same.all(), f"the {name} seen by the player to move depends on the colour"
    return None


CHECKS: tuple[Callable[[Game, Playout], str | None], ...] = (
    check_static_fields,
    check_shapes,
    check_start,
    check_legal_until_the_end,
    check_outcome,
    check_turns,
    check_max_plies,
    check_end_is_final,
    check_batching,
    check_render,
    check_symmetries_permute,
    check_symmetric_games,
    check_symmetric_positions,
    check_flipped_colours,
)


# ---- helpers; the compiled ones have the game as a static argument ----


@functools.partial(jax.jit, static_argnums=0)
def _symmetries(game: Game, observation: jax.Array, policy: jax.Array) -> tuple[Any, Any]:
    return game.symmetries(observation, policy)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _images(game: Any, num_images: int, states: Any) -> list[Any]:
    """The K images of states with leading axes [T, B]."""
    return [
        jax.vmap(jax.vmap(functools.partial(game.image, k=k)))(states) for k in range(num_images)
    ]


@functools.partial(jax.jit, static_argnums=0)
def _flipped(game: Any, states: Any) -> Any:
    return jax.vmap(jax.vmap(game.flip_colours))(states)


@functools.partial(jax.jit, static_argnums=0)
def _symmetries_of_views(game: Game, observations: Any, legal: Any) -> tuple[Any, Any]:
    return jax.vmap(jax.vmap(game.symmetries))(observations, legal.astype(jnp.float32))


def _image_views(game: Game, views: View) -> list[View]:
    """What `symmetries` makes of views with leading axes [T, B], for each of the K images."""
    images = jax.device_get(_symmetries_of_views(game, views.observation, views.legal))
    return [
        views._replace(observation=images[0][:, :, k], legal=images[1][:, :, k] != 0)
        for k in range(images[1].shape[2])
    ]


def _image_actions(game: Game, k: int, playout: Playout) -> np.ndarray:
    """The k-th image of the actions played, as `symmetries` moves their probabilities."""
    numbers = np.arange(game.num_actions, dtype=np.float32)
    _, policies = jax.device_get(_symmetries(game, playout.views.observation[0, 0], numbers))
    return np.argsort(policies[k])[playout.actions].astype(np.int32)


def _successors(game: Game, states: Any, actions: np.ndarray) -> Any:
    """The first of states [T + 1, B], followed by the successors of all but the last."""
    before = jax.tree.map(lambda x: x[:-1], states)
    return jax.tree.map(
        lambda x, y: np.concatenate([x[:1], y]), states, steps_of(game, before, actions)
    )


def _assert_same(k: int, expected: View, actual: View) -> None:
    for name, ours, theirs in zip(View._fields, expected, actual, strict=True):
        assert (ours == theirs).all(), f"image {k} of a position has another {name}"


def _equal(a: Any, b: Any) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(bool((np.asarray(x) == np.asarray(y)).all()) for x, y in pairs)
