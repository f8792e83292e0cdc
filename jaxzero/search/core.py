"""One search from a batch of positions: evaluate the roots, simulate, read off the result."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mctx

from jaxzero.games.base import Game, State
from jaxzero.loops import max_member, where_lanes
from jaxzero.search import kernels, known_results, mctx_loop, noise, rules, thinking, tree
from jaxzero.search.evaluation import Evaluate, StateEvaluate, as_node, look_at
from jaxzero.search.options import SearchOptions
from jaxzero.search.result import Diagnostics, SearchResult


def start(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    states: State,
    options: SearchOptions,
    needed: jax.Array | None = None,
) -> tuple[mctx.Tree, jax.Array]:
    """(fresh trees whose roots are `states`, without root noise; evaluations made)."""
    position, made = look_at(game, evaluate, keys, states, options, needed)
    root = as_node(position, options)
    trees = tree.new_tree(
        root,
        options.capacity,
        keeps_results=options.propagate_results,
        keeps_draws=options.backs_up_draws,
    )
    return trees, made


def simulate(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    trees: mctx.Tree,
    active: jax.Array,
    select_root: tree.Select,
    select: tree.Select | kernels.Rule,
    options: SearchOptions,
) -> tuple[mctx.Tree, tree.Leaf, jax.Array, jax.Array]:
    """One simulation in every active lane.

    Returns:
      The trees, where it went, whether the result there is known, and evaluations made.
    """
    step = jax.vmap(game.step)
    steps: Any = kernels if options.tree_steps == "kernels" else tree
    leaf = steps.descend(trees, select_root, select, active)
    before = tree.read_state(trees, leaf.node)
    states = step(before, leaf.action)
    needed = active
    if options.propagate_results:  # known edges back up their result
        needed = active & (known_results.of_edges(trees, leaf) == tree.UNKNOWN)
    position, made = look_at(game, evaluate, keys, states, options, needed)
    same = jax.vmap(game.to_move)(before) == position.to_move
    value = options.discount * jnp.where(same, position.value, -position.value)
    if options.propagate_results:
        trees, known = known_results.grow(
            trees,
            leaf,
            as_node(position, options),
            value,
            position.draw,
            position.is_terminal,
            active,
            draw_value=options.draw_value,
            discount=options.discount,
            alternating=game.is_alternating,
        )
        return trees, leaf, known, made
    keep = active & ~position.is_terminal
    trees = tree.expand(trees, leaf, as_node(position, options), keep)
    trees = steps.backup(
        trees,
        leaf,
        value,
        position.draw,
        active,
        draw_value=options.draw_value,
        discount=options.discount,
        alternating=game.is_alternating,
    )
    return trees, leaf, position.is_terminal, made


def run(
    game: Game,
    evaluate: Evaluate | StateEvaluate,
    keys: jax.Array,
    states: State,
    *,
    options: SearchOptions,
    num_simulations: jax.Array | int,
    c_puct: jax.Array | float = 1.0,
    trees: mctx.Tree | None = None,
    is_kept: jax.Array | None = None,
    active: jax.Array | None = None,
    noise_scale: jax.Array | float = 1.0,
) -> SearchResult:
    """Searches from a batch of positions, with all choices spelled out.

    Args:
      evaluate: see `Evaluate`, `StateEvaluate` and `ChunkedEvaluate`.
      keys: [B] random keys, consumed. One per game, so that a game's search does not depend on
        which other games are in the batch.
      states: [B] positions. Finished ones take part as idle lanes.
      num_simulations: m; may be traced unless `options.fixes_simulations`.
      c_puct: exploration constant, may be traced; of each game: float32[B], with options
        `SearchOptions.of_games`.
      trees: trees of an earlier search, re-rooted at `states`; None for fresh ones, as mctx's loop,
        Gumbel's sequential halving and `options.kld_step` need them.
      is_kept: bool[B], with `trees`: which of them hold a usable root; the others start afresh.
      active: bool[B], lanes to search; unfinished ones by default.
      noise_scale: factor of Gumbel noise, of the share of Dirichlet noise and (but for loop="mctx")
        of k of forced playouts, scalar or [B]: 0 for a player who is not to explore.

    Returns:
      `SearchResult`.
    """
    batch = jnp.shape(jax.tree.leaves(states)[0])[0]
    chex.assert_tree_shape_prefix((keys, states), (batch,))
    # One key for each use: rollouts and random ties would otherwise draw the same numbers.
    root_keys, noise_keys, evaluation_keys, selection_keys, choice_keys = (
        jax.vmap(jax.random.fold_in, (0, None))(keys, i) for i in range(5)
    )
    unfinished = ~jax.vmap(game.is_terminal)(states)
    active = unfinished if active is None else active & unfinished
    chex.assert_shape(active, (batch,))
    if is_kept is None:
        if trees is not None:
            raise ValueError("trees without is_kept")
        is_kept = jnp.zeros((batch,), bool)
    if trees is not None and (options.fixes_simulations or options.kld_step):
        raise ValueError(
            "algorithm='gumbel', loop='mctx' and kld_step begin with fresh trees: use 'puct', "
            "'tree' and kld_step=0 to keep them"
        )
    fresh, made = start(game, evaluate, root_keys, states, options, active & ~is_kept)
    trees = fresh if trees is None else where_lanes(is_kept, trees, fresh)
    noise_scale = jnp.broadcast_to(jnp.asarray(noise_scale, jnp.float32), (batch,))
    legal = jax.vmap(game.legal_actions)(states)
    without_noise = trees.children_prior_logits[:, 0]
    trees = noise.add(trees, noise_keys, legal, noise_scale, options)
    forced: jax.Array | float = options.forced_playouts
    if forced and options.loop == "tree":  # mctx's own loop has one rule for all roots
        forced = forced * noise_scale[:, None]
    select_root, select = _selection(trees, num_simulations, c_puct, options, forced)
    kernel = kernels.rule(options, c_puct, legal.shape[1])
    if options.loop == "mctx":
        trees, counts, policy = mctx_loop.run(
            game,
            evaluate,
            evaluation_keys,
            trees,
            made,
            active,
            (select_root(selection_keys), select(selection_keys)),
            int(num_simulations) - options.root_expansion_counts,
            options,
        )
    else:
        budget = jnp.broadcast_to(jnp.asarray(num_simulations, jnp.int32), (batch,))
        if options.root_expansion_counts:
            budget = budget - ~is_kept

        def once(
            lanes: jax.Array, i: jax.Array, trees: mctx.Tree
        ) -> tuple[mctx.Tree, tree.Leaf, jax.Array, jax.Array]:
            evaluation_i, selection_i = (
                jax.vmap(jax.random.fold_in, (0, None))(k, i)
                for k in (evaluation_keys, selection_keys)
            )
            rule = kernel if options.tree_steps == "kernels" else select(selection_i)
            return simulate(
                game, evaluate, evaluation_i, trees, lanes, select_root(selection_i), rule, options
            )

        counts = _counts_of_roots(made, active, is_kept)
        trees, counts = _simulate_all(once, trees, counts, active, budget, without_noise, options)
        policy = None
    result = _read_off(trees, counts, active, choice_keys, c_puct, options, without_noise, forced)
    if policy is None or options.gumbel_target == "visits":
        return result
    return dataclasses.replace(result, policy=policy)


def _counts_of_roots(made: jax.Array, active: jax.Array, is_kept: jax.Array) -> Diagnostics:
    """What it took to evaluate the roots, of each lane."""
    none = jnp.zeros(active.shape, jnp.int32)
    return Diagnostics(
        evaluations=made,
        useful_evaluations=none + (active & ~is_kept),
        finished_leaves=none,
        depth_sum=none,
        simulations=none,
        depth_max=none,
        nodes=none,
    )


def _simulate_all(
    once: Callable[..., tuple[mctx.Tree, tree.Leaf, jax.Array, jax.Array]],
    trees: mctx.Tree,
    counts: Diagnostics,
    active: jax.Array,
    budget: jax.Array,
    prior: jax.Array,
    options: SearchOptions,
) -> tuple[mctx.Tree, Diagnostics]:
    """All simulations.

    Args:
      once: (lanes bool[B], int32 number, trees) -> what `simulate` returns.
      counts: so far, of each lane.
      active: bool[B], lanes to search.
      budget: int32[B], simulations of each.
      prior: float32[B, A], the roots' log prior without noise.

    Returns:
      The trees, and counts of all lanes together.
    """

    def body(lanes: jax.Array, i: jax.Array, carry: tuple) -> tuple:
        trees, counts = carry
        lanes = lanes & (i < budget)
        if options.stop_when_known:
            lanes &= known_results.of_roots(trees) == tree.UNKNOWN
        trees, leaf, finished, made = once(lanes, i, trees)
        depth = jnp.where(lanes, leaf.depth, 0)
        counts = Diagnostics(  # of each lane: a sum over them would be a kernel a simulation
            evaluations=counts.evaluations + made,
            useful_evaluations=counts.useful_evaluations + (lanes & ~finished),
            finished_leaves=counts.finished_leaves + (lanes & finished),
            depth_sum=counts.depth_sum + depth,
            simulations=counts.simulations + lanes,
            depth_max=jnp.maximum(counts.depth_max, depth),
            nodes=counts.nodes,
        )
        return trees, counts

    if options.kld_step:
        trees, counts = thinking.in_steps(body, (trees, counts), active, budget, prior, options)
    else:
        bound, every = max_member(budget.max()), functools.partial(body, active)
        trees, counts = jax.lax.fori_loop(0, bound, every, (trees, counts))
    return trees, _over_lanes(counts)


def _over_lanes(counts: Diagnostics) -> Diagnostics:
    """Counts int32[B] of each lane, those of all; nodes are read off the trees."""
    total = jax.tree.map(lambda x: x.sum().astype(jnp.float32), counts)
    return dataclasses.replace(total, depth_max=counts.depth_max.max())


def _selection(
    trees: mctx.Tree,
    num_simulations: Any,
    c_puct: jax.Array | float,
    options: SearchOptions,
    forced: jax.Array | float,
) -> tuple[Callable[[jax.Array], tree.Select], Callable[[jax.Array], tree.Select]]:
    """(rule at the root, rule below), each a function of the simulation's keys."""
    if options.fixes_simulations and not isinstance(num_simulations, int):
        raise ValueError(
            "algorithm='gumbel' and loop='mctx' need num_simulations to be a Python int"
        )
    if options.algorithm == "puct":
        c = jnp.asarray(c_puct, jnp.float32)

        def puct(keys: jax.Array) -> tree.Select:
            return rules.puct(c, options, keys)

        def root(keys: jax.Array) -> tree.Select:
            if not options.forced_playouts:
                return puct(keys)
            return rules.puct_root(c, options, keys, forced)

        return root, puct
    visits = num_simulations - options.root_expansion_counts
    halving = rules.gumbel_root(trees.extra_data.root_gumbel, visits, options)
    interior = functools.partial(rules.gumbel_interior, options=options)
    return (lambda keys: halving), (lambda keys: interior)


def _read_off(
    trees: mctx.Tree,
    counts: Diagnostics,
    active: jax.Array,
    keys: jax.Array,
    c_puct: jax.Array | float,
    options: SearchOptions,
    prior: jax.Array,
    forced: jax.Array | float,
) -> SearchResult:
    """What the trees say; `prior` float32[B, A] is the roots' log prior without noise."""
    node = tree.read_root(trees)
    root_value: Callable[[tree.Node], jax.Array] = tree.node_value
    if options.algorithm == "gumbel":
        action, policy, improved = rules.gumbel_policy(node, trees.extra_data.root_gumbel, options)
        if options.gumbel_root_value == "policy":
            root_value = functools.partial(rules.value_under, improved)
    else:
        may = node.log_prior > tree.ILLEGAL / 2
        visits = kept = node.visits.astype(jnp.float32)
        if options.forced_playouts:
            kept = rules.pruned_visits(node, jnp.asarray(c_puct, jnp.float32), options, forced)
            visits = visits + 0.5 * (kept > 0)  # of equals, those that are left
        if options.propagate_results:
            visits = kept = known_results.chosen_from(node)
        policy = kept / jnp.maximum(kept.sum(-1, keepdims=True), 1.0)
        action = rules.argmax(jnp.where(may, visits, -1.0), options, keys)
        if options.puct_target == "improved":
            if node.known is not None:
                may = known_results.allowed(node.known, may)
            policy = rules.improved_policy(node, prior, may, options)
    value, known = root_value(node), None
    draws = tree.draws_of(trees, node)
    draw = None if draws is None else root_value(draws)
    if options.propagate_results:
        known = known_results.of_roots(trees)
        value = known_results.replace(value, known, options.draw_value)
        if draw is not None:
            drawn = (known == known_results.DRAWN).astype(jnp.float32)
            draw = jnp.where(known == tree.UNKNOWN, draw, drawn)
    return SearchResult(
        visit_counts=node.visits,
        policy=jnp.where(active[:, None], policy, 0.0),
        action=action,
        value=value,
        draw=draw,
        q=node.q,
        known=known,
        tree=trees,
        diagnostics=dataclasses.replace(counts, nodes=trees.extra_data.size),
    )
