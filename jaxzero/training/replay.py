"""The window of examples: the last rs iterations, every position with all its symmetric images.

Only the positions themselves are stored. An example is a (position, image) pair; its image is made
when it is drawn, which gives the same distribution as storing all images (Wang 2020's program) in a
K-th of the memory.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.training.trajectory import Trajectory


@struct.dataclass
class Examples:
    """Positions with their targets, from the player to move.

    Attributes:
      observation: [..., H, W, C].
      policy: float32[..., A], a distribution.
      value: float32[...], z in [-1, 1].
      legal: bool[..., A].
      draw: float32[...], share of draws in the result, beside `value`; None: read from `value`.
      reply: float32[..., A], the opponent's policy at the next position, uniform behind the last
        move and where the same player moves again (Clausen 2021, equation 5); None where nobody
        learns it.
      played: float32[..., A], the move played, one-hot; None where nobody needs it.
      played_value: float32[..., A], z at the move played, else 0; None where nobody needs it.
      features: float32[..., H, W, L] of moves and of results (each may be None), of a small
        network, see `training.features`; None where nobody learns them.
    """

    observation: jax.Array
    policy: jax.Array
    value: jax.Array
    legal: jax.Array
    draw: jax.Array | None = None
    reply: jax.Array | None = None
    played: jax.Array | None = None
    played_value: jax.Array | None = None
    features: tuple[jax.Array | None, jax.Array | None] | None = None

    @classmethod
    def zeros(
        cls,
        lead: tuple[int, ...],
        observation: jax.ShapeDtypeStruct,
        num_actions: int,
        extras: tuple[str, ...] = (),
        layers: tuple[int, int] | None = None,
    ) -> "Examples":
        """Room for examples with leading axes `lead` and the optional fields `extras`.

        `layers`: of features of moves and of results.
        """

        def room(layers: int) -> jax.Array | None:
            return jnp.zeros((*lead, *observation.shape[:2], layers)) if layers else None

        by_action, number = jnp.zeros((*lead, num_actions)), jnp.zeros(lead)
        return cls(
            observation=jnp.zeros((*lead, *observation.shape), observation.dtype),
            policy=by_action,
            value=number,
            legal=jnp.zeros((*lead, num_actions), bool),
            features=layers and (room(layers[0]), room(layers[1])),
            **{name: by_action if _EXTRAS[name].is_by_action else number for name in extras},
        )


@struct.dataclass
class Replay:
    """A ring of iterations."""

    examples: Examples  # [W, P, ...], P positions for each of W iterations
    count: jax.Array  # int32[W], positions in use
    iteration: jax.Array  # int32[W], which iteration a slot holds; -1 for none


def empty(window: int, like: Examples) -> Replay:
    """A window without examples: room for W iterations of positions like these, [P]."""
    return Replay(
        examples=jax.tree.map(lambda x: jnp.zeros((window, *x.shape), x.dtype), like),
        count=jnp.zeros((window,), jnp.int32),
        iteration=jnp.full((window,), -1, jnp.int32),
    )


def from_trajectory(
    trajectory: Trajectory,
    positions: int,
    *,
    extras: tuple[str, ...] = (),
    root_value_share: float = 0.0,
    features: tuple[jax.Array | None, jax.Array | None] | None = None,
) -> tuple[Examples, jax.Array]:
    """The positions of an iteration in the order of the games, packed to the front.

    Args:
      trajectory: [T, B] plies of B games.
      positions: capacity P. If there are more, the newest are kept, as in a bounded queue.
      extras: optional fields of `Examples` that are filled.
      root_value_share: of the search's value in the value target, beside the result (Young 2019,
        as Clausen 2021 section 2.4 has it), and of its draw probability in the share of draws.
      features: [T, B, ...] as in `Examples`.

    Returns:
      `Examples` [P] and int32, how many are in use. Plies that were not recorded are left out.
    """
    value = _value(trajectory, root_value_share)
    optional = {name: _EXTRAS[name].read(trajectory, root_value_share) for name in extras}
    by_game = jax.tree.map(
        lambda x: jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:]),
        Examples(
            observation=trajectory.observation,
            policy=trajectory.policy,
            value=value,
            legal=trajectory.legal,
            features=features,
            **optional,
        ),
    )
    valid = jnp.swapaxes(trajectory.recorded, 0, 1).reshape(-1)
    total = valid.sum(dtype=jnp.int32)
    surplus = jnp.maximum(total - positions, 0)
    index = jnp.cumsum(valid, dtype=jnp.int32) - 1 - surplus
    index = jnp.where(valid & (index >= 0), index, positions)

    def pack(x: jax.Array) -> jax.Array:
        return jnp.zeros((positions, *x.shape[1:]), x.dtype).at[index].set(x, mode="drop")

    return jax.tree.map(pack, by_game), jnp.minimum(total, positions)


def _value(trajectory: Trajectory, root_value_share: float) -> jax.Array:
    if not root_value_share:
        return trajectory.value
    return (1 - root_value_share) * trajectory.value + root_value_share * trajectory.root_value


def _draw(trajectory: Trajectory, root_value_share: float) -> jax.Array:
    if not root_value_share:
        return trajectory.drawn
    assert trajectory.root_draw is not None
    return (1 - root_value_share) * trajectory.drawn + root_value_share * trajectory.root_draw


def _reply(trajectory: Trajectory, root_value_share: float) -> jax.Array:
    del root_value_share
    nobody = jnp.zeros_like(trajectory.valid[:1])
    by_other = trajectory.to_move[1:] != trajectory.to_move[:-1]
    answered = jnp.concatenate([trajectory.valid[1:] & by_other, nobody])[..., None]
    following = jnp.concatenate([trajectory.policy[1:], trajectory.policy[:1]])
    return jnp.where(answered, following, 1 / trajectory.policy.shape[-1])


def _played(trajectory: Trajectory, root_value_share: float) -> jax.Array:
    del root_value_share
    return jax.nn.one_hot(trajectory.action, trajectory.policy.shape[-1], dtype=jnp.float32)


def _played_value(trajectory: Trajectory, root_value_share: float) -> jax.Array:
    value = _value(trajectory, root_value_share)[..., None]
    return _played(trajectory, root_value_share) * value


class _Extra(NamedTuple):
    """An optional field of `Examples`: [..., A] or one number, and how games say it."""

    is_by_action: bool
    read: Callable[[Trajectory, float], jax.Array]  # with root_value_share


_EXTRAS = {
    "draw": _Extra(False, _draw),
    "reply": _Extra(True, _reply),
    "played": _Extra(True, _played),
    "played_value": _Extra(True, _played_value),
}


def add(replay: Replay, examples: Examples, count: jax.Array, iteration: jax.Array) -> Replay:
    """Puts an iteration's examples [P] in the place of the oldest ones."""
    slot = iteration % replay.count.shape[0]
    chex.assert_tree_shape_prefix(examples, replay.examples.value.shape[1:])
    return Replay(
        examples=jax.tree.map(lambda ring, x: ring.at[slot].set(x), replay.examples, examples),
        count=replay.count.at[slot].set(count),
        iteration=replay.iteration.at[slot].set(iteration),
    )


@dataclasses.dataclass(frozen=True)
class Source:
    """What training draws from.

    Attributes:
      count: int32, positions in use.
      take: int32[b] numbers of positions, in [0, count) -> `Examples` [b], as they are stored.
    """

    count: jax.Array
    take: Callable[[jax.Array], Examples]


def source(replay: Replay, iteration: jax.Array, window: jax.Array | int) -> Source:
    """The positions of the last `window` iterations (int32, may be traced) up to `iteration`."""
    age = iteration - replay.iteration
    usable = (replay.iteration >= 0) & (age >= 0) & (age < window)
    counts = jnp.where(usable, replay.count, 0)  # int32[W]
    ends = jnp.cumsum(counts)

    def take(position: jax.Array) -> Examples:
        slot = jnp.searchsorted(ends, position, side="right", method="scan_unrolled")
        offset = position - (ends - counts)[slot]
        return jax.tree.map(lambda x: x[slot, offset], replay.examples)

    return Source(counts.sum(), take)


Symmetries = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def with_legal(symmetries: Symmetries) -> Callable[[Examples], Examples]:
    """All images of one example, [K, ...].

    What is by action moves as the policy does, features as the board.
    """

    def images(example: Examples) -> Examples:
        observation, policy = symmetries(example.observation, example.policy)

        def image(x: jax.Array) -> jax.Array:
            if x.ndim == 0:
                return jnp.broadcast_to(x, policy.shape[:1])
            if x.shape != example.policy.shape:
                raise ValueError(f"{x.shape}: examples have numbers, rows by action, and features")
            return symmetries(example.observation, x.astype(jnp.float32))[1]

        flat = dataclasses.replace(example, observation=example.value, features=None)
        moved = jax.tree.map(image, flat)
        return dataclasses.replace(
            moved,
            observation=observation,
            policy=policy,
            legal=moved.legal > 0.5,
            features=jax.tree.map(lambda x: symmetries(x, example.policy)[0], example.features),
        )

    return images


def without_policy(symmetries: Symmetries) -> Symmetries:
    """The published Connect Four mirror: the board's images, each with the policy as it was."""

    def images(observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        observations, policies = symmetries(observation, policy)
        return observations, jnp.broadcast_to(policy, policies.shape)

    return images


def image_of(stored: Examples, image: jax.Array, symmetries: Symmetries) -> Examples:
    """Of each example [b] its image of a number, int32[b] in [0, K)."""
    images = jax.vmap(with_legal(symmetries))(stored)
    rows = jnp.arange(image.shape[0])
    return jax.tree.map(lambda x: x[rows, image], images)
