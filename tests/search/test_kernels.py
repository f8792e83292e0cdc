"""The way down and up the trees as kernels, interpreted: the same edges, equal statistics."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.loops import MEMBER_AXIS
from jaxzero.search import kernels, rules, tree
from tests.search.common import AGAIN, LANES, options_of, search_all, various_positions

ACTIVE = jnp.ones((LANES,), bool).at[2].set(False)


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_as_the_loops(algorithm: str) -> None:
    trees = jax.device_put(search_all(AGAIN, various_positions(AGAIN), 60).tree)
    options = options_of(algorithm=algorithm, unvisited_q=0.1)
    actions = trees.children_index.shape[-1]
    value, draw = jnp.linspace(-1, 1, LANES), jnp.linspace(0, 1, LANES)

    def one(c: jax.Array) -> tuple:
        select = rules.puct(c, options, None)
        if algorithm == "gumbel":
            select = functools.partial(rules.gumbel_interior, options=options)
        below = {tree: select, kernels: kernels.rule(options, c, actions)}
        found = []
        for steps in (tree, kernels):
            leaf = steps.descend(trees, rules.puct(c, options, None), below[steps], ACTIVE)
            backup = functools.partial(steps.backup, trees, leaf, value, draw, ACTIVE)
            found.append((leaf, backup(discount=0.9, draw_value=0.3, alternating=False)))
        return tuple(found)

    loops, ours = jax.jit(jax.vmap(one, axis_name=MEMBER_AXIS))(jnp.float32([0.5, 2.0]))
    jax.tree.map(functools.partial(np.testing.assert_allclose, atol=1e-6, rtol=0), ours, loops)
    leaf, after = loops
    assert leaf.depth.max() > 2
    assert (leaf.depth[:, 2] == 1).all()
    visits = (after.children_visits - trees.children_visits[None]).sum((2, 3))
    np.testing.assert_array_equal(visits, leaf.depth * ACTIVE[None])
    assert (leaf.node[0] != leaf.node[1]).any()  # each member has its own c
