"""What the tables of cost show: hours beside the papers' and the seconds of each phase."""

from pathlib import Path

from experiments import cost
from experiments.losses import cost_section
from experiments.pages import study
from jaxzero import files
from jaxzero.runs import failures
from tests.experiments.test_cost import TIMED, made_up_run


def test_hours_stand_by_their_phase_and_over_the_papers_default() -> None:
    row = {"value": 1.0, "called": "", "ours": 5.0}
    rows = [
        row | {"letter": letter, "published": hours, "fitted": fitted}
        for letter, hours, fitted in (("", 44.0, 40.0), ("E", 88.0, 60.0))
    ]
    phases = {"selfplay": 1.0, "arena": 2.0, "training": 4.0}
    theirs = {"hours": phases, "published_hours": 44.0, "published_phases": phases, "table_3": rows}
    ours, table_3 = cost_section._papers({"game": "othello_6x6", "papers": theirs})
    shown = dict(zip(ours.headers, ours.rows[0], strict=True))
    hours = [shown[name] for name in ("self-play", "training", "arena", "all")]
    assert hours == ["1.00", "4.00", "2.00", "7.00"]
    assert table_3.rows[1][2:] == ("88.0", "2.00", "1.50", "5.00")


def test_the_table_of_phases_has_their_seconds(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    files.write_json(tmp_path / cost.FILE, cost.describe(run, rows, TIMED))
    table = cost_section.section_of(study.load(tmp_path)).tables[0]
    shown = dict(zip(table.headers, table.rows[0], strict=True))
    seconds = [shown[x] for x in ("self-play", "training", "arena", "measuring losses", "all")]
    assert seconds == ["4.5", "6.0", "4.5", "3.0", "18.0"]  # means of both seeds


def test_a_run_that_failed_is_no_cheap_one(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    files.write_json(tmp_path / failures.FAILED, {"policy_seed1": {"iteration": 2, "reason": "?"}})
    kept = [row for row in rows if row["run"] != "policy_seed1" or row["iteration"] < 2]
    files.write_json(tmp_path / cost.FILE, cost.describe(run, kept, TIMED))
    table = cost_section.section_of(study.load(tmp_path)).tables[0]
    shown = dict(zip(table.headers, table.rows[0], strict=True))
    assert [shown[x] for x in ("self-play", "all")] == ["3.0", "15.0"]  # seed 0's
