"""A match of two searching players in which each keeps one tree over all games (Wang 2020).

The published programs make one tree for each player of a gate. It grows from game to game, so that
games from the same start position become different ones. They must be played one after another.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games import scoring
from jaxzero.games.base import Game, State
from jaxzero.games.playouts import starts
from jaxzero.loops import while_any
from jaxzero.matches.arena import Match
from jaxzero.players import Cost, Searcher
from jaxzero.search import core, whole_tree
from jaxzero.search.evaluation import Evaluate, StateEvaluate
from jaxzero.search.options import SearchOptions


@struct.dataclass
class _Trees:
    """Both players' trees [2, 1, ...]; node 0 is the position of the game that is on."""

    trees: Any
    start: jax.Array  # int32[2], where the start position is
    is_new: jax.Array  # bool[2], the root was not in the tree before


@struct.dataclass
class _Game:
    """The game that is on."""

    state: State
    actions: jax.Array  # int16[max_plies]
    ply: jax.Array
    kept: _Trees
    cost: Cost


def nodes(game: Game, num_simulations: int, games: int) -> int:
    """Nodes that a player's tree can need: its searches' and every position of the games."""
    searches = -(-game.max_plies // 2) if game.is_alternating else game.max_plies
    return 1 + games * (searches * num_simulations + game.max_plies)


def play_match(
    game: Game,
    evaluate_with: Callable[[Any], Evaluate | StateEvaluate],
    searchers: Searcher,
    key: jax.Array,
    *,
    options: SearchOptions,
    games_per_direction: int,
    played: jax.Array | int,
    draw_for_asked: float = 0.0,
) -> Match:
    """Plays k games in which the second player moves first, then k with the first one moving first.

    Args:
      evaluate_with: variables of one player -> evaluate.
      searchers: two players [2], who play their search's best move (temperature 0).
      key: consumed.
      options: PUCT without root noise, loop="tree", tree_steps="loops"; `capacity` as `nodes` says.
      games_per_direction: k.
      played: of them, the games that are played, may be traced.
      draw_for_asked: see `scoring.arena_outcome`.

    Returns:
      The match, as `arena.play_match` gives it of two players: row 0, the first one moved first.
    """
    kept, cost = _begin(game, evaluate_with, searchers, key, options)
    none = jnp.full((2 * games_per_direction, game.max_plies), -1, jnp.int16)
    first_state = jax.tree.map(lambda x: x[0], starts(game, 1))
    ends = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(none), *x.shape)), first_state)

    def body(i: jax.Array, carry: tuple) -> tuple:
        kept, actions, ends, cost = carry
        first = jnp.where(i < games_per_direction, 1, 0)
        wanted = i % games_per_direction < played

        def going(one: _Game) -> jax.Array:
            return wanted & (one.ply < game.max_plies) & ~game.is_terminal(one.state)

        begun = _Game(
            state=first_state,
            actions=none[0],
            ply=jnp.int32(0),
            kept=_to_the_start(kept, wanted),
            cost=cost,
        )
        # By direction and number, so that games do not depend on k, of which some are not played.
        own_key = jax.random.fold_in(jax.random.fold_in(key, first), i % games_per_direction)
        move = _mover(game, evaluate_with, searchers, own_key, options)
        one = while_any(going, lambda one: move(one, first, going(one)), begun)
        ends = jax.tree.map(lambda all_, end: all_.at[i].set(end), ends, one.state)
        return one.kept, actions.at[i].set(one.actions), ends, one.cost

    carry = (kept, none, ends, cost)
    _, actions, ends, cost = jax.lax.fori_loop(0, len(none), body, carry)

    def by_direction(x: jax.Array) -> jax.Array:  # [2 k, ...] -> [2, k, ...], first player first
        return x.reshape(2, games_per_direction, *x.shape[1:])[::-1]

    outcome = scoring.arena_outcome(jax.vmap(game.outcome)(ends), draw_for_asked)
    is_played = jnp.broadcast_to(jnp.arange(games_per_direction) < played, (2, games_per_direction))
    return Match(
        outcome=by_direction(outcome),
        played=is_played,
        actions=jnp.moveaxis(by_direction(actions), -1, 0),
        cost=cost,
    )


def _begin(
    game: Game, evaluate_with: Callable, searchers: Searcher, key: jax.Array, options: SearchOptions
) -> tuple[_Trees, Cost]:
    """Trees of the start position alone."""

    def one(variables: Any) -> tuple[Any, jax.Array]:
        keys = jax.random.split(key, 1)
        return core.start(game, evaluate_with(variables), keys, starts(game, 1), options)

    trees, made = jax.lax.map(one, searchers.variables)
    none = jnp.zeros((2,), jnp.int32)
    return _Trees(trees, none, none == 0), Cost(made.sum(), made.sum())


def _to_the_start(kept: _Trees, wanted: jax.Array) -> _Trees:
    """The start position at the roots again; new to a player who has never searched it."""
    place = jnp.where(wanted, kept.start, 0)
    trees = jax.vmap(whole_tree.put_root)(kept.trees, place[:, None])
    is_new = trees.children_visits[:, 0, 0].sum(-1) == 0
    return _Trees(trees, jnp.where(wanted, 0, kept.start), is_new)


def _mover(
    game: Game, evaluate_with: Callable, searchers: Searcher, key: jax.Array, options: SearchOptions
) -> Callable[[_Game, jax.Array, jax.Array], _Game]:
    """(a game, who moved first in it, whether it is on) -> the game a ply later."""

    def move(one: _Game, first: jax.Array, live: jax.Array) -> _Game:
        keys = jax.random.split(jax.random.fold_in(key, one.ply), 3)
        who = jnp.where(game.to_move(one.state) == 0, first, 1 - first)
        own = jax.tree.map(lambda x: x[who], (searchers, one.kept.trees, one.kept.is_new))
        searcher, tree, is_new = own
        lane = live[None]
        result = core.run(
            game,
            evaluate_with(searcher.variables),
            keys[:1],
            jax.tree.map(lambda x: x[None], one.state),
            options=options,
            num_simulations=searcher.num_simulations - (options.root_expansion_counts & is_new),
            c_puct=searcher.c_puct,
            trees=tree,
            is_kept=jnp.ones_like(lane),
            active=lane,
            noise_scale=0.0,
        )
        action = result.action[0]
        moved = game.step(one.state, action)
        trees = jax.tree.map(lambda x, new: x.at[who].set(new), one.kept.trees, result.tree)

        def follow(player: tuple) -> tuple:
            variables, tree, key = player
            after = jax.tree.map(lambda x: x[None], moved)
            evaluate = evaluate_with(variables)
            return whole_tree.go_on(
                game, evaluate, key[None], tree, action[None], after, lane, options
            )

        players = (searchers.variables, trees, keys[1:])
        trees, place, is_new, made = jax.lax.map(follow, players)
        earlier, place = one.kept.start, place[:, 0]  # it and the root have changed places
        start = jnp.where(earlier == 0, place, jnp.where(earlier == place, 0, earlier))
        counts = result.diagnostics
        spent = Cost(counts.evaluations + made.sum(), counts.useful_evaluations + is_new.sum())
        row = jnp.where(live, one.ply, game.max_plies)
        return _Game(
            state=jax.tree.map(lambda a, b: jnp.where(live, a, b), moved, one.state),
            actions=one.actions.at[row].set(action.astype(jnp.int16), mode="drop"),
            ply=one.ply + live,
            kept=dataclasses.replace(
                one.kept, trees=trees, start=start, is_new=jnp.where(live, is_new[:, 0], False)
            ),
            cost=jax.tree.map(jnp.add, one.cost, spent),
        )

    return move
