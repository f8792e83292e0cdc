"""The rules of selection, for whole batches, against the libraries' own functions."""

import functools
from typing import Any

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import special

from jaxzero.search import SearchOptions, rules
from jaxzero.search.tree import ILLEGAL, Node

BATCH, ACTIONS = 6, 9  # one compilation for all examples
MCTXS = SearchOptions()
AS_IT_IS = SearchOptions(gumbel_rescale=False, gumbel_value_scale=0.3, gumbel_visit_offset=20.0)


@functools.partial(jax.jit, static_argnums=1)
def interior(node: Node, options: SearchOptions) -> jax.Array:
    return rules.gumbel_interior(node, jnp.int32(1), options)


@functools.partial(jax.jit, static_argnums=1)
def of_mctx(node: Node, options: SearchOptions) -> jax.Array:
    transform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        rescale_values=options.gumbel_rescale,
        value_scale=options.gumbel_value_scale,
        maxvisit_init=options.gumbel_visit_offset,
    )

    def one(node: Node) -> jax.Array:
        tree = rules.as_single_node_tree(node, jnp.zeros_like(node.q))
        return mctx.gumbel_muzero_interior_action_selection(
            jnp.uint32(0), tree, jnp.int32(0), jnp.int32(0), qtransform=transform
        )

    return jax.vmap(one)(node)


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
        np.asarray(visits, np.int32),
        np.asarray(q, np.float32),
        np.asarray(np.where(legal, special.log_softmax(logits, -1), ILLEGAL), np.float32),
        np.asarray(rng.uniform(-1, 1, BATCH), np.float32),
    )


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((0.1, 1.0, 5.0)),
    st.sampled_from((0, 3, 600)),
    st.sampled_from((MCTXS, AS_IT_IS)),
)
def test_gumbels_rule_is_that_of_mctx(
    seed: int, spread: float, most: int, options: SearchOptions
) -> None:
    node = nodes(seed, spread, most)
    np.testing.assert_array_equal(interior(node, options), of_mctx(node, options))


value_under = jax.jit(rules.value_under)


@functools.partial(jax.jit, static_argnums=1)
def at_root(node: Node, options: SearchOptions) -> tuple[jax.Array, jax.Array, jax.Array]:
    action, policy, improved = rules.gumbel_policy(node, jnp.zeros(node.q.shape), options)
    return action, policy, rules.value_under(improved, node)


def of_gumbel(q: list[float], **options: Any) -> tuple[Any, Any, Any]:
    """(action, policy, value) of a root with an even prior, 4 visits of each of its moves."""
    many = len(q)
    node = Node(
        np.full((1, many), 4, np.int32),
        np.array([q], np.float32),
        np.full((1, many), -np.log(many), np.float32),
        np.zeros((1,), np.float32),
    )
    action, policy, value = jax.device_get(at_root(node, SearchOptions(**options)))
    return action[0], policy[0], value[0]


def test_small_differences_of_q_count_much_if_stretched_and_little_if_not() -> None:
    q = [0.0, 0.004, -0.004, 0.001]
    _, stretched, _ = of_gumbel(q)
    _, as_it_is, _ = of_gumbel(q, gumbel_rescale=False)
    sigma = 0.1 * (50 + 4)
    np.testing.assert_allclose(as_it_is, special.softmax(sigma * np.array(q)), rtol=1e-5)
    np.testing.assert_allclose(as_it_is, 0.25, atol=0.01)
    np.testing.assert_allclose(stretched[1] / stretched[2], np.exp(sigma), rtol=1e-4)


def test_gumbels_target_and_value_that_are_asked_for() -> None:
    q = [0.5, -0.5, 0.0]
    action, improved, value = of_gumbel(q, gumbel_rescale=False)
    again, visits, same = of_gumbel(q, gumbel_rescale=False, gumbel_target="visits")
    assert action == again == 0
    np.testing.assert_allclose(visits, 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(value, (improved * np.array(q)).sum(), rtol=1e-5)
    assert value == same
    finished = Node(*(jnp.zeros((1, 3), t) for t in (jnp.int32, jnp.float32)),
                    jnp.full((1, 3), ILLEGAL), jnp.array([-1.0]))  # fmt: skip
    assert value_under(jnp.zeros((1, 3)), finished)[0] == -1.0  # no moves: the result


@pytest.mark.parametrize("values", [(1.0, 3.0, 3.0), (-np.inf, -2.0, -np.inf), (0.0, 0.0, 0.0)])
def test_the_first_of_the_largest(values: tuple[float, ...]) -> None:
    scores = np.array([values, values[::-1]], np.float32).T
    found = jax.jit(rules.first_largest)(scores)
    np.testing.assert_array_equal(found, np.argmax(scores, 0))


def test_a_value_under_a_policy_completes_moves_without_visits() -> None:
    node = Node(
        jnp.array([[2, 0]], jnp.int32),
        jnp.array([[0.8, 0.0]]),
        jnp.log(jnp.array([[0.5, 0.5]])),
        jnp.array([-0.4]),
    )
    mixed = (-0.4 + 2 * 0.8) / 3  # of the node's own value and the visited move's
    found = value_under(jnp.array([[0.25, 0.75]]), node)
    np.testing.assert_allclose(found, [0.25 * 0.8 + 0.75 * mixed], rtol=1e-5)


@pytest.mark.parametrize(
    "select",
    [rules.puct(jnp.float32(1.0), MCTXS, None), lambda node, depth: interior(node, MCTXS)],
)
def test_where_a_network_diverged_an_edge_that_there_is_is_followed(select: Any) -> None:
    node, broken = nodes(0, 1.0, 3), jnp.float32(jnp.nan)
    node = node._replace(q=node.q * broken, raw_value=node.raw_value * broken)
    assert not select(node, jnp.int32(1)).any()
