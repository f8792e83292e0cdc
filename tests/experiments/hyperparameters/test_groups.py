"""Settings that share programs: who is grouped with whom, shares of a study, and equal bits."""

from typing import Any

import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import hyperparameter_correlation, hyperparameter_sweep, published
from experiments.configs import hyperparameter_correlation as correlation_config
from experiments.configs import hyperparameter_sweep as sweep_config
from experiments.hyperparameters import groups, setting_study, settings
from experiments.hyperparameters.setting_study import Plan
from experiments.hyperparameters.settings import make_setting
from jaxzero.runs import population
from jaxzero.runs.failures import Failures
from jaxzero.runs.population import Layout
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from tests import small

STUDIES: dict[str, Any] = {
    "sweep": (hyperparameter_sweep, sweep_config),
    "correlation": (hyperparameter_correlation, correlation_config),
}


def plan_of(study: str, preset: str, mode: str) -> Plan:
    module, configs = STUDIES[study]
    config = small.changed(configs.get_config(preset), {"execution.population": mode})
    module.validate(config)
    return setting_study.make_plan(config, module.make_settings(config))


@pytest.mark.parametrize("mode", ["map", "vmap"])
@pytest.mark.parametrize("preset", ["quick", "gpu", "paper"])
@pytest.mark.parametrize(("study", "count", "programs"), [("sweep", 25, 8), ("correlation", 81, 3)])
def test_few_programs_hold_all_settings(
    study: str, count: int, programs: int, preset: str, mode: str
) -> None:
    planned = plan_of(study, preset, mode)
    assert len(planned.settings) == len({s.name for s in planned.settings}) == count
    assert len(planned.groups) <= programs
    assert len({group.name for group in planned.groups}) == len(planned.groups)
    members = [t.name for group in planned.groups for t in group.trainings]
    assert sorted(members) == sorted(t.name for t in planned.trainings)
    lengths = {s.name: s.iterations for s in planned.settings}
    seeds = {t.seed for t in planned.trainings}
    served = [serves for t in planned.trainings for serves in t.serves]
    assert sorted(served) == sorted([*lengths.items()] * len(seeds))
    for group in planned.groups:
        specs = {
            spec_lib.make_spec(spec_lib.with_capacity(t.config, group.config))
            for t in group.trainings
        }
        assert len(specs) == 1
        # Nobody waits for others to finish, and every network that is wanted is kept.
        assert {t.config.train.iterations for t in group.trainings} == {
            group.config.train.iterations
        }
        for training in group.trainings:
            for _, length in training.serves:
                assert length % group.config.execution.snapshot_every == 0


def test_the_papers_settings() -> None:
    config = sweep_config.get_config("paper")
    tried = {s.letter: s.values for s in hyperparameter_sweep.swept(config)}
    table = {letter: tuple(sorted(values)) for letter, values in _published("table_1").items()}
    assert tried == table
    config = correlation_config.get_config("paper")
    for letter, field in hyperparameter_correlation.FIELDS.items():
        assert list(config.study[field]) == _published("table_2")[letter]


def _published(table: str) -> dict[str, Any]:
    return (published.load("wang2021_sweep") or {})[table]


def test_settings_that_differ_in_length_alone_are_one_training() -> None:
    base = small.small_config()
    compared = [make_setting(base, {"I": i, "E": e}) for i in (1, 3, 2) for e in (4, 8)]
    found = settings.trainings(compared, [5, 6])
    assert [t.name for t in found] == ["E=4_seed5", "E=4_seed6", "E=8_seed5", "E=8_seed6"]
    assert all(t.config.train.iterations == 3 and t.config.seed == t.seed for t in found)
    assert found[0].serves == (("I=1_E=4", 1), ("I=3_E=4", 3), ("I=2_E=4", 2))
    with pytest.raises(ConfigError, match="are the same setting"):
        settings.trainings([make_setting(base, {"m": 8}), make_setting(base, {})], [0])
    close = [make_setting(base, {"lr": rate}) for rate in (0.00123456, 0.001234561, 0.5)]
    assert [s.name for s in close] == ["lr=0.00123456", "lr=0.001234561", "lr=0.5"]


def test_no_more_is_split_than_is_worth_a_program() -> None:
    base = small.small_config()
    some = [make_setting(base, {"lr": lr}) for lr in (0.1, 0.01)]
    alike = groups.partition(settings.trainings(some, [0]), programs=8, together=False)
    assert [len(group.trainings) for group in alike] == [2]
    many = [make_setting(base, {"E": e}) for e in (2, 2000)]
    assert len(groups.partition(settings.trainings(many, [0]), programs=8, together=False)) == 2
    forced = [make_setting(base, {"bs": bs}) for bs in (16, 32)]
    assert len(groups.partition(settings.trainings(forced, [0]), programs=1, together=True)) == 2


PARTS = {
    "search.key": "position",
    "selfplay.share": "cache",
    "selfplay.parts": 2,
    "selfplay.retry": True,
}


@pytest.mark.parametrize(
    ("letter", "values", "changes"),
    [
        ("m", (8, 9), {"switches.keep_tree": True}),
        ("m", (8, 9), {"search.algorithm": "gumbel"}),
        ("E", (8, 9), PARTS),
        ("rs", (2, 3), {"replay.minimum_games": (4,)}),
    ],
)
def test_sizes_that_change_what_a_run_does_are_not_shared(
    letter: str, values: tuple[int, int], changes: dict[str, Any]
) -> None:
    for own, count in ((changes, 2), ({}, 1)):
        base = small.small_config(own)
        some = [make_setting(base, {letter: value}) for value in values]
        found = groups.partition(settings.trainings(some, [0]), programs=8, together=False)
        assert len(found) == count


@pytest.mark.parametrize("count", [1, 2, 5])
def test_shares_are_all_of_the_study_and_nothing_twice(count: int) -> None:
    planned = plan_of("sweep", "gpu", "map")
    whole = {group.name: group for group in planned.groups}
    shares = [
        groups.share(planned.groups, f"{i + 1}/{count}", together=False) for i in range(count)
    ]
    names = [t.name for share in shares for group in share for t in group.trainings]
    assert sorted(names) == sorted(t.name for t in planned.trainings)
    work = []
    for share in shares:
        for group in share:  # the whole study's program, whoever is in it
            assert group.config == whole[group.name.split(".")[0]].config
        sizes = {g.name.split(".")[0]: len(g.trainings) for g in share}
        work.append(
            sum(
                groups.work(whole[name].trainings, together=False)
                / len(whole[name].trainings)
                * size
                for name, size in sizes.items()
            )
        )
    assert max(work) < 1.1 * sum(work) / count + max(work) * len(planned.groups) / len(names)


@pytest.mark.parametrize("shard", ["", "0/2", "3/2", "1", "a/b", "1/0", "-1/2"])
def test_wrong_shares_are_refused(shard: str) -> None:
    with pytest.raises(ConfigError, match=r"--shard=.*give i/k"):
        groups.parse_shard(shard)


def members() -> list[ConfigDict]:
    """Two runs that fit into the program of the small settings, each with sizes of its own."""
    base = small.small_config()
    changes: list[dict[str, Any]] = [
        {"search.num_simulations": 5, "selfplay.episodes": 4, "train.epochs": 1},
        {"replay.window": 1, "arena.games": 2, "train.learning_rate": 0.01, "search.c_puct": 2.0},
    ]
    return [small.changed(base, change) for change in changes]


def test_a_member_of_a_group_is_the_same_as_alone() -> None:
    configs = members()
    spec = small.small_spec()
    program = small.compiled_program(spec, Layout(1, 1), "map")
    hypers = [spec_lib.make_hyper(config) for config in configs]
    together = small.run_population(program, spec.game, hypers, [0, 3], 2)
    for i, (config, seed) in enumerate(zip(configs, (0, 3), strict=True)):
        sized = spec_lib.make_spec(spec_lib.with_capacity(config, small.small_config()))
        assert sized == spec
        alone = small.run_alone(spec, hypers[i], seed=seed, iterations=2)
        for (states, metrics), (state, measured) in zip(together, alone, strict=True):
            small.assert_equal(population.member(states, i), state)
            small.assert_equal(population.member(metrics, i), measured)


@pytest.mark.slow
def test_room_that_is_not_used_changes_no_game() -> None:
    """A run in a program of its own size, and in one with room for larger runs."""
    own = small.small_config({"search.num_simulations": 5, "train.epochs": 1})
    room = spec_lib.make_spec(spec_lib.with_capacity(own, small.small_config()))
    hyper = spec_lib.make_hyper(own)
    [(_, large)] = small.run_alone(room, hyper, seed=1, iterations=1)
    state = small.compiled_init(spec_lib.make_spec(own))(1)
    _, exact = small.compiled_iterate(spec_lib.make_spec(own))(
        hyper, state, small.heldout(room.game)
    )
    exact = small.to_numpy(exact)
    for name in ("selfplay/plies", "selfplay/distinct_positions", "count/gradient_steps"):
        np.testing.assert_array_equal(large[name], exact[name], name)
    np.testing.assert_allclose(large["loss/sum"][:1], exact["loss/sum"], rtol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"config\.train\.epochs=3: the population has room for 2"
    ):
        spec_lib.with_capacity(small.small_config({"train.epochs": 3}), small.small_config())
    gumbel = small.small_config({"search.algorithm": "gumbel", "search.num_simulations": 4})
    sized = spec_lib.with_capacity(gumbel, small.small_config({"search.algorithm": "gumbel"}))
    assert sized.search.num_simulations == 4  # sequential halving fixes it


def row(run: str, iteration: int, loss: float = 1.0) -> dict[str, Any]:
    return {"run": run, "iteration": iteration, "loss/policy": loss, "loss/value": 1.0}


def test_failed_runs_are_noted_and_left_out(tmp_path: Any, capsys: Any) -> None:
    failures = Failures(tmp_path)
    assert len(failures.sift([row("a", 1), row("b", 1)], 0)) == 2
    kept = failures.sift([row("a", 2, float("nan")), row("b", 2)], 0)
    assert [r["run"] for r in kept] == ["b"]
    assert "loss/policy of run a is nan" in capsys.readouterr().err
    again = Failures(tmp_path)
    assert [r["run"] for r in again.sift([row("a", 3), row("b", 3)], 0)] == ["b"]
    with pytest.raises(FloatingPointError, match=r"run a .*; .*run b"):
        again.sift([row("a", 4), row("b", 4, float("inf"))], 0)
    again.forget_after(1)  # training goes on from before
    assert again.reasons == Failures(tmp_path).reasons == {}


def test_nobody_is_left_if_all_fail_in_the_first_iteration(tmp_path: Any) -> None:
    """Their finite rows from before it do not count."""
    rows = [row("a", 0), row("a", 1, float("nan")), row("b", 0), row("b", 1, float("nan"))]
    with pytest.raises(FloatingPointError, match=r"run a .*; .*run b"):
        Failures(tmp_path).sift(rows, 0)
