"""Matches between players, compiled: every ordered pair plays k games, all at once.

Games are laid out by the player whose turn it is: [P, P - 1, k], row i holding the games in which
player i is to act, so that each player evaluates exactly its own games. After every ply the layout
is turned over, (i, j) <-> (j, i). A game in which the same player moves twice (Reversi) waits for a
turn. Where not everyone meets everyone, the rows of a kind of players are as long as their games.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxzero.games import scoring
from jaxzero.games.base import Game, State
from jaxzero.games.distinct import count_distinct, hash_rows
from jaxzero.loops import DATA_AXIS, any_member, where_lanes
from jaxzero.players import Cost, Players, no_cost, random_action


@struct.dataclass
class Match:
    """Results of a match. M ordered pairs in the order given (of `ordered_pairs`), k games each.

    Attributes:
      outcome: float32[M, k, 2], for the player who moved first and for the other. A game that did
        not end in max_plies is drawn: someone played what is no move, as where a network diverged.
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


class _Layouts(NamedTuple):
    """Where the M k games stand while the first or the second side is to act, by side.

    Attributes:
      games: int32[2, M k], the game at each place, numbered as in the first side's layout.
      turns: int32[2, M k], the place that goes to each place of the other layout.
      places: int32[2, M k], the place of each game.
    """

    games: jax.Array
    turns: jax.Array
    places: jax.Array


def _lay_out(pairs: np.ndarray | jax.Array, part: int) -> _Layouts:
    """Of pairs int[M, 2] grouped by who moves first: the second side's games are by who is second.

    `part`: k, games of a pair.
    """
    numpy = np if isinstance(pairs, np.ndarray) else jnp  # static pairs make a static layout
    order = numpy.argsort(pairs[:, 1], stable=True)
    by_second, by_first = (
        jnp.asarray((way[:, None] * part + np.arange(part)[None, :]).reshape(-1))
        for way in (order, numpy.argsort(order))
    )
    as_listed = jnp.arange(by_second.size)
    return _Layouts(
        games=jnp.stack([as_listed, by_second]),
        turns=jnp.stack([by_second, by_first]),
        places=jnp.stack([as_listed, by_first]),
    )


def _game_keys(key: jax.Array, pair: np.ndarray | jax.Array, number: jax.Array) -> jax.Array:
    """[M k]: a game's key depends on its pair and number, not on devices or layout."""
    by_pair = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.asarray(pair, jnp.uint32))
    by_game = jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))(by_pair, number)
    return by_game.reshape(-1)


def _count_opponents(kinds: Sequence[Players], pairs: np.ndarray) -> list[int]:
    """For each kind, how many games of every number its players move first in."""
    first = np.bincount(pairs[:, 0], minlength=sum(players.size for players in kinds))
    starts = np.cumsum([0, *(players.size for players in kinds)])[:-1]
    return first[starts].tolist()


def random_opening(game: Game, key: jax.Array, plies: int) -> tuple[State, jax.Array]:
    """One position after random moves that do not end the game.

    Args:
      key: consumed.
      plies: how many moves; fewer where the next one would end the game.

    Returns:
      The state, and int16[max_plies] actions, -1 beyond the opening.
    """

    def play(ply: jax.Array, carry: tuple[State, jax.Array, jax.Array]) -> Any:
        state, actions, count = carry
        action = random_action(game, jax.random.fold_in(key, ply), state)
        moved = game.step(state, action)
        fine = ~game.is_terminal(moved)
        actions = jnp.where(fine, actions.at[count].set(action.astype(jnp.int16)), actions)
        state = jax.tree.map(lambda new, old: jnp.where(fine, new, old), moved, state)
        return state, actions, count + fine

    nothing = jnp.full((game.max_plies,), -1, jnp.int16)
    begun = game.init(), nothing, jnp.int32(0)
    # A loop: as many copies of the rules took longer to compile than all else of Othello's match.
    state, actions, _ = jax.lax.fori_loop(0, min(plies, game.max_plies), play, begun)
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
    pairs: np.ndarray | jax.Array | None = None,
    opponents: Sequence[int] | None = None,
    first_game: jax.Array | int = 0,
    opening_plies: int = 0,
    draw_for_asked: float = 0.0,
    data_devices: int = 1,
) -> Match:
    """Plays k games of every ordered pair of players.

    Args:
      kinds: players by kind; they are numbered in this order.
      key: consumed. The pair (i, j) and the pair (j, i) share the opening of their g-th game.
      games_per_direction: k, of each ordered pair, over all devices.
      played: the games numbered below it are played, may be traced; all k by default.
      pairs: int32[M, 2] (moves first, moves second), all ordered pairs by default. Grouped by the
        first, ascending; everyone moves second as often as first, and players of one kind equally
        often. A player paired with itself sits out. May be traced, then `opponents` is needed.
      opponents: for each kind, how many pairs one of its players moves first in.
      first_game: number of the first of the k games, may be traced: a match in parts plays the
        same games as the whole.
      opening_plies: random plies before each colour-swapped pair of games.
      draw_for_asked: see `scoring.arena_outcome`.
      data_devices: devices that share the match, each its part of the k games.

    Returns:
      The match; k is rounded up to equal parts of the devices, and each holds its own part.
    """
    num_players = sum(players.size for players in kinds)
    pairs = ordered_pairs(num_players) if pairs is None else pairs
    chex.assert_shape(pairs, (None, 2))
    if opponents is None:
        opponents = _count_opponents(kinds, np.asarray(pairs))
    part = -(-games_per_direction // data_devices)
    batches = [count * part for count in opponents]  # games of one player at a time, by kind
    number = jnp.arange(part)
    if data_devices > 1:
        number = number + jax.lax.axis_index(DATA_AXIS) * part
    number = number + first_game
    wanted = number < (first_game + games_per_direction if played is None else played)
    wanted = ((pairs[:, 0] != pairs[:, 1])[:, None] & wanted[None, :]).reshape(-1)

    opening_key, play_key = jax.random.split(key)
    unordered = pairs.min(1) * num_players + pairs.max(1)
    keys = _game_keys(play_key, pairs[:, 0] * num_players + pairs[:, 1], number)
    states, actions = jax.vmap(lambda k: random_opening(game, k, opening_plies))(
        _game_keys(opening_key, unordered, number)
    )
    layouts = _lay_out(pairs, part)

    def is_live(states: State, games: jax.Array, plies: jax.Array) -> jax.Array:
        """Of each place; a network that diverged may play what is no move, without an end."""
        going_on = wanted[games] & (plies[games] < game.max_plies)
        return going_on & ~jax.vmap(game.is_terminal)(states)

    def body(carry: _Carry) -> _Carry:
        side = carry.tick % 2
        here, turn_over = layouts.games[side], layouts.turns[side]
        turn = jax.vmap(game.to_move)(carry.states) == side
        live = is_live(carry.states, here, carry.plies) & turn
        ply_keys = jax.vmap(jax.random.fold_in)(keys[here], carry.plies[here])
        action, acting, cost = _choose(kinds, carry.acting, ply_keys, carry.states, live, batches)
        acting = _notice(kinds, acting, action, live, batches)
        waiting = _notice(kinds, carry.waiting, action[turn_over], live[turn_over], batches)
        moved = jax.vmap(game.step)(carry.states, action)
        states = where_lanes(live, moved, carry.states)
        row = jnp.where(live, carry.plies[here], game.max_plies)
        return _Carry(
            states=jax.tree.map(lambda x: x[turn_over], states),
            acting=waiting,
            waiting=acting,
            actions=carry.actions.at[row, here].set(action.astype(jnp.int16), mode="drop"),
            plies=carry.plies.at[here].add(live),
            tick=carry.tick + 1,
            cost=jax.tree.map(jnp.add, carry.cost, cost),
        )

    carry = _Carry(
        states=states,
        acting=tuple(map(_remember, kinds, batches)),
        waiting=tuple(map(_remember, kinds, batches)),
        actions=actions.T,
        plies=(actions >= 0).sum(-1, dtype=jnp.int32),
        tick=jnp.int32(0),
        cost=no_cost(),
    )
    carry = jax.lax.while_loop(
        lambda c: any_member(is_live(c.states, layouts.games[c.tick % 2], c.plies)), body, carry
    )
    place = layouts.places[carry.tick % 2]
    outcome = jax.vmap(game.outcome)(jax.tree.map(lambda x: x[place], carry.states))
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


def _rows(kinds: Sequence[Players], tree: Any, batches: Sequence[int]) -> list[Any]:
    """[games of all players] -> for each kind [its players, batch, ...]."""

    def part(start: int, count: int, batch: int) -> Any:
        def cut(x: jax.Array) -> jax.Array:  # sizes spelled out: a leaf may have no elements
            return x[start : start + count * batch].reshape(count, batch, *x.shape[1:])

        return jax.tree.map(cut, tree)

    counts = [players.size for players in kinds]
    starts = np.cumsum([0, *np.multiply(counts, batches)])[:-1].tolist()
    return list(map(part, starts, counts, batches))


def _choose(
    kinds: Sequence[Players],
    memories: Any,
    keys: jax.Array,
    states: State,
    live: jax.Array,
    batches: Sequence[int],
) -> tuple[jax.Array, Any, Cost]:
    """Every player chooses in its own games, one player after another."""
    actions, new_memories, total = [], [], no_cost()
    parts = _rows(kinds, (keys, states, live), batches)
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
    kinds: Sequence[Players],
    memories: Any,
    action: jax.Array,
    live: jax.Array,
    batches: Sequence[int],
) -> Any:
    parts = _rows(kinds, (action, live), batches)
    return tuple(
        jax.vmap(players.notice)(memory, *part) if jax.tree.leaves(memory) else memory
        for players, memory, part in zip(kinds, memories, parts, strict=True)
    )


def count_results(match: Match) -> jax.Array:
    """int32[M, 3]: wins, draws and losses of the player who moved first, by ordered pair."""
    counts = wins_draws_losses(match.outcome[..., 0], match.played)
    return jnp.stack(counts, -1).astype(jnp.int32)


def wins_draws_losses(first: Any, counted: Any) -> list[Any]:
    """Three times int[...]: of results float[..., k] of the first player, those counted, bool."""
    return [(counted & (first == result)).sum(-1) for result in (1, 0, -1)]


def distinct_games(match: Match) -> jax.Array:
    """int32: different sequences of moves among the games played."""
    sequences = match.actions.reshape(match.actions.shape[0], -1).T
    return count_distinct(hash_rows(sequences), match.played.reshape(-1))


def is_accepted(
    wins: jax.Array, losses: jax.Array, threshold: jax.Array, *, accept_all_drawn: bool
) -> jax.Array:
    """The gate (Wang 2020 section 4.1 with its program's counting): wins / (wins + losses) >= u.

    Compared in whole numbers, so that a score of exactly u passes on every device.

    Args:
      wins, losses: int32, of the candidate, together at most 200,000; draws do not count.
      threshold: u, of which four decimals count.
      accept_all_drawn: the published program accepts when nothing was decided.

    Returns:
      bool scalar.
    """
    decided = wins + losses
    needed = jnp.round(threshold * 10_000).astype(jnp.int32)
    return jnp.where(decided > 0, wins * 10_000 >= needed * decided, accept_all_drawn)
