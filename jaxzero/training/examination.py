"""Self-play under the microscope: what a network knows, and what it is about to be taught.

Fixed positions are put to a network alone, to one search that is the same for all networks, and to
the search of its own self-play, whose policy training learns from. A network improves where its
search knows more than it does, and the target keeps that.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game
from jaxzero.loops import in_chunks
from jaxzero.search import core
from jaxzero.search.options import SearchOptions
from jaxzero.solvers.accuracy import recalibrated_error, stages
from jaxzero.training import learner as learner_lib
from jaxzero.training import moves
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Hyper, Spec

# One search for all networks: PUCT without noise and without known results.
SIMULATIONS, C_PUCT = 64, 1.5
BINS = 5  # of the value, in the calibration
PREFIX = "learning/"  # of the metrics
_KEY = 20  # of the noise and of the ties in these searches: not a run's seed
_ENTRIES = 1 << 23  # of trees, nodes times actions
_IMPOSSIBLE = -1e9  # finite: a row of -inf would be NaN


@struct.dataclass
class Positions:
    """N unfinished positions and what is right there, from the player to move."""

    states: Any  # leaves [N, ...]
    right: jax.Array  # bool[N, A], the actions that count as right
    value: jax.Array  # float32[N], in [-1, 1]
    contested: jax.Array  # bool[N], where some legal action is wrong; moves are judged there alone
    plies: jax.Array  # int32[N], played since the start


@struct.dataclass
class Answers:
    """What is said about N positions.

    Attributes:
      prior: float32[N, A], the network's policy over legal actions.
      searched: float32[N, A], the move of the common search, one-hot.
      target: float32[N, A], the policy target that self-play would store.
      value, searched_value: float32[N], of the network and of the common search, from the player
        to move.
    """

    prior: jax.Array
    searched: jax.Array
    target: jax.Array
    value: jax.Array
    searched_value: jax.Array


def examine(
    spec: Spec, hyper: Hyper, learner: Learner, positions: Positions
) -> dict[str, jax.Array]:
    """`score` of what a network answers. Pure, to be compiled; no key: always the same noise.

    Args:
      spec: static settings of the run; its self-play search makes the target.
      positions: [N], of `spec.game`.
    """
    return score(ask(spec, hyper, learner, positions), positions)


def ask(spec: Spec, hyper: Hyper, learner: Learner, positions: Positions) -> Answers:
    """What a network answers; arguments as of `examine`."""
    count, capacity = positions.plies.shape[0], max(spec.search.capacity, SIMULATIONS + 1)
    keys = jax.random.split(jax.random.key(_KEY), (3, count))
    part = functools.partial(_ask, spec, hyper, learner)
    at_once = trees_at_once(spec.game, capacity)
    return in_chunks(part, at_once, positions.states, positions.plies, *keys)


def trees_at_once(game: Game, capacity: int) -> int:
    """Positions whose trees are held together: those of many actions take turns."""
    return max(1, _ENTRIES // (capacity * game.num_actions))


def _ask(
    spec: Spec,
    hyper: Hyper,
    learner: Learner,
    states: Any,
    plies: jax.Array,
    search_keys: jax.Array,
    target_keys: jax.Array,
    move_keys: jax.Array,
) -> Answers:
    """Of some positions."""
    game = spec.game
    evaluate = learner_lib.acting(spec, learner)
    out = learner_lib.infer(spec, learner, jax.vmap(game.observe)(states))
    legal = jax.vmap(game.legal_actions)(states)
    logits = jnp.where(legal, out.policy_logits.astype(jnp.float32), _IMPOSSIBLE)
    common = core.run(
        game,
        evaluate,
        search_keys,
        states,
        options=SearchOptions(capacity=SIMULATIONS + 1),
        num_simulations=SIMULATIONS,
        c_puct=C_PUCT,
    )
    sampled = plies + 1 < hyper.temperature_plies
    own = core.run(
        game,
        evaluate,
        target_keys,
        states,
        options=spec.search,
        num_simulations=spec.simulations(hyper),
        c_puct=hyper.c_puct,
        noise_scale=moves.root_noise(spec.search, sampled),
    )
    _, target = moves.choose(
        move_keys,
        own,
        sampled,
        spec.search,
        one_hot_after_temperature=spec.switches.one_hot_after_temperature,
    )
    return Answers(
        prior=jax.nn.softmax(logits),
        searched=jax.nn.one_hot(common.action, game.num_actions),
        target=target,
        value=out.value.astype(jnp.float32),
        searched_value=common.value,
    )


def score(answers: Answers, positions: Positions) -> dict[str, jax.Array]:
    """How right the answers are, and how far the target is from the prior.

    Returns:
      Metrics `learning/*` of `docs/metrics.md`: float32 scalars, and three [`BINS`] for the
      calibration. NaN where there are no positions.
    """
    everywhere = jnp.ones(positions.value.shape, bool)
    found = {}
    for name, policy in (
        ("network", _best(answers.prior)),
        ("network_mean", answers.prior),
        ("search", answers.searched),
        ("target", _best(answers.target)),
        ("target_mean", answers.target),
    ):
        found[name] = _mean((policy * positions.right).sum(-1), positions.contested)
    log_prior, log_target = (
        jnp.log(jnp.maximum(p, 1e-30)) for p in (answers.prior, answers.target)
    )
    found |= {
        "prior_entropy": -_mean((answers.prior * log_prior).sum(-1), everywhere),
        "target_entropy": -_mean((answers.target * log_target).sum(-1), everywhere),
        "target_divergence": _mean((answers.target * (log_target - log_prior)).sum(-1), everywhere),
        "search_value_error": _mean((answers.searched_value - positions.value) ** 2, everywhere),
    }
    groups = {f"_{name}": group for name, group in stages(positions.plies).items()}
    for name, group in ({"": everywhere} | groups).items():
        constant = _mean(positions.value, group)
        found[f"value_error{name}"] = _mean((answers.value - positions.value) ** 2, group)
        found[f"constant_error{name}"] = _mean((constant - positions.value) ** 2, group)
    squared = (answers.value - positions.value) ** 2
    found["value_error_stderr"] = _stderr(squared)
    found["value_gain_stderr"] = _stderr(squared - (positions.value.mean() - positions.value) ** 2)
    found |= _calibration(answers.value, positions.value)
    found["recalibrated_error"] = recalibrated_error(
        found["calibration_share"],
        found["calibration_exact"],
        found["constant_error"],
        positions.value.size,
    )
    return {f"{PREFIX}{name}": value for name, value in found.items()}


def _stderr(x: jax.Array) -> jax.Array:
    """Of the mean of positions."""
    return x.std(ddof=1) / jnp.sqrt(x.size)


def _calibration(predicted: jax.Array, exact: jax.Array) -> dict[str, jax.Array]:
    """By bins of the prediction: shares of positions, mean prediction and truth; mean distance."""
    place = jnp.clip(((predicted + 1) / 2 * BINS).astype(jnp.int32), 0, BINS - 1)
    inside = place[None] == jnp.arange(BINS)[:, None]  # [bins, N]
    bins = {
        "calibration_share": inside.mean(-1),
        "calibration_predicted": jax.vmap(_mean, (None, 0))(predicted, inside),
        "calibration_exact": jax.vmap(_mean, (None, 0))(exact, inside),
    }
    apart = jnp.abs(bins["calibration_predicted"] - bins["calibration_exact"])
    share = bins["calibration_share"]
    return bins | {"calibration_error": jnp.where(share > 0, share * apart, 0.0).sum()}


def _best(policy: jax.Array) -> jax.Array:
    return jax.nn.one_hot(policy.argmax(-1), policy.shape[-1])


def _mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.where(mask, x, 0.0).sum() / mask.sum()
