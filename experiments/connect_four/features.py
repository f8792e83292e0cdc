"""Features of a small network as further targets of a larger one (Clausen 2021, 4.2; thesis).

The small one's heads end in convolutions to one filter, 42 numbers each for moves and for results;
the larger network learns them for a position, and for those one or two moves of the same player
later, by squared error, in channels that it has anyway or in a convolution for nothing else.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from experiments.configs.connect_four_supervised import Features
from jaxzero.networks import NetworkOutput
from jaxzero.training import learner
from jaxzero.training.learner import Auxiliary, Learner
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Spec

_OWN_FILTERS = 8  # of the convolution for features alone
_CHUNK = 512  # positions that the teacher looks at together


@struct.dataclass
class Taught(Examples):
    """Examples with features.

    Attributes:
      moves, results: float32[N, H, W, L], of L layers each, in their order.
    """

    moves: jax.Array | None = None
    results: jax.Array | None = None


def teacher_of(spec: Spec) -> Spec:
    """The small network: 62,928 parameters on the usual board, as the authors'."""
    small = spec.network.clone(
        blocks=3, filters=32, stem_filters=128, head_filters=1, squeeze_excite=True,
        reply_head=False, expose_features=True,
    )  # fmt: skip
    return dataclasses.replace(spec, network=small)


def pupil_of(spec: Spec, wanted: Features) -> Spec:
    """The larger network, with its features to be seen."""
    filters = _OWN_FILTERS if wanted.at == "own" else 0
    seen = spec.network.clone(expose_features=True, feature_filters=filters)
    return dataclasses.replace(spec, network=seen)


def taught(
    spec: Spec, teacher: Learner, wanted: Features, examples: Examples, positions: list[jax.Array]
) -> Taught:
    """Examples with the features of a teacher.

    Args:
      spec: the teacher's.
      teacher: one network.
      wanted: which of its features.
      examples: [N].
      positions: `[N, H, W, C]` for each layer: the examples' own, then later ones.
    """
    seen = {k: _features(spec, teacher, positions[k]) for k in {*wanted.moves, *wanted.results}}

    def stacked(layers: tuple[int, ...], head: int) -> jax.Array | None:
        return jnp.concatenate([seen[k][head] for k in layers], -1) if layers else None

    return Taught(
        **vars(examples), moves=stacked(wanted.moves, 0), results=stacked(wanted.results, 1)
    )


def _features(spec: Spec, teacher: Learner, observation: jax.Array) -> tuple[Any, Any]:
    """Two arrays float32[N, H, W, 1], of moves and of results."""

    def look(batch: jax.Array) -> tuple[Any, Any]:
        out = learner.infer(spec, teacher, batch[None])
        assert out.policy_features is not None
        assert out.outcome_features is not None
        return out.policy_features[0], out.outcome_features[0]

    return jax.jit(lambda x: jax.lax.map(look, x, batch_size=_CHUNK))(observation)


def loss(wanted: Features, weight: float) -> Auxiliary:
    """(output of the larger network, `Taught` [B]) -> float32[B], squared errors of all layers.

    In the heads' convolutions, moves take the channels from the last one down and results those
    from the first one up; elsewhere all of them the channels from the last one down.
    """

    def errors(channels: jax.Array, target: jax.Array | None) -> jax.Array | float:
        if target is None:
            return 0.0
        squares = (channels[..., : target.shape[-1]] - target) ** 2
        return squares.mean((1, 2)).sum(-1)

    def of_batch(output: NetworkOutput, examples: Any) -> jax.Array:
        moves, results = examples.moves, examples.results
        if wanted.at == "head":
            assert output.policy_features is not None
            assert output.outcome_features is not None
            both = (output.policy_features[..., ::-1], output.outcome_features)
            found = errors(both[0], moves) + errors(both[1], results)
        else:
            place = output.block_features if wanted.at == "last_block" else output.own_features
            assert place is not None
            targets = [x for x in (moves, results) if x is not None]
            found = errors(place[..., ::-1], jnp.concatenate(targets, -1))
        return weight * jnp.asarray(found)

    return of_batch
