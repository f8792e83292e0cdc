"""A paper's plan, its parts run, stopped and resumed, its page: with parts that take no time."""

import ast
import functools
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

from experiments.connect_four import efficiency_report, extension_figures
from experiments.reproduce import command, forecast, pages, papers, parts, plan
from experiments.reproduce.papers import PAPERS, SCALES, Exhibit, Paper
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from tests.experiments.reproduce.fake_part import Fake
from tests.experiments.reproduce.fake_study import FLOOD, STEPS

ROOT = Path(__file__).resolve().parents[3]


def paper(*fakes: Fake, exhibits: tuple[Exhibit, ...] = ()) -> Paper:
    return Paper("000", "fake2020", "A paper", fakes, exhibits)


def states(made: Paper, folder: Path) -> dict[str, str]:
    return {part.name: parts.state_of(part, folder).state for part in made.parts}


def begun(folder: Path, name: str) -> int:
    """How often a part was started."""
    return len((folder / name / "begun").read_text())


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


# ---- what the papers have


@pytest.mark.parametrize("made", PAPERS, ids=lambda made: made.number)
def test_every_part_has_settings_at_every_scale(made: Paper) -> None:
    assert len({part.name for part in made.parts}) == len(made.parts)
    for scale in SCALES:
        for part in made.parts:
            config = forecast.settings(part, scale)
            assert config.preset == scale + part.suffix * (part.study == papers.CURRICULUM)
            assert config.semantics == part.semantics
            if part.study == papers.LOSSES:
                assert config.game == part.about
            if scale != "quick":
                assert config.study.seeds >= 5


def test_papers_are_named_by_number_and_by_authors() -> None:
    assert papers.find("001") is papers.find("wang2019")
    with pytest.raises(ConfigError, match="PAPER='wang201': did you mean 'wang201"):
        papers.find("wang201")


def test_exhibits_name_studies_and_boards_of_their_paper() -> None:
    for made in PAPERS:
        studies = {part.study for part in made.parts} | {""}
        boards = {part.about for part in made.parts} | {""}
        for exhibit in made.exhibits:
            assert exhibit.study in studies
            assert exhibit.about in boards
            assert bool(exhibit.study) != bool(exhibit.note)
            assert bool(exhibit.plates or exhibit.tables) == bool(exhibit.study)


def test_tables_that_exhibits_ask_for_have_such_titles() -> None:
    words = set()
    for path in Path(papers.__file__).parents[1].rglob("*.py"):
        if path.parent.name != "reproduce":
            nodes = ast.walk(ast.parse(path.read_text()))
            words |= {n.value for n in nodes if isinstance(n, ast.Constant) and n.value}
    titles = tuple(word for word in words if isinstance(word, str))
    for exhibit in (one for made in PAPERS for one in made.exhibits):
        for asked in exhibit.tables:
            assert any(title.startswith(asked) for title in titles), asked


def test_the_exhibits_of_paper_002_are_figures_of_its_reports() -> None:
    drawn = {"cycle"} | {f"efficiency_{name}" for name, *_ in efficiency_report.FIGURES}
    drawn |= {f"extensions_{one.name}" for one in extension_figures.FIGURES}
    named = {plate for one in papers.find("002").exhibits for plate in one.plates}
    assert named <= drawn
    numbers = [int(number) for one in papers.find("002").exhibits
               for number in re.findall(r"Fig\. (\d+)", one.label)]  # fmt: skip
    assert numbers == list(range(1, 14))


# ---- the plan


def test_only_takes_parts_by_any_of_their_words() -> None:
    made = papers.find("003")
    own = plan.chosen(made, ["othello_6x6", "hyperparameter_sweep"])
    assert [part.name for part in own] == [
        "hyperparameter_sweep.corrected",
        "loss_ablation.othello_6x6.corrected",
        "loss_ablation.othello_6x6.published",
    ]
    assert len(plan.chosen(made, ["*gobang*published"])) == 2
    assert plan.chosen(made, []) == made.parts
    with pytest.raises(ConfigError, match=r"--only=othelo_6x6: .*did you mean 'othello_6x6'"):
        plan.chosen(made, ["othelo_6x6"])


def test_shares_are_disjoint_whole_and_even() -> None:
    fakes = [Fake("fake", f"part{i}") for i in range(9)]
    hours = {part: 0.5 + i for i, part in enumerate(fakes)}
    shares = [plan.share(fakes, hours, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(p.name for one in shares for p in one) == [p.name for p in fakes]
    loads = [sum(hours[part] for part in one) for one in shares]
    assert max(loads) - min(loads) <= 3
    assert shares == [plan.share(fakes, hours, f"{i}/3") for i in (1, 2, 3)]
    with pytest.raises(ConfigError, match="--shard='4/3'"):
        plan.share(fakes, hours, "4/3")


def test_the_plan_forecasts_and_says_where_it_is_cut(tmp_path: Path) -> None:
    machine = Hardware("cpu", "a laptop", 1, None)
    made = plan.make(papers.find("001"), "quick", ["othello_5x5"], "1/1", tmp_path, machine)
    assert [one.part.semantics for one in made] == ["corrected", "published"]
    assert all(0 < one.forecast.hours < 1 and one.forecast.runs == 8 for one in made)
    assert all(one.memory and one.memory > 1e6 for one in made)
    first, second = (60 * one.forecast.hours for one in made)
    for minutes, wanted in {
        first + second / 2: ["not begun", "cut here"],
        first / 2: ["cut here", "not reached"],
        0: ["not begun", "not begun"],
    }.items():
        assert [row[1] for row in plan.shown(made, minutes).rows] == wanted
    larger = forecast.of(made[0].part, "paper", "cpu")
    assert larger.hours > 100 * made[0].forecast.hours
    assert forecast.of(made[0].part, "paper", "gpu").hours < larger.hours / 10
    one, two, four = (forecast.of(made[0].part, "paper", "cpu", n).hours for n in (1, 2, 4))
    assert two == larger.hours
    assert one == pytest.approx(2 * two, rel=1e-3)
    assert four == pytest.approx(two / 2, rel=1e-3)
    assert forecast.of(made[0].part, "paper", "cpu", 999).hours > two / 999  # 32 runs keep 32 busy


@pytest.mark.parametrize(
    "column", [pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3)] + [1]
)
def test_the_documented_hours_are_the_forecast(column: int) -> None:
    scale, text = SCALES[column], (ROOT / "docs" / "reproduce.md").read_text()
    rows = re.findall(r"^\| `(00\d)` \|" + r" ([\d.,]+) \|" * 4 + "$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["000", "001", "002", "003", "004"]
    hours = functools.cache(
        lambda part: forecast.of(part, scale, ("cpu", "cpu", "gpu", "gpu")[column]).hours
    )
    for name, *documented in rows:
        total = sum(map(hours, papers.find(name).parts))
        said = float(documented[column].replace(",", ""))
        assert said == pytest.approx(total, rel=0.06, abs=0.06), name


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


def test_minutes_end_a_part_and_the_same_command_resumes(tmp_path: Path) -> None:
    made = paper(Fake("fake", "slow", pause=0.02), Fake("fake", "next"))
    assert parts.run(made.parts, "quick", tmp_path, 0.2 / 60) == 0
    assert states(made, tmp_path) == {"slow": "unfinished", "next": "not begun"}
    assert parts.run(made.parts, "quick", tmp_path, 0) == 0
    assert states(made, tmp_path) == {"slow": "finished", "next": "finished"}
    assert len((tmp_path / "slow" / "steps").read_text()) == STEPS


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
