"""A paper's parts run, stopped and resumed, and its page: with parts that take no time."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.pages.page import Page, section
from experiments.pages.tables import Table
from experiments.reproduce import command, pages, papers, parts
from experiments.reproduce.papers import PAPERS, Exhibit, Paper
from jaxzero import files, workdir
from jaxzero.settings.config import ConfigError
from tests.experiments.reproduce.fake_part import Fake, paper
from tests.experiments.reproduce.fake_study import FLOOD, STEPS

ROOT = Path(__file__).resolve().parents[3]


def states(made: Paper, folder: Path) -> dict[str, str]:
    return {part.name: parts.state_of(part, folder).state for part in made.parts}


def begun(folder: Path, name: str) -> int:
    """How often a part was started."""
    return len((folder / name / "begun").read_text())


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


# ---- running


def test_parts_run_once_and_failures_do_not_stop_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = paper(Fake("fake", "one"), Fake("fake", "fails"), Fake("fake", "two"))
    assert parts.run(made.parts, "quick", tmp_path, 0) == 1
    assert states(made, tmp_path) == {"one": "finished", "fails": "failed", "two": "finished"}
    assert "fails failed (status 1): error: it is too hot" in capfd.readouterr().err
    assert "too hot" in (tmp_path / "fails.log").read_text()
    assert parts.run(made.parts, "quick", tmp_path, 0) == 1
    assert [begun(tmp_path, name) for name in ("one", "fails", "two")] == [1, 2, 1]
    assert "one: finished before" in capfd.readouterr().err
    (tmp_path / "one" / "results.json").unlink()
    assert parts.state_of(made.parts[0], tmp_path).state == "unfinished"


def test_what_failed_is_tried_again_with_the_minutes_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []

    def run_one(part: papers.Part, scale: str, folder: Path, more: list[str]) -> parts.State:
        given.append(more)
        return parts.State(parts.FAILED, 1, "again")

    monkeypatch.setattr(parts, "_run_one", run_one)
    sweep, losses = papers.Part(papers.SWEEP), papers.Part(papers.LOSSES)
    for part in (sweep, losses):
        note = parts.State(parts.FAILED, 1, "it is too hot")
        files.write_json(tmp_path / f"{part.name}.json", note._asdict())
    assert parts.run([sweep, losses], "quick", tmp_path, 0) == 1
    assert given == [["--config.execution.retry_failed=True"], []]
    stopped = parts.State(parts.STOPPED, 0)._asdict()  # as it tried again: some are left out still
    files.write_json(tmp_path / f"{sweep.name}.json", stopped)
    (tmp_path / sweep.name).mkdir()
    files.write_json(tmp_path / sweep.name / workdir.RESULTS, {"failed": {"a": "nan"}})
    assert parts.run([sweep], "quick", tmp_path, 0) == 1
    assert given[-1] == ["--config.execution.retry_failed=True"]
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    assert parts.run([losses], "quick", tmp_path, 1e-5) == 1
    assert given[-1] == ["--max-minutes=0.001"]  # 0 is no limit


def test_a_part_saves_and_ends_when_its_log_cannot_be_written(tmp_path: Path) -> None:
    part = Fake("fake", "talks", pause=0.02)
    (tmp_path / f"{part.name}.log").symlink_to("/dev/full")
    with pytest.raises(ConfigError, match=r"talks.log can't be written \(No space left"):
        parts.run([part, Fake("fake", "next")], "quick", tmp_path, 0)
    assert (tmp_path / part.name / "saved").exists()
    assert parts._running == {}
    assert parts.state_of(part, tmp_path).state == parts.STOPPED


def test_a_part_that_prints_much_as_it_saves_is_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`stop` is called by a signal's handler, so that nobody else reads what the part prints."""
    part = Fake("fake", "floods", pause=0.02)

    def interrupt() -> None:
        wait_for(tmp_path / part.name / "steps", 1)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_: parts.stop())
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        assert parts.run([part], "quick", tmp_path, 0) == 143
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert (tmp_path / part.name / "saved").exists()
    assert capfd.readouterr().err.count("saving") > FLOOD / 10


def test_a_part_that_another_process_has_ended_is_finished(tmp_path: Path) -> None:
    part = Fake("fake", "fails_beside_another", pause=0.02)

    def another() -> None:  # that holds the directory; ours is refused while it ends
        while not (tmp_path / part.name / "steps").exists():
            time.sleep(0.01)
        (tmp_path / part.name / "results.json").write_text("{}")
        finished = parts.State(parts.FINISHED, 0)._asdict()
        (tmp_path / f"{part.name}.json").write_text(json.dumps(finished))

    thread = threading.Thread(target=another)
    thread.start()
    assert parts.run([part], "quick", tmp_path, 0) == 0
    thread.join()
    assert parts.state_of(part, tmp_path).state == parts.FINISHED


def test_a_part_that_a_signal_ends_before_it_can_save_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -TERM $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    part = Fake("fake", "one")
    assert parts.run([part, Fake("fake", "two")], "quick", tmp_path / "runs", 0) == 143
    assert parts.state_of(part, tmp_path / "runs") == parts.State(parts.STOPPED, 143)


def test_minutes_end_a_part_and_the_same_command_resumes(tmp_path: Path) -> None:
    made = paper(Fake("fake", "slow", pause=0.02), Fake("fake", "next"))
    assert parts.run(made.parts, "quick", tmp_path, 0.2 / 60) == 0
    assert states(made, tmp_path) == {"slow": "unfinished", "next": "not begun"}
    assert parts.run(made.parts, "quick", tmp_path, 0) == 0
    assert states(made, tmp_path) == {"slow": "finished", "next": "finished"}
    assert len((tmp_path / "slow" / "steps").read_text()) == STEPS


def test_results_of_an_earlier_call_do_not_finish_a_part_that_ran_out_of_minutes(
    tmp_path: Path,
) -> None:
    made = paper(Fake("fake", "slow", pause=0.02))
    (tmp_path / "slow").mkdir()
    files.write_json(tmp_path / "slow" / workdir.RESULTS, {"failed": {"a": "nan"}})
    assert parts.run(made.parts, "quick", tmp_path, 0.2 / 60) == 0
    assert states(made, tmp_path) == {"slow": "unfinished"}
    assert parts.run(made.parts, "quick", tmp_path, 0) == 0
    assert states(made, tmp_path) == {"slow": "finished"}


DRIVER = """
import sys; from pathlib import Path
from experiments.reproduce import parts
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.fake_study import STEPS
made = [Fake("fake", name, pause=0.05) for name in sys.argv[2:]]
sys.exit(parts.run(made, "quick", Path(sys.argv[1]), 0))
"""


def start(folder: Path, *names: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(folder), *names], cwd=ROOT)


def wait_for(path: Path, size: int) -> None:
    while not (path.exists() and path.stat().st_size >= size):
        time.sleep(0.005)


EXHIBITS = (
    Exhibit("Fig. 2", "A later figure", "fake", ("curve",), about="two"),
    Exhibit("Fig. 1", "A curve", "fake", ("curve",), ("The papers' claims",), about="one"),
    Exhibit("Fig. 3", "Nobody's", note="No study of this program makes it."),
)


def test_stopped_three_times_it_ends_in_the_same_page(tmp_path: Path) -> None:
    made = paper(Fake("fake", "one"), Fake("fake", "two"), exhibits=EXHIBITS)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert parts.run(made.parts, "quick", whole / "quick", 0) == 0
    for part, steps, number, status in (
        ("one", 2, signal.SIGTERM, 143),
        ("one", 5, signal.SIGKILL, -9),
        ("two", 3, signal.SIGKILL, -9),
    ):
        process = start(killed / "quick", "one", "two")
        wait_for(killed / "quick" / part / "steps", steps)
        process.send_signal(number)
        assert process.wait() == status
        if part == "one":
            found = states(made, killed / "quick")
            assert found == {"one": "unfinished", "two": "not begun"}
    assert states(made, killed / "quick") == {"one": "finished", "two": "unfinished"}
    half = pages.write(made, "quick", killed).read_text()
    assert "1 part of 2 made" in half
    command = f"python -m experiments.reproduce 000 --scale=quick --workdir={killed} --only=two"
    assert f"Missing: two. Made by: {command}" in half
    assert parts.run(made.parts, "quick", killed / "quick", 0) == 0
    shown = [pages.write(made, "quick", root).read_text() for root in (whole, killed)]
    assert shown[0].replace(str(whole), "") == shown[1].replace(str(killed), "")
    assert "Missing" not in shown[0]


# ---- the page


def test_the_page_keeps_the_papers_order_and_counts_verdicts(tmp_path: Path) -> None:
    made = paper(Fake("fake", "one"), Fake("fake", "fails"), exhibits=EXHIBITS)
    parts.run(made.parts, "quick", tmp_path / "quick", 0)
    page = pages.write(made, "quick", tmp_path)
    html = page.read_text()
    titles = re.findall(r"<h2>(.*?)</h2>", html)
    assert titles == [
        "Summary", "Fig. 1: A curve", "Fig. 3: Nobody&#39;s", "Parts",
    ]  # fmt: skip
    assert "Claims: 1 undecided." in html
    assert "failed: error: it is too hot" in html
    assert 'id="p0p"' in html
    assert '<a href="one/report.html">one</a>' in html
    assert "1.5 min" in html


def test_a_claim_that_another_part_of_a_study_addresses_is_shown_once(tmp_path: Path) -> None:
    one, two = Fake("fake", "one"), Fake("fake", "two")
    rows = {
        one: [("Deep", "A (true)", "reproduced"), ("Deep", "A (false)", "undecided")],
        two: [("Deep", "A (true)", "not addressed"), ("Deep", "A (false)", "not addressed")],
    }
    nowhere = ("Wide", "B", "not addressed")

    def report(part: Fake) -> Page:
        headers = ("claim", "where", "verdict")
        shown = Table("The paper's claims", headers, (*rows[part], nowhere))
        return Page("Fake", "", [], [], [], [section("All", shown)])

    sections = [
        pages._section(
            paper(one, two),
            "quick",
            tmp_path,
            Exhibit("Fig. 1", "", "fake", tables=("The paper's claims",), about=part.about),
            {one: report(one), two: report(two)},
            None,
        )
        for part in (one, two)
    ]
    shown = [table.rows for made in sections for table in made.tables]
    assert shown == [(*rows[one], nowhere), (nowhere,)]
    assert pages.verdicts(sections) == {"reproduced": 1, "undecided": 1, "not addressed": 1}


def test_an_index_lists_the_pages_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = paper(Fake("fake", "one"), exhibits=EXHIBITS[1:])
    monkeypatch.setattr(pages, "PAPERS", (made, *PAPERS))
    parts.run(made.parts, "quick", tmp_path / "quick", 0)
    pages.write(made, "quick", tmp_path)
    html = pages.write_index(tmp_path).read_text()
    assert '<a href="quick/fake2020.html">A paper</a>' in html
    assert "Claims: 1 undecided." in html
    assert "wang2019" not in html
    (tmp_path / "quick" / "fake2020.json").unlink()  # a page without it is no page
    assert '<a href="quick/fake2020.html">' not in pages.write_index(tmp_path).read_text()
    assert f"python -m experiments.reproduce 001 --scale=quick --workdir={tmp_path}" in html


def test_the_command_writes_a_page_of_nothing_and_refuses(tmp_path: Path) -> None:
    words = [f"--workdir={tmp_path}"]
    with pytest.raises(ConfigError, match="--max-minutes=-1"):
        command.main(["001", "--max-minutes=-1", *words])
    for senseless in ("nan", "inf"):
        with pytest.raises(ConfigError, match=f"--max-minutes={senseless}"):
            command.main(["001", f"--max-minutes={senseless}", *words])
    with pytest.raises(ConfigError, match="--shard='3/2'"):
        command.main(["001", "--shard=3/2", *words])
    with pytest.raises(ConfigError, match="--only=othelo"):
        command.main(["001", "--only=othelo", *words])
    for flag in ("--plan", "--shard=1/2", "--only=othello_6x6", "--launcher=local", "--workers=2"):
        with pytest.raises(ConfigError, match=f"{flag}: --page runs and plans nothing"):
            command.main(["001", "--page", flag, *words])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match="invalid choice"):
        command.main(["001", "--scale=large", *words])
    command.main(["002", "--page", *words])
    html = (tmp_path / "quick" / "clausen2021.html").read_text()
    assert f"0 parts of {len(papers.find('002').parts)} made" in html
    exhibits = [f"{one.label}: {one.shows}" for one in papers.find("002").exhibits]
    titles = re.findall(r"<h2>(.*?)</h2>", html.replace("&#39;", "'"))
    assert titles == ["Summary", *exhibits, "Parts"]
    made = [one for one in papers.find("002").exhibits if one.study]
    assert html.count("Made by: python -m experiments.reproduce 002") == len(made)
