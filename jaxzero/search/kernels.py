"""The way down and up the trees as one GPU kernel each: `tree.descend` and `tree.backup` in Pallas.

As loops they start some eight kernels a level, and at each level the host reads back whether any
game goes on. Here one program follows one game through arrays that stay where they are. The loops
of `tree` are the oracle. A program reads a node's edges up to the next power of two; those beyond
the last are like illegal ones, and never chosen. Where there is no GPU, Pallas interprets: slowly.
Pallas is experimental, so it is imported only where it is asked for.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from jaxzero.search import rules
from jaxzero.search.options import Numbers, SearchOptions
from jaxzero.search.tree import ILLEGAL, Leaf, Node, Select, read_root


class Rule(NamedTuple):
    """What chooses below the root: `make(*numbers)`, a function of one node's edges alone."""

    make: Callable[..., Select]  # (float32[1] each) -> the rule
    numbers: tuple[jax.Array | float, ...]  # scalars or float32[B], of each game


def rule(options: SearchOptions, c_puct: jax.Array | float, actions: int) -> Rule:
    """That of the options, with ties to the lowest of so many actions."""
    if options.algorithm == "gumbel":
        return Rule(
            lambda: functools.partial(rules.gumbel_interior, options=options, actions=actions), ()
        )

    def make(c: jax.Array, unvisited_q: jax.Array) -> Select:
        own = options.of_games(Numbers(c, unvisited_q, 0.0, 0.0, 0.0))
        return rules.puct(c, own, None)

    return Rule(make, (c_puct, options.unvisited_q))


def _call(
    body: Callable, out: tuple, *args: jax.Array, aliases: dict[int, int] | None = None
) -> Any:
    """`body` for every game; each reference is to that game's part of an array [B, ...], [1, ...].

    Args:
      body: of references to `args`, then to the results.
      out: arrays or shapes like the results.
      args: [B, ...].
      aliases: arguments that a result takes the place of, by their places.
    """

    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    def part(x: Any) -> pl.BlockSpec:
        return pl.BlockSpec((1, *x.shape[1:]), lambda game: (game, *[0] * (x.ndim - 1)))

    def call(*args: jax.Array, interpret: bool) -> Any:
        return pl.pallas_call(
            body,
            out_shape=tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in out),
            grid=(args[0].shape[0],),
            in_specs=[part(x) for x in args],
            out_specs=tuple(part(x) for x in out),
            input_output_aliases=aliases or {},
            interpret=interpret,
            compiler_params=triton.CompilerParams(num_warps=1),
        )(*args)

    return jax.lax.platform_dependent(
        *args,
        cpu=functools.partial(call, interpret=True),
        default=functools.partial(call, interpret=False),
    )


def descend(tree: mctx.Tree, select_root: Select, rule: Rule, active: jax.Array) -> Leaf:
    """`tree.descend` of trees without known results, by this rule below the root."""
    action = select_root(read_root(tree), jnp.int32(0))
    lanes = [jnp.broadcast_to(jnp.asarray(x, jnp.float32), active.shape) for x in rule.numbers]
    edges = (tree.children_visits, tree.children_values, tree.children_prior_logits)
    node, action, depth = _call(
        functools.partial(_descend, rule.make),
        (action, action, action),
        action,
        active.astype(jnp.int32),
        tree.children_index,
        tree.raw_values,
        *edges,
        *lanes,
    )
    return Leaf(node, action, depth)


def _descend(make: Callable[..., Select], *refs: Any) -> None:
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    first, active, below, raw_values, visits, q, log_prior, *numbers = refs[:-3]
    actions = below.shape[-1]
    places = jnp.arange(pl.next_power_of_2(actions))
    select = make(*(x[...] for x in numbers))

    def row(ref: Any, node: jax.Array, beyond: float) -> jax.Array:
        return triton.load(ref.at[0, node, places], mask=places < actions, other=beyond)[None]

    def level(carry: tuple) -> tuple:
        _, _, node, depth = carry
        action = select(
            Node(
                visits=row(visits, node, 0),
                q=row(q, node, 0.0),
                log_prior=row(log_prior, node, ILLEGAL),
                raw_value=raw_values[0, node][None],
            ),
            depth,
        )[0]
        return node, action, below[0, node, action], depth + 1

    child = jnp.where(active[0] > 0, below[0, 0, first[0]], mctx.Tree.UNVISITED)
    found = jax.lax.while_loop(
        lambda carry: carry[2] >= 0, level, (jnp.int32(0), first[0], child, jnp.int32(1))
    )
    for ref, x in zip(refs[-3:], (*found[:2], found[3]), strict=True):
        ref[0] = x


def backup(
    tree: mctx.Tree,
    leaf: Leaf,
    value: jax.Array,
    draw: jax.Array,
    active: jax.Array,
    *,
    draw_value: float = 0.0,
    discount: float = 1.0,
    alternating: bool,
) -> mctx.Tree:
    """`tree.backup` of trees that back up no draws apart; arguments as there."""
    statistics = (tree.children_visits, tree.children_values)
    visits, q = _call(
        functools.partial(_backup, discount, alternating),
        statistics,
        *statistics,
        jnp.where(active, leaf.node, -1),
        leaf.action,
        value,
        draw_value * draw,
        tree.parents,
        tree.action_from_parent,
        tree.extra_data.to_move,
        aliases={0: 0, 1: 1},
    )
    return tree.replace(children_visits=visits, children_values=q)


def _backup(discount: float, alternating: bool, *refs: Any) -> None:
    _, _, node, action, value, draw_worth, parents, actions, to_move, visits, q = refs

    def level(carry: tuple) -> tuple:
        node, action, value = carry
        count = visits[0, node, action]
        mean = (q[0, node, action] * count + value + draw_worth[0]) / (count + 1)
        visits[0, node, action] = count + 1
        q[0, node, action] = mean.astype(q.dtype)
        parent = parents[0, node]
        same = jnp.bool_(False)
        if not alternating:
            same = to_move[0, jnp.maximum(parent, 0)] == to_move[0, node]
        return parent, actions[0, node], discount * jnp.where(same, value, -value)

    jax.lax.while_loop(lambda carry: carry[0] >= 0, level, (node[0], action[0], value[0]))
