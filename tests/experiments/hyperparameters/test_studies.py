"""The hyper-parameter studies from their settings to their reports, with everything tiny."""

import re
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from experiments import hyperparameter_correlation, hyperparameter_sweep, merge
from experiments.configs import hyperparameter_correlation as correlation_config
from experiments.configs import hyperparameter_sweep as sweep_config
from experiments.costs import clock
from experiments.hyperparameters import group_training, setting_study
from jaxzero import files, runs, workdir
from jaxzero.runs import metrics
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import Tracker
from tests import small
from tests.experiments.exhibits import missing_in
from tests.experiments.processes import rows_of, timeless

COMMON = {
    **small.SETTINGS,
    "train.iterations": 2,
    "train.learning_rate": 0.005,
    "arena.threshold": 0.0,  # what was trained is kept, whatever the games say
    "study.seeds": 1,
    "study.tournament_games": 2,
    "study.tournament_simulations": 4,
}
NONE = {
    f"study.{name}": ()
    for name in (
        "temperature_plies", "num_simulations", "c_puct", "window", "epochs", "batch_size",
        "learning_rate", "dropout_rate", "arena_games", "threshold",
    )
}  # fmt: skip


def sweep(changes: dict[str, Any] | None = None) -> ConfigDict:
    """Three settings of two hyper-parameters: two runs, whose program other tests share."""
    own = {
        "study.iterations": (1,),
        "study.episodes": (4,),
        "study.programs": 1,
    }
    return small.changed(
        sweep_config.get_config("quick"), {**COMMON, **NONE, **own, **(changes or {})}
    )


def correlation(changes: dict[str, Any] | None = None) -> ConfigDict:
    """Four settings: two runs."""
    own = {
        "study.iterations": (1, 2),
        "study.episodes": (8,),
        "study.num_simulations": (4, 8),
        "study.epochs": (2,),
        "arena.gate": "threshold",  # as in the sweep, whose program it shares so
    }
    return small.changed(
        correlation_config.get_config("quick"), {**COMMON, **own, **(changes or {})}
    )


def calibrated(directory: Path, config: ConfigDict, module: Any) -> Path:
    """A run directory whose unit seconds were measured: 1 ms an evaluation, 2 a gradient step."""
    directory.mkdir(parents=True, exist_ok=True)
    units = {s.name: [1e-3, 1e-3, 2e-3] for s in module.make_settings(config)}
    files.write_json(directory / clock.CALIBRATION, units)
    return directory


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sweep") / "whole"
    hyperparameter_sweep.run(sweep(), calibrated(directory, sweep(), hyperparameter_sweep))
    return directory


def test_a_sweep_has_everything(finished: Path) -> None:
    results = workdir.read_results(finished)
    assert [s["name"] for s in results["settings"]] == ["default", "I=1", "E=4"]
    assert [r["name"] for r in results["runs"]] == ["default_seed0", "E=4_seed0"]
    assert len(results["cost"]["programs"]) == 1
    [played] = results["tournaments"]
    names = [player["name"] for player in played["players"]]
    assert names == [
        "default_seed0", "I=1_seed0", "E=4_seed0", "untrained_seed0", "random",
    ]  # fmt: skip
    assert np.isfinite(played["elo"]).all()
    by_name = {p["name"]: p for p in results["sweep"]["players"]}
    short, long = (by_name[f"{name}_seed0"]["seconds"] for name in ("I=1", "default"))
    assert 0 < short["total"] < long["total"]
    rows = {(r["run"], r["iteration"]): r for r in rows_of(finished)}
    assert rows["E=4_seed0", 1]["count/games"] == 4
    assert short["training"] == pytest.approx(
        2e-3 * rows["default_seed0", 1]["count/gradient_steps"]
    )
    parameters = {p["letter"]: p for p in results["sweep"]["parameters"]}
    assert list(parameters) == ["I", "E"]
    assert parameters["I"]["settings"] == ["I=1", "default"]
    assert parameters["I"]["loss"]["means"][0] == rows["default_seed0", 1]["loss/sum"]
    assert {p["type"] for p in parameters.values()} == {"not decided"}  # of one seed
    assert {r["verdict"] for r in results["sweep"]["remarks"]} == {"undecided"}
    assert missing_in(finished / "report.html", "hyperparameter_sweep") == set()
    report = (finished / "report.html").read_text()
    assert "Time cost by setting" in report
    assert "Importance for loss and time" in report
    assert report.count("<title>E=4, seed 0: ") == 2  # over cost and over loss
    assert "<script" not in report


def test_a_studys_directory_opens_like_a_run(finished: Path) -> None:
    opened = runs.open_run(finished)
    assert [m.name for m in opened.members] == ["default_seed0", "E=4_seed0"]
    [group] = (finished / group_training.GROUPS).iterdir()
    exact = runs.networks(runs.open_run(group), 2)
    small.assert_close(runs.networks(opened).params, exact.params, 1e-2)
    with pytest.raises(ConfigError, match=r"train\.iterations"):  # nothing would train longer
        hyperparameter_sweep.run(sweep({"train.iterations": 3}), finished)
    trained, fresh = runs.networks(opened).params, runs.networks(opened, 0).params
    assert not jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-2), trained, fresh))


@pytest.mark.usefixtures("undrawn")
def test_two_shares_make_the_whole(finished: Path, tmp_path: Path) -> None:
    shares = [tmp_path / "one", tmp_path / "two"]
    for number, share in enumerate(shares, 1):
        hyperparameter_sweep.run(sweep({"execution.shard": f"{number}/2"}), share)
        assert not (share / workdir.RESULTS).exists()
    with pytest.raises(ConfigError, match=r"lacks 1 of 2 runs \("):
        merge.merge(shares[:1], tmp_path / "half")
    with pytest.raises(ConfigError, match="name each share once"):
        merge.merge([shares[0], shares[0]], tmp_path / "twice")
    whole = calibrated(tmp_path / "whole", sweep(), hyperparameter_sweep)
    merge.merge(shares, whole)
    assert rows_of(whole) == rows_of(finished)
    assert timeless(workdir.read_results(whole)) == timeless(workdir.read_results(finished))
    tables = [re.findall(r"<tbody>.*?</tbody>", (d / "report.html").read_text(), re.DOTALL)
              for d in (whole, finished)]  # fmt: skip
    programs = next(i for i, table in enumerate(tables[1]) if "I2_E8" in table)
    assert len(tables[0]) == len(tables[1]) > 5
    for i, (ours, theirs) in enumerate(zip(*tables, strict=True)):
        assert i == programs or "execution.shard" in ours or ours == theirs
    # The whole directory is a finished study: the command does nothing more.
    before = (whole / workdir.METRICS).read_bytes()
    hyperparameter_sweep.run(sweep(), whole)
    assert (whole / workdir.METRICS).read_bytes() == before


@pytest.mark.slow
def test_a_sweep_goes_on_where_it_was_stopped(finished: Path, tmp_path: Path) -> None:
    directory = calibrated(tmp_path / "stopped", sweep(), hyperparameter_sweep)
    with pytest.raises(Stopped):
        hyperparameter_sweep.run(sweep({"execution.max_minutes": 1e-9}), directory)
    [group] = (directory / group_training.GROUPS).iterdir()
    assert (group / "checkpoints" / "1").exists()
    hyperparameter_sweep.run(sweep(), directory)
    assert rows_of(directory) == rows_of(finished)
    assert (
        timeless(workdir.read_results(directory))["tournaments"]
        == timeless(workdir.read_results(finished))["tournaments"]
    )


@pytest.mark.slow
def test_a_failed_setting_is_left_out_and_tried_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = calibrated(tmp_path / "failing", sweep(), hyperparameter_sweep)
    check = metrics.refuse_nan

    def fails(rows: Any, saved: int) -> None:
        if any(r["run"] == "E=4_seed0" and r["iteration"] == 2 for r in rows):
            raise FloatingPointError("loss/policy of run E=4_seed0 is nan")
        check(rows, saved)

    with monkeypatch.context() as broken:
        broken.setattr(metrics, "refuse_nan", fails)
        with pytest.raises(
            FloatingPointError, match=r"1 runs failed .*\(E=4_seed0; .*retry_failed"
        ):
            hyperparameter_sweep.run(sweep(), directory)
    results = workdir.read_results(directory)
    assert list(results["failed"]) == ["E=4_seed0"]
    assert "E=4_seed0" not in {p["name"] for p in results["sweep"]["players"]}
    assert "E=4_seed0 failed: " in (directory / "report.html").read_text()
    with pytest.raises(FloatingPointError, match="1 runs failed"):  # not tried unless asked for
        hyperparameter_sweep.run(sweep(), directory)
    hyperparameter_sweep.run(sweep({"execution.retry_failed": True}), directory)
    assert workdir.read_results(directory)["failed"] == {}
    assert rows_of(directory) == rows_of(finished)


def test_iterations_done_again_are_in_the_studys_rows_once(tmp_path: Path) -> None:
    group = tmp_path / group_training.GROUPS / "one"
    group.mkdir(parents=True)
    files.write_json(group / workdir.MEMBERS, [{"name": "a"}])
    both = [{"run": run, "iteration": i} for i in (1, 2, 3) for run in "ab"]
    files.append_rows(tmp_path / workdir.METRICS, both)
    files.append_rows(group / workdir.METRICS, [both[0]])  # resumed from iteration 1
    config = small.small_config({"tracking.tensorboard": False})
    with Tracker(tmp_path, config, "test") as tracker:
        rows = group_training._Rows(group, tracker)
        rows.log([both[2]])
        rows.log([both[4]])
    found = files.read_rows(tmp_path / workdir.METRICS)
    assert sorted(found, key=lambda row: (row["iteration"], row["run"])) == both


def test_a_group_that_breaks_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(*_: Any, **__: Any) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\nand more")

    planned = setting_study.make_plan(sweep(), hyperparameter_sweep.make_settings(sweep()))
    monkeypatch.setattr(group_training.runner, "train", out_of_memory)

    class NoTracker:
        def log(self, rows: Any) -> None:
            raise AssertionError

    group_training.train_all(
        planned.groups,
        tmp_path,
        NoTracker(),
        study="test",
        retry=False,  # type: ignore[arg-type]
    )
    reasons = set(group_training.failed_in(tmp_path).values())
    assert reasons == {"RuntimeError: RESOURCE_EXHAUSTED: out of memory"}
    assert len(group_training.failed_in(tmp_path)) == 2
    # Of several processes the others would train another group: it ends.
    monkeypatch.setattr(group_training.jax, "process_count", lambda: 2)
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        group_training.train_all(
            planned.groups,
            tmp_path / "two",
            NoTracker(),
            study="test",
            retry=False,  # type: ignore[arg-type]
        )
    assert not group_training.failed_in(tmp_path / "two")


def test_a_correlation_study_has_everything(tmp_path: Path) -> None:
    config = correlation({"train.iterations": 7})  # not used: every setting has its own
    directory = calibrated(tmp_path / "correlation", config, hyperparameter_correlation)
    hyperparameter_correlation.run(config, directory)
    assert runs.open_run(directory).iterations == (0, 2)
    results = workdir.read_results(directory)
    assert len(results["settings"]) == 4
    assert len(results["runs"]) == 2
    own, same = results["tournaments"]
    for played in (own, same):
        others = [player["name"] for player in played["players"][4:]]
        assert others == ["untrained_seed0", "random"]
        assert played["games"] == 6 * 5
        assert np.isfinite(played["elo"]).all()
    assert own["results"] != same["results"]
    found = results["correlation"]
    played_elo = {played["name"]: played["elo"] for played in (own, same)}
    seconds = [p["seconds"] for p in found["players"]]
    assert all(min(s.values()) > 0 for s in seconds)
    for name in ("own_simulations", "same_simulations"):
        assert len(found[name]["claims"]) == 16
        slopes = found[name]["model"]["elo_for_each_doubling"]
        assert slopes["E"]["value"] is None  # it does not vary here
        assert np.isfinite(slopes["I"]["value"])
        assert slopes["I"]["low"] is None  # two trainings tell nothing of four letters
        assert found[name]["fronts"]["total"]
        gains = {(row["letter"], row["value"]): row["elo"] for row in found[name]["gains"]}
        assert set(gains) == {("I", 1), ("I", 2), ("E", 8), ("m", 4), ("m", 8), ("ep", 2)}
        assert gains["E", 8] == pytest.approx(np.mean(played_elo[name][:4]) - played_elo[name][4])
    assert missing_in(directory / "report.html", "hyperparameter_correlation") == set()
    report = (directory / "report.html").read_text()
    assert "Pareto fronts" in report
    assert "<title>I = 2, E = 8, m = 4, ep = 2: " in report


@pytest.mark.parametrize("preset", correlation_config.PRESETS)
def test_correlation_has_no_arena(preset: str) -> None:
    assert correlation_config.get_config(preset).arena.gate == "none"


def test_shares_of_different_studies_are_refused(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run directory"):
        merge.merge([tmp_path], tmp_path / "never")
    other = tmp_path / "other"
    shutil.copytree(finished, other)
    config = files.read_json(other / workdir.CONFIG)
    with pytest.raises(ConfigError, match="is a share: choose another directory"):
        merge.merge([other], other)
    files.write_json(other / workdir.CONFIG, config | {"train.iterations": 9})
    with pytest.raises(ConfigError, match=r"is another study than .*train\.iterations"):
        merge.merge([finished, other], tmp_path / "never")
    files.write_json(other / workdir.CONFIG, config | {"search.c_puct": 3.0})
    with pytest.raises(ConfigError, match=r"is another study than .*search\.c_puct: 1\.0 -> 3\.0"):
        merge.merge([finished, other], tmp_path / "never")
    assert not (tmp_path / "never").exists()
