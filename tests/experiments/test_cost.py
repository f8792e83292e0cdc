"""Cost: Equation 2 against sums written out, counted work, the clock's units, equal cost."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import cost
from experiments.costs import cost_model, cost_strength
from experiments.costs.clock import Calibration, Cost
from experiments.costs.cost_model import Job
from experiments.losses import cost_section as cost_page
from experiments.losses import report
from experiments.pages import page, study
from experiments.strength import ladder_figures
from jaxzero import files, runs, workdir
from jaxzero.runs import flops
from jaxzero.settings.config import ConfigError
from tests import small
from tests.saved_runs import save_run

JOB = Job(
    iterations=5,
    episodes=4,
    simulations=10,
    window=3,
    epochs=2,
    batch_size=7,
    arena_games=6,
    plies=9.0,
    images=2,
)


# ---- Equation 2


def test_equation_2_is_the_sum_written_out() -> None:
    selfplay = training = arena = 0
    for i in range(1, 6):
        for _ in range(4):  # games
            for _ in range(9):  # plies
                selfplay += 10
        examples = min(i, 3) * 4 * 9 * 2
        for _ in range(2):  # epochs
            training += examples // 7
        for _ in range(6):
            arena += 9 * 10
    assert cost_model.work(JOB) == Cost(selfplay, arena, training)
    found = cost_model.seconds(JOB, Cost(selfplay=2.0, arena=5.0, training=3.0))
    assert found == Cost(2 * selfplay, 5 * arena, 3 * training)
    assert found.total == 2 * selfplay + 5 * arena + 3 * training
    whole = cost_model.work(dataclasses.replace(JOB, batch_size=1000))
    assert whole.training == 5 * 2  # one minibatch in each epoch, however little there is
    ours = cost_model.our_seconds(JOB, Cost(selfplay=2.0, arena=5.0, training=3.0))
    assert ours == pytest.approx((2.2 * selfplay, 5.5 * arena, 3 * training, 0))  # m + 1 a move


def test_without_a_gate_there_is_no_arena() -> None:
    settings = {
        "train.iterations": 5, "selfplay.episodes": 4, "search.num_simulations": 10,
        "replay.window": 3, "train.epochs": 2, "train.batch_size": 7, "arena.games": 6,
    }  # fmt: skip
    assert cost_model.job(settings, plies=9.0, images=2) == JOB
    ungated = cost_model.job({**settings, "arena.gate": "none"}, plies=9.0, images=2)
    assert cost_model.work(ungated) == cost_model.work(JOB)._replace(arena=0)


def test_table_3_has_the_papers_rows() -> None:
    rows = cost_model.table_3()
    assert len(rows) == 25
    assert (rows[0].letter, rows[0].hours) == ("", 44.0)
    default = cost_model.work(rows[0].job)
    found = {(row.letter, row.value): row for row in rows}
    assert cost_model.work(found["I", 50].job).selfplay == default.selfplay / 2
    assert cost_model.work(found["m", 200].job).arena == 2 * default.arena
    assert cost_model.work(found["n", 20].job).arena == default.arena / 2
    assert cost_model.work(found["lr", 0.01].job) == default
    sensitive = {row.letter for row in rows if row.called == "time-sensitive"}
    acting = {row.letter for row in rows if row.letter and cost_model.work(row.job) != default}
    assert sensitive == acting  # the papers call sensitive what is in Equation 2


def test_the_fit_finds_the_seconds_that_made_the_hours() -> None:
    units = Cost(2e-3, 3e-3, 7e-3)
    made = [row._replace(hours=cost_model.hours(row.job, units)) for row in cost_model.table_3()]
    np.testing.assert_allclose(cost_model.fit(made), units, rtol=1e-6)
    fitted = cost_model.fit(cost_model.table_3())
    assert all(unit >= 0 for unit in fitted)
    default = cost_model.table_3()[0]
    assert cost_model.hours(default.job, fitted) == pytest.approx(44, rel=0.15)


# ---- counted work of a run


def row_of(run: str, number: int, *, evaluations: float, steps: float, seconds: float) -> Any:
    return {
        "run": run, "target": run.partition("_")[0], "seed": int(run[-1]),
        "iteration": number, "seconds": seconds, "selfplay/plies": 10.0,
        "count/selfplay_useful_evaluations": evaluations,
        "count/arena_useful_evaluations": evaluations / 2,
        "count/gradient_steps": steps, "arena/accepted": float(number == 2),
    }  # fmt: skip


UNITS = Cost(selfplay=0.01, training=0.1, arena=0.02, measuring=1.0)


def made_up_run(directory: Path, ladder: bool = True) -> tuple[runs.Run, list[dict[str, Any]]]:
    """Two losses, two seeds, three iterations; seed 1 costs twice as much."""
    save_run(directory, targets=("policy", "value"), seeds=(0, 1))
    run = runs.open_run(directory)
    rows = [
        row_of(m.name, i, evaluations=100.0 * (m.seed + 1), steps=10.0 * i, seconds=20.0 * i)
        for i in (1, 2, 3)
        for m in run.members
    ]
    files.append_rows(directory / workdir.METRICS, rows)
    if ladder:
        slope = {"policy": 50.0, "value": 100.0}
        curves = {
            m.name: {"iterations": [0, 1, 3], "elo": [0.0, slope[m.target], 3 * slope[m.target]],
                     "stderr": [9.0, 9.0, 9.0]}
            for m in run.members
        }  # fmt: skip
        told = {
            "runs": curves,
            "settings": {"games": 4, "simulations": None},
            "anchors": [{"name": "random", "elo": 0.0, "stderr": 0.0}],
            "games": 40,
            "distinct_games": 40,
        }
        files.write_json(directory / cost.ladder.FILE, told)
    return run, rows


TIMED = Calibration(UNITS, {"selfplay": 8, "arena": 8}, 4, 1, "one core")


def test_counted_work_times_unit_seconds(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    found = files.plain(cost.describe(run, rows, TIMED))
    first = found["runs"]["policy_seed0"]
    assert first["counts"] == {"selfplay": 300, "training": 60, "arena": 150, "measuring": 3}
    assert first["seconds"] == pytest.approx(15.0)
    assert first["phase_seconds"] == pytest.approx(
        {"selfplay": 3.0, "training": 6.0, "arena": 3.0, "measuring": 3.0}
    )
    assert first["evaluations"] == 450
    passes = 3 + 1  # losses are measured after the step
    forward = flops.forward(run.spec)
    assert first["flops"] == pytest.approx(forward * (450 + passes * 60 * 16))
    assert first["accepted"] == 1
    # iterations 2 and 3 of seeds 0 and 1, twice: 1 + 1 + steps + 1 and 2 + 2 + steps + 1
    expected = 2 * ((1 + 2 + 1 + 1) + (1 + 3 + 1 + 1) + (2 + 2 + 2 + 1) + (2 + 3 + 2 + 1))
    assert found["wall"]["predicted"][-1] == pytest.approx(expected)
    assert found["wall"]["measured"] == [0, 20, 40]
    assert found["wall"]["ratio"] == pytest.approx(expected / 40)
    # A second process began with iteration 3, and started for 60 seconds.
    later = [
        row | {"seconds": row["seconds"] + 60, "starting_seconds": 65.0}
        if row["iteration"] == 3
        else row | {"starting_seconds": 5.0}
        for row in rows
    ]
    assert cost.describe(run, later, TIMED)["wall"]["measured"].tolist() == [0, 20, 40]
    counted = found["equation_2"]["counted"]
    assert counted["training"] == pytest.approx(4 * 6.0)


def test_equal_cost_is_the_largest_that_all_reached(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    found = cost.describe(run, rows, TIMED)
    equal = found["equal_cost"]["evaluations"]
    assert equal["cost"] == 450  # of seed 0 after iteration 3; seed 1 is half way then
    by_target = {row["target"]: row for row in equal["targets"]}
    # seed 0: 3 iterations; seed 1: 1.5 iterations, between the networks of 1 and 3
    assert by_target["value"]["elo"] == pytest.approx((300 + 150) / 2)
    assert by_target["policy"]["elo"] == pytest.approx((150 + 75) / 2)
    [difference] = equal["differences"]
    assert (difference["plus"], difference["minus"]) == ("policy", "value")
    assert difference["elo"] == pytest.approx(-(150 + 75) / 2)
    assert np.isnan(difference["low"])  # two seeds
    assert difference["seeds"] == 2


COURSE = cost_strength.Course(
    "a", "sum", 0, np.array([0, 2]), np.array([100.0, 300.0]), np.array([10.0, 30.0]),
    np.zeros(2), {"flops": np.array([0.0, 40.0])},
)  # fmt: skip


def test_the_largest_error_that_is_shared_counts() -> None:
    shared = [18.0, 0.0, 0.0, 0.0, 0.0]
    alike = [COURSE._replace(seed=i, shared=np.array([0.0, x])) for i, x in enumerate(shared)]
    [row] = cost_strength.at_equal_cost(alike, "flops")["targets"]
    assert row["stderr"] == pytest.approx(math.hypot(math.hypot(24, 30, 30, 30, 30) / 5, 18))


def test_strength_between_kept_networks() -> None:
    assert cost_strength.strength_at(COURSE, "flops", 10.0) == (150.0, 15.0, 0.0)
    assert cost_strength.strength_at(COURSE, "flops", 40.0) == (300.0, 30.0, 0.0)
    alike = [COURSE._replace(target=t, seed=seed) for t in ("sum", "value") for seed in range(5)]
    equal = cost_strength.at_equal_cost(alike, "flops")
    errors = [row["stderr"] for row in (*equal["targets"], *equal["differences"])]
    assert errors == pytest.approx([30 / 5**0.5] * 2 + [30 * (2 / 5) ** 0.5])  # the ratings' own


def test_the_error_that_all_networks_share_is_in_no_difference_and_no_mean_makes_it_smaller() -> (
    None
):
    rated = {"iterations": [0, 2], "elo": [100, 300], "stderr": [10, 30], "shared_stderr": [0, 18]}
    runs = [{"name": f"{t}{s}", "target": t, "seed": s} for t in ("sum", "value") for s in range(5)]
    curves = {str(run["name"]): rated for run in runs}
    spent = {name: {"flops": np.array([0.0, 20.0, 40.0])} for name in curves}
    equal = cost_strength.at_equal_cost(cost_strength.courses(runs, curves, spent), "flops")
    errors = [row["stderr"] for row in (*equal["targets"], *equal["differences"])]
    assert errors == pytest.approx([math.hypot(24 / 5**0.5, 18)] * 2 + [24 * (2 / 5) ** 0.5])
    targets = {str(run["name"]): str(run["target"]) for run in runs}
    ladder = ladder_figures.groups_of({"runs": curves}, targets)
    assert ladder["sum"].error_of_mean(1) == pytest.approx(errors[0])


def test_a_loss_that_was_dearer_from_the_beginning_has_no_strength_at_equal_cost() -> None:
    ends = np.array([200.0]), np.array([10.0]), np.array([0.0])
    cheap, dear = (
        [
            cost_strength.Course(t, t, seed, np.array([2]), *ends, {"flops": np.array([cost])})
            for seed in range(5)
        ]
        for t, cost in (("sum", 100.0), ("value", 200.0))
    )
    empty = cheap[0]._replace(
        seed=9, iterations=np.array([]), elo=np.array([]), cost={"flops": np.array([])}
    )
    equal = files.plain(cost_strength.at_equal_cost([*cheap, *dear, empty], "flops"))
    assert equal["cost"] == 100.0
    assert [row["elo"] for row in equal["targets"]] == [200.0, None]
    [difference] = equal["differences"]
    assert (difference["elo"], difference["low"], difference["seeds"]) == (None, None, 0)
    assert cost_page._told(difference) == "\N{EN DASH}"
    phases = {"r": {"phase_seconds": dict.fromkeys(Cost._fields, 1.0)}}
    told = {"runs": phases, "wall": {"ratio": None}, "equal_cost": {"flops": equal}}
    assert "value        not recorded" in cost.summary(told)


def test_a_mean_begins_where_all_seeds_were_measured() -> None:
    courses = [
        {"cost": {"flops": x}, "elo": y}
        for x, y in (([0, 60], [0, 60]), ([20, 80], [40, 100]), ([], []))
    ]
    axes = Figure().subplots()
    cost_page._course_lines(axes, courses, "flops", "sum")
    mean = axes.lines[-1]
    assert list(mean.get_xdata()[[0, -1]]) == [20, 60]
    assert list(mean.get_ydata()[[0, -1]]) == pytest.approx([30, 70])
    cost_page._course_lines(axes, courses[2:], "flops", "sum")
    assert len(axes.lines) == 3


def test_a_network_beyond_the_metrics_is_left_out(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    short = [row for row in rows if row["iteration"] < 3]
    found = cost.describe(run, short, TIMED)
    assert [list(course["iterations"]) for course in found["courses"]] == [[0, 1]] * 4


def test_the_report_has_a_section_when_the_file_exists(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path)
    assert not cost_page.section_of(study.load(tmp_path)).tables
    files.write_json(tmp_path / cost.FILE, cost.describe(run, rows, TIMED))
    text = page.write(report.build(tmp_path), tmp_path).read_text()
    for title in ("Where the time goes", "Elo above random at equal cost", "Strength for its cost"):
        assert title in text
    assert {"cost.svg", "strength_cost.svg"} <= {p.name for p in (tmp_path / "figures").iterdir()}
    told = "cost.json ends at iteration 3, training at 4: experiments.cost measures it again."
    assert told not in study.load(tmp_path).missing
    more = [row | {"iteration": 4} for row in rows if row["iteration"] == 3]
    files.append_rows(tmp_path / workdir.METRICS, more)
    assert told in study.load(tmp_path).missing
    assert told.replace("cost", "ladder") in study.load(tmp_path).missing


def test_without_a_ladder_there_is_cost_but_no_strength(tmp_path: Path) -> None:
    run, rows = made_up_run(tmp_path, ladder=False)
    files.write_json(tmp_path / cost.FILE, cost.describe(run, rows, TIMED))
    section = cost_page.section_of(study.load(tmp_path))
    assert [plate.name for plate in section.plates] == ["cost"]
    assert not any("equal cost" in table.title for table in section.tables)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seconds=0", "{run}"], "--seconds=0"),
        (["--seconds=inf", "{run}"], "--seconds=inf"),
        (["nowhere"], "is no run directory"),
        (["{run}"], "no iteration is done"),
        (["pretrained:connect_four_5x5"], "ships, and results go into a run's directory"),
        (["--second=3", "{run}"], "did you mean --seconds"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    save_run(tmp_path)
    with pytest.raises(ConfigError, match=message) as caught:
        cost.main([word.format(run=tmp_path) for word in words])
    assert "\n" not in str(caught.value)


# ---- the command


def test_a_run_is_calibrated_from_its_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command on a run directory; what a clock says is only positive."""
    save_run(tmp_path, targets=("policy", "value"), iterations=(1, 2))
    run = runs.open_run(tmp_path)
    rows = [
        row_of(m.name, i, evaluations=100.0, steps=10.0, seconds=20.0 * i)
        for i in (1, 2)
        for m in run.members
    ]
    files.append_rows(tmp_path / workdir.METRICS, rows)
    cost.main([str(tmp_path), "--seconds=0.01"])
    found = json.loads((tmp_path / cost.FILE).read_text())
    timed = found["calibration"]
    assert all(seconds > 0 for seconds in timed["units"].values())
    assert timed["simulations"]["selfplay"] <= small.SETTINGS["search.num_simulations"]
    assert timed["minibatches"] >= 1
    assert found["wall"]["ratio"] > 0
    assert "ratio" in capsys.readouterr().out
