"""Networks that get wider in training (Clausen 2021, section 4.2): when, to what, and how.

A learner's weights say how wide it is (`widening.fitting`): the spec of a growing run is one spec.
"""

import dataclasses
from typing import Any

import jax
import optax

from jaxzero.networks import widening
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.optimiser import Averaged
from jaxzero.training.spec import GrowthSettings, Spec


def of_width(spec: Spec, channels: int) -> Spec:
    """The same run with blocks of so many channels."""
    return dataclasses.replace(spec, network=spec.network.clone(filters=channels))


def widest(spec: Spec) -> Spec:
    """The same run when it has grown for the last time."""
    return of_width(spec, spec.growth.grow_to[-1]) if spec.growth.grow_to else spec


def channels(settings: Any, params: Any) -> int:
    """Width of a network that grows, 0 of others; `settings`: what has its `grow_at`."""
    return widening.channels_of(params) if settings.grow_at else 0


def goal(growth: GrowthSettings, done: int, channels: int) -> int:
    """Channels of the next network after so many iterations; 0: there is none to grow to yet.

    Args:
      channels: of the network now.
    """
    steps = zip(growth.grow_at, growth.grow_to, strict=True)
    return next((to for at, to in steps if at <= done and to > channels), 0)


def planned(growth: GrowthSettings, channels: int, done: int) -> int:
    """Channels after so many iterations, where they are known beforehand: not of `parallel`.

    Args:
      channels: before all growth.
    """
    steps = zip(growth.grow_at, growth.grow_to, strict=True)
    return max([channels, *(to for at, to in steps if at < done)])


def widened(spec: Spec, narrow: Learner, channels: int, key: jax.Array) -> Learner:
    """A wider learner that answers as the narrow one does, its optimiser's state widened alike.

    A step along the momentum alone moves both in the same way, with Adam too.

    Args:
      channels: of the wider blocks.
      key: of the shares of copies, consumed.
    """
    like = shapes(spec, channels)

    def wide(params: Any, **options: Any) -> Any:
        return widening.widen(params, like.params, key, **options)

    def state_of(part: Any) -> Any:
        if isinstance(part, optax.TraceState):
            return part._replace(trace=wide(part.trace))
        if isinstance(part, optax.ScaleByAdamState):
            return part._replace(mu=wide(part.mu), nu=wide(part.nu, shared=False))
        if isinstance(part, Averaged):
            return Averaged(
                widen_states(part.optimiser),
                wide(part.params),
                widening.widen(part.batch_stats, like.batch_stats),
                part.steps,
            )
        return part

    def widen_states(state: Any) -> Any:
        kinds = (optax.TraceState, optax.ScaleByAdamState, Averaged)
        return jax.tree.map(state_of, state, is_leaf=lambda x: isinstance(x, kinds))

    return Learner(
        wide(narrow.params),
        widening.widen(narrow.batch_stats, like.batch_stats),
        widen_states(narrow.opt_state),
    )


def shapes(spec: Spec, channels: int) -> Learner:
    """Shapes of a learner of a width."""
    return jax.eval_shape(lambda: fresh(spec, channels, jax.random.key(0)))


def fresh(spec: Spec, channels: int, key: jax.Array) -> Learner:
    """A learner of a width from random weights. The key is consumed."""
    return learner.init(of_width(spec, channels), key)
