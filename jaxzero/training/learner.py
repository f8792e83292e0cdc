"""Window -> better parameters: ep epochs of minibatches (Wang 2020 section 4.2).

Which statistics act where: training normalises with the minibatch's statistics (averaged over the
devices of a run) and updates the running averages; self-play, arena and the held-out set use the
running averages. The measured losses are the published ones: after each step the same minibatch
once more, with the updated weights, batch statistics of the minibatch and no dropout.
"""

import dataclasses
from typing import Any, cast

import chex
import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.loops import DATA_AXIS, in_chunks, masked, repeat
from jaxzero.networks import NetworkOutput, dtypes, init_variables, widening
from jaxzero.search.evaluation import ChunkedEvaluate, Evaluate
from jaxzero.training import features, losses, optimiser, replay
from jaxzero.training.optimiser import Averaged, make_optimizer
from jaxzero.training.replay import Examples, Source
from jaxzero.training.spec import Hyper, Spec

EVALUATION_CHUNK = 512  # positions evaluated at once where losses are only measured


@struct.dataclass
class Learner:
    """What training changes, and what a rejected candidate is restored from.

    Attributes:
      params, batch_stats: of the network.
      opt_state: of the optimiser; inside `Averaged` with `train.average`; `()` of a mere player.
    """

    params: Any
    batch_stats: Any
    opt_state: Any


def with_optimiser(spec: Spec, params: Any, batch_stats: Any) -> Learner:
    """A learner at the beginning of its training."""
    state: Any = make_optimizer(spec).init(params)
    if spec.train.average:  # copies: a run's state is donated
        copies = jax.tree.map(jnp.copy, (params, batch_stats))
        state = Averaged(state, copies[0], copies[1], jnp.float32(0))
    return Learner(params, batch_stats, state)


def without_optimiser(learner: Learner) -> Learner:
    """What a network needs to play: the weights that act."""
    state = learner.opt_state
    acts = state if isinstance(state, Averaged) else learner
    return Learner(acts.params, acts.batch_stats, ())


def init(spec: Spec, key: jax.Array) -> Learner:
    """Fresh weights. The key is consumed."""
    variables = init_variables(spec.network, key, spec.game.observation_shape)
    return with_optimiser(spec, variables["params"], variables.get("batch_stats", {}))


def infer(spec: Spec, learner: Learner, observation: jax.Array) -> NetworkOutput:
    """The network as it plays, [B, H, W, C]: running averages of batch norm, no dropout."""
    acts = without_optimiser(learner)
    variables = {"params": acts.params, "batch_stats": acts.batch_stats}
    network = widening.fitting(spec.network, acts.params)
    return cast(NetworkOutput, network.apply(variables, observation, train=False))


def acting(spec: Spec, learner: Learner) -> Evaluate:
    """`infer` as search wants it: observation -> (logits, value, draw probability)."""
    acts = without_optimiser(learner)
    params = dtypes.cast_kernels(acts.params, spec.network.dtype)
    learner = dataclasses.replace(acts, params=params)

    def evaluate(observation: jax.Array) -> tuple:
        out = infer(spec, learner, observation)
        return out.policy_logits, out.value, out.draw_probability

    if spec.evaluate_at_once:
        return ChunkedEvaluate(evaluate, spec.evaluate_at_once)
    return evaluate


def each_loss(spec: Spec, output: NetworkOutput, examples: Examples) -> tuple:
    """(l_p, l_v) of each example, float32[N]."""
    legal = examples.legal if spec.train.policy_softmax == "legal" else None
    policy = losses.policy_loss(output.policy_logits, examples.policy, legal)
    return policy, losses.value_loss(output, examples.value, examples.draw)


def mean_losses(spec: Spec, output: NetworkOutput, examples: Examples) -> tuple:
    """(l_p, l_v), float32 scalars: means over the minibatch, over all devices of the run."""
    policy, value = (loss.mean() for loss in each_loss(spec, output, examples))
    if spec.data_devices > 1:  # before they are multiplied: l_x is a product of means
        policy, value = jax.lax.pmean((policy, value), DATA_AXIS)
    return policy, value


def _extra_loss(spec: Spec, output: NetworkOutput, examples: Examples) -> jax.Array | float:
    """Weighted losses of what only regularises, heads and features; 0 without any."""
    extra: jax.Array | float = 0.0
    for name, weight in spec.heads:
        extra += weight * losses.HEADS[name].loss(output, examples).mean()
    if spec.features is not None:
        assert examples.features is not None
        extra += features.loss(spec.features, output, examples.features).mean()
    if spec.data_devices > 1:
        extra = jax.lax.pmean(extra, DATA_AXIS)
    return extra


def objective(
    spec: Spec, hyper: Hyper, output: NetworkOutput, examples: Examples
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """What is minimised, a scalar, and (l_p, l_v); means over the minibatch."""
    policy, value = mean_losses(spec, output, examples)
    total = losses.combine(hyper.loss, policy, value) + _extra_loss(spec, output, examples)
    return total, (policy, value)


def train_step(
    spec: Spec,
    hyper: Hyper,
    learner: Learner,
    examples: Examples,
    key: jax.Array,
    *,
    momentum: jax.Array | float | None = None,
) -> tuple[Learner, tuple[jax.Array, jax.Array]]:
    """One minibatch.

    Args:
      learner: before.
      examples: [bs / devices], this device's part.
      key: for dropout, consumed.
      momentum: of SGD, may be traced; the spec's by default.

    Returns:
      The learner after the step, and (l_p, l_v) as `spec.train.measure` says.
    """
    chex.assert_tree_shape_prefix(examples, (spec.train.batch_size // spec.data_devices,))
    dropout = 0.0 if spec.switches.dropout_inactive else hyper.dropout_rate
    network = widening.fitting(spec.network, learner.params)

    def forward(params: Any, rate: Any) -> tuple[NetworkOutput, Any]:
        return network.apply(
            {"params": params, "batch_stats": learner.batch_stats},
            examples.observation,
            train=True,
            dropout_rate=rate,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )

    def loss(params: Any) -> tuple[jax.Array, Any]:
        output, updates = forward(params, dropout)
        total, measured = objective(spec, hyper, output, examples)
        return total, (updates.get("batch_stats", {}), measured)

    gradients, (batch_stats, measured) = jax.grad(loss, has_aux=True)(learner.params)
    if spec.data_devices > 1:
        gradients = jax.lax.pmean(gradients, DATA_AXIS)
    optimizer = make_optimizer(spec, momentum)
    held = learner.opt_state
    is_averaged = isinstance(held, Averaged)
    updates, opt_state = optimizer.update(
        gradients, held.optimiser if is_averaged else held, learner.params
    )
    params = jax.tree.map(lambda p, u: p - hyper.learning_rate * u, learner.params, updates)
    if spec.train.measure == "after_step":
        output, _ = forward(params, 0.0)  # moves no running averages
        measured = mean_losses(spec, output, examples)
    if is_averaged:
        opt_state = held.after(spec.train.average, params, batch_stats, opt_state)
    return Learner(params, batch_stats, opt_state), measured


def _my_part(spec: Spec, index: jax.Array) -> jax.Array:
    """This device's part of the minibatch: all devices draw the same one."""
    if spec.data_devices == 1:
        return index
    part = spec.train.batch_size // spec.data_devices
    return jax.lax.dynamic_slice_in_dim(index, jax.lax.axis_index(DATA_AXIS) * part, part)


def draw(spec: Spec, source: Source, index: jax.Array) -> Examples:
    """This device's examples for the numbers `index` of the whole minibatch.

    Args:
      index: int32[bs] in [0, K count): each position has K images.
    """
    index = _my_part(spec, index)
    stored = source.take(index // spec.num_images)
    if spec.num_images == 1:  # `replay.images`, or a game without any
        return stored
    symmetries: replay.Symmetries = spec.game.symmetries
    if spec.switches.mirror_without_policy:
        symmetries = replay.without_policy(symmetries)
    return replay.image_of(stored, index % spec.num_images, symmetries)


def fit(
    spec: Spec,
    hyper: Hyper,
    learner: Learner,
    source: Source,
    iteration: jax.Array,
    key: jax.Array,
    new: jax.Array | None = None,
) -> tuple[Learner, dict[str, jax.Array]]:
    """Trains for ep epochs of int(N / bs) minibatches (at least one).

    Full passes over fewer examples than a minibatch has show them again until it is full.

    With `train.passes` an epoch has as many minibatches as show each new example so often, before
    it leaves the window, as that says, however long the window is.

    Args:
      learner: where training starts.
      source: the positions in the window, the same on all devices.
      iteration: int32, of the learning rate's schedule.
      key: consumed.
      new: int32, positions that came in this iteration; with `train.passes`.

    Returns:
      The candidate, and metrics: `loss/policy`, `loss/value`, `loss/sum`, `loss/product`,
      `loss/minimised` float32[epochs], means over each epoch's minibatches (NaN for epochs
      beyond the run's), `count/gradient_steps` float32.
    """
    total = source.count * spec.num_images
    steps = _epoch_steps(spec, total, new)

    def epoch(e: jax.Array, carry: tuple) -> tuple:
        learner, sums = carry
        epoch_key = jax.random.fold_in(key, e)
        order = _epoch_order(spec, total, epoch_key)

        def step(i: jax.Array, carry: tuple) -> tuple:
            old, sums = carry
            draw_key, dropout_key = jax.random.split(jax.random.fold_in(epoch_key, i))
            index = _minibatch(spec, total, order, i, draw_key)
            progress = (e * steps + i) / (hyper.epochs * steps)
            rate = optimiser.learning_rate_factor(spec.train, iteration, progress)
            new, (policy, value) = train_step(
                spec,
                dataclasses.replace(hyper, learning_rate=hyper.learning_rate * rate),
                old,
                draw(spec, source, index),
                dropout_key,
                momentum=optimiser.momentum(spec.train, progress),
            )
            minimised = losses.combine(hyper.loss, policy, value)
            row = jnp.stack([policy, value, policy + value, policy * value, minimised])
            going = (i < steps) & (e < hyper.epochs)
            sums = jnp.where(going, sums.at[e].add(row), sums)
            return masked(going, new, old), sums

        return repeat(jnp.where(e < hyper.epochs, steps, 0), step, (learner, sums))

    sums = jnp.zeros((spec.train.epochs, 5), jnp.float32)
    learner, sums = repeat(hyper.epochs, epoch, (learner, sums))
    ran = jnp.arange(spec.train.epochs) < hyper.epochs
    means = jnp.where(ran[:, None], sums / steps, jnp.nan)
    names = ("policy", "value", "sum", "product", "minimised")
    metrics = {f"loss/{name}": means[:, i] for i, name in enumerate(names)}
    metrics["count/gradient_steps"] = (steps * hyper.epochs).astype(jnp.float32)
    return learner, metrics


def _epoch_steps(spec: Spec, total: jax.Array, new: jax.Array | None) -> jax.Array:
    """Minibatches of an epoch, see `fit`; none of an empty window, whose losses are NaN."""
    steps = jnp.maximum(total // spec.train.batch_size, 1)
    if spec.train.passes:
        assert new is not None
        shown = spec.train.passes * (new * spec.num_images)
        steps = jnp.maximum(jnp.round(shown / spec.train.batch_size).astype(jnp.int32), 1)
    return jnp.where(total > 0, steps, 0)


def _epoch_order(spec: Spec, total: jax.Array, key: jax.Array) -> jax.Array | None:
    """For full passes: a permutation of the examples, others behind them; None: replacement."""
    if spec.train.sampling == "replacement":
        return None
    capacity = spec.window_capacity * spec.num_images
    rank = jax.random.uniform(key, (capacity,))
    rank = jnp.where(jnp.arange(capacity) < total, rank, 2.0)
    return jnp.argsort(rank).astype(jnp.int32)


def _minibatch(
    spec: Spec, total: jax.Array, order: jax.Array | None, i: jax.Array, key: jax.Array
) -> jax.Array:
    """int32[bs]: the examples of an epoch's i-th minibatch; `order`: of `_epoch_order`."""
    size = spec.train.batch_size
    if order is None:
        return jax.random.randint(key, (size,), 0, total)
    return order[(i * size + jnp.arange(size)) % jnp.maximum(total, 1)]


def evaluate_losses(
    spec: Spec, learner: Learner, examples: Examples, valid: jax.Array
) -> dict[str, jax.Array]:
    """l_p and l_v of the acting network on given examples.

    Args:
      examples: [N].
      valid: bool[N], which of them count.

    Returns:
      `policy`, `value`, `sum`, `product`: float32 means, as in `fit`; NaN where none counts.
    """

    def one(part: Examples) -> tuple:
        return each_loss(spec, infer(spec, learner, part.observation), part)

    count = valid.sum()
    policy, value = (
        (loss * valid).sum() / count for loss in in_chunks(one, EVALUATION_CHUNK, examples)
    )
    return {"policy": policy, "value": value, "sum": policy + value, "product": policy * value}
