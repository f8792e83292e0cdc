"""What recorded runs of many kinds say: joined where they go together, and never dropped silently.

Failed runs, lost losses, other ladders, other pools, runs of one name.
"""

import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import export
from experiments.claims import losses, measured
from experiments.losses import arms_effects, joint_figures, sentences
from experiments.results import boards, brief, command, data, document, findings, shown
from experiments.strength import absolute_section, papers_tournament
from jaxzero import runs
from jaxzero.runs.failures import FAILED
from jaxzero.settings.config import ConfigError
from tests.experiments.made_up_ratings import rated_study

MEANS = {"policy": 0.0, "value": 300.0, "sum": 20.0, "product": -10.0}


def change(place: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    results = json.loads((place / "results.json").read_text())
    edit(results)
    (place / "results.json").write_text(json.dumps(results))


def with_ladder(place: Path, gain: float, *, simulations: int = 25, anchor: float = 500.0) -> Path:
    """A study whose networks gain that much from iteration 0 to 2."""

    def add(results: dict[str, Any]) -> None:
        results["ladder"] = {
            "settings": {"simulations": simulations},
            "anchors": [{"name": "mcts_50", "elo": anchor}],
            "runs": {
                run["name"]: {"iterations": [0, 1, 2], "elo": [0.0, gain / 2, gain]}
                for run in results["runs"]
            },
        }

    change(place, add)
    return place


def test_ratings_of_different_pools_are_not_compared(tmp_path: Path) -> None:
    places = [
        rated_study(tmp_path / "one", {"value": 0.0}, sd=5.0),
        rated_study(tmp_path / "two", {"sum": 0.0}, sd=5.0),
    ]
    studies = measured.load(places)
    assert boards.rivalries(studies) == []
    shown_losses = {row[1] for row in joint_figures.ratings(studies).rows}
    assert any("value" in one for one in shown_losses)
    assert not any("sum" in one for one in shown_losses)  # of another pool than the first


def test_a_run_that_failed_stays_failed(tmp_path: Path) -> None:
    board = "connect_four_5x5"
    place = rated_study(tmp_path / "one", MEANS, board=board, without=["value_seed0"])
    (place / FAILED).write_text(json.dumps({"value_seed0": {"iteration": 2, "reason": "loss"}}))
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    kept = [row for row in rows if row["run"] != "value_seed0" or row["iteration"] < 2]
    (place / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    data.add([place], "laptop", tmp_path / "docs")
    _, recorded = shown.of_losses(data.read(tmp_path / "docs")["laptop"])
    [direct], [again] = measured.load([place]), recorded
    for statistic in ("final_loss", "training_elo_gain"):
        assert again.values(statistic, "value") == direct.values(statistic, "value")
        assert len(again.values(statistic, "value")[0]) == 7
    verdicts = [
        [(one.claim.id, one.verdict) for one in losses.decide([study]).decided]
        for study in (direct, again)
    ]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("missing", ["losses", "ratings"])
def test_pages_of_a_study_without_some_losses(tmp_path: Path, missing: str) -> None:
    few = {"value": 300.0, "sum": 20.0}
    lost = [f"policy_seed{seed}" for seed in range(8)] if missing == "ratings" else []
    place = rated_study(tmp_path / "one", MEANS if lost else few, without=lost)
    data.add([place], "laptop", tmp_path / "docs")
    groups = data.read(tmp_path / "docs")
    assert ": no runs" in document.pages(groups)[data.ROOT / "verdicts.md"]
    assert all("no runs" not in (one.corrected or "") for one in brief.rows(groups, []))


def test_ladders_that_were_played_otherwise_are_not_joined(tmp_path: Path) -> None:
    def strengths(**second: Any) -> boards.Strength:
        places = [
            with_ladder(rated_study(tmp_path / f"{second}a", MEANS, seeds=range(5)), 100.0),
            with_ladder(
                rated_study(tmp_path / f"{second}b", MEANS, seeds=range(5, 8)), 500.0, **second
            ),
        ]
        [strength] = boards.strengths(measured.load(places))
        return strength

    alone = strengths(simulations=400)
    np.testing.assert_array_equal(alone.above["sum"], np.full(5, 100.0))
    both = strengths(anchor=600.0)
    assert len(both.above["sum"]) == 8
    assert both.opponents["mcts_50"] == pytest.approx(550.0)  # of both ladders


def test_a_ladder_that_ends_early_says_nothing_of_the_end(tmp_path: Path) -> None:
    place = with_ladder(rated_study(tmp_path / "one", MEANS), 100.0)

    def cut(results: dict[str, Any]) -> None:
        curves = results["ladder"]["runs"]
        curves["sum_seed0"] = {"iterations": [0, 1], "elo": [0.0, -900.0]}  # failed then
        curves["sum_seed1"]["elo"][1] = None  # never met the others

    change(place, cut)
    studies = measured.load([place])
    [strength] = boards.strengths(studies)
    np.testing.assert_array_equal(strength.above["sum"], np.full(6, 100.0))
    found = {one.target: one.above[2] for one in boards.courses(studies)}
    assert [len(found[target]) for target in ("value", "sum")] == [8, 6]


def test_no_fall_is_measured_where_nothing_lies_between(tmp_path: Path) -> None:
    place = rated_study(tmp_path / "one", {"value": 0.0}, board="connect_four_5x5")
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    rows = [row | {"iteration": 5 * row["iteration"]} for row in rows]  # 0, 5, 10
    (place / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [study] = measured.load([place])
    assert study.values("policy_loss_fall_after_10", "value")[0] == {}
    assert len(study.values("policy_loss_fall", "value")[0]) == 8


def test_a_stage_without_positions_is_of_no_batch() -> None:
    nothing = {"weak": None, "strong": None}  # NaN in JSON
    part = {"contested": {"weak": 0.5, "strong": 0.25}, "contested_late": nothing}
    networks = [
        {"target": "sum", "iteration": 9, "network": part, "search": part, "value": {}}
        for _ in range(2)
    ]
    [record] = absolute_section.by_target(networks)
    assert record["search"]["contested"]["weak"] == {"mean": 0.5, "stderr": 0.0}
    assert np.isnan(record["search"]["contested_late"]["weak"]["mean"])


def test_recording_replaces_a_run_and_refuses_what_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "docs"
    one = with_ladder(rated_study(tmp_path / "easy" / "run", MEANS, seeds=range(4)), 100.0)
    (one / "ladder.json").write_text("{}")
    two = rated_study(tmp_path / "hard" / "run", MEANS, seeds=range(4, 8))
    with pytest.raises(ConfigError, match=r"called as .*easy/run is, rename one of the folders"):
        data.add([one, two], "laptop", root)
    data.add([one], "laptop", root)
    (one / "ladder.json").unlink()
    data.add([one], "laptop", root)
    assert not (root / "data" / "laptop" / "run" / "ladder.json.xz").exists()
    change(one, lambda results: results.update(command="run ./x --workdir=run"))
    change(one, lambda results: results["tournaments"][1].update(superiority=[[0.5]]))
    monkeypatch.chdir(one.parent)
    data.add([Path("run")], "laptop", root)
    kept = (root / "data" / "laptop" / "run" / "results.json.xz").read_bytes()
    results = json.loads(lzma.decompress(kept))
    assert results["command"] == "run ./x --workdir=run"
    assert results["tournaments"][1]["results"]
    assert not any("superiority" in played for played in results["tournaments"])

    other = rated_study(tmp_path / "b", MEANS, changes={"train.batch_size": 32}, seeds=range(4, 8))
    monkeypatch.setattr(data, "read", lambda: {"laptop": [data.Recorded("a", shown_of(one))]})
    with pytest.raises(ConfigError, match=r"train\.batch_size=32, but 64 in a"):
        command.main([f"--add={other}", "--group=laptop"])


def test_a_recorded_run_is_one_in_runs_and_its_metrics_keep_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, root = tmp_path / "search" / "depth", tmp_path / "docs"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text('{"search/depth_mean": 1.5}\n')
    monkeypatch.chdir(tmp_path)
    for given in (Path("search/depth"), run):
        (run / "results.json").write_text(f'{{"command": "--config=a --workdir={given}"}}')
        data.add([given], "laptop", root)
        kept = root / "data" / "laptop" / "depth"
        metrics, results = (
            lzma.decompress((kept / f"{name}.xz").read_bytes()).decode()
            for name in ("metrics.jsonl", "results.json")
        )
        assert json.loads(metrics) == {"search/depth_mean": 1.5}
        assert json.loads(results)["command"] == "--config=a --workdir=runs/depth"


def test_recording_again_needs_no_more_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, root = tmp_path / "run", tmp_path / "docs"
    run.mkdir()
    (run / "results.json").write_text("{}")
    data.add([run], "laptop", root)
    kept = root / "data" / "laptop" / "run" / "results.json.xz"
    monkeypatch.setattr(data, "MOST", kept.stat().st_size)
    data.add([run], "laptop", root)  # in place of what was recorded


def test_metrics_keep_the_digits_that_tell_a_float32_from_others(tmp_path: Path) -> None:
    run, single = tmp_path / "run", float(np.float32(1.6095912))
    row = {"iteration": 3, "run": "a", "single": single, "double": 1.6095912456512, "loss": np.nan}
    run.mkdir()
    (run / "results.json").write_text("{}")
    (run / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    data.add([run], "laptop", tmp_path / "docs")
    kept = tmp_path / "docs" / "data" / "laptop" / "run" / "metrics.jsonl.xz"
    text = lzma.decompress(kept.read_bytes()).decode()
    assert '"single": 1.6095912, "double": 1.6095912456512, "loss": NaN' in text
    again = json.loads(text)
    assert np.float32(again.pop("single")) == single
    assert again | {"loss": None} == {
        "iteration": 3,
        "run": "a",
        "double": row["double"],
        "loss": None,
    }


def shown_of(place: Path) -> Any:
    return measured.load([place])[0].studies[0]


def test_one_models_entries_are_no_seeds(tmp_path: Path) -> None:
    place = rated_study(tmp_path / "one", MEANS)
    change(place, lambda r: r.update(switches={"tournament_one_model_per_target": True}))
    study = shown_of(place)
    assert papers_tournament.ratings(study, all_models=True) == {}
    assert papers_tournament.ratings(study)
    assert sentences.headline(study) == ""
    assert not [text for text in sentences.sentences(study) if "Separated" in text]


def test_failures_of_every_directory_count(tmp_path: Path) -> None:
    one = rated_study(tmp_path / "one", MEANS, seeds=range(5))
    other = rated_study(tmp_path / "other", MEANS, seeds=range(5, 8))
    noted = {"value_seed5": {"iteration": 2, "reason": "loss/policy is nan"}}
    (other / "failed.json").write_text(json.dumps(noted))
    [group] = measured.load([one, other])
    assert joint_figures.merged(group).failed == {"value_seed5": 2}


def test_a_claim_has_the_runs_of_its_boards(tmp_path: Path) -> None:
    names = ("connect_four_5x5", "gobang_5x5")
    data.add([rated_study(tmp_path / n, MEANS, board=n) for n in names], "g", tmp_path / "docs")
    found = {one.id: one for one in findings.claims(data.read(tmp_path / "docs"))}
    assert [run.name for run in found["value_best"].runs] == ["connect_four_5x5"]
    assert [run.name for run in found["gobang_value_loss_low"].runs] == ["gobang_5x5"]


def test_recorded_searches_by_width_are_all_searches() -> None:
    """Of the two studies whose points got them afterwards, from their metrics."""
    groups = data.read()
    for group in ("clausen2021_extensions", "clausen2021_efficiency"):
        [run] = groups[group]
        points = [p for arm in run.study.results["arms"] for r in arm["runs"] for p in r["points"]]
        assert len(points) > 100
        for point in points:
            assert sum(point["searches_by_channels"].values()) == pytest.approx(point["searches"])


def test_recorded_networks_are_those_that_the_results_are_of(tmp_path: Path) -> None:
    """Of a run whose data ships, and its page says where they are."""
    kept = {g: [run for run in recorded if run.networks] for g, recorded in data.read().items()}
    assert any(kept.values())
    for group, recorded in kept.items():
        page = (data.ROOT / "recorded" / f"{group}.md").read_text()
        for run in recorded:
            assert run.networks is not None
            assert f"(../data/{group}/{run.name}/{data.NETWORKS})" in page
            export.read(run.networks)  # every digest
            shutil.unpack_archive(run.networks, tmp_path)
            opened = runs.open_run(tmp_path / run.name)
            assert {m.name for m in opened.members} == {
                r["name"] for r in run.study.results["runs"]
            }
            stored = json.loads((tmp_path / run.name / "results.json").read_text())
            for played, again in zip(
                run.study.results["tournaments"], stored["tournaments"], strict=True
            ):
                assert played["elo"] == again["elo"]


def test_an_arm_that_is_gone_is_compared_with_no_reference() -> None:
    strengths = {("retired", t): dict.fromkeys(range(5), 1.0) for t in ("value", "sum")}
    assert {one["kind"] for one in arms_effects.effects(strengths)} == {"loss"}


def test_what_changes_the_order_names_all_its_runs() -> None:
    groups = {"defects": data.read()["defects"]}
    [row] = brief.rows(groups, [])
    assert row.published is None  # the arm is corrected, but for two defects
    assert {run.name for run in row.runs} >= {"pair_only", "first"}  # the arm, its reference
    assert "gate" not in {run.name for run in row.runs}


def test_no_table_of_the_recorded_runs_is_empty() -> None:
    """One player of the curriculum alone has no claim that compares two."""
    pages = [*(data.ROOT / "recorded").glob("*.md")]
    assert len(pages) > 10
    lines = [line for path in pages for line in path.read_text().splitlines()]
    assert not [line for line in lines if line.startswith("|") and not line.strip("| ")]
