"""Loops over batches: right alone, in a population, and with a condition that stays shared."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero import loops
from jaxzero.loops import MEMBER_AXIS

STARTS = np.array([[3, 0, 5], [1, 2, 2], [0, 0, 0]])  # [members, lanes], counted down to zero


def count_down(start: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(zeros, turns of each lane): a lane that is done is left alone."""

    def body(carry: Any) -> Any:
        left, turns = carry
        going = left > 0
        return left - going, turns + going

    return loops.while_any(lambda carry: carry[0] > 0, body, (start, jnp.zeros_like(start)))


def add_up(count: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(0 + 1 + ... + count - 1, turns of the loop, including those of other members)."""

    def body(i: jax.Array, carry: Any) -> Any:
        total, turns = carry
        return jnp.where(i < count, total + i, total), turns + 1

    return loops.repeat(count, body, (jnp.int32(0), jnp.int32(0)))


def population(fn: Callable) -> Callable:
    """`fn` of members on a leading axis."""
    return jax.vmap(fn, axis_name=MEMBER_AXIS)


@pytest.mark.parametrize("start", STARTS)
def test_while_any_runs_until_the_last_lane_is_done(start: np.ndarray) -> None:
    left, turns = jax.jit(count_down)(start)
    np.testing.assert_array_equal(left, 0 * start)
    np.testing.assert_array_equal(turns, start)


@pytest.mark.parametrize("mode", ["member axis", "unnamed vmap", "map"])
def test_while_any_of_a_population(mode: str) -> None:
    run = {
        "member axis": population(count_down),
        "unnamed vmap": jax.vmap(count_down),
        "map": lambda x: jax.lax.map(count_down, x),
    }[mode]
    left, turns = jax.jit(run)(STARTS)
    np.testing.assert_array_equal(left, 0 * STARTS)
    np.testing.assert_array_equal(turns, STARTS)


def test_repeat_alone_and_in_a_population() -> None:
    counts = np.array([4, 0, 7])
    totals = counts * (counts - 1) // 2
    for count, total in zip(counts.tolist(), totals.tolist(), strict=True):
        assert [int(x) for x in jax.jit(add_up)(count)] == [total, count]
        assert [int(x) for x in add_up(count)] == [total, count]
    together = jax.jit(population(add_up))(counts)
    np.testing.assert_array_equal(together[0], totals)
    np.testing.assert_array_equal(together[1], [7, 7, 7])


def test_masked_chooses_only_in_a_population() -> None:
    going = jnp.array([True, False])
    new, old = {"a": jnp.array([1, 2])}, {"a": jnp.array([3, 4])}
    together = population(loops.masked)(going, new, old)
    np.testing.assert_array_equal(together["a"], [1, 4])
    alone = loops.masked(jnp.bool_(False), new, old)
    assert alone is new


def test_reductions_over_members() -> None:
    predicate = jnp.array([[False, True], [False, False]])
    assert population(loops.any_member)(predicate).tolist() == [True, True]
    assert population(loops.any_member)(predicate & False).tolist() == [False, False]
    assert bool(loops.any_member(predicate))
    assert population(loops.max_member)(jnp.array([2, 5])).tolist() == [5, 5]
    assert int(loops.max_member(jnp.int32(2))) == 2


def condition_shape(fn: Callable, argument: Any) -> tuple[int, ...]:
    """Of the only while loop in a function."""
    equations = jax.make_jaxpr(fn)(argument).jaxpr.eqns
    (loop,) = [e for e in equations if e.primitive.name == "while"]
    (condition,) = loop.params["cond_jaxpr"].out_avals
    return condition.shape


@pytest.mark.parametrize(
    ("fn", "argument"),
    [(count_down, STARTS), (add_up, np.array([4, 0, 7]))],
    ids=["while_any", "repeat"],
)
def test_the_condition_is_not_batched(fn: Callable, argument: np.ndarray) -> None:
    assert condition_shape(fn, argument[0]) == ()
    assert condition_shape(population(fn), argument) == ()
    assert condition_shape(jax.vmap(fn), argument) == (3,)  # what the named axis avoids


@pytest.mark.parametrize("at_once", [1, 4, 5, 10, 99])
def test_many_are_asked_in_chunks(at_once: int) -> None:
    given, sizes = np.arange(10), set()

    def ask(part: jax.Array, other: jax.Array) -> tuple[jax.Array, jax.Array]:
        sizes.add(len(part))
        return part * 2, other[:, None]

    said = jax.jit(functools.partial(loops.in_chunks, ask, at_once))(given, given + 1)
    np.testing.assert_array_equal(said[0], 2 * given)
    np.testing.assert_array_equal(said[1], given[:, None] + 1)
    assert sizes == {min(at_once, 10)}
