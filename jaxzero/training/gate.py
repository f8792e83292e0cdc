"""Candidate against best: the match and who is kept (Wang 2020, 4.1; West 2020, II-B3)."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.loops import DATA_AXIS
from jaxzero.matches import arena, one_by_one, sequential, wilson
from jaxzero.players import Players, Searcher, search_players
from jaxzero.search import SearchOptions
from jaxzero.training import learner
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Hyper, Spec


def arena_players(spec: Spec, hyper: Hyper, networks: Learner) -> Players:
    """Players [P] from networks with a leading axis P, with the run's own m and c."""
    fixed = spec.num_simulations if spec.search.fixes_simulations else None
    return search_players(
        spec.game,
        lambda network: learner.acting(spec, network),
        _searchers(hyper, networks),
        spec.arena_search,
        keep_tree=spec.switches.keep_tree,
        fixed_simulations=fixed,
    )


def growing_search(spec: Spec) -> SearchOptions:
    """The arena's search with trees that hold all games of a gate."""
    nodes = one_by_one.nodes(spec.game, spec.num_simulations, spec.arena.games)
    return dataclasses.replace(spec.arena_search, capacity=nodes)


def _searchers(hyper: Hyper, networks: Learner) -> Searcher:
    count = jax.tree.leaves(networks.params)[0].shape[0]
    return Searcher(
        networks,
        jnp.broadcast_to(hyper.num_simulations, (count,)),
        jnp.broadcast_to(hyper.c_puct, (count,)),
    )


def _is_finite(network: Learner) -> jax.Array:
    """bool: no weight is NaN or infinite."""
    leaves = jax.tree.leaves((network.params, network.batch_stats))
    return jnp.stack([jnp.isfinite(x).all() for x in leaves]).all()


def _match(
    spec: Spec, hyper: Hyper, two: Learner, key: jax.Array
) -> tuple[jax.Array, jax.Array, Any]:
    """(counts int32[2, 3], distinct games, cost) of n games, over all devices of the run."""
    if spec.arena.trees == "gate":  # games need those before them: every device plays them all
        match = one_by_one.play_match(
            spec.game,
            lambda network: learner.acting(spec, network),
            _searchers(hyper, two),
            key,
            options=growing_search(spec),
            games_per_direction=spec.arena.games // 2,
            played=hyper.arena_games // 2,
            draw_for_asked=spec.search.draw_for_asked,
        )
        return arena.count_results(match), arena.distinct_games(match), match.cost
    match = arena.play_match(
        spec.game,
        [arena_players(spec, hyper, two)],
        key,
        games_per_direction=spec.arena.games // 2,
        played=hyper.arena_games // 2,
        opening_plies=spec.arena.opening_plies,
        draw_for_asked=spec.search.draw_for_asked,
        data_devices=spec.data_devices,
    )
    counts = arena.count_results(match)  # row 0: candidate first, row 1: best first
    cost = match.cost
    distinct = arena.distinct_games(match)
    if spec.data_devices > 1:
        counts, cost = jax.lax.psum((counts, cost), DATA_AXIS)
        # hashes would have to travel to be compared: games on different devices count apart
        distinct = jax.lax.psum(distinct, DATA_AXIS)
    return counts, distinct, cost


def gate(
    spec: Spec, hyper: Hyper, candidate: Learner, best: Learner, key: jax.Array
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """n games of the candidate against the best network, and whether it takes its place.

    A candidate that diverged (NaN, infinity) never does, with or without games.

    Args:
      candidate, best: networks; both play with running averages of batch norm, temperature 0.
      key: consumed.

    Returns:
      bool scalar, and metrics `arena/*`.
    """
    finite = _is_finite(candidate)
    if spec.arena.games == 0:
        return finite, {"arena/accepted": finite.astype(jnp.float32)}
    two = jax.tree.map(
        lambda a, b: jnp.stack([a, b]), *map(learner.without_optimiser, (candidate, best))
    )
    if spec.arena.gate != "wilson":
        counts, distinct, cost = _match(spec, hyper, two, key)
    else:
        decided = sequential.play(
            spec.game,
            [arena_players(spec, hyper, two)],
            key,
            wilson.Rule(spec.arena.confidence, spec.arena.width),
            most=spec.arena.games // 2,
            limit=hyper.arena_games // 2,
            batch=spec.arena.batch,
            opening_plies=spec.arena.opening_plies,
            draw_for_asked=spec.search.draw_for_asked,
            data_devices=spec.data_devices,
        )
        counts, distinct, cost = decided.counts, decided.distinct, decided.cost
    wins = counts[0, 0] + counts[1, 2]
    lost = counts[0, 2] + counts[1, 0]
    draws = counts[0, 1] + counts[1, 1]
    if spec.arena.gate != "wilson":
        accepted = arena.is_accepted(
            wins, lost, hyper.threshold, accept_all_drawn=spec.switches.accept_all_drawn
        )
    else:
        accepted = decided.verdict == wilson.BETTER
    accepted &= finite
    metrics = {
        "arena/accepted": accepted,
        "arena/wins": wins,
        "arena/draws": draws,
        "arena/losses": lost,
        "arena/distinct_games": distinct,
        "arena/first_mover_wins": counts[0, 0] + counts[1, 0],
        "arena/wins_moving_first": counts[0, 0],
        "arena/draws_moving_first": counts[0, 1],
        "arena/losses_moving_first": counts[0, 2],
        "count/arena_evaluations": cost.evaluations,
        "count/arena_useful_evaluations": cost.useful_evaluations,
    }
    return accepted, {name: jnp.asarray(v, jnp.float32) for name, v in metrics.items()}
