"""Metrics go to the local files always, and to W&B and TensorBoard without a step lost or twice."""

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from ml_collections import ConfigDict

from jaxzero import files, runs, workdir
from jaxzero.runs import Member
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import Sheet, StudySummary, Tracker, wandb_runs
from jaxzero.tracking.background import Background
from jaxzero.tracking.summary import scalars
from tests import small

RUNS = ("sum_seed0", "value_seed0")


def settings(wandb: str = "off", *, tensorboard: bool = False) -> ConfigDict:
    """Settings that track in some way."""
    return small.small_config({"tracking.wandb": wandb, "tracking.tensorboard": tensorboard})


def rows_of(iteration: int) -> list[dict[str, Any]]:
    """The rows of one iteration."""
    heads = [
        {"iteration": iteration, "run": name, "target": name.split("_")[0], "seed": 0}
        for name in RUNS
    ]
    return [h | {"loss/sum": 1.0 / (iteration + 1), "loss_epochs/sum": [2.0, 1.0]} for h in heads]


def final_after(iteration: int) -> StudySummary:
    """Results of made-up runs."""
    curve = {i: 10.0 * i for i in range(iteration + 1)}
    return StudySummary(
        iteration=iteration,
        curves={"elo/training": dict.fromkeys(RUNS, curve)},
        members={RUNS[0]: {"elo/final": 7.0}},
        numbers={"checks/learns": 1.5},
        tables={"checks": Sheet(("name", "value", "holds"), (("a|b", 0.25, True), ("c", 1, None)))},
    )


def records_of(folder: Path) -> list[dict[str, Any]]:
    """What an offline W&B run holds, read with W&B's own tool."""
    [file] = folder.glob("*.wandb")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(file)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_wandb_keeps_the_best_value_of_what_has_one() -> None:
    sent, run = object.__new__(wandb_runs.WandbRuns), mock.Mock()
    sent._runs, sent._defined = {"a": run}, {}
    best = {"loss/sum": "last,min", "validation/move": "last,max", "elo/ladder/a": "last,max"}
    names = [*best, "elo/final", "seconds"]
    for iteration in (3, 4):
        sent._log("a", dict.fromkeys(names, 1.0), iteration)
    defined = {call.args[0]: call.kwargs for call in run.define_metric.call_args_list}
    assert run.define_metric.call_count == len(defined)  # each once
    assert defined == {n: {"step_metric": "iteration", "summary": best.get(n)} for n in names}
    assert [call.kwargs["step"] for call in run.log.call_args_list] == [3, 4]


def read_events(folder: Path) -> Any:
    """TensorBoard's own reading of a folder."""
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return events


def series(events: Any, name: str) -> list[tuple[int, float]]:
    """(step, value) of a scalar."""
    return [(e.step, e.value) for e in events.Scalars(name)]


def test_numbers_of_a_row() -> None:
    row = rows_of(3)[0] | {"seconds": 2, "run": "x", "loss/value": float("nan"), "loss/none": None}
    assert scalars(row) == {
        "loss/sum": 0.25,
        "loss_epochs/sum/1": 2.0,
        "loss_epochs/sum/2": 1.0,
        "seconds": 2.0,
    }


def test_a_table_in_markdown() -> None:
    lines = final_after(0).tables["checks"].markdown().splitlines()
    assert lines == ["| name | value | holds |", "| --- | --- | --- |",
                     "| a\\|b | 0.25 | True |", "| c | 1 |  |"]  # fmt: skip


def test_only_local_files_unless_asked_for(tmp_path: Path) -> None:
    with Tracker(tmp_path, settings(), "test") as tracker:
        tracker.log(rows_of(0))
        tracker.finish(final_after(0))
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
    assert files.read_rows(tmp_path / "metrics.jsonl") == rows_of(0)


@pytest.mark.parametrize(
    ("module", "config", "message"),
    [
        ("wandb", settings("offline"), "config.tracking.wandb='offline': wandb is not installed"),
        (
            "tensorboardX.summary",
            settings(tensorboard=True),
            "config.tracking.tensorboard=True: tensorboardX is not installed",
        ),
    ],
)
def test_a_missing_package_is_named(
    module: str, config: ConfigDict, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(ConfigError) as caught:
        Tracker(tmp_path, config, "test")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nobody_is_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")

    def login() -> None:
        raise wandb.errors.UsageError("No API key configured.\nUse wandb login.")

    monkeypatch.setattr(wandb, "login", login)
    with pytest.raises(ConfigError, match="nobody is logged in; run `wandb login`, set WANDB_API"):
        Tracker(tmp_path, settings("online"), "test")


class Broken:
    """A service that fails at its second call."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def log(self, rows: list[dict[str, Any]]) -> None:
        self.calls.append("log")
        if len(self.calls) == 2:
            raise OSError("the network\nis gone")

    def finish(self, summary: StudySummary) -> None:
        self.calls.append("finish")

    def close(self) -> None:
        self.calls.append("close")


def test_a_service_that_fails_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Broken()
    with Tracker(tmp_path, settings(), "test") as tracker:
        tracker._services.append(Background("Abacus", broken))
        for iteration in range(4):
            tracker.log(rows_of(iteration))
        tracker.finish(final_after(3))
    assert broken.calls == ["log", "log", "close"]  # the first hands over earlier rows
    said = [line for line in capsys.readouterr().err.splitlines() if "Abacus" in line]
    assert said == ["warning: Abacus failed (the network): continuing with local files only"]
    assert len(files.read_rows(tmp_path / "metrics.jsonl")) == 8


def test_a_full_or_unwritable_disk_stops_no_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wandb")
    pytest.importorskip("tensorboardX")
    for name in ("wandb", "tensorboard"):
        (tmp_path / name).write_text("a file where a folder should be")
    with Tracker(tmp_path, settings("offline", tensorboard=True), "test") as tracker:
        tracker.log(rows_of(0))
        tracker.finish(final_after(0))
    said = capsys.readouterr().err
    assert said.count("W&B failed") == said.count("TensorBoard failed") == 1
    assert len(files.read_rows(tmp_path / "metrics.jsonl")) == 2


def test_only_process_0_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setattr("jax.process_index", lambda: 1)
    with Tracker(tmp_path, settings("offline", tensorboard=True), "test"):
        pass
    assert not list(tmp_path.iterdir())


def train(directory: Path, iterations: Sequence[int], config: ConfigDict, *, done: bool) -> None:
    """What a study of one run does: rows after the newest checkpoint are dropped and done again."""
    files.drop_rows_after(directory / workdir.METRICS, iterations[0] - 1)
    with Tracker(directory, config, "test") as tracker:
        for iteration in iterations:
            tracker.log(rows_of(iteration)[:1])
        if done:
            tracker.finish(final_after(iterations[-1]))
    if config.tracking.wandb != "off":  # it names a folder after the second in which its run began
        time.sleep(1.01 - time.time() % 1)


def train_and_die(directory: Path, iterations: Sequence[int], config: ConfigDict) -> None:
    """Training that is killed, in a process of its own that shares no W&B service with us."""
    os.environ.pop("WANDB_SERVICE", None)
    more = {f"more/{number}": 1.5 * number for number in range(80)}  # W&B writes 32 KiB at a time
    tracker = Tracker(directory, config, "test")
    for iteration in iterations:
        tracker.log([rows_of(iteration)[0] | more])
    ledger = directory / wandb_runs.LEDGER
    while json.loads(ledger.read_text())["sent"][RUNS[0]] != iterations[-1]:
        time.sleep(0.05)
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)


def kill(directory: Path, iterations: Sequence[int]) -> list[dict[str, Any]]:
    """Runs `train_and_die`: what W&B has of it."""
    killed = multiprocessing.get_context("spawn").Process(
        target=train_and_die, args=(directory, iterations, settings("offline"))
    )
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    newest = max((directory / "wandb").glob("offline-run-*"))
    return records_of(newest)


def test_wandb_offline_holds_each_step_once_whatever_happens(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    own = small.small_config({"train.learning_rate": 0.25})
    runs.write_members(tmp_path, settings(), [Member(RUNS[0], "sum", 0, own)])
    train(tmp_path, range(3), settings(), done=False)  # W&B is switched on later
    train(tmp_path, range(2, 4), settings("offline"), done=False)  # broken off; 2 was done again
    left = kill(tmp_path, range(4, 44))  # W&B has written some of it
    assert exit_codes(left) == []
    assert 20 < max(steps_of(left)) < 43
    train(tmp_path, range(6, 9), settings("offline"), done=True)  # from the checkpoint of 5
    train(tmp_path, range(9, 11), settings("offline"), done=True)  # more iterations
    with Tracker(tmp_path, settings("offline"), "test") as tracker:
        tracker.finish(dataclasses.replace(final_after(10), arms=3))  # more arms

    identity = json.loads((tmp_path / wandb_runs.LEDGER).read_text())["id"]
    folders = sorted((tmp_path / "wandb").glob(f"offline-run-*-{identity}-{RUNS[0]}"))
    parts = [records_of(folder) for folder in folders]
    assert [step for part in parts for step in steps_of(part)] == list(range(11))
    assert all(exit_codes(part) for part in parts)  # `wandb sync` stops at one that is cut short
    for name, last_step in (("study-8", 8), ("study-10", 10), ("study-10-3arms", 10)):
        [folder] = (tmp_path / "wandb").glob(f"offline-run-*-{identity}-{name}")
        assert steps_of(records_of(folder)) == list(range(last_step + 1))

    first, last = parts[0], parts[-1]
    assert exit_codes(first) == [1]
    assert any(record["type"] == "preempting" for record in first)
    assert exit_codes(last) == [0]
    assert not any(record["type"] == "preempting" for record in last)
    run = next(record["run"] for record in first if record["type"] == "run")
    assert run["run_id"] == f"{identity}-{RUNS[0]}"
    assert run["run_group"] == f"test/{tmp_path.name}"
    assert run["display_name"] == RUNS[0]
    assert run["resume"]
    config = run["config"]["update"]
    assert (config["target"], config["seed"]) == ("sum", 0)
    assert config["train.learning_rate"] == 0.25  # the run's own
    assert config["environment"]["commit"] == workdir.environment()["commit"]

    # Again with nothing to do, and after `wandb clean` has removed what was synced.
    for folder in folders:
        shutil.rmtree(folder)
    before = sorted((tmp_path / "wandb").glob("offline-run-*"))
    with Tracker(tmp_path, settings("offline"), "test") as tracker:
        tracker.finish(final_after(10))
    assert sorted((tmp_path / "wandb").glob("offline-run-*")) == before


def test_wandb_offline_gets_what_was_left_and_what_is_new(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    part = tmp_path / "study" / "arms" / "plain"
    part.mkdir(parents=True)
    files.write_json(tmp_path / "study" / workdir.CONFIG, {})
    train(part, range(3), settings("offline"), done=False)  # stopped before its end
    longer = {"elo/training": {RUNS[0]: {1: 10.0, 5: 50.0}}}  # one of its runs went on
    first = dataclasses.replace(final_after(2), curves=longer)
    second = dataclasses.replace(first, numbers={"checks/learns": 2.5})
    for results in (first, first, second, first):
        with Tracker(part, settings("offline"), "test") as tracker:
            tracker.finish(results)

    identity = json.loads((part / wandb_runs.LEDGER).read_text())["id"]
    folders = sorted((part / "wandb").glob(f"offline-run-*-{identity}-{RUNS[0]}"))
    parts = [records_of(folder) for folder in folders]
    assert [exit_codes(part) for part in parts] == [[1], [0]]
    assert [steps_of(part) for part in parts] == [[0, 1, 2], []]
    assert ("elo/final", 7.0) in summary_of(parts[-1])
    run = next(record["run"] for record in parts[0] if record["type"] == "run")
    assert run["run_group"] == "test/study/plain"
    for name, learns in (("study-2", 1.5), ("study-2-again1", 2.5)):
        [folder] = (part / "wandb").glob(f"offline-run-*-{identity}-{name}")
        assert steps_of(records_of(folder)) == [1, 5]
        assert ("checks/learns", learns) in summary_of(records_of(folder))


def summary_of(records: Sequence[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Names and values that were put into the summary of a W&B run."""
    updates = [r["summary"]["update"] for r in records if r["type"] == "summary"]
    return [pair for update in updates for pair in update.items()]


def steps_of(records: Sequence[dict[str, Any]]) -> list[int]:
    """The steps of a part of an offline W&B run."""
    return [r["history"]["item"]["_step"] for r in records if r["type"] == "history"]


def exit_codes(records: Sequence[dict[str, Any]]) -> list[int]:
    """How a process left a W&B run."""
    return [r["exit"].get("exit_code", 0) for r in records if r["type"] == "exit"]


def test_tensorboard_holds_each_step_once(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    train(tmp_path, range(3), settings(), done=False)  # TensorBoard is switched on later
    train(tmp_path, range(2, 5), settings(tensorboard=True), done=True)
    train(tmp_path, range(4, 6), settings(tensorboard=True), done=True)
    run = read_events(tmp_path / "tensorboard" / RUNS[0])
    assert series(run, "loss/sum") == [(i, pytest.approx(1 / (i + 1))) for i in range(6)]
    assert series(run, "loss_epochs/sum/2") == [(i, 1.0) for i in range(6)]
    assert series(run, "elo/training") == [(i, 10.0 * i) for i in range(6)]
    assert series(run, "elo/final") == [(5, 7.0)]
    study = read_events(tmp_path / "tensorboard" / "study")
    assert series(study, "checks/learns") == [(5, 1.5)]
    [text] = study.Tensors("checks/text_summary")
    assert b"| a\\|b | 0.25 | True |" in text.tensor_proto.string_val[0]
