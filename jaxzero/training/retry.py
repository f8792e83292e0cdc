"""Lost games tried again at once, by the same network.

Clausen 2021's program, "retry after a loss".

An iteration's games go in parts. A game of a part takes the place of one of the part before: it
begins after a move of the loser that nobody has tried since the network is new, where the loser's
value fell most; what was played before is reported again, with the new result. Where there is no
such move it begins at the start. As the authors' program, but that games go in lock-step, always
as many at once, and that the loser's value is the search's. Of a draw the first player is the
loser, as there.
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games import scoring
from jaxzero.games.base import Game
from jaxzero.games.distinct import hash_rows
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes
from jaxzero.training import archive, openings, seen, sharing
from jaxzero.training.openings import Openings
from jaxzero.training.sharing import Memory
from jaxzero.training.trajectory import BY_GAME, Trajectory


@struct.dataclass
class Retry:
    """What a part's games hand to the next."""

    tried: Memory  # moves, with their positions, since the network is new
    games: Trajectory  # [T, b], of the part before, as they were reported
    move: jax.Array  # int32[b], the one that each begins after
    begun: Openings  # where games begin
    game: Game = struct.field(pytree_node=False)  # the rules
    pick: None = struct.field(pytree_node=False, default=None)

    def after(self, games: Trajectory) -> tuple["Retry", Trajectory]:
        """With a part's games; and these with what was played before them."""
        whole = with_prefix(self.games, self.begun.plies, self.move, games)
        rows, batch = whole.valid.shape
        hashes = _edges(whole).reshape(rows * batch, -1, 2)
        played = jnp.take_along_axis(
            hashes, jnp.maximum(whole.action, 0).reshape(-1, 1, 1), axis=1
        )[:, 0]
        tried, _ = seen.note(self.tried, played, whole.valid.reshape(-1))
        flat = hashes.reshape(-1, 2)
        _, is_tried = sharing.look_up(tried, flat, flat)
        untried = whole.legal & ~is_tried.reshape(whole.legal.shape)
        ply, move, found = archive.falls(whole, untried, draws=True)
        begin = starts(self.game, batch)
        states = archive.positions(self.game, begin, whole, ply, move)
        found &= ~jax.vmap(self.game.is_terminal)(states)
        begun = Openings(
            states=where_lanes(found, states, begin),
            plies=jnp.where(found, ply + 1, 0),
            rolled_back=jnp.zeros_like(found),
        )
        return dataclasses.replace(self, tried=tried, games=whole, move=move, begun=begun), whole


def _edges(games: Trajectory) -> jax.Array:
    """uint32[T, B, A, 2]: hashes of each position with each move."""
    rows, batch, actions = games.legal.shape
    boards = games.observation.reshape(rows * batch, *games.observation.shape[2:])
    board = jnp.broadcast_to(hash_rows(boards)[:, None], (rows * batch, actions, 2))
    action = jnp.broadcast_to(
        jnp.arange(actions, dtype=jnp.uint32)[None, :, None], (rows * batch, actions, 1)
    )
    words = jnp.concatenate([board, action], -1).reshape(-1, 3)
    return hash_rows(words).reshape(rows, batch, actions, 2)


def first(game: Game, shapes: Trajectory, capacity: int) -> Retry:
    """Before the first part; `shapes` of its games, room for so many moves that were tried."""
    games: Trajectory = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    batch = games.plies.shape[0]
    begun = openings.at_start(game, batch)
    return Retry(
        tried=seen.empty(capacity),
        games=games,
        move=jnp.zeros((batch,), jnp.int32),
        begun=begun,
        game=game,
    )


def with_prefix(
    before: Trajectory, plies: jax.Array, move: jax.Array, games: Trajectory
) -> Trajectory:
    """Games as if they had been played from the start.

    Args:
      before: [T, B], games whose first rows were played before.
      plies: int32[B], how many of them, the last with another move.
      move: int32[B], that one.
      games: [T, B], from there.
    """
    rows = jnp.arange(games.valid.shape[0])[:, None]
    is_before = rows < plies[None]
    index = jnp.maximum(rows - plies[None], 0)

    def join(old: jax.Array, new: jax.Array) -> jax.Array:
        wide = (...,) + (None,) * (new.ndim - 2)
        return jnp.where(is_before[wide], old, jnp.take_along_axis(new, index[wide], axis=0))

    by_ply = {
        name: join(getattr(before, name), x)
        for name, x in vars(games).items()
        if x is not None and name not in BY_GAME
    }
    result = scoring.result_for_mover(games.outcome[None], by_ply["to_move"], 0.0)
    by_ply["value"] = jnp.where(is_before, result, by_ply["value"])
    by_ply["drawn"] = jnp.where(is_before, scoring.draw_share(result), by_ply["drawn"])
    for name in ("valid", "recorded"):
        by_ply[name] &= games.active[None]
    by_ply["action"] = jnp.where(rows == plies[None] - 1, move[None], by_ply["action"])
    return dataclasses.replace(
        games,
        **by_ply,
        plies=jnp.where(games.active, games.plies + plies, 0),
        start=None,
        rolled_back=None,
        begun=None,
    )
