"""Playing games against oneself: a batch in lock-step, every game to its end.

Wang 2020 section 4.1, as its program plays: moves are sampled from the visit counts in the first T'
- 1 plies and greedy afterwards.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.base import Game
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes, while_any
from jaxzero.search import core, subtree
from jaxzero.search import result as result_lib
from jaxzero.search.evaluation import Evaluate, StateEvaluate
from jaxzero.search.options import Numbers, SearchOptions
from jaxzero.search.result import Diagnostics, SearchResult
from jaxzero.training import labels, moves
from jaxzero.training import sharing as sharing_lib
from jaxzero.training.openings import Openings
from jaxzero.training.sharing import NOT_SHARED, Costs, Memory, Question, Sharing
from jaxzero.training.trajectory import Trajectory, empty_record

# (keys [B], states [B], policies [B, A], live bool[B]) -> int32[B] actions
Pick = Callable[[jax.Array, Any, jax.Array, jax.Array], jax.Array]


class PlayoutCaps(NamedTuple):
    """Fast searches at some plies, which are not learned from (Wu 2020, in Clausen 2021, 2.4)."""

    share: float = 0.0  # of the plies; 0: every search is a full one
    num_simulations: int = 0  # of a fast search
    noise: float = 0.0  # factor of the root noise in it


NO_CAPS = PlayoutCaps()


@struct.dataclass
class _Carry:
    states: Any
    tree: Any
    is_kept: jax.Array
    ply: jax.Array
    record: dict[str, jax.Array]
    diagnostics: Diagnostics
    memory: Memory
    clock: Any


def play(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    active: jax.Array,
    *,
    options: SearchOptions,
    num_simulations: jax.Array | int,
    c_puct: jax.Array | float,
    temperature_plies: jax.Array | int,
    keep_tree: bool = False,
    one_hot_after_temperature: bool = False,
    first_player_always_loses: bool = False,
    begun: Openings | None = None,
    players: Numbers | None = None,
    caps: PlayoutCaps = NO_CAPS,
    known_labels: bool = False,
    sharing: Sharing = NOT_SHARED,
    clock: int = 0,
    pick: Pick | None = None,
    memory: Memory | None = None,
) -> tuple[Trajectory, Costs]:
    """Plays B games to their ends.

    Args:
      evaluate: the network, see `search`.
      keys: [B] random keys, one per game, consumed. A game depends on its own and `sharing`'s.
      active: bool[B], which games to play; the others stay empty.
      temperature_plies: T', may be traced: plies 1 .. T'-1 are sampled from the visits.
      keep_tree: the subtree below the played move is kept.
      one_hot_after_temperature: published policy target of greedy plies.
      first_player_always_loses: published Gobang labels, see `scoring.labels`.
      begun: where the games begin, their plies before being without rows in the trajectory; None:
        at the start.
      players: float32[B, 2], numbers of the searches of who moves first and second in each game, in
        place of `c_puct` and the options'; without `keep_tree` and shared searches.
      caps: fast searches.
      known_labels: see `labels.by_known`; the search keeps known results.
      sharing: of searches between games, without `keep_tree`.
      clock: simulations that a player has for the game, beside `options.kld_step` for each turn,
        which it may always use; 0: as many as it wants.
      pick: chooses the moves, from the policies, in place of sampling from the visits.
      memory: of searches by the same network; None: of none.

    Returns:
      The trajectory and what its searches cost.
    """
    batch = active.shape[0]
    states = starts(game, batch) if begun is None else begun.states

    own_numbers = functools.partial(_own_numbers, options, c_puct, players)
    search = _searcher(game, evaluate, own_numbers, num_simulations, caps)

    def going(carry: _Carry) -> jax.Array:
        return active & ~jax.vmap(game.is_terminal)(carry.states) & (carry.ply < game.max_plies)

    def body(carry: _Carry) -> _Carry:
        live, mover = going(carry), jax.vmap(game.to_move)(carry.states)
        number, search_keys, move_keys = _number_and_keys(keys, begun, carry.ply)
        sampled = number + 1 < temperature_plies
        question = _question(carry.states, move_keys, sampled, options, caps)
        most = _allowed(carry.clock, mover, options, num_simulations) if clock else None
        trees = (carry.tree, carry.is_kept) if keep_tree else ()
        result, memory = sharing_lib.search_all(
            sharing,
            search_keys,
            functools.partial(search, trees=trees, most=most),
            question,
            live,
            carry.memory,
        )
        action, policy = moves.choose(
            move_keys, result, sampled, options, one_hot_after_temperature=one_hot_after_temperature
        )
        if pick is not None:
            action = pick(move_keys, carry.states, result.policy, live)
        row = _searched(result, own_numbers(mover)[0].draw_value, known_labels) | {
            "observation": jax.vmap(game.observe)(carry.states),
            "policy": policy,
            "legal": jax.vmap(game.legal_actions)(carry.states),
            "to_move": mover.astype(jnp.int8),
            "action": jnp.where(live, action, -1),
            "valid": live,
            "recorded": live & ~question.is_fast,
        }
        tree, is_kept = carry.tree, carry.is_kept
        if keep_tree:
            tree, is_kept = subtree.advance(result.tree, action)
        moved = jax.vmap(game.step)(carry.states, action)
        return _Carry(
            states=where_lanes(live, moved, carry.states),
            tree=tree,
            is_kept=is_kept,
            ply=carry.ply + 1,
            record={k: carry.record[k].at[carry.ply].set(v) for k, v in row.items()},
            diagnostics=result_lib.add(carry.diagnostics, result.diagnostics),
            memory=memory,
            clock=_after_search(carry.clock, mover, options, result) if clock else carry.clock,
        )

    nobody = jnp.zeros((batch,), bool)  # no tree of these is ever read
    if memory is None:
        question = Question(states, nobody, jnp.zeros((batch,), jnp.float32))
        memory = sharing_lib.begin(sharing, search, question)
    carry = _Carry(
        states=states,
        tree=core.start(game, evaluate, keys, states, options, nobody)[0] if keep_tree else (),
        is_kept=nobody,
        ply=jnp.int32(0),
        record=empty_record(game, batch, options, known_labels),
        diagnostics=result_lib.nothing(batch),
        memory=memory,
        clock=jnp.full((batch, 2), clock, jnp.int32) if clock else (),
    )
    carry = while_any(going, body, carry)
    trajectory = _label(game, carry, active, options, first_player_always_loses)
    if begun is not None:
        trajectory = _from(begun, trajectory)
    return trajectory, sharing_lib.costs(carry.diagnostics, carry.memory)


def _searcher(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    own_numbers: Callable[[jax.Array], tuple[SearchOptions, Any]],
    num_simulations: jax.Array | int,
    caps: PlayoutCaps,
) -> Callable[..., SearchResult]:
    """(keys [B], question, active bool[B], trees=, most=) -> what the searches find.

    `trees`: kept ones and which are kept, or none; `most`: int32[B], simulations by the clock.
    """

    def search(
        keys: jax.Array, question: Question, active: jax.Array, trees: tuple = (), most: Any = None
    ) -> SearchResult:
        own, c = own_numbers(jax.vmap(game.to_move)(question.states))
        simulations, noise = num_simulations if most is None else most, question.noise
        if caps.share:
            simulations = jnp.where(question.is_fast, caps.num_simulations, num_simulations)
            noise = noise * jnp.where(question.is_fast, caps.noise, 1.0)
        return core.run(
            game,
            evaluate,
            keys,
            question.states,
            options=own,
            num_simulations=simulations,
            c_puct=c,
            trees=trees[0] if trees else None,
            is_kept=trees[1] if trees else None,
            active=active,
            noise_scale=noise,
        )

    return search


def _own_numbers(
    options: SearchOptions,
    c_puct: jax.Array | float,
    players: Numbers | None,
    to_move: jax.Array,
) -> tuple[SearchOptions, Any]:
    """Options and c of who is to move, int32[B]."""
    if players is None:
        return options, c_puct
    own = Numbers(*(jnp.asarray(x)[jnp.arange(len(to_move)), to_move] for x in players))
    return options.of_games(own), own.c_puct


def _number_and_keys(
    keys: jax.Array, begun: Openings | None, ply: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Of the ply in each game: its number, or that of all, and keys [B] of its search and move."""
    if begun is None:
        number = ply
        ply_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, number)
    else:
        number = begun.plies + ply
        ply_keys = jax.vmap(jax.random.fold_in)(keys, number)
    search_keys, move_keys = jnp.moveaxis(jax.vmap(jax.random.split)(ply_keys), 1, 0)
    return number, search_keys, move_keys


def _question(
    states: Any, keys: jax.Array, sampled: jax.Array, options: SearchOptions, caps: PlayoutCaps
) -> Question:
    """What is searched at a ply: the noise at the root, and whether the search is a fast one."""
    batch = len(keys)
    noise = jnp.asarray(moves.root_noise(options, sampled), jnp.float32)
    is_fast = jnp.zeros((batch,), bool)
    if caps.share:
        cap_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 1)
        is_fast = jax.vmap(jax.random.bernoulli, (0, None))(cap_keys, caps.share)
    return Question(states, is_fast, jnp.broadcast_to(noise, (batch,)))


def _left(clock: jax.Array, mover: jax.Array, options: SearchOptions) -> jax.Array:
    """int32[B], simulations that who is to move has left, those of this turn among them."""
    return clock[jnp.arange(len(mover)), mover] + options.kld_step


def _allowed(
    clock: jax.Array, mover: jax.Array, options: SearchOptions, num_simulations: jax.Array | int
) -> jax.Array:
    """int32[B], simulations that the search may make: whole steps."""
    step = options.kld_step
    return jnp.minimum(_left(clock, mover, options) // step * step, num_simulations)


def _after_search(
    clock: jax.Array, mover: jax.Array, options: SearchOptions, result: SearchResult
) -> jax.Array:
    """int32[B, 2], the clock without what the search has made."""
    left = _left(clock, mover, options) - result.visit_counts.sum(-1)
    return clock.at[jnp.arange(len(mover)), mover].set(left)


def _searched(result: SearchResult, draw_value: Any, known_labels: bool) -> dict[str, jax.Array]:
    """What a search found, as a row of the trajectory has it: values where a draw is worth 0."""
    row = {"root_value": result.value}
    if known_labels:
        assert result.known is not None
        row["known"] = result.known
    if result.draw is not None:
        row["root_draw"] = result.draw
        row["root_value"] = result.value - draw_value * result.draw
    return row


def _label(
    game: Game,
    carry: _Carry,
    active: jax.Array,
    options: SearchOptions,
    first_player_always_loses: bool,
) -> Trajectory:
    record = dict(carry.record)
    known = record.pop("known", None)
    value, drawn = labels.of_plies(
        game,
        carry.states,
        record["to_move"] == 0,
        record["valid"],
        options=options,
        known=known,
        first_player_always_loses=first_player_always_loses,
    )
    return Trajectory(
        **record,
        value=value,
        drawn=drawn,
        outcome=jax.vmap(game.outcome)(carry.states),
        plies=record["valid"].sum(0, dtype=jnp.int32),
        active=active,
    )


def _from(begun: Openings, trajectory: Trajectory) -> Trajectory:
    """With where its games began."""
    return dataclasses.replace(
        trajectory,
        start=jnp.where(trajectory.active, begun.plies, 0),
        rolled_back=trajectory.active & begun.rolled_back,
        begun=begun.states,
    )
