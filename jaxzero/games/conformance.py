"""A property suite that any game can be put through: `check_game(game)`.

Random games are played as one compiled, batched program, and every position of every game is held
against the contract of `base.Game`. What rules should be, a property cannot know: for that,
`check_against_reference` plays the same games on an independent implementation.

Two methods beyond the protocol allow more checks, and are asked for where a game has them:
`image(state, k)`, the k-th symmetric image of a position in the order of `symmetries`, and
`flip_colours(state)`, the position with the two players exchanged.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero.games.base import Game
from jaxzero.games.playouts import Playout, View, random_playout, replay, view_of, views_of


@dataclasses.dataclass(frozen=True)
class Report:
    """What `check_game` did: names of the checks that held, and of those it could not make."""

    passed: tuple[str, ...]
    skipped: tuple[str, ...]


class Reference(Protocol):
    """One game of an independent implementation, changed in place by `step`."""

    def legal_actions(self) -> Sequence[bool]:
        """One entry per action, for the player to move; all False when finished."""
        ...

    def step(self, action: int) -> None:
        """Plays a legal action."""
        ...

    def to_move(self) -> int:
        """0 or 1."""
        ...

    def is_terminal(self) -> bool:
        """Is the game finished?"""
        ...

    def outcome(self) -> tuple[float, float]:
        """Result of player 0 and of player 1; zeros before the end."""
        ...


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


def check_against_reference(
    game: Game,
    new_reference: Callable[[], Reference],
    *,
    num_games: int = 32,
    seed: int = 0,
    same_position: Callable[[Any, Any], bool] | None = None,
) -> None:
    """Plays the same random games on `game` and on an independent implementation of its rules.

    Args:
      new_reference: makes a game of the other implementation, at its start.
      same_position: of (state, reference): do both show the same board? Not asked if None.

    Raises:
      AssertionError: at the first ply at which the two differ.
    """
    playout = random_playout(game, num_games=num_games, seed=seed)
    view = jax.device_get(views_of(game, playout.states))
    states, actions = jax.device_get((playout.states, playout.actions))
    for i in range(num_games):
        reference = new_reference()
        for ply in range(len(view.terminal)):
            where = f"{game.name}: game {i}, after actions {actions[:ply, i].tolist()}"
            found = (
                view.legal[ply, i].tolist(),
                int(view.to_move[ply, i]),
                bool(view.terminal[ply, i]),
                tuple(view.outcome[ply, i].tolist()),
            )
            expected = (
                [bool(legal) for legal in reference.legal_actions()],
                # Whose turn it is after the end has no meaning, so it is not compared.
                found[1] if reference.is_terminal() else reference.to_move(),
                reference.is_terminal(),
                tuple(float(result) for result in reference.outcome()),
            )
            names = ("legal actions", "player to move", "end", "outcome")
            for name, ours, theirs in zip(names, found, expected, strict=True):
                assert ours == theirs, f"{where}: {name} is {ours}, the reference has {theirs}"
            if same_position is not None:
                state = jax.tree.map(lambda leaf, p=ply, g=i: leaf[p, g], states)
                assert same_position(state, reference), f"{where}: the boards differ"
            if found[2]:
                break
            reference.step(int(actions[ply, i]))


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
    start = game.init()
    successor = game.step(start, jnp.int32(int(jnp.argmax(game.legal_actions(start)))))
    kinds = [jax.tree.map(lambda x: (x.shape, x.dtype), s) for s in (start, successor)]
    assert kinds[0] == kinds[1], "a step changes the shapes or dtypes of the state"
    expected = {
        "observe": (game.observe(start), game.observation_shape, None),
        "legal_actions": (game.legal_actions(start), (game.num_actions,), jnp.bool_),
        "is_terminal": (game.is_terminal(start), (), jnp.bool_),
        "outcome": (game.outcome(start), (2,), jnp.float32),
        "to_move": (game.to_move(start), (), jnp.int32),
    }
    for name, (value, shape, dtype) in expected.items():
        assert value.shape == shape, f"{name} has shape {value.shape}, not {shape}"
        assert dtype is None or value.dtype == dtype, f"{name} is {value.dtype}, not {dtype}"
    view = views_of(game, playout.states)
    finite = [jnp.isfinite(x.astype(jnp.float32)).all() for x in (view.observation, view.outcome)]
    assert all(map(bool, finite)), "an observation or outcome is not finite"


def check_start(game: Game, playout: Playout) -> None:
    """Player 0 is to move, and the game is not over."""
    start = game.init()
    assert int(game.to_move(start)) == 0, "player 0 does not move first"
    assert not bool(game.is_terminal(start)), "the game is over at its start"
    assert bool(game.legal_actions(start).any()), "there is no action at the start"


def check_max_plies(game: Game, playout: Playout) -> None:
    """Every game is finished after `max_plies` plies."""
    finished = views_of(game, playout.states).terminal[-1]
    assert bool(finished.all()), (
        f"{int((~finished).sum())} of {finished.size} games go on after {game.max_plies} plies"
    )


def check_legal_until_the_end(game: Game, playout: Playout) -> None:
    """There is a legal action exactly as long as the game is not finished."""
    view = views_of(game, playout.states)
    some = view.legal.any(axis=-1)
    assert not bool((some & view.terminal).any()), "an action is legal in a finished game"
    assert bool((some | view.terminal).all()), "no action is legal in a game that is not finished"


def check_end_is_final(game: Game, playout: Playout) -> None:
    """A step of a finished game, with any action, changes nothing."""
    last = jax.tree.map(lambda x: x[-1], playout.states)
    finished = np.asarray(jax.jit(jax.vmap(game.is_terminal))(last))
    unchanged = np.asarray(_steps_change_nothing(game, last))
    assert bool(unchanged[finished].all()), "a step changes a finished game"


def check_outcome(game: Game, playout: Playout) -> None:
    """0 before the end; then -1, 0 or +1 for each, adding up to 0."""
    view = views_of(game, playout.states)
    early = jnp.where(view.terminal[..., None], 0.0, view.outcome)
    assert not bool(early.any()), "the outcome is not 0 before the end"
    values = set(np.unique(np.asarray(view.outcome)).tolist())
    assert values <= {-1.0, 0.0, 1.0}, f"outcomes are {sorted(values)}"
    assert not bool(view.outcome.sum(axis=-1).any()), "the two results do not add up to 0"


def check_turns(game: Game, playout: Playout) -> None:
    """Players take turns, unless the game says that one may move twice."""
    view = views_of(game, playout.states)
    assert bool(((view.to_move == 0) | (view.to_move == 1)).all()), "to_move is not 0 or 1"
    if game.is_alternating:
        going_on = ~view.terminal[1:]
        again = going_on & (view.to_move[1:] == view.to_move[:-1])
        assert not bool(again.any()), "a player moves twice, but is_alternating is set"


def check_batching(game: Game, playout: Playout) -> None:
    """One game, step by step without `jit` and `vmap`, is as it is in the batch."""
    views = views_of(game, playout.states)
    for ply in sorted({0, 1, game.max_plies // 3}):
        state = jax.tree.map(lambda x, p=ply: x[p, -1], playout.states)
        expected = jax.tree.map(lambda x, p=ply: x[p, -1], views)
        assert _equal(view_of(game, state), expected), f"ply {ply} looks different when batched"
        following = jax.tree.map(lambda x, p=ply: x[p + 1, -1], playout.states)
        successor = game.step(state, playout.actions[ply, -1])
        assert _equal(successor, following), f"ply {ply} has another successor when batched"


def check_render(game: Game, playout: Playout) -> None:
    """A board for people, before and after the end."""
    for ply in (0, game.max_plies):
        text = game.render(jax.tree.map(lambda x, p=ply: x[p, 0], playout.states))
        assert isinstance(text, str), "render returns no text"
        assert text.strip(), "render returns an empty text"


def check_symmetries_permute(game: Game, playout: Playout) -> None:
    """Each image reorders the policy, all are different, and the identity comes first."""
    observation = _some_observation(game, playout)
    policy = jnp.arange(game.num_actions, dtype=jnp.float32)
    observations, policies = (np.asarray(x) for x in game.symmetries(observation, policy))
    assert observations.dtype == observation.dtype, "an image changes the observation's dtype"
    assert observations.shape == (len(policies), *observation.shape), (
        f"the images of an observation have shape {observations.shape}"
    )
    assert policies.shape == (len(policies), game.num_actions), (
        f"the images of a policy have shape {policies.shape}"
    )
    assert (observations[0] == observation).all(), "the first image is not the identity"
    assert (policies[0] == policy).all(), "the first image of a policy is not the identity"
    assert (np.sort(policies, axis=1) == np.asarray(policy)).all(), (
        "an image does not permute the policy"
    )
    assert len({row.tobytes() for row in policies}) == len(policies), "two images are the same"


def check_symmetric_games(game: Game, playout: Playout) -> str | None:
    """Image actions played from the start give image positions, where the start is symmetric."""
    observations, _ = game.symmetries(
        game.observe(game.init()), jnp.zeros(game.num_actions, jnp.float32)
    )
    same_start = (observations == observations[:1]).all(axis=(1, 2, 3))
    images = [k for k in range(1, len(observations)) if bool(same_start[k])]
    if not images:
        return SKIPPED
    expected = _image_views(game, views_of(game, playout.states))
    for k in images:
        states = replay(game, _image_actions(game, k, playout.actions))
        _assert_same(k, expected[k], views_of(game, states))
    return None


def check_symmetric_positions(game: Game, playout: Playout) -> str | None:
    """A step of the image by the image action gives the image of the step."""
    num_images = len(game.symmetries(*_dummies(game))[0])
    if num_images == 1 or not hasattr(game, "image"):
        return SKIPPED
    before, after, actions = _plies(playout)
    expected_before = _image_views(game, views_of(game, before))
    expected_after = _image_views(game, views_of(game, after))
    for k, images in enumerate(_images(game, before)):
        _assert_same(k, expected_before[k], views_of(game, images))
        successors = _steps(game, images, _image_actions(game, k, actions))
        _assert_same(k, expected_after[k], views_of(game, successors))
    return None


def check_flipped_colours(game: Game, playout: Playout) -> str | None:
    """With the players exchanged the same actions are legal, and the results are exchanged."""
    if not hasattr(game, "flip_colours"):
        return SKIPPED
    before, after, actions = _plies(playout)
    views = views_of(game, after)
    flipped = views_of(game, _steps(game, _flipped(game, before), actions))
    assert bool((flipped.outcome == -views.outcome).all()), "the outcome is not exchanged"
    assert bool((flipped.to_move == 1 - views.to_move).all()), "the turn is not exchanged"
    for name in ("observation", "legal", "terminal"):
        same = getattr(flipped, name) == getattr(views, name)
        assert bool(same.all()), f"the {name} seen by the player to move depends on the colour"
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


@functools.partial(jax.jit, static_argnums=0)
def _steps_change_nothing(game: Game, states: Any) -> jax.Array:
    """bool[B]: no action, legal or not, changes anything in these states."""

    def unchanged(state: Any, action: jax.Array) -> jax.Array:
        pairs = zip(jax.tree.leaves(state), jax.tree.leaves(game.step(state, action)), strict=True)
        return jnp.stack([(old == new).all() for old, new in pairs]).all()

    actions = jnp.arange(game.num_actions, dtype=jnp.int32)
    over_actions = jax.vmap(unchanged, in_axes=(None, 0))
    return jax.vmap(lambda state: over_actions(state, actions).all())(states)


@functools.partial(jax.jit, static_argnums=0)
def _images(game: Any, states: Any) -> list[Any]:
    """The K images of states with leading axes [T, B]."""
    num_images = len(game.symmetries(*_dummies(game))[0])
    return [
        jax.vmap(jax.vmap(functools.partial(game.image, k=k)))(states) for k in range(num_images)
    ]


@functools.partial(jax.jit, static_argnums=0)
def _flipped(game: Any, states: Any) -> Any:
    return jax.vmap(jax.vmap(game.flip_colours))(states)


@functools.partial(jax.jit, static_argnums=0)
def _steps(game: Game, states: Any, actions: jax.Array) -> Any:
    return jax.vmap(jax.vmap(game.step))(states, actions)


def _plies(playout: Playout) -> tuple[Any, Any, jax.Array]:
    """States before and after each ply, and the actions between them."""
    before = jax.tree.map(lambda x: x[:-1], playout.states)
    after = jax.tree.map(lambda x: x[1:], playout.states)
    return before, after, playout.actions


def _dummies(game: Game) -> tuple[jax.Array, jax.Array]:
    return game.observe(game.init()), jnp.zeros(game.num_actions, jnp.float32)


def _some_observation(game: Game, playout: Playout) -> jax.Array:
    return game.observe(jax.tree.map(lambda x: x[game.max_plies // 4, 0], playout.states))


def _image_actions(game: Game, k: int, actions: jax.Array) -> jax.Array:
    """The k-th image of actions, as `symmetries` moves their probabilities."""
    observation, _ = _dummies(game)
    numbers = jnp.arange(game.num_actions, dtype=jnp.float32)
    moved = np.asarray(game.symmetries(observation, numbers)[1][k]).astype(np.int64)
    return jnp.asarray(np.argsort(moved)[np.asarray(actions)], jnp.int32)


@functools.partial(jax.jit, static_argnums=0)
def _image_views(game: Game, views: View) -> list[View]:
    """What `symmetries` makes of views with leading axes [T, B], for each of the K images."""
    legal = views.legal.astype(jnp.float32)
    observations, policies = jax.vmap(jax.vmap(game.symmetries))(views.observation, legal)
    return [
        views._replace(observation=observations[:, :, k], legal=policies[:, :, k] != 0)
        for k in range(policies.shape[2])
    ]


def _assert_same(k: int, expected: View, found: View) -> None:
    for name, ours, theirs in zip(View._fields, expected, found, strict=True):
        assert bool((ours == theirs).all()), f"image {k} of a position has another {name}"


def _equal(a: Any, b: Any) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(bool((x == y).all()) for x, y in pairs)
