"""What the efficiency study's report reads from results: figures, costs, what was earned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import published
from experiments.configs.connect_four_efficiency import OTHER_ARMS, PAPER_ARMS, WITHOUT_ARMS
from experiments.connect_four import efficiency_report, learning_lines
from experiments.connect_four_efficiency import STUDY
from experiments.results import data
from jaxzero import files, workdir


def test_every_arm_is_in_a_figure() -> None:
    drawn = {arm for *_, arms in efficiency_report.FIGURES for arm in arms}
    assert drawn == {*PAPER_ARMS, *WITHOUT_ARMS, *OTHER_ARMS} - {"baseline"}


@pytest.mark.parametrize(
    ("without", "first"),
    [
        ((), ["efficiency_dedupe", "cycle"]),
        (("dedupe_0.2", "dedupe_0.5", "dedupe"), ["cycle", "efficiency_cyclic"]),
    ],
)
def test_figures_stand_in_the_papers_order_whatever_was_run(
    without: tuple[str, ...], first: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run for group in data.read().values() for run in group]
    results = next(run.study.results for run in runs if run.kind == STUDY)
    results |= {"arms": [arm for arm in results["arms"] if arm["arm"] not in without]}
    files.write_json(tmp_path / workdir.RESULTS, results)
    monkeypatch.setattr(efficiency_report, "accuracy_figure", lambda *_: Figure())
    built = efficiency_report.build(tmp_path)
    plates = [plate.name for section in built.sections for plate in section.plates]
    assert plates[:2] == first


def made_up_arm(*curves: list[tuple[float, float]]) -> dict[str, Any]:
    """Runs with points of (evaluations, accuracy)."""
    return {
        "runs": [
            {"seed": seed, "points": [{"evaluations": e, "search": a} for e, a in curve]}
            for seed, curve in enumerate(curves)
        ]
    }


def test_what_an_ingredient_earned_is_compared_at_equal_evaluations() -> None:
    arms = {
        "baseline": made_up_arm([(0, 0.1), (10, 0.2)]),  # plays no part
        "extended": made_up_arm([(0, 0.2), (100, 0.6)], [(0, 0.2), (200, 1.0)]),
        "without_reply": made_up_arm([(0, 0.2), (50, 0.3)], [(0, 0.2), (50, 0.5)]),
    }
    table = efficiency_report.ingredients(arms)
    assert table is not None
    [row] = table.rows
    # At 50: extended 40 and 40, without 30 and 50.
    assert row[:5] == ("without reply", "2", "40.00", "40.00", "0.00\xa0±\xa010.00")
    assert efficiency_report.ingredients({"extended": arms["extended"]}) is None
    many = made_up_arm(*[[(0, 0.2), (50, 0.2 + seed / 100)] for seed in range(6)])
    [row] = efficiency_report.ingredients(arms | {"extended": many, "without_reply": many}).rows  # type: ignore[union-attr]
    assert row[-2:] == ("0.00 to 0.00", "95 %")


def test_costs_are_read_from_curves() -> None:
    hours, accuracy = np.array([1.0, 2.0, 4.0]), np.array([80.0, 90.0, 85.0])
    assert learning_lines.hours_to(hours, accuracy, 85) == pytest.approx(1.5)
    assert learning_lines.hours_to(hours, accuracy, 75) == 1.0
    assert learning_lines.hours_to(hours, accuracy, 91) is None
    # The published readings agree with the published curves.
    for name, curve in (published.load(efficiency_report.PUBLISHED) or {})["curves"].items():
        x, y = np.array(curve["mean"]).T
        assert y.max() == pytest.approx(curve["best"], abs=0.02), name
        for level, told in zip(efficiency_report.LEVELS, curve["hours_to"], strict=True):
            found = learning_lines.hours_to(x, y, level)
            assert (found is None) == (told is None), (name, level)
            assert told is None or found == pytest.approx(told, abs=0.2), (name, level)
