"""Many runs in one program: the same runs as alone, however they lie on the devices."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.loops import MEMBER_AXIS
from jaxzero.runs import population
from jaxzero.runs.population import Layout
from jaxzero.training import iteration, learner
from jaxzero.training.spec import Spec
from tests import small
from tests.small import assert_close, assert_equal

TARGETS = ("policy", "value", "sum", "product")
# Runs and games both spread over devices, some of which have no game of the arena.
LAYOUTS = (Layout(2, 4), pytest.param(Layout(1, 8), marks=pytest.mark.slow))
# Members whose traced settings differ in everything that shapes work.
UNLIKE = (
    {},
    {"search.num_simulations": 3, "selfplay.episodes": 5, "arena.games": 2},
    {"train.epochs": 1, "selfplay.episodes": 2, "train.loss": "value"},
    {"search.num_simulations": 5, "replay.window": 1, "selfplay.temperature_plies": 2},
)


@functools.cache
def spec() -> Spec:
    """Of every member here, on one device."""
    return small.small_spec()


@pytest.mark.parametrize(
    ("runs", "devices", "layout"),
    [
        (1, 1, (1, 1)),
        (1, 8, (1, 8)),
        (4, 8, (4, 2)),
        (8, 8, (8, 1)),
        (32, 8, (8, 1)),
        (6, 8, (2, 4)),
        (3, 8, (1, 8)),
        (4, 1, (1, 1)),
        (81, 27, (27, 1)),
        (12, 18, (6, 3)),
    ],
)
def test_runs_are_spread_first(runs: int, devices: int, layout: tuple[int, int]) -> None:
    plan = population.plan(runs, devices)
    assert plan == layout
    assert plan.run_devices * plan.data_devices == devices
    assert runs % plan.run_devices == 0


@pytest.mark.parametrize(
    ("runs", "devices", "used"),
    [(1, 8, 1), (20, 2, 2), (5, 2, 1), (5, 8, 5), (6, 4, 3), (81, 8, 3)],
)
def test_runs_that_share_no_device_leave_some_over(runs: int, devices: int, used: int) -> None:
    assert population.plan(runs, devices, share=False) == (used, 1)


def test_on_a_cpu_a_run_is_spread_only_where_devices_are_asked_for() -> None:
    for asked, runs, layout in ((0, 1, (1, 1)), (0, 6, (6, 1)), (8, 1, (1, 8)), (4, 6, (2, 2))):
        config = small.small_config({"execution.devices": asked})
        found, devices = population.chosen(config, runs)
        assert found == layout
        assert devices == jax.devices()[: layout[0] * layout[1]]
    together = small.small_config({"execution.devices": 0, "execution.distributed": True})
    assert population.chosen(together, 1)[0] == (1, 8)


def test_a_mesh_that_is_not_the_specs_is_refused() -> None:
    with pytest.raises(ValueError, match="1 data devices"):
        population.make_program(spec(), population.make_mesh(Layout(1, 2)), "map")


def test_modes() -> None:
    assert population.resolve_mode("auto") == "map"  # on a CPU
    assert population.resolve_mode("vmap") == "vmap"


def test_one_after_another_is_bit_identical_to_alone() -> None:
    hypers = [
        small.small_hyper(),
        small.small_hyper({"train.loss": "value", "search.num_simulations": 5}),
    ]
    program = small.compiled_program(spec(), Layout(1, 1), "map")
    together = small.run_population(program, spec().game, hypers, [0, 1], 3)
    for seed, hyper in enumerate(hypers):
        alone = small.run_alone(spec(), hyper, seed=seed, iterations=3)
        for number, (got, expected) in enumerate(zip(together, alone, strict=True)):
            assert_equal(population.member(got, seed), expected, f"run {seed} iteration {number}")


def test_together_from_equal_weights_the_first_games_are_equal() -> None:
    program = small.compiled_program(spec(), Layout(1, 1), "vmap")
    hypers = [small.small_hyper({"train.loss": target}) for target in TARGETS]
    [(states, metrics)] = small.run_population(program, spec().game, hypers, [0] * 4, 1)
    [(alone, expected)] = small.run_alone(spec(), hypers[0], seed=0, iterations=1)
    for i, target in enumerate(TARGETS):
        assert_equal(population.member(states.replay, i), alone.replay, target)
        for name in expected:
            if name.startswith(
                ("selfplay/", "search/", "unseen/", "count/selfplay", "count/games")
            ):
                np.testing.assert_allclose(metrics[name][i], expected[name], 1e-6, err_msg=name)
    # What each minimises it measures as its own loss; targets lead to different weights.
    for i, target in enumerate(TARGETS):
        own, named = metrics["loss/minimised"][i], metrics[f"loss/{target}"][i]
        np.testing.assert_allclose(own, named, rtol=1e-6)
    kernels = states.learner.params["policy"]["kernel"]
    accepted = np.flatnonzero(metrics["arena/accepted"])
    assert len({kernels[i].tobytes() for i in accepted}) == len(accepted)


def test_together_members_may_differ_in_every_traced_setting() -> None:
    program = small.compiled_program(spec(), Layout(1, 1), "vmap")
    hypers = [small.small_hyper(changes) for changes in UNLIKE]
    history = small.run_population(program, spec().game, hypers, [0, 1, 2, 3], 2)
    for i, (changes, hyper) in enumerate(zip(UNLIKE, hypers, strict=True)):
        config = small.small_config(changes)
        [(alone, expected)] = small.run_alone(spec(), hyper, seed=i, iterations=1)
        states, metrics = population.member(history[0], i)
        assert_equal(states.replay, alone.replay, f"run {i}")
        assert metrics["count/selfplay_simulations"] == expected["count/selfplay_simulations"]
        assert metrics["count/gradient_steps"] == expected["count/gradient_steps"]
        np.testing.assert_allclose(metrics["loss/sum"], expected["loss/sum"], rtol=1e-4)
        for _, measured in history:
            own = population.member(measured, i)
            steps = max(int(own["count/examples"]) // config.train.batch_size, 1)
            assert own["count/gradient_steps"] == config.train.epochs * steps
            assert np.isfinite(own["loss/sum"]).sum() == config.train.epochs
            played = own["arena/wins"] + own["arena/draws"] + own["arena/losses"]
            assert played == config.arena.games
            assert own["count/games"] == config.selfplay.episodes


def test_a_population_by_mctx_own_loop_is_the_same() -> None:
    """Self-play, training and arena of an iteration; counts and losses included."""
    loops = []
    for one in (spec(), small.small_spec({"search.loop": "mctx"})):
        program = small.compiled_program(one, Layout(1, 1), "vmap")
        loops.append(small.run_population(program, one.game, [small.small_hyper()] * 4, [0] * 4, 1))
    chex.assert_trees_all_close(*loops, rtol=1e-5, atol=1e-5)
    (ours, metrics), (_, others) = loops[0][0], loops[1][0]
    assert_equal(loops[1][0][0].replay, ours.replay)
    counts = [name for name in metrics if name.startswith(("count/", "search/", "arena/"))]
    assert_equal({n: metrics[n] for n in counts}, {n: others[n] for n in counts})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_devices_change_neither_games_nor_training(layout: Layout) -> None:
    hyper = small.small_hyper(small.FOR_DEVICES)
    shared = small.for_devices(layout.data_devices)
    program = small.compiled_program(shared, layout, "map")
    seeds = list(range(layout.run_devices))
    history = small.run_population(program, shared.game, [hyper] * len(seeds), seeds, 1)
    for seed in seeds:
        [(alone, expected)] = small.run_alone(small.for_devices(1), hyper, seed=seed, iterations=1)
        state, metrics = population.member(history[0], seed)
        assert_equal(state.replay, alone.replay, f"seed {seed}")
        assert_close(state.learner.params, alone.learner.params, 1e-5, f"seed {seed}")
        assert_close(state.learner.batch_stats, alone.learner.batch_stats, 1e-5, f"seed {seed}")
        assert metrics.keys() == expected.keys()
        for name, value in expected.items():
            if name in ("count/selfplay_evaluations", "count/arena_evaluations"):
                continue  # each device stops when its own games have ended
            tolerance = 1e-5 if name.startswith(("loss/", "unseen/", "heldout/")) else 1e-6
            np.testing.assert_allclose(metrics[name], value, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_devices_of_a_run_hold_the_same_state(layout: Layout) -> None:
    shared = small.for_devices(layout.data_devices)
    program = small.compiled_program(shared, layout, "map")
    count = layout.run_devices
    hypers = population.place(population.stack([small.small_hyper()] * count), program.sharding)
    held = population.place(small.heldout(shared.game), program.replicated)
    states = program.init(population.place(np.arange(count, dtype=np.int32), program.sharding))
    for _ in range(2):
        states, _ = program.iterate(hypers, states, held)
    arrays = jax.tree.map(_without_key, states)
    for path, leaf in jax.tree_util.tree_leaves_with_path(arrays):
        by_run: dict[str, list[np.ndarray]] = {}
        for shard in leaf.addressable_shards:
            by_run.setdefault(str(shard.index), []).append(np.asarray(shard.data))
        assert len(by_run) == count
        for shards in by_run.values():
            assert len(shards) == layout.data_devices
            for other in shards[1:]:
                np.testing.assert_array_equal(other, shards[0], jax.tree_util.keystr(path))


def test_members_are_stacked_placed_and_fetched_unchanged() -> None:
    program = small.compiled_program(spec(), Layout(4, 1), "map")
    trees = [
        {"x": jnp.arange(3) + i, "key": jax.random.key(i), "y": jnp.float32(i)} for i in range(4)
    ]
    stacked = population.stack(trees)
    placed = population.place(stacked, program.sharding)
    assert {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(placed)} == {4}
    for i, tree in enumerate(trees):
        assert_equal(population.member(placed, i), tree)
    np.testing.assert_array_equal(population.fetch(placed["x"]), np.asarray(stacked["x"]))


def _without_key(x: jax.Array) -> jax.Array:
    is_key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(x) if is_key else x


@pytest.mark.parametrize(
    "changes",
    [
        {"game": "gobang_5x5", "semantics": "published"},
        {
            "game": "reversi_6x6",
            "arena.gate": "none",
            "search.algorithm": "gumbel",
            "search.loop": "mctx",
            "train.measure": "in_step",
            "train.sampling": "epoch",
        },
        {
            "game": "othello_5x5",
            "semantics": "published",
            "network.name": "resnet",
            "network.blocks": 1,
            "network.value_head": "wdl",
            "search.draw_value": 0.1,
            "search.dirichlet_fraction": 0.25,
            "search.ties": "random",
            "train.optimizer": "sgd",
            "train.policy_softmax": "legal",
            "train.max_gradient_norm": 1.0,
            "train.weight_decay": 1e-4,
        },
    ],
    ids=["gobang", "reversi", "othello"],
)
def test_every_kind_of_run_can_be_a_member(changes: dict[str, Any]) -> None:
    one, hyper = small.small_spec(changes), small.small_hyper(changes)

    def step(hypers: Any, states: Any) -> Any:
        iterate = functools.partial(iteration.iterate, one, heldout=small.heldout(one.game))
        return population.over_members(lambda h, s: iterate(h, s), "vmap")(hypers, states)

    states = jax.eval_shape(jax.vmap(functools.partial(iteration.init, one)), jnp.arange(2))
    after, metrics = jax.eval_shape(step, population.stack([hyper, hyper]), states)

    def shapes(tree: Any) -> Any:
        return jax.tree.map(lambda x: (x.shape, x.dtype), tree)

    assert shapes(after) == shapes(states)  # nothing grows, nothing changes its type
    assert all(value.shape in ((2,), (2, 2)) for value in metrics.values())


def test_one_gradient_step_together_agrees_with_alone(request: pytest.FixtureRequest) -> None:
    plain = small.small_spec(
        {"train.optimizer": "sgd", "train.momentum": 0.0, "train.measure": "in_step"}
    )
    examples = small.random_examples(plain.game, 16)
    hypers = [
        small.small_hyper({"train.loss": t, "train.learning_rate": 1.0, "train.dropout_rate": 0.0})
        for t in TARGETS
    ]
    start = jax.jit(functools.partial(learner.init, plain))(jax.random.key(0))
    request.getfixturevalue("as_users_run")  # the network itself may come from anywhere
    step = functools.partial(learner.train_step, plain)
    together = jax.vmap(step, in_axes=(0, None, None, None), axis_name=MEMBER_AXIS)
    key = jax.random.key(1)
    changed, measured = jax.jit(together)(population.stack(hypers), start, examples, key)
    one = jax.jit(step)
    for i, hyper in enumerate(hypers):
        alone = one(hyper, start, examples, key)
        assert_close(population.member((changed, measured), i), alone, 1e-6, TARGETS[i])
