"""A network, a minibatch and their compiled step, shared by the tests of training."""

import functools
from typing import Any
from unittest import mock

import jax
import optax

from jaxzero.training import episodes, learner, replay
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec
from jaxzero.training.trajectory import Trajectory
from jaxzero.training.windows import Batch
from tests import small

LEARNING_RATE, DROPOUT, WEIGHT = 0.003, 0.4, 0.3


@functools.cache
def spec() -> Spec:
    """Shared with the tests of iterations and populations."""
    return small.small_spec()


@functools.cache
def fresh(spec: Spec) -> Learner:
    """An untrained network."""
    return jax.jit(functools.partial(learner.init, spec))(jax.random.key(0))


@functools.cache
def compiled_step(spec: Spec) -> Any:
    """(hyper, learner, examples, key) -> (learner, (l_p, l_v))."""
    return jax.jit(functools.partial(learner.train_step, spec))


def hyper_of(target: str, **changes: Any) -> Any:
    """Traced settings of these tests."""
    return small.small_hyper(
        {
            "train.loss": target,
            "train.loss_weight": WEIGHT,
            "train.learning_rate": LEARNING_RATE,
            "train.dropout_rate": DROPOUT,
            **changes,
        }
    )


@functools.cache
def examples() -> replay.Examples:
    """A minibatch."""
    return small.random_examples(spec().game, 16)


def games_and_batch(*given: Any) -> tuple[Trajectory, Batch]:
    """The games that `episodes.play_batch` plays, and what it returns; for traced code."""
    played, self_play = [], episodes.self_play

    def noted(*args: Any) -> Any:
        played.append(self_play(*args))
        return played[-1]

    with mock.patch.object(episodes, "self_play", noted):
        batch = episodes.play_batch(*given)
    [(games, _)] = played
    return games, batch


def adam_state(state: Any) -> optax.ScaleByAdamState:
    """The part of an optimiser's state that is Adam's."""

    def is_adam(x: Any) -> bool:
        return isinstance(x, optax.ScaleByAdamState)

    [found] = [x for x in jax.tree.leaves(state, is_leaf=is_adam) if is_adam(x)]
    return found
