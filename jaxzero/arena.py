"""Matches between players, compiled: every ordered pair plays k games, all at once.

Games are laid out by the player whose turn it is: [P, P - 1, k], row i holding the games in which
player i is to act, so that each player evaluates exactly its own games. After every ply the layout
is turned over, (i, j) <-> (j, i). A game in which the same player moves twice (Reversi) waits for a
turn.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxzero import scoring
from jaxzero.distinct import count_distinct, hash_rows
from jaxzero.games.base import Game, State
from jaxzero.loops import any_member, where_lanes
from jaxzero.players import Cost, Players, no_cost, random_action
from jaxzero.spec import DATA_AXIS


@struct.dataclass
class Match:
    """Results of a match. M = P (P - 1) ordered pairs in the order of `ordered_pairs`, k games.

    Attributes:
      outcome: float32[M, k, 2], for the player who moved first and for the other.
      played: bool[M, k], games that were asked for.
      actions: int16[max_plies, M, k], opening included, -1 after the end.
      cost: evaluations of all players.
    """

    outcome: jax.Array
    played: jax.Array
    actions: jax.Array
    cost: Cost


def ordered_pairs(num_players: int) -> np.ndarray:
    """int[M, 2]: (moves first, moves second), grouped by the first."""
    pairs = [(i, j) for i in range(num_players) for j in range(num_players) if i != j]
    return np.array(pairs, np.int32).reshape(-1, 2)


def _turned_over(num_players: int) -> np.ndarray:
    """int[M]: where each ordered pair's reverse stands; an involution."""
    pairs = ordered_pairs(num_players)
    index = {tuple(pair): m for m, pair in enumerate(pairs.tolist())}
    return np.array([index[j, i] for i, j in pairs.tolist()], np.int32)


def random_opening(game: Game, key: jax.Array, plies: int) -> tuple[State, jax.Array]:
    """One position after random moves that do not end the game.

    Args:
      game: the rules.
      key: consumed.
      plies: how many moves; fewer where the next one would end the game.

    Returns:
      The state, and int16[max_plies] actions, -1 beyond the opening.
    """
    actions = jnp.full((game.max_plies,), -1, jnp.int16)
    state, count = game.init(), jnp.int32(0)
    for ply in range(min(plies, game.max_plies)):
        action = random_action(game, jax.random.fold_in(key, ply), state)
        moved = game.step(state, action)
        fine = ~game.is_terminal(moved)
        actions = jnp.where(fine, actions.at[count].set(action.astype(jnp.int16)), actions)
        count = count + fine
        state = jax.tree.map(lambda new, old, fine=fine: jnp.where(fine, new, old), moved, state)
    return state, actions


@struct.dataclass
class _Carry:
    states: Any  # [M k, ...], in the layout of the side whose turn it is
    acting: Any  # memories by kind, [P, (P - 1) k, ...], of the side whose turn it is
    waiting: Any  # of the other side, in its own layout
    actions: jax.Array  # int16[max_plies, M k], always in the layout of the first side
    plies: jax.Array  # int32[M k], likewise
    tick: jax.Array
    cost: Cost


def play_match(
    game: Game,
    kinds: Sequence[Players],
    key: jax.Array,
    *,
    games_per_direction: int,
    played: jax.Array | int | None = None,
    opening_plies: int = 0,
    draw_for_asked: float = 0.0,
    data_devices: int = 1,
) -> Match:
    """Plays k games of every ordered pair of players.

    Args:
      game: the rules.
      kinds: players by kind; they are numbered in this order.
      key: consumed. The pair (i, j) and the pair (j, i) share the opening of their g-th game.
      games_per_direction: k, of each ordered pair, over all devices.
      played: how many of the k are played, may be traced; all by default.
      opening_plies: random plies before each colour-swapped pair of games.
      draw_for_asked: see `scoring.arena_outcome`.
      data_devices: devices that share the match, each its part of the k games.

    Returns:
      The match; k is rounded up to equal parts of the devices, and each holds its own part.
    """
    num_players = sum(players.size for players in kinds)
    pairs = ordered_pairs(num_players)
    part = -(-games_per_direction // data_devices)
    batch = (num_players - 1) * part  # games of one player at a time
    number = jnp.arange(part)
    if data_devices > 1:
        number = number + jax.lax.axis_index(DATA_AXIS) * part
    wanted = number < (games_per_direction if played is None else played)
    wanted = jnp.tile(wanted, len(pairs))

    def game_keys(key: jax.Array, pair: np.ndarray) -> jax.Array:
        """[M k]: a game's key depends on its pair and number, not on devices or layout."""
        by_pair = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.asarray(pair, jnp.uint32))
        by_game = jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))(by_pair, number)
        return by_game.reshape(-1)

    opening_key, play_key = jax.random.split(key)
    unordered = pairs.min(1) * num_players + pairs.max(1)
    keys = game_keys(play_key, pairs[:, 0] * num_players + pairs[:, 1])
    states, actions = jax.vmap(lambda k: random_opening(game, k, opening_plies))(
        game_keys(opening_key, unordered)
    )
    flip = _turned_over(num_players)[:, None] * part + np.arange(part)[None, :]
    layouts = jnp.stack([jnp.arange(flip.size), jnp.asarray(flip.reshape(-1))])

    def is_live(states: State, wanted: jax.Array) -> jax.Array:
        return wanted & ~jax.vmap(game.is_terminal)(states)

    def body(carry: _Carry) -> _Carry:
        side = carry.tick % 2
        here = layouts[side]  # which game of the first layout stands at each place
        turn = jax.vmap(game.to_move)(carry.states) == side
        live = is_live(carry.states, wanted[here]) & turn
        ply_keys = jax.vmap(jax.random.fold_in)(keys[here], carry.plies[here])
        action, acting, cost = _choose(kinds, carry.acting, ply_keys, carry.states, live, batch)
        acting = _notice(kinds, acting, action, live, batch)
        waiting = _notice(kinds, carry.waiting, action[layouts[1]], live[layouts[1]], batch)
        moved = jax.vmap(game.step)(carry.states, action)
        states = where_lanes(live, moved, carry.states)
        row = jnp.where(live, carry.plies[here], game.max_plies)
        return _Carry(
            states=jax.tree.map(lambda x: x[layouts[1]], states),
            acting=waiting,
            waiting=acting,
            actions=carry.actions.at[row, here].set(action.astype(jnp.int16), mode="drop"),
            plies=carry.plies.at[here].add(live),
            tick=carry.tick + 1,
            cost=jax.tree.map(jnp.add, carry.cost, cost),
        )

    carry = _Carry(
        states=states,
        acting=tuple(_remember(players, batch) for players in kinds),
        waiting=tuple(_remember(players, batch) for players in kinds),
        actions=actions.T,
        plies=(actions >= 0).sum(-1, dtype=jnp.int32),
        tick=jnp.int32(0),
        cost=no_cost(),
    )
    carry = jax.lax.while_loop(
        lambda c: any_member(is_live(c.states, wanted[layouts[c.tick % 2]])), body, carry
    )
    first_layout = layouts[carry.tick % 2]
    outcome = jax.vmap(game.outcome)(jax.tree.map(lambda x: x[first_layout], carry.states))
    shape = (len(pairs), part)
    return Match(
        outcome=scoring.arena_outcome(outcome, draw_for_asked).reshape(*shape, 2),
        played=wanted.reshape(shape),
        actions=carry.actions.reshape(-1, *shape),
        cost=carry.cost,
    )


def _remember(players: Players, batch: int) -> Any:
    memory = players.remember(batch)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (players.size, *x.shape)), memory)


def _rows(kinds: Sequence[Players], tree: Any, batch: int) -> list[Any]:
    """[P batch, ...] -> for each kind [its players, batch, ...]."""

    def part(start: int, end: int) -> Any:  # sizes spelled out: a leaf may have no elements
        def cut(x: jax.Array) -> jax.Array:
            return x.reshape(x.shape[0] // batch, batch, *x.shape[1:])[start:end]

        return jax.tree.map(cut, tree)

    ends = np.cumsum([players.size for players in kinds]).tolist()
    return [part(end - players.size, end) for players, end in zip(kinds, ends, strict=True)]


def _choose(
    kinds: Sequence[Players],
    memories: Any,
    keys: jax.Array,
    states: State,
    live: jax.Array,
    batch: int,
) -> tuple[jax.Array, Any, Cost]:
    """Every player chooses in its own games, one player after another."""
    actions, new_memories, total = [], [], no_cost()
    parts = _rows(kinds, (keys, states, live), batch)
    for players, memory, part in zip(kinds, memories, parts, strict=True):
        turn = jax.lax.map(
            lambda x, choose=players.choose: choose(x[0], x[1], *x[2]),
            (players.params, memory, part),
        )
        actions.append(turn.action.reshape(-1))
        new_memories.append(turn.memory)
        total = jax.tree.map(lambda a, b: a + b.sum(), total, turn.cost)
    return jnp.concatenate(actions), tuple(new_memories), total


def _notice(
    kinds: Sequence[Players], memories: Any, action: jax.Array, live: jax.Array, batch: int
) -> Any:
    parts = _rows(kinds, (action, live), batch)
    return tuple(
        jax.vmap(players.notice)(memory, *part) if jax.tree.leaves(memory) else memory
        for players, memory, part in zip(kinds, memories, parts, strict=True)
    )


def count_results(match: Match) -> jax.Array:
    """int32[M, 3]: wins, draws and losses of the player who moved first, by ordered pair."""
    first = match.outcome[..., 0]
    counts = [(match.played & (first == result)).sum(-1) for result in (1, 0, -1)]
    return jnp.stack(counts, -1).astype(jnp.int32)


def distinct_games(match: Match) -> jax.Array:
    """int32: different sequences of moves among the games played."""
    sequences = match.actions.reshape(match.actions.shape[0], -1).T
    return count_distinct(hash_rows(sequences), match.played.reshape(-1))


def is_accepted(
    wins: jax.Array, losses: jax.Array, threshold: jax.Array, *, accept_all_drawn: bool
) -> jax.Array:
    """The gate (000 section 4.1 with its program's counting): wins / (wins + losses) >= u.

    Args:
      wins, losses: int32, of the candidate; draws do not count.
      threshold: u.
      accept_all_drawn: the published program accepts when nothing was decided.

    Returns:
      bool scalar.
    """
    decided = wins + losses
    share = wins / jnp.maximum(decided, 1)
    return jnp.where(decided > 0, share >= threshold, accept_all_drawn)
