"""Players who search: with a network, or with random rollouts."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxzero.games.base import Game, State
from jaxzero.games.playouts import starts
from jaxzero.loops import where_lanes
from jaxzero.players.base import Cost, Players, Turn
from jaxzero.players.random_player import random_action
from jaxzero.search import core, subtree
from jaxzero.search.evaluation import Evaluate, StateEvaluate
from jaxzero.search.options import SearchOptions


class Searcher(NamedTuple):
    """One searching player; leaves get a leading axis [P] for several."""

    variables: Any  # whatever `evaluate_with` takes (network weights; `()` for rollouts)
    num_simulations: jax.Array  # int32, m
    c_puct: jax.Array  # float32, c


def search_players(
    game: Game,
    evaluate_with: Callable[[Any], Evaluate | StateEvaluate],
    searchers: Searcher,
    options: SearchOptions,
    *,
    keep_tree: bool = False,
    fixed_simulations: int | None = None,
) -> Players:
    """Players that play the search's best move (temperature 0).

    Args:
      evaluate_with: variables of one player -> evaluate.
      searchers: the players, [P].
      options: of the search, without root noise.
      keep_tree: the subtree below the moves of *both* sides is kept.
      fixed_simulations: for a search that needs a static m, the same for all.
    """

    def choose(
        searcher: Searcher, memory: Any, keys: jax.Array, states: State, live: jax.Array
    ) -> Turn:
        tree, is_kept = memory if keep_tree else (None, None)
        result = core.run(
            game,
            evaluate_with(searcher.variables),
            keys,
            states,
            options=options,
            num_simulations=fixed_simulations or searcher.num_simulations,
            c_puct=searcher.c_puct,
            trees=tree,
            is_kept=is_kept,
            active=live,
            noise_scale=0.0,
        )
        if keep_tree:  # lanes that are not live keep the tree they had
            memory = where_lanes(live, (result.tree, jnp.ones_like(live)), memory)
        counts = result.diagnostics
        return Turn(result.action, memory, Cost(counts.evaluations, counts.useful_evaluations))

    def remember(batch: int) -> Any:
        if not keep_tree:
            return ()
        one = jax.tree.map(lambda x: x[0], searchers.variables)
        keys = jax.random.split(jax.random.key(0), batch)  # no tree of these is ever read
        nobody = jnp.zeros((batch,), bool)
        tree, _ = core.start(game, evaluate_with(one), keys, starts(game, batch), options, nobody)
        return tree, nobody

    def notice(memory: Any, action: jax.Array, live: jax.Array) -> Any:
        if not keep_tree:
            return memory
        tree, is_kept = memory
        moved, exists = subtree.advance(tree, action)
        return where_lanes(live, (moved, exists & is_kept), memory)

    return Players(params=searchers, choose=choose, remember=remember, notice=notice)


def rollouts_of(name: str) -> int:
    """50 of `"mcts_50"`, plain MCTS with so many rollouts a move; 0 of any other name."""
    match = re.fullmatch(r"mcts_([1-9][0-9]*)", name)
    return int(match[1]) if match else 0


def rollout_evaluate(game: Game) -> StateEvaluate:
    """Uniform priors and the result of one random playout (plain MCTS with random rollouts).

    The value is that result for the player to move at the leaf, in {-1, 0, 1}.
    """

    def playout(key: jax.Array, state: State) -> jax.Array:
        def body(carry: tuple) -> tuple:
            state, ply = carry
            action = random_action(game, jax.random.fold_in(key, ply), state)
            return game.step(state, action), ply + 1

        def going(carry: tuple) -> jax.Array:
            return ~game.is_terminal(carry[0]) & (carry[1] < game.max_plies)

        end, _ = jax.lax.while_loop(going, body, (state, jnp.int32(0)))
        return game.outcome(end)[game.to_move(state)]

    def evaluate(keys: jax.Array, states: State) -> tuple[jax.Array, jax.Array]:
        values = jax.vmap(playout)(keys, states)
        return jnp.zeros((values.shape[0], game.num_actions)), values

    return StateEvaluate(evaluate)
