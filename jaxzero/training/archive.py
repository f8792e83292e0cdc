"""Positions of earlier games at which later games begin: shorter games, more of them independent.

`visited`: a position of each game (Go-Exploit, Trudeau and Bowling 2023, arXiv 2302.12359).
`losses`: a lost game is tried again (Clausen 2021's program; see `retries`). What was played before
such a position is not learned from again.
"""

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game, State
from jaxzero.games.distinct import hash_rows
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes
from jaxzero.training import sharing
from jaxzero.training.openings import Openings
from jaxzero.training.spec import SelfPlaySettings
from jaxzero.training.trajectory import Trajectory

_DRAWN = 0x7FFFFFFB  # folded into a game's key: whether it begins in the archive, and where
_KEPT = 0x7FFFFFFA  # folded into the key of an iteration's games: which positions are kept


@struct.dataclass
class Archive:
    """The newest positions, a ring."""

    states: State  # [C], unfinished
    plies: jax.Array  # int32[C], played before them
    total: jax.Array  # int32, positions put in so far; they fill the ring from the front


def begin(own: SelfPlaySettings, game: Game) -> Archive | None:
    """An empty archive; None where games do not begin in one."""
    if not own.archive_share:
        return None
    size = own.archive_positions
    states = jax.tree.map(jnp.array, starts(game, size))
    return Archive(states, jnp.zeros((size,), jnp.int32), jnp.int32(0))


def draw(archive: Archive, keys: jax.Array, share: float, others: Openings) -> Openings:
    """Where games begin.

    Args:
      archive: nobody begins in an empty one.
      keys: [B], of the games; another stream of them than moves and search use.
      share: of the games that begin at a position of the archive, each as likely.
      others: [B], where the rest begin.
    """
    size = archive.plies.shape[0]
    held = jnp.minimum(archive.total, size)

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        whether, where = jax.random.split(jax.random.fold_in(key, _DRAWN))
        place = jax.random.randint(where, (), 0, jnp.maximum(held, 1))
        return jax.random.bernoulli(whether, share) & (held > 0), place

    chosen, place = jax.vmap(one)(keys)
    states, plies = jax.tree.map(lambda x: x[place], (archive.states, archive.plies))
    return Openings(
        states=where_lanes(chosen, states, others.states),
        plies=jnp.where(chosen, plies, others.plies),
        rolled_back=others.rolled_back & ~chosen,
    )


def learn(
    own: SelfPlaySettings, game: Game, archive: Archive, games: Trajectory, key: jax.Array
) -> Archive:
    """With the positions that these games leave.

    Args:
      games: [T, B], with `begun`.
      key: of the self-play that made them.
    """
    if own.archive == "losses":
        ply, move, kept = retries(games)
    else:
        ply, kept = visits(games, jax.random.fold_in(key, _KEPT))
        move = jnp.full_like(ply, -1)
    states = positions(game, games.begun, games, ply, move)
    kept &= ~jax.vmap(game.is_terminal)(states)
    assert games.start is not None
    plies = games.start + ply + (move >= 0)
    size = archive.plies.shape[0]
    place = (archive.total + jnp.cumsum(kept, dtype=jnp.int32) - 1) % size
    place = jnp.where(kept, place, size)
    states, plies = jax.tree.map(
        lambda ring, x: ring.at[place].set(x, mode="drop"),
        (archive.states, archive.plies),
        (states, plies),
    )
    return Archive(states, plies, archive.total + kept.sum(dtype=jnp.int32))


def describe(archive: Archive, games: Trajectory) -> dict[str, jax.Array]:
    """Metrics `selfplay/archive_positions` and `selfplay/start_plies`."""
    assert games.start is not None
    held = jnp.minimum(archive.total, archive.plies.shape[0])
    begun = (games.start * games.active).sum() / jnp.maximum(games.active.sum(), 1)
    return {
        "selfplay/archive_positions": held.astype(jnp.float32),
        "selfplay/start_plies": begun.astype(jnp.float32),
    }


def visits(games: Trajectory, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(int32[B] a row of each game but its first, each as likely; bool[B] whether it has one)."""
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(games.plies.shape[0]))
    most = jnp.maximum(games.plies, 2)
    ply = jax.vmap(lambda key, most: jax.random.randint(key, (), 1, most))(keys, most)
    return ply.astype(jnp.int32), games.active & (games.plies > 1)


def retries(games: Trajectory) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`falls` of lost games, with a move that no game of the batch played there."""
    rows, batch = games.valid.shape
    observations = games.observation.reshape(rows * batch, *games.observation.shape[2:])
    valid, played = games.valid.reshape(-1), games.action.reshape(-1)
    words = sharing.as_words(observations)
    first = sharing.first_of_equals(words, hash_rows(words), valid)
    actions = games.legal.shape[-1]
    tried = jnp.zeros((rows * batch, actions), bool)
    tried = tried.at[jnp.where(valid, first, rows * batch), played].set(True, mode="drop")
    return falls(games, games.legal & ~tried[first].reshape(games.legal.shape), draws=False)


def falls(
    games: Trajectory, untried: jax.Array, *, draws: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Where lost games are tried again, and with which move (Clausen 2021's program).

    Of the loser's positions, followed by another of its own and with an untried move: the one after
    which its value fell most, and of those moves the one with most visits (of the policy target).
    Values are the search's; the program has the network's.

    Args:
      games: [T, B].
      untried: bool[T, B, A], legal moves that may be played.
      draws: a draw counts as lost by the first player, as in the program, which picks one at
        random and then overwrites it.

    Returns:
      int32[B] rows, int32[B] moves, bool[B] whether there is any.
    """
    batch = games.plies.shape[0]
    move = jnp.where(untried, games.policy, -1.0).argmax(-1).astype(jnp.int32)

    loser = jnp.where(games.outcome[:, 0] > games.outcome[:, 1], 1, 0)
    lost = games.active & (draws | (games.outcome[:, 0] != games.outcome[:, 1]))
    own = games.valid & (games.to_move == loser[None])

    def back(later: jax.Array, row: tuple) -> tuple[jax.Array, jax.Array]:
        """`later`: the loser's value at its next position, NaN behind its last."""
        value, is_own = row
        return jnp.where(is_own, value, later), value - later

    behind = jnp.full((batch,), jnp.nan)
    _, fall = jax.lax.scan(back, behind, (games.root_value, own), reverse=True)
    possible = own & untried.any(-1) & ~jnp.isnan(fall)
    ply = jnp.where(possible, fall, -jnp.inf).argmax(0).astype(jnp.int32)
    return ply, move[ply, jnp.arange(batch)], lost & possible.any(0)


def positions(
    game: Game, begun: State, games: Trajectory, ply: jax.Array, move: jax.Array
) -> State:
    """[B]: each game before its row `ply` (int32[B]) and, unless it is -1, after `move` there.

    `begun` [B]: before the first rows.
    """

    def play(t: jax.Array, states: State) -> State:
        action = jnp.where(t < ply, games.action[t], move)
        stepped = jax.vmap(game.step)(states, jnp.maximum(action, 0))
        going = (t < ply) | ((t == ply) & (move >= 0))
        return where_lanes(going, stepped, states)

    return jax.lax.fori_loop(0, games.valid.shape[0], play, begun)
