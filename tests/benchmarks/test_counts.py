"""What is counted, not timed: operations, kernels, floors that can't be skipped."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import games, launches, model, search, setups, timing
from benchmarks.launches import Loop
from benchmarks.model import Machine, Work
from benchmarks.timing import Effort
from jaxzero.games import make_game
from jaxzero.runs import flops
from jaxzero.training import learner

TINY = {"game": "connect_four_5x5", "network.channels": 4, "network.hidden": (16, 8)}


def test_flops_of_the_papers_network() -> None:
    spec, _ = setups.make({})  # 6x6 Othello, 256 channels, fully connected 1024 and 512
    c = 256
    cells = (36 * 9 * 1 * c) + (36 + 16 + 4) * 9 * c * c
    dense = 4 * c * 1024 + 1024 * 512 + 512 * (37 + 1)
    assert flops.forward(spec) == 2 * (cells + dense)


def test_convolutions_count_alike() -> None:
    """Winograd's too, whose products are fewer."""
    patches, lax, winograd = (
        flops.forward(setups.make({**TINY, "network.channels": 64, "network.convolution": how})[0])
        for how in ("patches", "lax", "winograd")
    )
    assert patches == lax == winograd > 0


def test_the_bare_network_makes_every_evaluation() -> None:
    """Its sum is that of evaluations made one by one: none is skipped or taken twice."""
    spec, _ = setups.make(TINY)
    network = setups.network(spec)
    stack = setups.observations(spec.game, 3, 2)
    evaluate = learner.acting(spec, network)
    expected = 0.0
    for i in range(5):
        logits, value, _ = evaluate(stack[i % 2])
        expected += float(logits.sum() + value.sum())
    run = jax.jit(functools.partial(search.bare_network, spec, 5))
    np.testing.assert_allclose(run(network, stack), expected, rtol=1e-4)
    text = run.lower(network, stack).compile().as_text()
    [loop] = launches.read(text).inner
    assert loop.kernels > 4  # the network is in the loop


def test_positions_are_of_different_ages_and_unfinished() -> None:
    game = make_game("connect_four_5x5")
    states = setups.positions(game, 64, jax.random.key(0))
    assert not jax.vmap(game.is_terminal)(states).any()
    stones = np.abs(np.asarray(setups.observations(game, 64, 1)[0])).sum((1, 2, 3))
    assert len(set(stones.tolist())) > 4


def test_a_sharp_network_is_sure() -> None:
    spec, _ = setups.make(TINY)
    network = setups.network(spec)
    seen = setups.observations(spec.game, 32, 1)[0]
    sharp = setups.sharpen(spec, network, seen, 3.0)
    assert learner.infer(spec, sharp, seen).policy_logits.std() == pytest.approx(3.0, rel=1e-3)
    np.testing.assert_array_equal(
        learner.infer(spec, sharp, seen).value, learner.infer(spec, network, seen).value
    )


def test_a_window_has_the_steps_that_were_asked_for() -> None:
    spec, _ = setups.make({**TINY, "selfplay.episodes": 4, "replay.window": 1})
    window = setups.window(spec, 12)
    assert window.count.tolist() == [12]
    np.testing.assert_allclose(window.examples.policy.sum(-1), 1.0, rtol=1e-5)
    with pytest.raises(ValueError, match="do not fit"):
        setups.window(spec, spec.positions + 1)


def test_random_play_is_legal_and_begins_anew() -> None:
    game = make_game("connect_four_5x5")
    rules = games.our_rules(game)
    states, seen = games.random_play(rules, 8, 40)()
    assert not jax.vmap(game.is_terminal)(states).any()
    stones = np.abs(np.asarray(jax.vmap(game.observe)(states))).sum((1, 2, 3))
    assert stones.max() <= 25  # 40 moves were made on 25 cells
    assert seen.shape[0] == 8


def test_the_best_of_turns_taken_one_after_the_other() -> None:
    calls: list[str] = []

    def noting(name: str) -> timing.Thunk:
        return lambda: calls.append(name) or jnp.zeros(())  # type: ignore[func-returns-value]

    times = timing.interleave({"a": noting("a"), "b": noting("b")}, Effort(3, 100.0))
    assert "".join(calls) == "ab" + "ababab"  # the first call of each is not timed
    assert [len(times.all[name]) for name in "ab"] == [3, 3]
    times.all = {"a": [4.0, 3.0, 9.0], "b": [1.0, 2.0, 3.0]}
    assert times["a"] == 3.0
    assert times.ratio("a", "b") == 3.0


def test_loops_in_a_compiled_program() -> None:
    def program(x: jax.Array) -> jax.Array:
        def inner(_: jax.Array, x: jax.Array) -> jax.Array:
            return jnp.sort(x @ x, 0)

        def outer(_: jax.Array, x: jax.Array) -> jax.Array:
            return jax.lax.fori_loop(0, x[0, 0].astype(jnp.int32), inner, x) + 1

        return jax.lax.fori_loop(0, 7, outer, x)

    x = jnp.ones((32, 32))
    found = launches.read(jax.jit(program).lower(x).compile().as_text())
    [outer] = found.inner
    [inner] = outer.inner
    assert inner.inner == ()
    assert 2 <= inner.kernels <= 6  # the product, the sort, the counter
    assert inner.traffic >= 4 * 4 * x.size


def test_kernels_and_bytes_of_a_written_program() -> None:
    text = """HloModule m

%fused (p: f32[8,4], i: s32[]) -> f32[1,4] {
  %p = f32[8,4]{1,0} parameter(0)
  %i = s32[] parameter(1)
  ROOT %d = f32[1,4]{1,0} dynamic-slice(%p, %i, %i), dynamic_slice_sizes={1,4}
}

%body (t: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %t = (s32[], f32[8,4]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = f32[8,4]{1,0} get-tuple-element(%t), index=1
  %row = f32[1,4]{1,0} fusion(%x, %i), kind=kLoop, calls=%fused
  %y = f32[8,4]{1,0} copy(%x)
  ROOT %o = (s32[], f32[8,4]{1,0}) tuple(%i, %y)
}

%cond (t: (s32[], f32[8,4])) -> pred[] {
  %t = (s32[], f32[8,4]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  ROOT %c = pred[] compare(%i, %i), direction=LT
}

ENTRY %main (x: f32[8,4]) -> (s32[], f32[8,4]) {
  %x = f32[8,4]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %t = (s32[], f32[8,4]{1,0}) tuple(%zero, %x)
  ROOT %w = (s32[], f32[8,4]{1,0}) while(%t), condition=%cond, body=%body
}
"""
    row, copy, compare = 4 + 16 + 16, 128 + 128, 4 + 4 + 1
    assert launches.read(text) == Loop(0, 0, (Loop(3, row + copy + compare, ()),))


def test_the_models_arithmetic() -> None:
    machine = Machine("m", matmul=100.0, bandwidth=10.0, start=2.0, round_trip=3.0)
    assert Work(4, 5, 600, 70).on(machine) == 4 * 2 + 5 * 3 + 6 + 7
    down, up = Loop(7, 1, ()), Loop(5, 2, ())
    move = Loop(1, 0, (Loop(30, 10, (down, up)),))
    work = model.search_work(move, simulations=10, levels=3.0, flop=99.0)
    assert work.kernels == 10 * (30 + 2 * 7 + 3 * 5)
    assert work.traffic == 10 * (10 + 2 * 1 + 3 * 2)
    assert work.ends == 10 * (3 + 4 + 1)  # looked at once more than gone round
    assert work.flop == 99.0


def test_levels_are_those_of_the_search() -> None:
    spec, hyper = setups.make({**TINY, "search.num_simulations": 6})
    network = setups.network(spec)
    states = setups.positions(spec.game, 4, jax.random.key(3))
    keys = jax.random.split(jax.random.key(4), 4)
    levels = model.longest_descents(spec, hyper, network, keys, states)
    *_, seen = search.one_move(spec, hyper, network, keys, states)
    mean = float(seen.depth_sum / seen.simulations)
    assert mean <= float(levels) <= float(seen.depth_max)
