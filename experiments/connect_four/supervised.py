"""Learning from solved positions: epochs, the falling learning rate, stopping (Clausen 2021, 3.2).

The authors' schedule: the learning rate is divided by ten after 8 epochs without a better
validation score, training stops after 12, and the network of the best epoch counts. The score is
the mean of the shares of right moves and right results.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from ml_collections import ConfigDict

from experiments.connect_four.solved_accuracy import answers_of
from jaxzero import solvers
from jaxzero.loops import in_chunks
from jaxzero.networks import likeliest_result
from jaxzero.settings.features import Features
from jaxzero.solvers import Labelled
from jaxzero.training import features, learner
from jaxzero.training.learner import Learner
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec

METRICS = (
    "loss/policy",
    "loss/value",
    "validation/move",
    "validation/result",
    "learning_rate",
)  # of an epoch
_CHUNK = 512  # positions evaluated at once


class Schedule(NamedTuple):
    """When the learning rate falls, and when training ends; epochs without a better score."""

    patience: int  # until it falls
    factor: float  # what it is multiplied by
    stop_after: int  # until the end
    max_epochs: int  # the end in any case


@struct.dataclass
class Questions:
    """Positions to be asked about, and what is right."""

    observation: jax.Array  # [N, H, W, C]
    legal: jax.Array  # bool[N, A]
    best: jax.Array  # bool[N, A], the moves that count as right (strong)
    result: jax.Array  # float32[N], -1, 0 or 1 for the player to move


@struct.dataclass
class Progress:
    """One network in training, between epochs."""

    learner: Learner  # the newest
    best: Learner  # of the best epoch, without optimiser state
    learning_rate: jax.Array  # float32
    best_score: jax.Array  # float32
    epoch: jax.Array  # int32
    best_epoch: jax.Array  # int32
    fell_at: jax.Array  # int32, when the learning rate fell last
    key: jax.Array  # typed


def examples(labelled: Labelled, index: np.ndarray, *, published_labels: bool) -> Examples:
    """Training examples: the policy target is uniform over the best moves.

    Published labels call positions that the first player is to move in and loses draws, a slip of
    the authors' program (docs/deviations.md).
    """
    best = labelled.strong[index]
    result = labelled.value[index]
    if published_labels:
        result = published_result(result, labelled.plies[index])
    return Examples(
        observation=observe(labelled, index),
        policy=jnp.asarray(best / best.sum(axis=1, keepdims=True), jnp.float32),
        value=jnp.asarray(result),
        legal=jnp.asarray(labelled.legal[index]),
    )


def with_features(
    examples: Examples, spec: Spec, teacher: Learner, wanted: Features, positions: list[jax.Array]
) -> Examples:
    """Examples [N] with the features of a small network that are learned too (section 4.2).

    `spec` is the teacher's; `positions`: `[N, H, W, C]` for each layer, the examples' own, then
    later ones.
    """
    acts = learner.without_optimiser(teacher)
    variables = {"params": acts.params, "batch_stats": acts.batch_stats}
    look = jax.jit(lambda x: features.seen_by(spec.network, variables, x))
    seen = features.stacked(wanted, lambda k: look(positions[k]))
    return dataclasses.replace(examples, features=seen)


def published_result(result: np.ndarray, plies: np.ndarray) -> np.ndarray:
    """float32[N]: results as the authors' program labelled them.

    `(player + 1) % 2` was meant to name the other one of players 1 and 2; for player 1 it gives 0,
    the code of a draw.
    """
    return np.where((plies % 2 == 0) & (result < 0), 0.0, result).astype(np.float32)


def questions(labelled: Labelled, index: np.ndarray) -> Questions:
    """What the network is asked, always with true results."""
    return Questions(
        observation=observe(labelled, index),
        legal=jnp.asarray(labelled.legal[index]),
        best=jnp.asarray(labelled.strong[index]),
        result=jnp.asarray(labelled.value[index]),
    )


def observe(labelled: Labelled, index: np.ndarray) -> jax.Array:
    """[N, H, W, C] in the encoding of the labelled positions' game."""
    states = jax.tree.map(lambda x: jnp.asarray(x[index]), labelled.states)
    return jax.jit(jax.vmap(labelled.game.observe))(states)


def start(spec: Spec, hyper: Hyper, seed: jax.Array) -> Progress:
    """A network before its first epoch."""
    key, weights_key = jax.random.split(jax.random.key(seed))
    fresh = learner.init(spec, weights_key)
    zero = jnp.int32(0)
    return Progress(
        learner=fresh,
        best=learner.without_optimiser(fresh),
        learning_rate=hyper.learning_rate,
        best_score=jnp.float32(-1),
        epoch=zero,
        best_epoch=zero,
        fell_at=zero,
        key=key,
    )


def is_going(schedule: Schedule, progress: Progress) -> jax.Array:
    """bool: whether there is another epoch."""
    patient = progress.epoch - progress.best_epoch < schedule.stop_after
    return patient & (progress.epoch < schedule.max_epochs)


def fall(schedule: Schedule, progress: Progress) -> Progress:
    """Before an epoch: the learning rate falls if it has been of no use for long enough."""
    since = progress.epoch - jnp.maximum(progress.best_epoch, progress.fell_at)
    falls = since >= schedule.patience
    rate = progress.learning_rate
    return dataclasses.replace(
        progress,
        learning_rate=jnp.where(falls, rate * schedule.factor, rate),
        fell_at=jnp.where(falls, progress.epoch, progress.fell_at),
    )


def note(progress: Progress, trained: Learner, score: jax.Array) -> Progress:
    """After an epoch: the network, and whether it is the best so far (float32 scalar `score`)."""
    better = score > progress.best_score
    newest = learner.without_optimiser(trained)
    return dataclasses.replace(
        progress,
        learner=trained,
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), newest, progress.best),
        best_score=jnp.maximum(score, progress.best_score),
        best_epoch=jnp.where(better, progress.epoch, progress.best_epoch),
        epoch=progress.epoch + 1,
    )


def epoch(
    spec: Spec,
    hyper: Hyper,
    schedule: Schedule,
    progress: Progress,
    train: Examples,
    validation: Questions,
) -> tuple[Progress, dict[str, jax.Array]]:
    """One pass over the training set in a new order, and the validation.

    Args:
      spec, hyper: the network and its loss; the learning rate is the progress'.
      schedule: static.
      progress: before; left as it is if training has ended.
      train: [N]; the rest behind the last whole minibatch sits out, another one in every epoch.
      validation: [V].

    Returns:
      The progress after it, and `METRICS`, float32 (NaN if training had ended).
    """

    def ended(progress: Progress) -> tuple[Progress, dict[str, jax.Array]]:
        return progress, dict.fromkeys(METRICS, jnp.float32(jnp.nan))

    def run(progress: Progress) -> tuple[Progress, dict[str, jax.Array]]:
        progress = fall(schedule, progress)
        key, order_key, step_key = jax.random.split(progress.key, 3)
        count = train.value.shape[0]
        steps = max(count // spec.train.batch_size, 1)
        size = min(spec.train.batch_size, count)  # whole games may leave few to train on
        sized = dataclasses.replace(spec, train=dataclasses.replace(spec.train, batch_size=size))
        order = jax.random.permutation(order_key, count)[: steps * size].reshape(steps, size)
        own = dataclasses.replace(hyper, learning_rate=progress.learning_rate)

        def step(i: jax.Array, carry: tuple) -> tuple:
            old, sums = carry
            batch = jax.tree.map(lambda x: x[order[i]], train)
            keys = jax.random.fold_in(step_key, i)
            new, losses = learner.train_step(sized, own, old, batch, keys)
            return new, sums + jnp.stack(losses)

        trained, sums = jax.lax.fori_loop(0, steps, step, (progress.learner, jnp.zeros(2)))
        move, result = accuracy(spec, trained, validation)
        after = note(dataclasses.replace(progress, key=key), trained, (move + result) / 2)
        measured = (*(sums / steps), move, result, progress.learning_rate)
        return after, dict(zip(METRICS, measured, strict=True))

    return jax.lax.cond(is_going(schedule, progress), run, ended, progress)


def accuracy(spec: Spec, network: Learner, asked: Questions) -> tuple[jax.Array, jax.Array]:
    """Shares of positions with a right move and with a right result, float32 scalars."""

    def one(part: Questions) -> tuple[jax.Array, jax.Array]:
        out = learner.infer(spec, network, part.observation)
        action = jnp.where(part.legal, out.policy_logits, -1e9).argmax(-1)
        move = jnp.take_along_axis(part.best, action[:, None], 1)[:, 0]
        return move, likeliest_result(out.value, out.draw_probability) == part.result

    move, result = in_chunks(one, _CHUNK, asked)
    return move.mean(dtype=jnp.float32), result.mean(dtype=jnp.float32)


def rows(
    metrics: dict[str, np.ndarray], going: np.ndarray, epoch: int, runs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """One row of metrics.jsonl for each network that was trained in this epoch."""
    return [
        {"iteration": epoch, **run} | {name: float(values[i]) for name, values in metrics.items()}
        for i, run in enumerate(runs)
        if going[i]
    ]


def measure(spec: Spec, best: Learner, test: Labelled, config: ConfigDict) -> list[dict[str, Any]]:
    """Accuracy of networks [S] on the test positions, alone and with search, and their mistakes."""
    alone, with_search = answers_of(
        spec,
        best,
        test,
        jax.random.key(config.seed),
        options=spec.arena_search,
        num_simulations=config.study.searches,
        c_puct=config.search.c_puct,
    )
    most = config.study.mistakes
    measured: list[dict[str, Any]] = [
        {
            "network": solvers.answer_accuracy(test, answers),
            "mistakes": [m._asdict() for m in solvers.mistakes(test, answers.actions, most=most)],
        }
        for answers in alone
    ]
    for one, answers in zip(measured, with_search, strict=False):  # none without simulations
        one["search"] = solvers.answer_accuracy(test, answers)
    return measured
