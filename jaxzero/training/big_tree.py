"""One big tree over whole games: which moves self-play makes, in place of sampling (002, Fig. 9).

An iteration's games walk down it by PUCT, with the policies of the positions' searches for priors,
results of games for values, and a game that has passed and not ended yet counting as lost. As in
the authors' program, but that games go in lock-step: an iteration's in some parts, one after
another, and results are backed up when a part's games are over. Positions live as long as a
network, as theirs do in effect: theirs begin again with the search by a new one.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game, State
from jaxzero.games.distinct import hash_rows
from jaxzero.training import seen, sharing
from jaxzero.training.selfplay import Pick, Trajectory, along_games
from jaxzero.training.sharing import Costs, Memory


@struct.dataclass
class BigTree:
    """Edges of the positions that games reached; equal positions are one.

    Attributes:
      positions: C places.
      visits: float32[C, A].
      wins: float32[C, A], for who moves; a draw is half of one.
    """

    positions: Memory
    visits: jax.Array
    wins: jax.Array


def begin(game: Game, capacity: int) -> BigTree:
    """Nobody has played yet."""
    nothing = jnp.zeros((capacity, game.num_actions))
    return BigTree(seen.empty(capacity), nothing, nothing)


def pick(
    tree: BigTree,
    game: Game,
    c: float,
    keys: jax.Array,
    states: State,
    prior: jax.Array,
    live: jax.Array,
) -> jax.Array:
    """int32[B]: the moves of games that choose one after another, ties at random.

    The largest W / (N + L) + c P (sqrt(sum of N + L) + 1e-5) / (1 + N + L), the first term 0 where
    nobody was; L is how many games of the batch went to the position behind the edge.

    Args:
      tree: with the games that are over.
      game: the rules.
      c: of the tree.
      keys: [B], consumed.
      states: [B], all at the same ply.
      prior: float32[B, A], the searches' policies.
      live: bool[B], unfinished games.
    """
    batch, actions = prior.shape
    hashes = hash_rows(jax.vmap(game.observe)(states))
    place, found = sharing.look_up(tree.positions, hashes, hashes)
    known = jnp.where(found, 1.0, 0.0)[:, None]
    visits, wins = tree.visits[place] * known, tree.wins[place] * known
    each = jnp.broadcast_to(jnp.arange(actions), prior.shape)
    moved = jax.vmap(jax.vmap(game.step, (None, 0)))(states, each)
    after = jax.vmap(jax.vmap(game.observe))(moved)
    after = hash_rows(after.reshape(batch * actions, *after.shape[2:]))
    child = sharing.first_of_equals(after, after, jnp.ones(after.shape[:1], bool))
    legal = jax.vmap(game.legal_actions)(states)
    draw = jax.vmap(lambda key: jax.random.uniform(key, (actions,)))(keys)

    def choose(passing: jax.Array, one: tuple) -> tuple[jax.Array, jax.Array]:
        visits, wins, prior, child, legal, draw, live = one
        count = visits + jnp.where(legal, passing[child], 0.0)
        value = jnp.where(count > 0, wins / jnp.maximum(count, 1.0), 0.0)
        scores = value + c * prior * (jnp.sqrt(count.sum()) + 1e-5) / (1.0 + count)
        scores = jnp.where(legal, scores, -jnp.inf)
        action = jnp.where(scores == scores.max(), draw, -1.0).argmax().astype(jnp.int32)
        return passing.at[child[action]].add(jnp.where(live, 1.0, 0.0)), action

    games = (visits, wins, prior, child.reshape(batch, actions), legal, draw, live)
    return jax.lax.scan(choose, jnp.zeros((batch * actions,)), games)[1]


def learn(tree: BigTree, games: Trajectory) -> tuple[BigTree, jax.Array]:
    """With finished games [T, B]; bool[B]: those that hold a position which none before it held."""
    positions, new = seen.look(tree.positions, games)
    boards = games.observation.reshape(-1, *games.observation.shape[2:])
    hashes, valid = hash_rows(boards), games.valid.reshape(-1)
    place, found = sharing.look_up(positions, hashes, hashes)
    place = jnp.where(found & valid, place, tree.visits.shape[0])
    action = games.action.reshape(-1)
    result = jnp.where(games.to_move == 0, games.outcome[None, :, 0], games.outcome[None, :, 1])
    won = (1.0 + result.reshape(-1)) / 2
    return BigTree(
        positions,
        tree.visits.at[place, action].add(1.0, mode="drop"),
        tree.wins.at[place, action].add(won, mode="drop"),
    ), new > 0


Play = Callable[[jax.Array, jax.Array, Pick, Memory | None], tuple[Trajectory, Costs]]


def play(
    play_part: Play,
    game: Game,
    keys: jax.Array,
    active: jax.Array,
    *,
    c: float,
    parts: int,
    capacity: int,
) -> tuple[Trajectory, Costs]:
    """B games by one tree, in parts.

    Args:
      play_part: plays some of them: (keys, active, how moves are picked, what is remembered of the
        searches before or None).
      game: the rules.
      keys: [B], consumed.
      active: bool[B], which games to play.
      c: of the tree.
      parts: of the games.
      capacity: positions in the tree.

    Returns:
      The games, of which those with a new position are recorded, and what they cost.
    """
    batch = active.shape[0]
    lanes = jnp.arange(parts * -(-batch // parts)).reshape(parts, -1)
    keys = keys[jnp.minimum(lanes, batch - 1)]
    active = active[jnp.minimum(lanes, batch - 1)] & (lanes < batch)

    def picks(tree: BigTree) -> Pick:
        return functools.partial(pick, tree, game, c)

    def part(carry: tuple, some: tuple[jax.Array, jax.Array]) -> tuple:
        memory, tree = carry
        games, costs = play_part(some[0], some[1], picks(tree), memory)
        tree, is_new = learn(tree, games)
        games = dataclasses.replace(games, recorded=games.recorded & is_new[None])
        return (costs.memory, tree), (games, costs)

    tree = begin(game, capacity)
    shapes = jax.eval_shape(lambda: play_part(keys[0], active[0], picks(tree), None)[1].memory)
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    games: Trajectory
    costs: Costs
    (memory, _), (games, costs) = jax.lax.scan(part, (nothing, tree), (keys, active))

    def together(x: jax.Array, axis: int) -> jax.Array:
        x = jnp.moveaxis(x, 0, axis)
        return jax.lax.slice_in_dim(
            x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :]), 0, batch, axis=axis
        )

    sums: dict[str, Any] = {name: x.sum(0) for name, x in vars(costs).items() if name != "memory"}
    sums |= {"depth_max": costs.depth_max.max(), "nodes": together(costs.nodes, 0)}
    return along_games(together, games), Costs(**sums, memory=memory)
