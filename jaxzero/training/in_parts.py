"""An iteration's games in parts, one after another: each learns from those before it."""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from jaxzero.training.openings import Openings
from jaxzero.training.selfplay import Pick
from jaxzero.training.sharing import Costs, Memory
from jaxzero.training.trajectory import Trajectory, along_games


class Learns(Protocol):
    """What a part's games hand to the next: a pytree.

    Attributes:
      pick: how moves are chosen; None: as ever.
      begun: where games begin; None: at the start.
    """

    @property
    def pick(self) -> Pick | None: ...

    @property
    def begun(self) -> Openings | None: ...

    def after(self, games: Trajectory) -> tuple[Any, Trajectory]:
        """With a part's games; and these as they are reported."""
        ...


# (keys [b], active bool[b], how moves are chosen, where games begin, what is remembered of the
# searches before, or None) -> (games [T, b], costs)
Play = Callable[..., tuple[Trajectory, Costs]]


def play(
    play_part: Play,
    keys: jax.Array,
    active: jax.Array,
    *,
    parts: int,
    first: Callable[[Any], Learns],
) -> tuple[Trajectory, Costs]:
    """B games in parts.

    Args:
      keys: [B], consumed.
      active: bool[B], which games to play.
      first: what no games have taught, from the shapes of a part's games.

    Returns:
      The games as they are reported, and what they cost.
    """
    batch = active.shape[0]
    lanes = jnp.arange(parts * -(-batch // parts)).reshape(parts, -1)
    keys = keys[jnp.minimum(lanes, batch - 1)]
    active = active[jnp.minimum(lanes, batch - 1)] & (lanes < batch)

    def part(carry: tuple[Any, Learns], some: tuple[jax.Array, jax.Array]) -> tuple:
        memory, learnt = carry
        games, costs = play_part(some[0], some[1], learnt.pick, learnt.begun, memory)
        learnt, games = learnt.after(games)
        return (costs.memory, learnt), (games, costs)

    shapes = jax.eval_shape(lambda: play_part(keys[0], active[0], None, None, None))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes[1].memory)
    games: Trajectory
    costs: Costs
    memory: Memory
    begun = (nothing, first(shapes[0]))
    (memory, _), (games, costs) = jax.lax.scan(part, begun, (keys, active))

    def together(x: jax.Array, axis: int) -> jax.Array:
        x = jnp.moveaxis(x, 0, axis)
        whole = x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :])
        return jax.lax.slice_in_dim(whole, 0, batch, axis=axis)

    sums: dict[str, Any] = {name: x.sum(0) for name, x in vars(costs).items() if name != "memory"}
    sums |= {"depth_max": costs.depth_max.max(), "nodes": together(costs.nodes, 0)}
    return along_games(together, games), Costs(**sums, memory=memory)
