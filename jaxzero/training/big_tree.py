"""One big tree over whole games: which moves self-play makes, in place of sampling.

Clausen 2021, Fig. 9.

An iteration's games walk down it by PUCT, with the policies of the positions' searches for priors,
results of games for values, and a game that has passed and not ended yet counting as lost. As in
the authors' program, but that games go in lock-step: an iteration's in some parts, one after
another, and results are backed up when a part's games are over. Positions live as long as a
network, as theirs do in effect: theirs begin again with the search by a new one.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games import scoring
from jaxzero.games.base import Game, State
from jaxzero.games.distinct import hash_rows
from jaxzero.training import seen, sharing
from jaxzero.training.selfplay import Pick
from jaxzero.training.sharing import Memory
from jaxzero.training.trajectory import Trajectory


@struct.dataclass
class BigTree:
    """Edges of the positions that games reached; equal positions are one."""

    positions: Memory  # C places
    visits: jax.Array  # float32[C, A]
    wins: jax.Array  # float32[C, A], for who moves; a draw is half of one
    game: Game = struct.field(pytree_node=False)  # the rules
    c: float = struct.field(pytree_node=False)  # of the tree
    begun: None = struct.field(pytree_node=False, default=None)

    @property
    def pick(self) -> Pick:
        """See `pick`."""
        return functools.partial(pick, self)

    def after(self, games: Trajectory) -> tuple["BigTree", Trajectory]:
        """With finished games; and these, recorded if they hold a position that was new."""
        tree, is_new = learn(self, games)
        recorded = games.recorded & is_new[None]
        return tree, dataclasses.replace(games, recorded=recorded)


def begin(game: Game, c: float, capacity: int) -> BigTree:
    """Nobody has played yet."""
    nothing = jnp.zeros((capacity, game.num_actions))
    return BigTree(seen.empty(capacity), nothing, nothing, game, c)


def pick(
    tree: BigTree,
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
      keys: [B], consumed.
      states: [B], all at the same ply.
      prior: float32[B, A], the searches' policies.
      live: bool[B], unfinished games.
    """
    game, c = tree.game, tree.c
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
    result = scoring.result_for_mover(games.outcome[None], games.to_move, 0.0)
    won = (1.0 + result.reshape(-1)) / 2
    tree = dataclasses.replace(
        tree,
        positions=positions,
        visits=tree.visits.at[place, action].add(1.0, mode="drop"),
        wins=tree.wins.at[place, action].add(won, mode="drop"),
    )
    return tree, new > 0
