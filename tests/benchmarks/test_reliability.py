"""The campaign's generators make what they say, and its checks see what is wrong."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.reliability import commands, configs, disk, kills, mutations, page, pairs, studies
from benchmarks.reliability.mutations import Case
from benchmarks.reliability.tally import Step, Tally
from experiments import loss_ablation
from experiments.shell import cli
from jaxzero import files, workdir
from jaxzero.runs.checkpoints import DIGEST
from jaxzero.settings.config import ConfigError
from tests.saved_runs import save_run


def asked(**changes: Any) -> Case:
    return Case("loss_ablation", "quick", (), {k.replace("__", "."): v for k, v in changes.items()})


def test_random_settings_are_refused_in_one_line_or_accepted() -> None:
    found = [configs.check(mutations.case(number)) for number in range(24)]
    assert {outcome.kind for outcome in found} == {"refused", "accepted"}, found
    assert mutations.case(7) == mutations.case(7)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        # seen in random settings: a section in place of a key, a value of several lines
        (asked(network={"epochs": 2}), "unknown key config.network: "),
        (asked(selfplay__share={"a": 1}), "config.selfplay.share={'a': 1}: give none, ply, cache"),
        (
            Case("hyperparameter_correlation", "quick", ("--config.execution.devices=999",), {}),
            "config.execution.devices=999: this machine shows",
        ),
        (asked(switches__keep_tree={"a": 1}), "config.switches.keep_tree=a: 1 : give True or"),
        (
            Case("recipe", "quick", ("--config.game=gobang_5x5",), {}),
            "config.game='gobang_5x5': gobang_5x5 has no solver",
        ),
    ],
)
def test_settings_that_once_went_wrong(case: Case, said: str) -> None:
    found = configs.check(case)
    assert (found.kind, said in found.said) == ("refused", True), found


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("config.x=1:\nno"), "not one line"),
        (ConfigError("no"), "names no key"),
        (KeyError("name"), "KeyError"),
    ],
)
def test_the_check_sees_what_is_wrong(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def validate(_: Any) -> None:
        raise error

    monkeypatch.setattr(loss_ablation, "validate", validate)
    found = configs.check(asked(seed=1))
    assert (found.kind, said in found.said) == ("failed", True), found


def test_counts_are_resumed_and_shown(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "counts.json")
    tally.add("configs", 0, Step({"cases": 1, "refused": 1}), 1.0)
    tally.write()
    tally = Tally(tmp_path / "counts.json")
    assert (tally.next("configs"), tally.count("configs", "cases")) == (1, 1)
    tally.add("configs", 1, Step({"cases": 1, "failed": 1}, ("a traceback",)), 1.0)
    assert tally.rows["configs"]["failures"][0]["said"] == ["a traceback"]
    shown = page.fill("<!-- counts -->\n<!-- end -->", tally.rows)
    assert "| configs | 2 cases, 1 refused, 1 failed | 1 |" in shown
    assert page.fill(shown, tally.rows) == shown
    for number in tally.forget_failures("configs"):
        tally.add("configs", number, Step({"cases": 1, "refused": 1}), 1.0)
    row = tally.rows["configs"]
    assert (row["next"], row["counts"], row["failures"]) == (2, {"cases": 2, "refused": 2}, [])


def run_directory(folder: Path, loss: float, *, rows: int, saved: int) -> Path:
    """What a study leaves, in little."""
    (folder / "arm" / "checkpoints" / str(saved)).mkdir(parents=True)
    (folder / "arm" / "checkpoints" / str(saved) / DIGEST).touch()
    row = {"loss": loss, "seconds/all": time.time()}
    lines = "".join(json.dumps({"iteration": i} | row) + "\n" for i in range(rows))
    (folder / "arm" / workdir.METRICS).write_text(lines)
    files.write_json(folder / workdir.RESULTS, {"loss": loss, "wall_seconds": time.time()})
    return folder


def test_what_a_kill_may_cost(tmp_path: Path) -> None:
    whole = run_directory(tmp_path / "whole", 1.0, rows=4, saved=3)
    same = run_directory(tmp_path / "same", 1.0, rows=4, saved=2)
    assert studies.differing(whole, same) is None
    assert studies.lost(same) is None
    other = run_directory(tmp_path / "other", 1.5, rows=4, saved=1)
    assert "metrics.jsonl is not that" in str(studies.differing(whole, other))
    assert "iteration 3 was done, 1 is saved" in str(studies.lost(other))
    (other / "arm" / "done.json").touch()  # a group of a hyper-parameter study
    assert studies.lost(other) is None
    (same / workdir.RESULTS).unlink()
    assert "results.json is not that" in str(studies.differing(whole, same))


def test_every_second_iteration_is_saved(tmp_path: Path) -> None:
    run = run_directory(tmp_path / "run", 1.0, rows=4, saved=1)
    assert studies.lost(run, every=2) is None
    assert "iteration 3 was done, 1 is saved" in str(studies.lost(run, every=1))
    assert "execution.checkpoint_every=2" in studies._words("arms", every=2)


def test_games_and_networks_are_compared_bit_for_bit(tmp_path: Path) -> None:
    def case(name: str, number: float, *, iterations: tuple[int, ...] = (1,)) -> Path:
        run = save_run(tmp_path / name / "arm", iterations=iterations)
        files.write_arrays(run / "games" / "final.npz", {"actions": np.array([number, np.nan])})
        files.write_arrays(run / "other.npz", {"seconds": np.array(time.time())})
        return tmp_path / name

    whole = case("whole", 0.0)
    assert studies.differing(whole, case("same", 0.0)) is None
    other = case("other", -0.0)
    assert "games/final.npz: actions is not that" in str(studies.differing(whole, other))
    (other / "arm" / "games" / "final.npz").unlink()
    assert "final.npz is missing" in str(studies.differing(whole, other))
    longer = case("longer", 0.0, iterations=(1, 2))
    assert "arm: iteration 1 " in str(studies.differing(whole, longer))
    changed = save_run(tmp_path / "changed" / "arm", iterations=(2,))
    newest = longer / "arm" / "snapshots"
    shutil.rmtree(newest)
    shutil.copytree(changed / "snapshots" / "2", newest / "1")
    said = str(studies.differing(whole, longer))
    assert "arm: iteration 1 " in said
    assert said.endswith("is not that of the study that was left alone")


def test_what_a_killed_command_may_leave(tmp_path: Path) -> None:
    def case(name: str, content: str) -> Path:
        (tmp_path / name / "run").mkdir(parents=True)
        page = f"{content}{tmp_path / name} 0.123456789012, {time.time()} s, abcdef123456+"
        (tmp_path / name / "run" / "report.html").write_text(page)
        files.write_json(tmp_path / name / "run" / "ladder.json", {"wall_seconds": time.time()})
        return tmp_path / name

    whole, same, other = case("whole", "a"), case("same", "a"), case("other", "b")
    (same / "run" / ".report.html.7.part").touch()
    assert commands.differing(whole, same) is None
    assert "report.html is not that" in str(commands.differing(whole, other))
    (same / "run" / "ladder.json").unlink()
    assert "ladder.json is missing" in str(commands.differing(whole, same))


@pytest.mark.parametrize(
    ("words", "moment", "happened", "wrong"),
    [
        ("exec sleep 60", 0.1, "kill -9", None),
        ("exit 0", 60, "ended before", None),
        ("exit 2", 60, "ended before", "status 2"),
    ],
)
def test_a_kill_and_what_it_says(
    words: str, moment: float, happened: str, wrong: str | None
) -> None:
    process = subprocess.Popen(["sh", "-c", words])
    assert kills._disturb(process, moment, signal.SIGKILL) == (happened, wrong)


SAID = "error: another process of this run has ended or can't be reached (Gloo ...)\n"


@pytest.mark.parametrize(
    ("first", "second", "killed", "happened", "wrong"),
    [
        ("sleep 60", "sleep 0.4; exit 1", 0, ["first killed"], None),
        ("sleep 0.4; exit 1", "sleep 60", 1, ["second killed"], None),
        ("sleep 60", "sleep 0.4; kill -6 $$", 0, ["first killed", "other aborted by JAX"], None),
        ("sleep 0.4; exit 0", "sleep 60", 1, ["second killed", "other ended well"], None),
        ("sleep 60", "sleep 0.4; exit 0", 0, ["first killed"], "the other ended with 0"),
        ("sleep 0.4; kill -6 $$", "sleep 60", 1, ["second killed"], "ended with -6"),
        ("sleep 60", "sleep 60", 0, ["first killed"], "the other goes on after 1 s"),
        ("exit 0", "sleep 0.4", 0, ["ended before"], None),
        ("exit 3", "sleep 0.4", 0, ["ended before"], "ended with [3, 0]"),
    ],
)
def test_one_of_two_is_killed(
    first: str,
    second: str,
    killed: int,
    happened: list[str],
    wrong: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "_PATIENCE", 1)
    (tmp_path / "run.log").write_text(SAID)
    (tmp_path / "run").mkdir()
    files.append_rows(tmp_path / "run" / workdir.METRICS, [{"iteration": 0}, {"iteration": 1}])
    pair = tuple(subprocess.Popen(["bash", "-c", words]) for words in (first, second))
    found, said = pairs.disturb(pair, killed, 0.1, tmp_path / "run")
    pairs.end(pair)
    assert list(found) == happened
    assert said is None if wrong is None else wrong in str(said)


def test_the_second_may_end_well_when_training_is_over(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("playing the final tournaments...")
    pair = tuple(subprocess.Popen(["bash", "-c", w]) for w in ("sleep 60", "sleep 0.4; exit 0"))
    found = pairs.disturb(pair, 0, 0.1, tmp_path / "run")
    assert found == ({"first killed": 1, "other ended well": 1}, None)


@pytest.mark.parametrize("rows", [[], [{"iteration": 0}]])
def test_jax_ends_the_other_where_it_still_compiles(
    rows: list[dict[str, int]], tmp_path: Path
) -> None:
    (tmp_path / "run.log").touch()
    (tmp_path / "run").mkdir()
    files.append_rows(tmp_path / "run" / workdir.METRICS, rows)
    words = "sleep 0.4; kill -6 $$", "sleep 60"
    pair = tuple(subprocess.Popen(["bash", "-c", line]) for line in words)
    found = pairs.disturb(pair, 1, 0.1, tmp_path / "run")
    assert found == ({"second killed": 1, "other aborted by JAX": 1}, None)


@pytest.mark.parametrize("log", ["", SAID + SAID, f"Traceback (most recent call last):\n{SAID}"])
def test_the_other_of_two_says_one_line(log: str, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log)
    pair = tuple(subprocess.Popen(["bash", "-c", w]) for w in ("sleep 60", "sleep 0.4; exit 1"))
    found = pairs.disturb(pair, 0, 0.1, tmp_path / "run")
    assert found[0] == {"first killed": 1}
    assert "the other ended with 1" in str(found[1])


@pytest.mark.parametrize(
    ("status", "log", "fine"),
    [
        (2, "training: 1/5\rtraining: 2/5\nerror: no room\n", True),
        (1, "error: no room\n", False),
        (2, "Traceback (most recent call last):\nerror: no room\n", False),
        (2, "training: 1/5\n", False),
        (2, "error: no room\nerror: no room\n", False),
    ],
)
def test_a_study_that_can_not_go_on_says_so_in_a_line(
    status: int, log: str, fine: bool, tmp_path: Path
) -> None:
    (tmp_path / "run.log").write_text(log)
    assert (studies.refused(status, tmp_path / "run") is None) == fine


def test_a_file_system_that_a_killed_count_left_is_unmounted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "full_1"
    left.mkdir()
    mounted = [left]  # and so can't be removed

    def run(words: list[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        mounted.remove(left) if words[0] == "umount" else mounted.append(left)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(Path, "is_mount", lambda path: path in mounted)
    monkeypatch.setattr(studies, "remove", lambda path: path in mounted or path.rmdir())
    monkeypatch.setattr(disk.subprocess, "run", run)
    with disk._file_system(left, "size=1m"):
        assert mounted == [left]
    assert not mounted


def test_the_page_holds_the_committed_counts() -> None:
    text = page.PAGE.read_text()
    assert page.fill(text, files.read_json(page.COUNTS)) == text, (
        "run: python -m benchmarks.reliability --page"
    )


@pytest.mark.parametrize("study", studies.STUDIES)
def test_the_words_of_each_study_are_taken(study: str) -> None:
    words = [f"--config.{word}" for word in studies._words(study)]
    cli._parse([*words, "--workdir=x"], f"experiments/configs/{study}.py:quick")


@pytest.mark.parametrize("row", pairs.ROWS)
def test_the_words_of_each_pair_are_taken(row: str) -> None:
    words = [f"--config.{word}" for word in pairs._words(row)]
    cli._parse([*words, "--workdir=x"], "experiments/configs/loss_ablation.py:quick")
