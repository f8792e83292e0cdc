"""Features of a small network as further targets of a larger one (Clausen 2021, 4.2; thesis).

The small one's heads end in convolutions to one filter, a number for each square for moves and for
results; the larger network learns them for a position, and for those one or two moves of the same
player later, by squared error, in channels that it has anyway or in a convolution for nothing else.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxzero.loops import in_chunks
from jaxzero.networks import NetworkOutput
from jaxzero.settings.features import Features, Learned
from jaxzero.training.trajectory import Trajectory

# Of moves, of results: float32[..., H, W, layers]; None without any.
Targets = tuple[jax.Array | None, jax.Array | None]

_OWN_FILTERS = 8  # of the convolution for features alone
_CHUNK = 512  # positions that the teacher looks at together


def exposing(learned: Learned | None) -> dict[str, Any]:
    """Settings of a network whose features can be seen; none if nobody learns there."""
    if learned is None:
        return {}
    own = {"feature_filters": _OWN_FILTERS} if learned.wanted.at == "own" else {}
    return {"expose_features": True} | own


def teacher_network(network: nn.Module, blocks: int = 3, channels: int = 32) -> nn.Module:
    """The small network beside a residual one: as the authors', 62,928 parameters on 6x7."""
    return network.clone(
        blocks=blocks, filters=channels, stem_filters=4 * channels, head_filters=1,
        squeeze_excite=True,
        reply_head=False, move_value_head=False, expose_features=True, feature_filters=0,
        axis_name=None,
    )  # fmt: skip


def seen_by(
    network: nn.Module, variables: Any, observation: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A teacher's features of positions [N, H, W, C], a layer each, in inference mode."""

    def look(batch: jax.Array) -> tuple[jax.Array, jax.Array]:
        out: Any = network.apply(variables, batch, train=False)
        return out.policy_features, out.outcome_features

    return in_chunks(look, _CHUNK, observation)


def of_games(
    network: nn.Module, variables: Any, wanted: Features, trajectory: Trajectory
) -> Targets:
    """The layers [T, B, H, W, L] of every ply; behind a game's end its player's last position.

    Args:
      network: of `teacher_network`.
      variables: its weights.
      trajectory: [T, B], of a game in which turns alternate where layers are later.
    """
    plies, games = trajectory.valid.shape
    flat = trajectory.observation.reshape(-1, *trajectory.observation.shape[2:])
    seen = seen_by(network, variables, flat)
    now = jnp.arange(plies)[:, None]
    end = jnp.where(trajectory.valid, now, -1).max(0)[None]  # the last position of each game

    def layer(k: int, x: jax.Array) -> jax.Array:
        then = jnp.where(now + 2 * k <= end, now + 2 * k, end - (end - now) % 2)
        return x.reshape(plies, games, *x.shape[1:])[jnp.maximum(then, 0), jnp.arange(games)[None]]

    return stacked(wanted, lambda k: (layer(k, seen[0]), layer(k, seen[1])))


def stacked(wanted: Features, layer: Any) -> Targets:
    """Both heads' layers, of number -> (one of moves, one of results), [..., 1] each."""
    seen = {k: layer(k) for k in sorted({*wanted.moves, *wanted.results})}

    def of_head(layers: tuple[int, ...], head: int) -> jax.Array | None:
        return jnp.concatenate([seen[k][head] for k in layers], -1) if layers else None

    return of_head(wanted.moves, 0), of_head(wanted.results, 1)


def loss(learned: Learned, output: NetworkOutput, targets: Targets) -> jax.Array:
    """float32[B], weighted squared errors of all layers.

    In the heads' convolutions, moves take the channels from the last one down and results those
    from the first one up; elsewhere all of them the channels from the last one down.
    """

    def errors(channels: jax.Array | None, target: jax.Array | None) -> jax.Array | float:
        if target is None:
            return 0.0
        assert channels is not None
        squares = (channels[..., : target.shape[-1]] - target) ** 2
        return squares.mean((1, 2)).sum(-1)

    at = learned.wanted.at
    if at == "head":
        policy, outcome = output.policy_features, output.outcome_features
        assert policy is not None
        found = errors(policy[..., ::-1], targets[0]) + errors(outcome, targets[1])
    else:
        place = output.block_features if at == "last_block" else output.own_features
        assert place is not None
        found = errors(place[..., ::-1], jnp.concatenate([x for x in targets if x is not None], -1))
    return learned.weight * jnp.asarray(found)
