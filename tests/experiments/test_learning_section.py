"""What a report says of made-up curves of learning, and what of their data."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.pages import learning_curves, learning_section
from experiments.pages.learning_curves import Group
from jaxzero import files, workdir
from jaxzero.runs import failures, learning
from jaxzero.training.examination import PREFIX

AT = (0, 10, 20)
GOOD: dict[str, tuple[float, ...]] = {
    "network": (0.40, 0.60, 0.80),
    "search": (0.60, 0.80, 0.95),
    "target": (0.60, 0.80, 0.94),
    "value_error": (0.70, 0.50, 0.30),
    "constant_error": (0.50, 0.50, 0.50),
    "value_error_stderr": (0.02, 0.02, 0.02),
    "value_gain_stderr": (0.04, 0.04, 0.04),
    "distinct_games": (1.0, 0.9, 0.9),
    "distinct_positions": (0.8, 0.7, 0.6),
}


def sentences(name: str = "", **changes: tuple[float, ...]) -> str:
    means = {key: dict(zip(AT, v, strict=True)) for key, v in (GOOD | changes).items()}
    return " ".join(learning_section.sentences(Group(name, 150, means, np.zeros((0, 2)), ())))


def test_a_run_that_learns_is_said_to_learn_with_its_numbers() -> None:
    said = sentences()
    assert said.startswith("It learns: from iteration 0 to 20")
    for number in ("40.0", "80.0", "60.0", "95.0", "0.700", "0.300", "0.500"):
        assert number in said, number


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"search": (0.6, 0.7, 0.81)}, "Search does not improve on the network"),
        ({"target": (0.6, 0.7, 0.75)}, "The target that training receives does not improve"),
        ({"value_error": (0.7, 0.61, 0.6)}, "The value is worse than a constant"),
        ({"value_error": (0.7, 0.6, 0.55)}, "The value is not better beyond doubt than a constant"),
        ({"value_error": (0.7, 0.6, 0.45)}, "The value is not better beyond doubt than a constant"),
        ({"distinct_games": (1.0, 0.4, 0.9)}, "40.0 % of the games of iteration 10 are distinct"),
        ({"distinct_positions": (0.8, 0.7, 0.2)}, "of the positions of iteration 20 are distinct"),
        ({"search": (0.6, 0.98, 0.88)}, "the share with search was 98.0 % after iteration 10"),
        ({"value_error": (0.7, 0.3, 0.4)}, "The value has become worse after its best"),
        ({"network": (0.4, 0.42, 0.45)}, "The network alone has not improved beyond doubt"),
    ],
)
def test_what_is_wrong_is_said_alone(changes: dict[str, Any], complaint: str) -> None:
    assert complaint not in sentences()
    said = sentences(**changes).replace("\N{NO-BREAK SPACE}", " ")
    assert complaint in said
    assert "It learns" not in said
    assert said.count(". ") == 0  # one sentence


def test_a_value_that_is_too_sure_is_told_from_one_that_does_not_know() -> None:
    left = {"recalibrated_error": (0.5, 0.4, 0.35)}
    high, rising = (0.7, 0.6, 0.55), (0.7, 0.3, 0.4)
    assert sentences(**left, value_error=high).endswith(" Recalibrated it is 0.350.")
    assert sentences(**left, value_error=rising).endswith(" Recalibrated it is 0.400 and 0.350.")
    assert "Recalibrated" not in sentences(value_error=high)  # an older file


def test_noise_is_no_complaint() -> None:
    assert "It learns" in sentences(search=(0.6, 0.96, 0.95), value_error=(0.7, 0.26, 0.30))
    older = dict.fromkeys(("value_error_stderr", "value_gain_stderr"), (math.nan,) * 3)
    assert "It learns" in sentences(**older)
    assert "It learns" in sentences(**older, value_error=(0.7, 0.3, 0.4))  # nobody knows
    said = sentences(**older, value_error=(0.7, 0.6, 0.55))
    assert said.endswith("that of the best constant 0.500.")
    assert sentences("product").startswith("product: It learns")


def test_of_the_data_shares_and_passes() -> None:
    row = {
        "count/games": 20.0,
        "selfplay/distinct_games": 15.0,
        "selfplay/positions": 400.0,
        "selfplay/distinct_positions": 100.0,
        "replay/effective_share": 0.25,
        "count/gradient_steps": 50.0,
        "count/new_examples": 800.0,
    }
    found = learning_curves.novelty(row, batch_size=64)
    assert found == {
        "distinct_games": 0.75,
        "distinct_positions": 0.25,
        "effective_share": 0.25,
        "passes": 4.0,
    }
    assert learning_curves.novelty({"iteration": 0}, batch_size=64) == {}


def test_values_of_runs_are_compared_bin_by_bin_by_what_was_in_them(tmp_path: Path) -> None:
    write(tmp_path / "one", FOUND, ("sum",))
    found, contested = files.read_json(tmp_path / "one" / learning.FILE), (150, 120)
    last = found["iterations"]["20"]["sum_seed1"]
    last |= {f"{PREFIX}calibration_predicted": [0.1, 0.9], f"{PREFIX}calibration_exact": [0.3, 0.7]}
    last |= {f"{PREFIX}calibration_share": [0.25, 0.75]}
    runs = [("", tmp_path / "one", found | {"contested": n}) for n in contested]
    [group] = learning_curves.groups_of(runs)
    # The first run has everything in the first bin, at 0.5; each counts as often as positions do.
    np.testing.assert_allclose(group.bins[:, 0], [(0.5 + 0.25 * 0.1) / 1.25, 0.9])
    np.testing.assert_allclose(group.bins[:, 1], [(0.5 + 0.25 * 0.3) / 1.25, 0.7])
    assert group.contested == 120  # whose error is larger


def write(directory: Path, found: dict[str, Any], targets: tuple[str, ...]) -> None:
    """A run directory with two seeds of each target, equal but for 0.1 of the search."""
    directory.mkdir(parents=True)
    names = [(target, seed) for target in targets for seed in (0, 1)]
    files.write_json(directory / workdir.CONFIG, {"study": "s", "train.batch_size": 16})
    rows = [
        {"iteration": i, "run": f"{t}_seed{s}", "target": t, "seed": s}
        for t, s in names
        for i in AT
    ]
    files.append_rows(directory / workdir.METRICS, rows)
    bins = {f"{PREFIX}calibration_{k}": [0.5, None] for k in ("predicted", "exact")}
    made = {
        str(i): {
            f"{t}_seed{s}": bins
            | {f"{PREFIX}calibration_share": [1.0, 0.0]}
            | {PREFIX + key: v[k] + 0.1 * s * (key == "search") for key, v in GOOD.items()}
            for t, s in names
        }
        for k, i in enumerate(AT)
    }
    files.write_json(directory / learning.FILE, {"iterations": made} | found)


FOUND = {
    "positions": 200,
    "contested": 150,
    "plies": [5, 21],
    "labels": "exact",
    "simulations": 64,
    "c_puct": 1.5,
    "discount": 0.98,
    "kept": [*AT, 30],
}


def test_runs_are_shown_by_loss_or_together_where_they_are_too_many(tmp_path: Path) -> None:
    write(tmp_path / "one", FOUND, ("sum", "value"))
    section = learning_section.section_of(tmp_path / "one")
    assert [group[:11] for group in section.text[:2]] == ["sum: It lea", "value: It l"]
    assert "1 kept network" in section.text[2]  # was left out
    assert "a discount of 0.98 a ply" in section.text[2]
    numbers, stages = section.tables
    assert len(numbers.rows) == 2 * len(AT)
    assert numbers.rows[0][:4] == ("sum", "0", "0.400", "0.650")
    assert len(stages.rows) == 2
    for name in "abcd":
        write(tmp_path / "four" / name, FOUND, ("sum", "value"))
    four = learning_section.section_of(tmp_path / "four")
    assert [row[0] for row in four.tables[1].rows] == ["a", "b", "c", "d"]


def test_failed_runs_leave_nothing_out(tmp_path: Path) -> None:
    write(tmp_path / "one", FOUND, ("sum",))
    whole = learning_section.section_of(tmp_path / "one").tables[0].rows
    found = files.read_json(tmp_path / "one" / learning.FILE)
    for i in ("10", "20"):
        del found["iterations"][i]["sum_seed1"]
    files.write_json(tmp_path / "one" / learning.FILE, found)
    failure = {"sum_seed1": {"iteration": 5, "reason": "losses are not finite"}}
    files.write_json(tmp_path / "one" / failures.FAILED, failure)
    section = learning_section.section_of(tmp_path / "one")
    assert [row[1] for row in section.tables[0].rows] == [row[1] for row in whole]
    assert "Only some of the runs" not in " ".join(section.text)


def test_iterations_that_some_runs_did_not_reach_are_left_out(tmp_path: Path) -> None:
    """Else the last mean would be that of other runs than the first."""
    write(tmp_path / "one", FOUND, ("sum",))
    found = files.read_json(tmp_path / "one" / learning.FILE)
    del found["iterations"]["20"]["sum_seed1"]
    files.write_json(tmp_path / "one" / learning.FILE, found)
    section = learning_section.section_of(tmp_path / "one")
    assert section.text[0].startswith("The value is not better beyond doubt than a constant: after")
    assert "Only some of the runs have networks of iteration 20: left out." in section.text[1]
    assert [row[1] for row in section.tables[0].rows] == ["0", "10"]


def test_without_contested_positions_no_move_is_judged() -> None:
    means = {key: dict(zip(AT, values, strict=True)) for key, values in GOOD.items()}
    for name in ("network", "search", "target"):
        means[name] = dict.fromkeys(AT, math.nan)
    said = learning_section.sentences(Group("", 0, means, np.zeros((0, 2)), ()))
    assert said == ["No position is contested: moves are not judged."]


def test_what_was_not_examined_says_why(tmp_path: Path) -> None:
    assert learning_section.section_of(tmp_path).text == ()
    files.write_json(tmp_path / learning.FILE, {"skipped": "The networks were not examined."})
    assert learning_section.section_of(tmp_path).text == ("The networks were not examined.",)
    assert json.loads((tmp_path / learning.FILE).read_text()).keys() == {"skipped"}


def test_trainings_with_other_positions_are_told_by_their_range() -> None:
    of_one = "a search of 9 simulations with the network of sum_seed0 after iteration 5"
    few = FOUND | {"positions": 60, "contested": 20, "plies": [3, 9], "labels": of_one}
    asked = [one | {"iterations": dict.fromkeys(AT)} for one in (few, FOUND | {"labels": of_one})]
    alone = learning_section._asked(asked[:1], 1)
    assert alone.startswith("60 positions of random games, 3 to 9 plies from the start, not solved")
    assert f"but judged by {of_one}: " in alone
    both = learning_section._asked(asked, 2)
    assert "60 to 200 positions of random games, 3 to 21 plies" in both
    assert "20 to 150 of them are contested" in both
    assert f"{of_one}, each training by its own: " in both
