"""The rules of selection, for whole batches, against the libraries' own functions."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from hypothesis import given, settings

from jaxzero.search import rules
from jaxzero.search.tree import ILLEGAL, Node

BATCH, ACTIONS = 6, 9  # one compilation for all examples
interior = jax.jit(lambda node: rules.gumbel_interior(node, jnp.int32(1)))


@jax.jit
@jax.vmap
def of_mctx(node: Node) -> jax.Array:
    tree = rules.as_single_node_tree(node, jnp.zeros_like(node.q))
    return mctx.gumbel_muzero_interior_action_selection(
        jnp.uint32(0), tree, jnp.int32(0), jnp.int32(0)
    )


def nodes(seed: int, spread: float, most: int) -> Node:
    """Legal edges, about half of them visited; unvisited and illegal ones have Q 0."""
    rng = np.random.default_rng(seed)
    shape = (BATCH, ACTIONS)
    legal = rng.random(shape) < 0.7
    legal[:, 0] = True
    logits = np.where(legal, spread * rng.normal(size=shape), ILLEGAL)
    visits = np.where(legal & (rng.random(shape) < 0.5), rng.integers(0, most + 1, shape), 0)
    q = np.where(visits > 0, rng.uniform(-1, 1, shape), 0)
    return Node(
        jnp.asarray(visits, jnp.int32),
        jnp.asarray(q, jnp.float32),
        jnp.where(legal, jax.nn.log_softmax(jnp.asarray(logits, jnp.float32)), ILLEGAL),
        jnp.asarray(rng.uniform(-1, 1, BATCH), jnp.float32),
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from((0.1, 1.0, 5.0)), st.sampled_from((0, 3, 600)))
def test_gumbels_rule_is_that_of_mctx(seed: int, spread: float, most: int) -> None:
    node = nodes(seed, spread, most)
    np.testing.assert_array_equal(interior(node), of_mctx(node))


@pytest.mark.parametrize("values", [(1.0, 3.0, 3.0), (-np.inf, -2.0, -np.inf), (0.0, 0.0, 0.0)])
def test_the_first_of_the_largest(values: tuple[float, ...]) -> None:
    scores = jnp.asarray([values, values[::-1]], jnp.float32).T
    np.testing.assert_array_equal(rules.first_largest(scores), jnp.argmax(scores, 0))
