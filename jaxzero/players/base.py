"""What can choose a move inside a compiled match."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import State


@struct.dataclass
class Cost:
    """Evaluations made for a match, float32 scalars: all, and those that some game needed."""

    evaluations: jax.Array
    useful_evaluations: jax.Array


def no_cost() -> Cost:
    """The zero of the sum."""
    return Cost(jnp.float32(0), jnp.float32(0))


class Turn(NamedTuple):
    """A choice for B games: int32[B] actions, the new memory, and what it cost."""

    action: jax.Array
    memory: Any
    cost: Cost


class Players(NamedTuple):
    """Players of one kind, as many as `params` has rows.

    Attributes:
      params: pytree, leaves [P, ...]: what distinguishes the players.
      choose: (params of one player, memory, keys [B], states [B], live bool[B]) -> Turn. Only the
        answers of live games matter. The keys are consumed.
      remember: (batch) -> the memory of B fresh games of one player; `()` for none.
      notice: (memory, actions int32[B], live bool[B]) -> memory: a move was played in the live
        games, by this player or by the other.
    """

    params: Any
    choose: Callable[[Any, Any, jax.Array, State, jax.Array], Turn]
    remember: Callable[[int], Any] = lambda batch: ()
    notice: Callable[[Any, jax.Array, jax.Array], Any] = lambda memory, action, live: memory

    @property
    def size(self) -> int:
        """P."""
        return jax.tree.leaves(self.params)[0].shape[0]
