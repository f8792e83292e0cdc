"""The Python loop around the iteration: rows, checkpoints, and resuming."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from jaxzero import files, runs, workdir
from jaxzero.runs import Member, population
from jaxzero.runs.checkpoints import DIGEST, Checkpoints
from jaxzero.runs.failures import FAILED, Failures
from jaxzero.runs.runner import Trained
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from tests import small
from tests.runs.trained import members_of, own, rows_of, train
from tests.small import assert_equal


def test_seeds_beyond_jax_are_refused() -> None:
    config = small.small_config({"seed": 2**31 - 2})
    with config.unlocked():
        config.study = ConfigDict({"seeds": 2})
    assert [m.seed for m in runs.one_for_each_seed(config, "sum")] == [2**31 - 2, 2**31 - 1]
    config.study.seeds = 3
    with pytest.raises(ConfigError, match=r"the last of 3 seeds would be 2147483648"):
        runs.one_for_each_seed(config, "sum")


def test_interrupted_and_resumed_is_bit_equal(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    directory, whole = uninterrupted
    train(tmp_path, {"train.iterations": 2, "execution.checkpoint_every": 1})
    assert [row["iteration"] for row in rows_of(tmp_path)] == [0, 1, 0, 1, 2, 2]
    _leave_what_a_crash_leaves(tmp_path)
    resumed = train(
        tmp_path,
        {"train.iterations": 4, "execution.checkpoint_every": 1},
        failures=Failures(tmp_path),
    )
    assert rows_of(tmp_path) == rows_of(directory)
    assert_equal(resumed.states, whole.states)
    assert resumed.failed == {}
    kept = runs.networks(runs.open_run(tmp_path), 4)
    assert_equal(kept, runs.without_optimiser(whole.states.learner))


def _leave_what_a_crash_leaves(directory: Path) -> None:
    """Of iterations that were not saved: rows, half a line, a failure, and half a snapshot."""
    with (directory / workdir.METRICS).open("a") as file:
        file.write(json.dumps({"iteration": 3, "run": "sum_seed0"}) + '\n{"iteration": 3, "r')
    failure = {"value_seed0": {"iteration": 3, "reason": "loss/policy is nan"}}
    files.write_json(directory / FAILED, failure)
    snapshots = directory / runs.SNAPSHOTS
    shutil.copytree(snapshots / "2", snapshots / "4")
    (snapshots / "4" / DIGEST).unlink()


def test_seconds_of_a_resumed_run_go_on(tmp_path: Path) -> None:
    train(tmp_path, {"train.iterations": 1})
    rows = files.read_rows(tmp_path / workdir.METRICS)
    hours = [
        row | {"seconds": 1e5 + row["seconds"], "starting_seconds": 9e4 + row["starting_seconds"]}
        for row in rows
    ]
    (tmp_path / workdir.METRICS).write_text("".join(json.dumps(row) + "\n" for row in hours))
    resumed = train(tmp_path, {"train.iterations": 2})
    seconds = [row["seconds"] for row in files.read_rows(tmp_path / workdir.METRICS)]
    assert len(seconds) > len(hours)
    assert seconds == sorted(seconds)
    assert resumed.seconds >= hours[-1]["seconds"]
    starting = files.read_rows(tmp_path / workdir.METRICS)[-1]["starting_seconds"]
    assert starting > hours[-1]["starting_seconds"] + resumed.compile_seconds


def test_a_damaged_checkpoint_is_passed_over(
    uninterrupted: tuple[Path, Trained], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory, whole = uninterrupted
    each = {"execution.checkpoint_every": 1}
    train(tmp_path, {"train.iterations": 3, **each})
    largest = max((tmp_path / "checkpoints" / "3").rglob("*"), key=lambda p: p.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    resumed = train(tmp_path, {"train.iterations": 4, **each})
    said = capfd.readouterr().err
    assert "checkpoint 3 is damaged" in said
    assert f"{largest.name} has changed" in said
    assert "resuming from iteration 2" in said
    assert (tmp_path / "checkpoints" / "damaged_3").is_dir()
    assert rows_of(tmp_path) == rows_of(directory)
    assert_equal(resumed.states, whole.states)


@pytest.mark.slow
def test_a_run_goes_on_with_more_devices(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    train(tmp_path, {"train.iterations": 2})
    resumed = train(tmp_path, {"train.iterations": 3, "execution.devices": 4})
    assert [int(i) for i in resumed.states.iteration] == [3, 3]
    for row, whole in zip(rows_of(tmp_path), rows_of(uninterrupted[0]), strict=False):
        for name in ("selfplay/plies", "count/gradient_steps", "count/examples"):
            if row["iteration"]:  # games of the same networks do not depend on the devices
                assert row[name] == whole[name]


def test_networks_are_kept_and_found_again(uninterrupted: tuple[Path, Trained]) -> None:
    directory, whole = uninterrupted
    run = runs.open_run(directory)
    assert run.study == "test"
    assert run.iterations == (0, 4)
    assert [m.name for m in run.members] == ["sum_seed0", "value_seed0"]
    assert run.members[1].config.train.loss == "value"
    assert run.spec == whole.spec
    assert_equal(runs.networks(run), runs.without_optimiser(whole.states.learner))
    fresh = [small.compiled_init(run.spec)(0).learner.params for _ in run.members]
    assert_equal(runs.networks(run, 0).params, population.stack(fresh))
    assert_equal(
        runs.member_network(run, runs.choose(run, "value_seed0")).params,
        population.member(whole.states.learner.params, 1),
    )
    with pytest.raises(ConfigError, match="keeps no networks of iteration 3: choose one of 0, 4"):
        runs.networks(run, 3)
    with pytest.raises(ConfigError, match="no run 'valu_seed0': did you mean 'value_seed0'"):
        runs.choose(run, "valu_seed0")
    with pytest.raises(ConfigError, match=r"is no run directory \(config\.json is missing\)"):
        runs.open_run(directory / "checkpoints")


def test_nothing_is_left_to_do(uninterrupted: tuple[Path, Trained]) -> None:
    directory, whole = uninterrupted
    before = (directory / workdir.METRICS).read_bytes()
    again = train(directory, {"train.iterations": 4})
    assert (directory / workdir.METRICS).read_bytes() == before
    assert_equal(again.states, whole.states)
    assert again.compile_seconds == 0.0
    last = files.read_rows(directory / workdir.METRICS)[-1]
    assert 0.0 < whole.compile_seconds <= last["starting_seconds"] < last["seconds"]


def test_fewer_iterations_than_done_are_refused(uninterrupted: tuple[Path, Trained]) -> None:
    directory, _ = uninterrupted
    before = (directory / workdir.METRICS).read_bytes()
    with pytest.raises(ConfigError, match=r"iterations=2.*at iteration 4 already"):
        train(directory, {"train.iterations": 2})
    assert (directory / workdir.METRICS).read_bytes() == before


def test_a_crash_before_the_first_checkpoint_starts_again(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    left = [{"iteration": number, "run": "x", "seconds": 1.0} for number in (0, 1)]
    (tmp_path / workdir.METRICS).write_text("".join(json.dumps(row) + "\n" for row in left))
    train(tmp_path, {"train.iterations": 1})
    assert rows_of(tmp_path) == rows_of(uninterrupted[0])[:4]


def test_every_run_has_a_row_for_every_iteration(uninterrupted: tuple[Path, Trained]) -> None:
    directory, trained = uninterrupted
    rows = rows_of(directory)
    for name in ("sum_seed0", "value_seed0"):
        own = [row for row in rows if row["run"] == name]
        assert [row["iteration"] for row in own] == [0, 1, 2, 3, 4]
        untrained, first = own[:2]
        for loss in ("policy", "value", "sum", "product"):
            assert untrained[f"loss/{loss}"] == first[f"unseen/{loss}"]
        target = name.removesuffix("_seed0")
        assert untrained["loss/minimised"] == pytest.approx(untrained[f"loss/{target}"], rel=1e-6)
        for row in own[1:]:
            assert row["target"] == target
            assert len(row["loss_epochs/sum"]) == 2
            assert row["loss/sum"] == row["loss_epochs/sum"][-1]
            evaluations = row["count/selfplay_evaluations"] + row["count/arena_evaluations"]
            assert row["count/evaluations"] == evaluations
            assert row["count/useful_evaluations"] <= evaluations
    np.testing.assert_array_equal(trained.states.iteration, [4, 4])
    assert trained.spec.data_devices == 1


def test_the_rows_are_those_of_the_runs_alone(uninterrupted: tuple[Path, Trained]) -> None:
    directory, trained = uninterrupted
    spec = small.small_spec()
    # But for the held-out games, which the runner plays itself.
    for i, target in enumerate(("sum", "value")):
        hyper = small.small_hyper({"train.loss": target})
        history = small.run_alone(spec, hyper, seed=0, iterations=4)
        assert_equal(population.member(trained.states, i), history[-1][0])
        own = [row for row in rows_of(directory) if row["run"] == f"{target}_seed0"][1:]
        for row, (_, metrics) in zip(own, history, strict=True):
            for name, value in metrics.items():
                if not name.startswith("heldout/"):
                    assert row[name] == np.ravel(value)[-1], name


def test_losses_that_are_not_finite_stop_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_hyper = spec_lib.make_hyper

    def diverging(config: ConfigDict) -> Any:
        return dataclasses.replace(make_hyper(config), learning_rate=jnp.float32(np.nan))

    train(tmp_path, {"train.iterations": 1})
    before = rows_of(tmp_path)
    monkeypatch.setattr(spec_lib, "make_hyper", diverging)
    with pytest.raises(
        FloatingPointError,
        match=r"of run sum_seed0 is nan in epoch 1 of iteration 2: lower .* iteration 1 is saved",
    ):
        train(tmp_path, {"train.iterations": 3, "execution.checkpoint_every": 1})
    assert rows_of(tmp_path) == before
    assert Checkpoints.steps(tmp_path / "checkpoints") == [1]


def test_a_run_that_fails_is_named_and_the_others_go_on(
    uninterrupted: tuple[Path, Trained],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory, whole = uninterrupted
    make_hyper = spec_lib.make_hyper

    def diverging(config: ConfigDict) -> Any:
        rate = np.nan if config.train.loss == "value" else config.train.learning_rate
        return dataclasses.replace(make_hyper(config), learning_rate=jnp.float32(rate))

    often = {"execution.checkpoint_every": 1, "execution.snapshot_every": 1}
    train(tmp_path, {"train.iterations": 1, **often})
    with monkeypatch.context() as patch:
        patch.setattr(spec_lib, "make_hyper", diverging)
        train(tmp_path, {"train.iterations": 3, **often}, failures=Failures(tmp_path))
    assert "of run value_seed0 is nan" in capsys.readouterr().err
    # Its failure is remembered.
    resumed = train(tmp_path, {"train.iterations": 4, **often}, failures=Failures(tmp_path))
    assert list(resumed.failed) == ["value_seed0"]
    assert "epoch 1 of iteration 2" in resumed.failed["value_seed0"]
    found, expected = rows_of(tmp_path), rows_of(directory)
    assert own(found, "sum_seed0") == own(expected, "sum_seed0")
    failed = own(found, "value_seed0")
    assert [row["iteration"] for row in failed] == [0, 1]
    assert_equal(population.member(resumed.states, 0), population.member(whole.states, 0))
    opened = runs.open_run(tmp_path)  # a network of NaN never becomes the best one
    for at in opened.iterations:
        for leaf in jax.tree.leaves(runs.networks(opened, at)):
            assert np.isfinite(leaf).all()


def test_members_that_cannot_share_a_program_are_refused(tmp_path: Path) -> None:
    def unlike(config: ConfigDict) -> list[Member]:
        one, two = members_of(config)
        bigger = small.changed(config, {"train.batch_size": 32})
        return [one, dataclasses.replace(two, config=bigger)]

    with pytest.raises(ConfigError, match=r"'value_seed0' differs .* train\.batch_size \(32, 16\)"):
        train(tmp_path, {}, unlike)


@pytest.mark.parametrize(
    "changes",
    [
        {
            "game": "pgx:tic_tac_toe",
            "network.name": "resnet",
            "network.blocks": 1,
            "network.value_head": "wdl",
            "search.draw_value": -0.2,
            "train.policy_softmax": "legal",
        }
    ],
)
def test_other_games_and_networks_train_too(changes: dict[str, Any], tmp_path: Path) -> None:
    def one(config: ConfigDict) -> list[Member]:
        return [Member("only", "sum", 0, config)]

    trained = train(tmp_path, {"train.iterations": 1, **changes}, one)
    untrained, row = rows_of(tmp_path)
    assert row["count/gradient_steps"] > 0
    assert all(np.isfinite(v) for v in row.values() if isinstance(v, float))
    assert row["selfplay/plies_max"] <= 9
    assert untrained["loss/policy"] == row["unseen/policy"]
    assert "block_0_conv_0" in trained.states.learner.params
