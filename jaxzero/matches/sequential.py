"""A match of two players that stops as soon as it is decided (West 2020 section II-B3)."""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game
from jaxzero.games.distinct import count_distinct, hash_rows
from jaxzero.loops import DATA_AXIS, masked, while_any
from jaxzero.matches import arena, wilson
from jaxzero.matches.arena import Match
from jaxzero.matches.wilson import GOING_ON, Rule
from jaxzero.players import Cost, Players, no_cost


@struct.dataclass
class Decided:
    """What a match decided about the first of two players."""

    verdict: jax.Array  # int32, see `wilson.verdict`; `GOING_ON` if the limit of games came first
    # int32[2, 3], wins, draws and losses of who moved first, in the games up to the decision: the
    # first player's, then the second's
    counts: jax.Array
    distinct: jax.Array  # int32, different sequences of moves among those
    cost: Cost  # evaluations, of games behind the decision too


@struct.dataclass
class _Carry:
    verdict: jax.Array
    pairs: jax.Array  # int32, pairs of games that were begun
    points: jax.Array
    counts: jax.Array
    hashes: jax.Array  # uint32[most, 2, 2], of the moves of each pair's two games
    counted: jax.Array  # bool[most]
    cost: Cost


def play(
    game: Game,
    kinds: Sequence[Players],
    key: jax.Array,
    rule: Rule,
    *,
    most: int,
    limit: jax.Array | int,
    batch: int,
    opening_plies: int,
    draw_for_asked: float = 0.0,
    data_devices: int = 1,
) -> Decided:
    """Plays colour-swapped pairs of games, some at once, and looks at them one after another.

    The decision falls after the same pair whatever `batch` is: games behind it are not counted.

    Args:
      kinds: two players in all.
      key: consumed; a game depends on its pair's number alone, see `arena.play_match`.
      most: pairs of games, at most.
      limit: the same, may be traced and smaller.
      batch: pairs that are played at once.
      opening_plies, draw_for_asked, data_devices: see `arena.play_match`.
    """
    batch = -(-min(batch, most) // data_devices) * data_devices
    rounds = -(-most // batch)

    def going(carry: _Carry) -> jax.Array:
        return (carry.verdict == GOING_ON) & (carry.pairs < limit)

    def body(carry: _Carry) -> _Carry:
        match = arena.play_match(
            game,
            kinds,
            key,
            games_per_direction=batch,
            played=jnp.where(going(carry), limit, 0),
            first_game=carry.pairs,
            opening_plies=opening_plies,
            draw_for_asked=draw_for_asked,
            data_devices=data_devices,
        )
        first, played, hashes, cost = _seen(match, data_devices)
        ours = (first[0] - first[1] + 2) / 2  # of two points
        before = carry.points, 2 * carry.pairs
        verdict, step = wilson.first_verdict(ours, 2 * played, rule, before)
        counted = played & (jnp.arange(batch) <= step)
        results = arena.wins_draws_losses(first, counted[None])
        new = _Carry(
            verdict=verdict,
            pairs=carry.pairs + batch,
            points=carry.points + jnp.where(counted, ours, 0.0).sum(),
            counts=carry.counts + jnp.stack(results, -1).astype(jnp.int32),
            hashes=jax.lax.dynamic_update_slice_in_dim(
                carry.hashes, jnp.swapaxes(hashes, 0, 1), carry.pairs, 0
            ),
            counted=jax.lax.dynamic_update_slice_in_dim(carry.counted, counted, carry.pairs, 0),
            cost=jax.tree.map(jnp.add, carry.cost, cost),
        )
        return masked(going(carry), new, carry)

    carry = while_any(
        going,
        body,
        _Carry(
            verdict=jnp.int32(GOING_ON),
            pairs=jnp.int32(0),
            points=jnp.float32(0),
            counts=jnp.zeros((2, 3), jnp.int32),
            hashes=jnp.zeros((rounds * batch, 2, 2), jnp.uint32),
            counted=jnp.zeros((rounds * batch,), bool),
            cost=no_cost(),
        ),
    )
    distinct = count_distinct(carry.hashes.reshape(-1, 2), jnp.repeat(carry.counted, 2))
    return Decided(carry.verdict, carry.counts, distinct, carry.cost)


def _seen(match: Match, data_devices: int) -> tuple[jax.Array, jax.Array, jax.Array, Cost]:
    """Of k pairs of games on all devices.

    Returns:
      float32[2, k], results of who moved first; bool[k], pairs that were played; uint32[2, k, 2],
      hashes of the moves; the cost.
    """
    moves = match.actions.reshape(match.actions.shape[0], -1).T
    first, played, hashes = match.outcome[..., 0], match.played[0], hash_rows(moves)
    hashes = hashes.reshape(2, -1, 2)
    if data_devices == 1:
        return first, played, hashes, match.cost
    gather = functools.partial(jax.lax.all_gather, axis_name=DATA_AXIS, tiled=True)
    gathered = gather(first, axis=1), gather(played, axis=0), gather(hashes, axis=1)
    return *gathered, jax.lax.psum(match.cost, DATA_AXIS)
