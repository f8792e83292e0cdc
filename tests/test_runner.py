"""The Python loop around the iteration: rows, checkpoints, going on, and stopping."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from jaxzero import population, runner, workdir
from jaxzero import spec as spec_lib
from jaxzero.checkpoints import Checkpoints
from jaxzero.config import ConfigError
from jaxzero.population import Layout
from jaxzero.runner import Trained
from jaxzero.runs import Member
from jaxzero.tracking import Tracker
from tests import small
from tests.small import assert_equal

Rows = list[dict[str, Any]]


def members_of(config: ConfigDict) -> list[Member]:
    """Two runs: they share the program with the tests of populations."""
    targets = ("sum", "value")
    return [
        Member(f"{target}_seed0", target, 0, small.changed(config, {"train.loss": target}))
        for target in targets
    ]


def train(directory: Path, changes: dict[str, Any], members: Any = members_of) -> Trained:
    """Trains in a workdir of the changed settings."""
    config = small.small_config(changes)
    workdir.claim(directory, config, "test")
    return runner.train(config, members(config), directory, Tracker(directory, config, "test"))


def rows_of(directory: Path) -> Rows:
    """The metrics, without the times."""
    rows = workdir.read_rows(directory / workdir.METRICS)
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """Four iterations at once."""
    directory = tmp_path_factory.mktemp("uninterrupted")
    return directory, train(directory, {"train.iterations": 4})


def test_interrupted_and_resumed_is_bit_equal(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    directory, whole = uninterrupted
    train(tmp_path, {"train.iterations": 2, "execution.checkpoint_every": 1})
    assert [row["iteration"] for row in rows_of(tmp_path)] == [0, 1, 0, 1, 2, 2]
    # What a crash leaves: rows of an iteration that was not saved, and half a line.
    with (tmp_path / workdir.METRICS).open("a") as file:
        file.write(json.dumps({"iteration": 3, "run": "sum_seed0"}) + '\n{"iteration": 3, "r')
    resumed = train(tmp_path, {"train.iterations": 4, "execution.checkpoint_every": 1})
    assert rows_of(tmp_path) == rows_of(directory)
    assert_equal(resumed.states, whole.states)


def test_nothing_is_left_to_do(uninterrupted: tuple[Path, Trained]) -> None:
    directory, whole = uninterrupted
    before = (directory / workdir.METRICS).read_bytes()
    again = train(directory, {"train.iterations": 4})
    assert (directory / workdir.METRICS).read_bytes() == before
    assert_equal(again.states, whole.states)
    assert again.compile_seconds < 1


def test_fewer_iterations_than_done_are_refused(uninterrupted: tuple[Path, Trained]) -> None:
    directory, _ = uninterrupted
    before = (directory / workdir.METRICS).read_bytes()
    with pytest.raises(ConfigError, match=r"iterations=2.*at iteration 4 already"):
        train(directory, {"train.iterations": 2})
    assert (directory / workdir.METRICS).read_bytes() == before


def test_a_crash_before_the_first_checkpoint_starts_again(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    (tmp_path / workdir.METRICS).write_text(json.dumps({"iteration": 1, "run": "x"}) + "\n")
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
    with pytest.raises(FloatingPointError, match=r"run sum_seed0 .* at iteration 2: lower"):
        train(tmp_path, {"train.iterations": 3, "execution.checkpoint_every": 1})
    assert rows_of(tmp_path) == before
    assert Checkpoints(tmp_path / "checkpoints").latest() == 1


def test_a_loss_that_breaks_down_in_the_last_epoch_is_seen() -> None:
    config = small.small_config()
    metrics = {
        "loss/policy": np.array([[1.0, np.nan]]),
        "loss/value": np.array([[1.0, 2.0]]),
        "count/selfplay_evaluations": np.array([1.0]),
        "count/selfplay_useful_evaluations": np.array([1.0]),
    }
    [row] = runner._rows([Member("a", "sum", 0, config)], 2, metrics, 0.0)
    with pytest.raises(FloatingPointError, match="loss/policy of run a is nan at iteration 2"):
        runner._refuse_nan([row])


def test_epochs_beyond_a_members_own_are_left_out() -> None:
    config = small.small_config({"train.epochs": 1})
    metrics = {
        "loss/policy": np.array([[1.0, np.nan]]),
        "loss/value": np.array([[2.0, np.nan]]),
        "count/selfplay_evaluations": np.array([1.0]),
        "count/selfplay_useful_evaluations": np.array([1.0]),
    }
    [row] = runner._rows([Member("a", "sum", 0, config)], 2, metrics, 0.0)
    assert row["loss_epochs/policy"] == [1.0]
    assert row["loss/value"] == 2.0
    runner._refuse_nan([row])


def test_members_that_cannot_share_a_program_are_refused(tmp_path: Path) -> None:
    def unlike(config: ConfigDict) -> list[Member]:
        one, two = members_of(config)
        bigger = small.changed(config, {"train.batch_size": 32})
        return [one, dataclasses.replace(two, config=bigger)]

    with pytest.raises(ConfigError, match=r"'value_seed0' differs .* batch_size \(32, 16\)"):
        train(tmp_path, {}, unlike)


def test_more_devices_than_there_are_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"execution\.devices=9: this machine shows 8"):
        runner.choose_devices(small.small_config({"execution.devices": 9}))
    assert len(runner.choose_devices(small.small_config({"execution.devices": 0}))) == 8


def test_checkpoints_restore_what_was_saved(tmp_path: Path) -> None:
    spec = small.small_spec()
    program = small.compiled_program(spec, Layout(1, 1), "map")
    states = program.init(np.array([3, 4], np.int32))
    checkpoints = Checkpoints(tmp_path, keep=2)
    assert checkpoints.latest() is None
    for number in (1, 2, 3):
        checkpoints.save(number, states)
    restored = checkpoints.restore(3, jax.eval_shape(program.init, np.array([3, 4], np.int32)))
    assert checkpoints.latest() == 3
    checkpoints.close()
    assert_equal(restored, states)
    assert restored.key.dtype == states.key.dtype
    kept = sorted(path.name for path in tmp_path.iterdir() if path.name.isdigit())
    assert kept == ["2", "3"]


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
