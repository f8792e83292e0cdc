"""What a network says about a position, and how the value heads are read."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import struct

WIN, DRAW, LOSS = range(3)  # the order of `outcome_logits`
HEADS = ("policy", "value", "outcome", "reply", "move_values")  # layers that compute in float32


@struct.dataclass
class NetworkOutput:
    """The heads of a network for B positions, float32; P is the player to move in each.

    Attributes:
      policy_logits: `[B, A]`, raw: illegal actions are not masked.
      value: `[B]` in [-1, 1], the expected result for P. Of an outcome head: P(win) - P(loss).
      draw_probability: `[B]` in [0, 1]; None for a scalar value head.
      outcome_logits: `[B, 3]` for (win, draw, loss) of P; None for a scalar value head. The
        programs of Clausen 2021 store the order (draw, win, loss).
      reply_logits: `[B, A]`, a forecast of the policy at the next position, where the opponent is
        to move (Clausen 2021, extended network); None without that head.
      move_values: `[B, A]` in [-1, 1], the expected result for P after each action (Gao et al.
        2020, in Clausen 2021 section 2.4); None without that head.
      policy_features: `[B, H, W, F]`, the board-shaped layer before the policy logits, which
        Clausen 2021's auxiliary targets are regressed on; None unless the network exposes it.
      outcome_features: `[B, H, W, F]`, the same before the outcome logits.
      block_features: `[B, H, W, F]`, the last residual block's output, which is not negative.
      own_features: `[B, H, W, F]`, of a convolution that is there for such targets alone; None
        without it.
    """

    policy_logits: jax.Array
    value: jax.Array
    draw_probability: jax.Array | None = None
    outcome_logits: jax.Array | None = None
    reply_logits: jax.Array | None = None
    move_values: jax.Array | None = None
    policy_features: jax.Array | None = None
    outcome_features: jax.Array | None = None
    block_features: jax.Array | None = None
    own_features: jax.Array | None = None


def head(name: str, features: int, kernel_init: Callable) -> nn.Dense:
    """The last layer before an output, one of `HEADS`: float32 whatever the network computes in."""
    if name not in HEADS:
        raise ValueError(f"unknown head {name!r}: HEADS has {', '.join(HEADS)}")
    return nn.Dense(features, dtype=jnp.float32, kernel_init=kernel_init, name=name)


def outcome(last: Callable[[str, int], nn.Dense], kind: str, x: jax.Array) -> dict[str, jax.Array]:
    """The fields of a `NetworkOutput` that a value head of a `kind`, scalar or wdl, makes of x.

    `last`: (name, features) -> a `head`.
    """
    if kind == "scalar":
        return {"value": jnp.tanh(last("value", 1)(x))[:, 0]}
    logits = last("outcome", 3)(x)
    value, draw = read_outcome(logits)
    return {"value": value, "draw_probability": draw, "outcome_logits": logits}


def read_outcome(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(value `[B]` from the player to move, draw probability `[B]`) of outcome logits `[B, 3]`."""
    probabilities = jax.nn.softmax(logits.astype(jnp.float32), axis=-1)
    value = probabilities[..., WIN] - probabilities[..., LOSS]
    return value, probabilities[..., DRAW]


def likeliest_result(value: jax.Array, draw: jax.Array | None) -> jax.Array:
    """float32[B] in -1, 0, 1.

    Args:
      value: float32[B], P(win) - P(loss) of the player to move, or a scalar head's.
      draw: float32[B], P(draw); None for a scalar head, whose value is rounded.
    """
    if draw is None:
        return jnp.round(value)
    chances = jnp.stack([(1 - draw - value) / 2, draw, (1 - draw + value) / 2], -1)
    return chances.argmax(-1).astype(jnp.float32) - 1
