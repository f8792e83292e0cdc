"""The losses of Wang 2019, 2020 and 2023, of optax's: per example, averaged outside."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxzero.networks import DRAW, LOSS, WIN, NetworkOutput
from jaxzero.training.replay import Examples


def coefficients(
    target: str, weight: float = 0.5, value_weight: float = 1.0
) -> tuple[float, float, float]:
    """Coefficients of (l_p, l_v, l_p l_v) in the loss that a target minimises (Wang 2020 4.2, 5.3).

    Args:
      target: policy, value, sum, product or weighted.
      weight: lambda of `weighted`, lambda l_p + (1 - lambda) l_v.
      value_weight: of l_v in `sum` (Clausen 2021, equation 3: 0.01).
    """
    return {
        "policy": (1.0, 0.0, 0.0),
        "value": (0.0, 1.0, 0.0),
        "sum": (1.0, value_weight, 0.0),
        "product": (0.0, 0.0, 1.0),
        "weighted": (weight, 1.0 - weight, 0.0),
    }[target]


def combine(coefficients: jax.Array, policy: jax.Array, value: jax.Array) -> jax.Array:
    """The minimised loss from the *batch means* of l_p and l_v (l_x is the product of the means).

    Args:
      coefficients: float32[3], may be traced, so that one program minimises any target.
      policy: float32 scalar l_p.
      value: float32 scalar l_v.
    """
    return coefficients[0] * policy + coefficients[1] * value + coefficients[2] * (policy * value)


def policy_loss(logits: jax.Array, target: jax.Array, legal: jax.Array | None = None) -> jax.Array:
    """l_p = -pi . log p, per example.

    Args:
      logits: [B, A], raw.
      target: [B, A], a distribution over the actions.
      legal: bool[B, A] for a softmax over the legal actions only; None for all (Wang 2020).

    Returns:
      float32[B].
    """
    logits = logits.astype(jnp.float32)
    if legal is not None:
        logits = jnp.where(legal, logits, -1e9)
    return optax.losses.softmax_cross_entropy(logits, target)


def outcome_shares(value: jax.Array, draw: jax.Array) -> jax.Array:
    """float32[..., 3], shares of wins, draws and losses; `value` is wins less losses."""
    return jnp.stack([(1 - draw + value) / 2, draw, (1 - draw - value) / 2], -1)


def value_loss(
    output: NetworkOutput, target: jax.Array, draw: jax.Array | None = None
) -> jax.Array:
    """l_v per example: (v - z)^2 (Wang 2020), or the cross entropy of win/draw/loss (Clausen 2021).

    Args:
      output: of the network.
      target: float32[B], z in [-1, 1] from the player to move. For the win/draw/loss head it is
        read as the result: above 1/2 won, below -1/2 lost, else drawn.
      draw: float32[B], share of draws where a target is a mean of several results; then z is the
        share of wins less that of losses.

    Returns:
      float32[B].
    """
    if output.outcome_logits is None:
        return optax.losses.squared_error(output.value, target)
    if draw is not None:
        shares = outcome_shares(target, draw)
    else:
        classes = jnp.where(target > 0.5, WIN, jnp.where(target < -0.5, LOSS, DRAW))
        shares = jax.nn.one_hot(classes, 3)
    return optax.losses.softmax_cross_entropy(output.outcome_logits, shares)


def move_value_loss(
    move_values: jax.Array, played: jax.Array, played_value: jax.Array
) -> jax.Array:
    """(q_a - z)^2 of the move a that was played, per example (three heads: Gao et al. 2020).

    Args:
      move_values: float32[B, A], of the network's head.
      played: float32[B, A], one-hot, or the shares of moves in several games.
      played_value: float32[B, A], z at the move that was played, or its mean over several games, in
        which others count 0: `played` times the mean result of each move.

    Returns:
      float32[B].
    """
    known = played > 0
    target = jnp.where(known, played_value / jnp.where(known, played, 1.0), 0.0)
    return (played * optax.losses.squared_error(move_values, target)).sum(-1)


def _reply_loss(output: NetworkOutput, examples: Examples) -> jax.Array:
    """Cross entropy of the opponent's next policy (Clausen 2021, equation 5)."""
    assert output.reply_logits is not None
    assert examples.reply is not None
    return policy_loss(output.reply_logits, examples.reply)


def _move_values_loss(output: NetworkOutput, examples: Examples) -> jax.Array:
    assert output.move_values is not None
    assert examples.played is not None
    assert examples.played_value is not None
    return move_value_loss(output.move_values, examples.played, examples.played_value)


class Head(NamedTuple):
    """A head of the network that only regularises.

    Attributes:
      weight: name of the key in `config.train` that its loss is weighted by; 0: there is no head.
      targets: the optional fields of `Examples` that it learns.
      loss: (output, examples with those fields) -> float32[B].
    """

    weight: str
    targets: tuple[str, ...]
    loss: Callable[[NetworkOutput, Examples], jax.Array]


# By the network's setting that makes the head.
HEADS: dict[str, Head] = {
    "reply_head": Head("reply_weight", ("reply",), _reply_loss),
    "move_value_head": Head("move_value_weight", ("played", "played_value"), _move_values_loss),
}
