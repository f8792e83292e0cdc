"""Which edge a simulation follows: the papers' PUCT rule, and mctx's Gumbel functions."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from jaxzero.search import known_results
from jaxzero.search.options import SearchOptions
from jaxzero.search.tree import ILLEGAL, Node, Select


def q_transform(options: SearchOptions) -> Any:
    """mctx's completed Q, sigma(q), on the scale that the options ask for."""
    return functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=options.gumbel_value_scale,
        maxvisit_init=options.gumbel_visit_offset,
        rescale_values=options.gumbel_rescale,
    )


def _terms(node: Node, c_puct: jax.Array, options: SearchOptions) -> tuple[jax.Array, jax.Array]:
    """(Q, c P sqrt(N)) of every edge, on the options' scale and with their constants."""
    total = node.visits.astype(jnp.float32).sum(-1, keepdims=True)
    if options.exploration == "sqrt_total":
        explore = jnp.sqrt(total + 1e-8)
    else:  # Clausen 2021
        explore = jnp.sqrt(total) + 1e-5
    q = node.q if options.q_scale == "signed" else (node.q + 1.0) / 2.0
    q = jnp.where(node.visits > 0, q, _by_game(options.unvisited_q))
    return q, _by_game(c_puct) * jnp.exp(node.log_prior) * explore


def _by_game(number: jax.Array | float) -> jax.Array | float:
    """A number of each game, [B], beside its edges: [B, 1]."""
    return jnp.asarray(number)[:, None] if jnp.ndim(number) else number


def puct_scores(node: Node, c_puct: jax.Array, options: SearchOptions) -> jax.Array:
    """Q + c P sqrt(N) / (1 + n) of every edge, -inf where illegal. float32[..., A].

    c is one for all, or float32[B] of each game.

    Wang 2020 section 4.3 as its program does it (MCTS.py): N is the sum of the node's edge visits,
    Q of an edge without visits is a constant. Known results come first, see `known_results.prefer`.
    """
    q, explore = _terms(node, c_puct, options)
    scores = q + explore / (1.0 + node.visits.astype(jnp.float32))
    scores = jnp.where(node.log_prior > ILLEGAL / 2, scores, -jnp.inf)
    return scores if node.known is None else known_results.prefer(scores, node.known)


def first_largest(scores: jax.Array) -> jax.Array:
    """int32[B]: `argmax` of scores [A, B] over their first axis, the lowest index among equals.

    0 where a score is NaN: an edge that is not there would make a tree run in a circle for ever.
    Two reductions: XLA's CPU compiler makes a scalar loop of `jnp.argmax`, three times as slow.
    """
    count = scores.shape[0]
    places = jnp.arange(count, dtype=jnp.int32)[:, None]
    largest = scores.max(0)
    first = jnp.where(scores == largest[None], places, count).min(0)
    return jnp.where(first < count, first, 0)


def argmax(scores: jax.Array, options: SearchOptions, keys: jax.Array | None) -> jax.Array:
    """int32[B]: the best of scores [B, A]; ties to the lowest index or, with keys [B], to any."""
    if keys is not None and options.ties == "random":
        best = scores == scores.max(-1, keepdims=True)
        draw = jax.vmap(lambda key: jax.random.uniform(key, scores.shape[1:]))(keys)
        scores = jnp.where(best, draw, -1.0)
    return first_largest(scores.T)


def puct(c_puct: jax.Array, options: SearchOptions, keys: jax.Array | None) -> Select:
    """The papers' rule, the same at every depth."""

    def select(node: Node, depth: jax.Array) -> jax.Array:
        level_keys = None
        if options.ties == "random":
            if keys is None:
                raise ValueError("ties='random' needs keys")
            level_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, depth)
        return argmax(puct_scores(node, c_puct, options), options, level_keys)

    return select


def forced(node: Node, k: jax.Array | float) -> jax.Array:
    """float32[..., A]: sqrt(k P N), visits that a visited move is forced to have (Wu 2020).

    `k`: one for all or [B, 1].
    """
    total = node.visits.sum(-1, keepdims=True).astype(jnp.float32)
    return jnp.sqrt(k * jnp.exp(node.log_prior) * total)


def puct_root(
    c_puct: jax.Array, options: SearchOptions, keys: jax.Array | None, k: jax.Array | float
) -> Select:
    """The papers' rule at a root where playouts are forced; `k`: see `forced`."""
    plain = puct(c_puct, options, keys)

    def select(node: Node, depth: jax.Array) -> jax.Array:
        owed = (node.visits > 0) & (node.visits < forced(node, k))
        owed &= node.log_prior > ILLEGAL / 2
        first = jnp.argmax(owed, -1).astype(jnp.int32)
        return jnp.where(owed.any(-1), first, plain(node, depth))

    return select


def pruned_visits(
    node: Node, c_puct: jax.Array, options: SearchOptions, k: jax.Array | float
) -> jax.Array:
    """float32[B, A]: root visits without those that only forcing explains (policy target pruning).

    A move other than the most visited loses up to its forced number of visits, as long as its score
    with the visits that are left stays below the score of the most visited one; what is left of a
    single visit is dropped. `k`: see `forced`; where it is 0 nothing was forced, all visits stay.
    """
    visits = node.visits.astype(jnp.float32)
    best = jax.nn.one_hot(jnp.argmax(visits, -1), visits.shape[-1], dtype=bool)
    scores = jnp.where(best, puct_scores(node, c_puct, options), -jnp.inf)
    target = scores.max(-1, keepdims=True)
    q, explore = _terms(node, c_puct, options)
    # q + c P sqrt(N) / (1 + n) <= target holds from this many visits on.
    needed = jnp.ceil(explore / jnp.maximum(target - q, 1e-9) - 1.0)
    most = jnp.floor(forced(node, k))
    left = jnp.clip(needed, jnp.maximum(visits - most, 0.0), visits)
    left = jnp.where(left > 1.0, left, 0.0)
    return jnp.where(best | (jnp.asarray(k) == 0), visits, left)


def as_single_node_tree(node: Node, root_gumbel: jax.Array) -> mctx.Tree:
    """One unbatched node [A] as an mctx tree of one node, for mctx's own functions."""
    one = jax.tree.map(lambda x: x[None], node)
    nothing = jnp.full(one.visits.shape, mctx.Tree.UNVISITED, jnp.int32)
    return mctx.Tree(
        node_visits=1 + one.visits.sum(-1),
        raw_values=one.raw_value,
        node_values=one.raw_value,
        parents=jnp.full((1,), -1),
        action_from_parent=jnp.full((1,), -1),
        children_index=nothing,
        children_prior_logits=one.log_prior,
        children_values=one.q,
        children_visits=one.visits,
        children_rewards=jnp.zeros_like(one.q),
        children_discounts=jnp.ones_like(one.q),
        embeddings=None,
        root_invalid_actions=node.log_prior <= ILLEGAL / 2,
        extra_data=mctx.GumbelMuZeroExtraData(root_gumbel=root_gumbel),
    )


def gumbel_root(root_gumbel: jax.Array, num_simulations: int, options: SearchOptions) -> Select:
    """Sequential halving with Gumbel, mctx's own function."""

    def one(node: Node, gumbel: jax.Array) -> jax.Array:
        return mctx.gumbel_muzero_root_action_selection(
            jnp.uint32(0),  # unused by mctx: the noise was drawn before
            as_single_node_tree(node, gumbel),
            jnp.int32(0),
            num_simulations=num_simulations,
            max_num_considered_actions=options.max_considered_actions,
            qtransform=q_transform(options),
        )

    def select(node: Node, depth: jax.Array) -> jax.Array:
        del depth
        return jax.vmap(one)(node, root_gumbel)

    return select


def gumbel_interior(
    node: Node, depth: jax.Array, options: SearchOptions, actions: int | None = None
) -> jax.Array:
    """Gumbel MuZero's deterministic rule below the root (Danihelka et al. 2022, Equation 14).

    The same moves as `mctx.gumbel_muzero_interior_action_selection` with `q_transform`: Q without
    visits is a mixture of the node's value and of the visited edges' Q, weighted by their priors;
    then Q is scaled, by default to [0, 1] within the node. Written out for whole batches with the
    actions along the first axis, over which XLA's CPU compiler reduces fastest. Edges from number
    `actions` on are not there (see `kernels`).
    """
    del depth
    visits, q, log_prior = node.visits.T.astype(jnp.float32), node.q.T, node.log_prior.T  # [A, B]
    seen, total = visits > 0, visits.sum(0)
    prior = jnp.maximum(jax.nn.softmax(log_prior, 0), jnp.finfo(jnp.float32).tiny)
    weight = jnp.where(seen, prior, 0.0)
    average = (weight * q).sum(0) / jnp.where(total > 0, weight.sum(0), 1.0)
    mixed = (node.raw_value + total * average) / (1.0 + total)
    q = jnp.where(seen, q, mixed[None])
    low, high = q.min(0), q.max(0)
    if actions is not None:
        real = jnp.arange(len(q))[:, None] < actions
        low, high = jnp.where(real, q, jnp.inf).min(0), jnp.where(real, q, -jnp.inf).max(0)
    scale = options.gumbel_value_scale * (options.gumbel_visit_offset + visits.max(0))
    if options.gumbel_rescale:
        scale = scale / jnp.maximum(high - low, 1e-8)
    improved = jax.nn.softmax(log_prior + scale[None] * (q - low[None]), 0)
    scores = improved - visits / (1.0 + total)[None]
    if node.known is not None:
        may = known_results.allowed(node.known, node.log_prior > ILLEGAL / 2)
        scores = jnp.where(may.T, scores, -jnp.inf)
    return first_largest(scores)


def improved_policy(
    node: Node, log_prior: jax.Array, may: jax.Array, options: SearchOptions
) -> jax.Array:
    """float32[B, A]: softmax of log prior and sigma(completed Q) over the moves that may be played.

    Args:
      node: [B], the roots.
      log_prior: float32[B, A], in place of the nodes'.
      may: bool[B, A].
    """

    def one(node: Node, may: jax.Array) -> jax.Array:
        q = q_transform(options)(as_single_node_tree(node, jnp.zeros_like(node.q)), jnp.int32(0))
        return _improved(node, q, may)

    return jax.vmap(one)(node._replace(log_prior=log_prior), may)


def _improved(node: Node, q: jax.Array, may: jax.Array) -> jax.Array:
    """float32[A], of one node: softmax of log prior and sigma(q), 0 where a move may not be."""
    return jnp.where(may, jax.nn.softmax(jnp.where(may, node.log_prior + q, ILLEGAL)), 0.0)


def gumbel_policy(
    node: Node, root_gumbel: jax.Array, options: SearchOptions
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The root's (action int32[B], policy float32[B, A], improved policy float32[B, A]).

    The action and the improved policy are those of mctx's Gumbel policy, among the moves that known
    results allow.
    """

    def one(node: Node, gumbel: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        tree = as_single_node_tree(node, gumbel)
        q = q_transform(options)(tree, jnp.int32(0))
        may = node.log_prior > ILLEGAL / 2
        if node.known is not None:
            may = known_results.allowed(node.known, may)
        score = gumbel + node.log_prior - node.log_prior.max() + q
        most_visited = may & (node.visits == jnp.where(may, node.visits, 0).max())
        action = jnp.argmax(jnp.where(most_visited, score, -jnp.inf)).astype(jnp.int32)
        policy = improved = _improved(node, q, may)
        if options.gumbel_target == "visits":
            visits = jnp.where(may, node.visits, 0)
            policy = jnp.where(visits.any(), visits / jnp.maximum(visits.sum(), 1.0), improved)
        return action, policy, improved

    return jax.vmap(one)(node, root_gumbel)


def value_under(policy: jax.Array, node: Node) -> jax.Array:
    """float32[B]: mean of the roots' completed Q under a policy [B, A], from the player to move.

    The node's own value where the policy has no moves.
    """

    def one(policy: jax.Array, node: Node) -> jax.Array:
        completed = mctx.qtransform_completed_by_mix_value(
            as_single_node_tree(node, jnp.zeros_like(node.q)),
            jnp.int32(0),
            value_scale=1.0,
            maxvisit_init=1.0 - node.visits.max(),  # sigma(q) = q
            rescale_values=False,
        )
        return jnp.where(policy.any(), (policy * completed).sum(), node.raw_value)

    return jax.vmap(one)(policy, node)
