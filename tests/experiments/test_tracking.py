"""What a whole study sends to W&B and TensorBoard is what its files and its report hold."""

import fnmatch
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import loss_ablation
from experiments.pages import reports
from experiments.shell.study import StudyRun
from experiments.shell.summary import summary_of
from jaxzero import files, workdir
from jaxzero.runs import learning
from jaxzero.tracking.summary import scalars
from tests.experiments.losses.test_loss_ablation import TARGETS, tiny
from tests.tracking.test_tracking import exit_codes, read_events, records_of, series

pytest.importorskip("wandb")
pytest.importorskip("tensorboardX")

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
RUNS = [f"{target}_seed0" for target in TARGETS]
POSITIONS = 12


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two iterations with all tracking on, its networks examined at any cost."""
    directory = tmp_path_factory.mktemp("tracked") / "tiny"
    changes = {
        "tracking.wandb": "offline",
        "tracking.tensorboard": True,
        "evaluation.learning_positions": POSITIONS,
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(learning, "SHARE", 1e6)
        loss_ablation.run(tiny(changes), directory)
    return directory


@pytest.fixture(scope="module")
def offline(finished: Path) -> dict[str, tuple[Path, list[dict[str, Any]]]]:
    """W&B's offline runs by name: folder and records."""
    found = {}
    for folder in (finished / "wandb").glob("offline-run-*"):
        records = records_of(folder)
        [run] = [record["run"] for record in records if record["type"] == "run"]
        found[run["display_name"]] = (folder, records)
    return found


def history_of(records: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """What was logged, by step."""
    found: dict[int, dict[str, Any]] = {}
    for record in records:
        if record["type"] == "history":
            item = record["history"]["item"]
            assert item["_step"] not in found
            found[item["_step"]] = item
    return found


def last_values(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The last value of everything."""
    found: dict[str, Any] = {}
    for record in records:
        if record["type"] == "summary":
            found |= record["summary"].get("update", {})
    return found


def documented(heading: str) -> list[str]:
    """The names in the first column of a section's table."""
    section = DOCUMENT.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return [name for cell in first_cells for name in re.findall(r"`(.*?)`", cell)]


def undocumented(names: set[str], listed: list[str]) -> list[str]:
    """Names that no documented one covers; CAPITALS and * stand for anything."""
    patterns = [re.sub("[A-Z]{2,}", "*", name) for name in listed]
    return sorted(n for n in names if not any(fnmatch.fnmatchcase(n, p) for p in patterns))


def missing(names: set[str], listed: list[str]) -> list[str]:
    """Documented names that do not occur."""
    return [name for name in listed if not fnmatch.filter(names, re.sub("[A-Z]{2,}", "*", name))]


def test_the_documented_metrics_are_those_that_are_logged(finished: Path) -> None:
    rows = files.read_rows(finished / workdir.METRICS)
    names = {name for row in rows for name in row} - {"iteration", "run", "target", "seed"}
    names = {re.sub(r"/\d+$", "", name) for name in names}
    assert undocumented(names, documented("Each iteration")) == []
    assert missing(names, documented("Each iteration")) == []
    untrained = {name for row in rows if row["iteration"] == 0 for name in row if "/" in name}
    assert {name.split("/")[0] for name in untrained} == {"loss"}


def test_the_documented_results_are_those_that_are_sent(finished: Path) -> None:
    sent = summary_of(json.loads((finished / workdir.RESULTS).read_text()), finished)
    of_runs = {name for numbers in sent.members.values() for name in numbers} | set(sent.curves)
    names = of_runs | set(sent.numbers) | set(sent.tables) | {"report"}
    names |= {f"figures/{path.stem}" for path in sent.figures}
    listed = [name for name in documented("At the end") if name != "SECTION/*"]
    sections = {name.split("/")[0] for name in listed}
    common = {name for name in names if name.split("/")[0] in sections}
    assert undocumented(common, listed) == []
    assert missing(common, listed) == []


def test_a_study_of_parts_sends_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "write", lambda directory: directory / "report.html")
    points = [{"iteration": i, "search": 0.5 + i, "new_share": None} for i in range(2)]
    arm = {"arm": "plain", "changes": {"c": 1.0}, "runs": [{"name": "seed0", "points": points}]}
    study = StudyRun("arms", tiny({"tracking.tensorboard": True}), tmp_path)
    results = {"study": "arms", "runs": [], "config": study.config.to_dict(), "arms": [arm]}
    study.conclude(results)
    assert json.loads((tmp_path / workdir.RESULTS).read_text())["arms"] == [arm]
    sent = read_events(tmp_path / "tensorboard" / "seed0")
    assert series(sent, "accuracy/search") == [(0, 0.5), (1, 1.5)]
    [table] = read_events(tmp_path / "tensorboard" / "study").Tensors("arms/text_summary")
    assert b"| plain | 1 |" in table.tensor_proto.string_val[0]


def test_wandb_holds_every_metric_of_every_iteration(
    finished: Path, offline: dict[str, tuple[Path, list[dict[str, Any]]]]
) -> None:
    assert offline.keys() == {*RUNS, "study-2"}
    rows = files.read_rows(finished / workdir.METRICS)
    for name in RUNS:
        logged = history_of(offline[name][1])
        own = {row["iteration"]: row for row in rows if row["run"] == name}
        assert logged.keys() == own.keys() == {0, 1, 2}
        for iteration, row in own.items():
            expected = scalars(row)
            assert len(expected) > (50 if iteration else 4)
            found = {k: v for k, v in logged[iteration].items() if k[0] != "_"}
            assert found == expected | {"iteration": iteration}
        values = [row["loss/value"] for row in own.values()]
        best = {"last": pytest.approx(values[-1]), "min": pytest.approx(min(values))}
        assert last_values(offline[name][1])["loss/value"] == best


def test_wandb_holds_every_result(
    finished: Path, offline: dict[str, tuple[Path, list[dict[str, Any]]]]
) -> None:
    results = json.loads((finished / workdir.RESULTS).read_text())
    folder, records = offline["study-2"]
    logged, summary = history_of(records), last_values(records)
    assert logged.keys() == {0, 1, 2}
    for name in RUNS:
        rated = results["training_elo"][name]
        for key, values in (("training", "elo"), ("training_stderr", "stderr")):
            curve = [logged[i][f"elo/{key}/{name}"] for i in range(3)]
            np.testing.assert_allclose(curve, rated[values], rtol=1e-12)
        rated = results["ladder"]["runs"][name]
        for i, iteration in enumerate(rated["iterations"]):
            for key, values in (("ladder", "elo"), ("ladder_stderr", "stderr")):
                assert logged[iteration][f"elo/{key}/{name}"] == pytest.approx(rated[values][i])
        for number, value in results["cost"]["runs"][name].items():
            assert last_values(offline[name][1])[f"cost/{number}"] == value
    last = dict(tables_of(folder, logged[2]))
    for played in results["tournaments"]:
        table = last[f"tournament/{played['name']}"]
        names = [player["name"] for player in played["players"]]
        assert [row["name"] for row in table] == names
        np.testing.assert_allclose([row["elo"] for row in table], played["elo"])
        np.testing.assert_allclose([row["stderr"] for row in table], played["stderr"])
        for row, result in zip(
            last[f"tournament/{played['name']}/results"], played["results"], strict=True
        ):
            first, second, *counts = row.values()
            assert [names.index(first), names.index(second), *counts] == result
        for name in RUNS:
            elo = played["elo"][names.index(name)]
            assert last_values(offline[name][1])[f"elo/{played['name']}"] == pytest.approx(elo)
        assert summary[f"tournament/{played['name']}/games"] == played["games"]
    assert last["ladder/anchors"] == results["ladder"]["anchors"]
    assert len(last["checks"]) == len(results["checks"])
    for row, check in zip(last["checks"], results["checks"], strict=True):
        for key, value in check.items():
            assert row[key] == pytest.approx(value, nan_ok=True)
    for phase, seconds in results["cost"]["phases"].items():
        assert summary[f"cost/phases/{phase}"] == pytest.approx(seconds)


def test_wandb_holds_every_figure_and_the_report_once(
    finished: Path, offline: dict[str, tuple[Path, list[dict[str, Any]]]]
) -> None:
    stems = {path.stem for path in (finished / "figures").iterdir()}
    assert len(stems) > 4
    folder, records = offline["study-2"]
    last = media_of(history_of(records)[2])
    images = {name for name, item in last.items() if item["_type"] == "image-file"}
    assert images == {f"figures/{stem}" for stem in stems}
    for stem in stems:
        sent = folder / "files" / last[f"figures/{stem}"]["path"]
        assert sent.read_bytes() == (finished / "figures" / f"{stem}.png").read_bytes()
    report = folder / "files" / last["report"]["path"]
    assert report.read_text() == (finished / "report.html").read_text()
    for name in RUNS:  # not in every run
        assert not list(offline[name][0].rglob("*.png"))


def test_kept_networks_are_examined_once_and_tracked(
    finished: Path, offline: dict[str, tuple[Path, list[dict[str, Any]]]]
) -> None:
    found = json.loads((finished / learning.FILE).read_text())
    assert (found["positions"], found["labels"], found["kept"]) == (POSITIONS, "exact", [0, 2])
    logged = history_of(offline["study-2"][1])
    for iteration, by_run in found["iterations"].items():
        assert list(by_run) == RUNS
        for name, metrics in by_run.items():
            assert 0 <= metrics["learning/target_mean"] <= 1
            assert 0 <= metrics["learning/target_divergence"] < math.inf
            for metric in ("learning/search", "learning/value_error"):
                assert logged[int(iteration)][f"{metric}/{name}"] == pytest.approx(metrics[metric])
    untrained = [found["iterations"]["0"][name] for name in RUNS]
    assert untrained[0] == untrained[1]  # equal seeds
    report = (finished / "report.html").read_text()
    assert "Is it learning?" in report
    assert "solved exactly" in report


def test_wandb_runs_are_grouped_and_described(
    finished: Path, offline: dict[str, tuple[Path, list[dict[str, Any]]]]
) -> None:
    environment = json.loads((finished / workdir.ENVIRONMENT).read_text())
    for name, (_, records) in offline.items():
        run = next(record["run"] for record in records if record["type"] == "run")
        assert run["run_group"] == "loss_ablation/tiny"
        assert run["job_type"] == ("training" if name in RUNS else "study")
        config = run["config"]["update"]
        assert config["environment"] == environment
        assert config["train.batch_size"] == 16
        if name in RUNS:
            assert config["target"] == config["train.loss"] == name.split("_")[0]
            assert config["seed"] == 0
        assert exit_codes(records) == [0]


def test_tensorboard_holds_the_same(finished: Path) -> None:
    rows = files.read_rows(finished / workdir.METRICS)
    results = json.loads((finished / workdir.RESULTS).read_text())
    for name in RUNS:
        events = read_events(finished / "tensorboard" / name)
        expected: dict[str, list[tuple[int, Any]]] = {}
        for row in (row for row in rows if row["run"] == name):
            for metric, value in scalars(row).items():
                point = (row["iteration"], pytest.approx(value, rel=1e-6))
                expected.setdefault(metric, []).append(point)
        elo = {
            "elo/training": results["training_elo"][name],
            "elo/ladder": results["ladder"]["runs"][name],
        }
        for metric, rated in elo.items():
            pairs = zip(rated["iterations"], rated["elo"], strict=True)
            expected[metric] = [(i, pytest.approx(v, rel=1e-6)) for i, v in pairs]
        for metric, points in expected.items():
            assert series(events, metric) == points, metric
    study = read_events(finished / "tensorboard" / "study")
    stems = {path.stem for path in (finished / "figures").iterdir()}
    assert set(study.Tags()["images"]) == {f"figures/{stem}" for stem in stems}
    texts = {tag.removesuffix("/text_summary") for tag in study.Tags()["tensors"]}
    assert texts >= {"checks", "tournament/final", "tournament/low"}


def tables_of(folder: Path, logged: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The tables of a step: name, rows by column."""
    for name, item in media_of(logged).items():
        if item["_type"] == "table-file":
            stored = json.loads((folder / "files" / item["path"]).read_text())
            yield name, [dict(zip(stored["columns"], row, strict=True)) for row in stored["data"]]


def media_of(logged: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The media of a step; W&B flattens `{name: {key: value}}` to `name.key`."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in logged.items():
        name, _, part = key.rpartition(".")
        if name:
            found.setdefault(name, {})[part] = value
    return found
