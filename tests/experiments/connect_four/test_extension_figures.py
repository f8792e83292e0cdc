"""Figs. 8 to 13 from made-up runs: what is drawn where, and what a level costs."""

from typing import Any

import numpy as np
import pytest

from experiments.connect_four import (
    efficiency_report,
    extension_figures,
    extensions_report,
    learning_lines,
    population_section,
)
from experiments.pages import style
from experiments.pages.wording import NONE
from tests.experiments.connect_four.test_claims import arm, cost


def test_every_arm_is_in_a_figure_with_its_published_curve() -> None:
    theirs = learning_lines.of_paper()
    arms = ["extended", "cached", "tree", "novelty", "cached_growing"]
    ours = learning_lines.of_arms([arm(name, 0, seeds=2) for name in arms])
    found = {p.name: p for p in extension_figures.plates(ours, theirs, as_drawn=False)}
    expected = ["cached", "tree", "novelty", "others"]
    assert list(found) == [f"extensions_{name}" for name in expected]
    assert "one iteration later" in found["extensions_cached"].caption
    by_network, by_cost = found["extensions_cached"].figure.axes
    dotted = [line for line in by_network.lines if line.get_linestyle() == ":"]
    assert len(dotted) == 2
    # Ours: 2 arms, each a mean and two seeds.
    solid = [line for line in by_network.lines if line.get_linestyle() == "-"]
    assert len(solid) == 6
    assert sum(line.get_label() == style.SEED for line in solid) == 4
    assert by_cost.get_xscale() == "log"
    assert len(found["extensions_novelty"].figure.axes) == 4
    named = {name for one in extension_figures.FIGURES for name in one.arms}
    numbered = {name for name, own in theirs.items() if np.isfinite(own[0].network).all()}
    assert numbered <= named


def test_hours_are_of_the_authors_machine_for_both() -> None:
    [line] = learning_lines.of_arms([arm("extended", 0, seeds=1)])["extended"]
    # 0.0156 s a move here, 0.0078 there.
    np.testing.assert_allclose(line.paper_hours, line.hours / 2)
    x, y = learning_lines.mean_line([line], "network", "accuracy")
    assert (x[0], x[-1]) == (1, 10)
    assert y[0] == pytest.approx(51, abs=0.05)


def test_features_cost_what_their_teacher_had_cost() -> None:
    teacher, pupil, random = (arm(name, 0) for name in ("teacher", "move1", "move1_random"))
    pupil["changes"] = {"train.teacher": "../teacher"}
    random["changes"] = {"train.features": "move1_random"}
    found = learning_lines.of_arms([teacher, pupil, random])
    own, later, alone = (found[name][0] for name in ("teacher", "move1", "move1_random"))
    np.testing.assert_allclose(alone.hours, own.hours)
    for name in ("hours", "paper_hours"):
        cost = np.mean([getattr(line, name)[-1] for line in found["teacher"]])
        np.testing.assert_allclose(getattr(later, name), getattr(own, name) + cost)
    np.testing.assert_array_equal(later.accuracy, alone.accuracy)
    table = efficiency_report.accuracy_and_cost({one["arm"]: one for one in (teacher, pupil)}, {})
    assert [row[0] for row in table.rows] == ["teacher", "move1"]


def test_each_search_costs_by_the_width_that_played_it() -> None:
    """Every second network is kept; the width changes between."""
    widths = ({}, {"16": 2e6}, {"16": 3e6, "32": 1e6}, {"16": 3e6, "32": 3e6})
    points = [
        {"iteration": 2 * i, "hours": 0.0, "search": 0.5, "channels": width}
        | cost(2e6 * i)
        | {"searches_by_channels": made}
        for i, (width, made) in enumerate(zip((16, 16, 32, 32), widths, strict=True))
    ]
    grown = {"arm": "growing", "seconds_per_move": 0.1, "runs": [{"seed": 0, "points": points}]}
    [line] = learning_lines.of_arms([grown], 32)["growing"]
    expected = np.array([2 * 3.3, 3 * 3.3 + 7.8, 3 * 3.3 + 3 * 7.8]) * 1e6 / 3.6e6
    np.testing.assert_allclose(line.paper_hours, expected)
    assert line.grown == (4,)


def growing(accuracy: list[float], first: int = 1) -> dict[str, Any]:
    """Runs whose networks, from number `first` on, get wider at network 4."""
    points: list[dict[str, Any]] = [{"iteration": 0, "channels": 16}]
    for i, share in enumerate(accuracy, first):
        own = {"iteration": i, "hours": float(i), "search": share / 100} | cost(1000.0 * i)
        points.append(own | {"channels": 16 if i < 4 else 32})
    runs = [{"seed": seed, "points": points} for seed in range(2)]
    return {"arm": "growing", "seconds_per_move": 0.1, "runs": runs}


def test_steps_to_wider_networks_stand_beside_the_published_ones() -> None:
    ours = learning_lines.of_arms([growing([50, 52, 54, 49, 53, 54, 60])])
    theirs = learning_lines.of_paper()
    table = extension_figures.steps(ours, theirs)
    own, *published = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    assert (own["whose"], own["network"], own["runs"]) == ("ours", "4", "2")
    assert (own["before, %"], own["after, %"]) == ("54.00", "49.00")
    assert own["regained by network"] == "6, 6"
    # The fact sheet: networks 9, 17 and 33, the last of a run that ended there; network 5 is not
    # drawn.
    assert [row["network"] for row in published] == ["9", "17", "33"]
    assert [row["runs"] for row in published] == ["3", "3", "3"]
    assert published[0]["regained by network"] == "10, 10, 10"
    assert published[2]["regained by network"] == ", ".join(3 * [NONE])
    last = [line.growth(33) for line in theirs["growing"]]
    np.testing.assert_allclose(last, [-2.97, -2.65, -2.78])
    # As far as the figure draws them.
    assert learning_lines.mean_line(theirs["growing"], "network", "accuracy")[0][-1] == 33
    # Without the network right before the step nothing is said.
    kept = learning_lines.of_arms([growing([54, 49, 53, 54], first=4)])
    assert not extension_figures.steps(kept, theirs).rows


def test_a_search_that_asks_half_as_often_costs_half() -> None:
    def made(name: str, simulations: float, searches: float) -> dict[str, Any]:
        own = {"hours": 1.0, "search": 0.5} | cost(searches)
        own |= {"asked": 100.0, "simulations": simulations}
        points = [{"iteration": 0}, own | {"iteration": 1}]
        return {"arm": name, "seconds_per_move": 0.1, "runs": [{"seed": 0, "points": points}]}

    arms = [made("baseline", 1000, 100), made("playout_caps", 500, 100), made("cached", 800, 50)]
    hours = {name: line.paper_hours[0] for name, [line] in learning_lines.of_arms(arms).items()}
    assert hours["playout_caps"] == hours["cached"] == hours["baseline"] / 2
    assert hours["baseline"] == pytest.approx(100 * 7.8 / 3.6e6)


def test_what_players_became_stands_beside_the_papers_constants() -> None:
    evolved = arm("evolve", 0, seeds=2)
    for run, c in zip(evolved["runs"], (0.5, 1.5), strict=True):
        run["points"][-1] |= {"league/c_puct": c, "league/draw_value": -0.5, "league/newest": 1.0}
    table = extensions_report.players({"extended": arm("extended", 0), "evolve": evolved})
    ours = dict(zip(table.headers, table.rows[0], strict=True))
    assert ours["players"] == "evolve, ours"
    assert ours["exploration c"] == "1.000"
    assert ours["worth of a draw (loss 0, win 1)"] == "0.250"
    assert ours["first-play urgency"] == NONE
    assert any("Bayesian" in row[0] for row in table.rows[1:])
    # Beside the baseline's constants with the same networks, not in five runs of their own.
    baseline = [row[-1] for row in table.rows if row[0].endswith("the baseline's")]
    assert baseline == ["62.27", "75.12", "90.60"]
    assert "90.64" not in [row[-1] for row in table.rows]
    assert not extensions_report.players({"extended": arm("extended", 0)}).rows


def test_runs_of_unequal_length_are_averaged_where_all_are() -> None:
    lines = learning_lines.of_paper()["cached"]
    x, y = learning_lines.mean_line(lines, "network", "accuracy")
    assert (x[0], x[-1]) == (3, 30)
    assert np.isfinite(y).all()


def test_costs_of_levels() -> None:
    ours = learning_lines.of_arms([arm("extended", 0), arm("cached", 0, speed=2.0)])
    own, paper = extension_figures.costs(ours, learning_lines.of_paper())
    extended, cached = own.rows
    assert extended[:2] == ("extended", "6 runs")
    assert cached[2].endswith("(2.00\N{MULTIPLICATION SIGN})")
    by_arm = {row[0]: row for row in paper.rows}
    # The fact sheet's table has 86 % after 3.0 to 3.6 hours as drawn, an iteration later.
    assert float(by_arm["extended"][2]) == pytest.approx(2.7, abs=0.1)
    assert by_arm["tree"][4:6] == (NONE, NONE)
    assert "dedupe" not in by_arm


def populations() -> dict[str, Any]:
    """Two runs; the first is the fitter one of `population`, as the copy of the second."""
    found = {"extended": arm("extended", 0)}
    for name, donors in (("population", [1, 1]), ("population_alone", [0, 1])):
        found[name] = arm(name, 0, seeds=2)
        held = [
            {"iteration": 0, "fitness": None, "donor": [0, 1]},
            {"iteration": 5, "fitness": [0.4, 0.5], "donor": donors},
            {"iteration": 10, "fitness": [0.7, 0.6], "donor": [0, 0]},
        ]
        values = ([1.5, 0.5], [0.6, 0.5], [0.6, 0.7])
        found[name]["generations"] = [
            one | {"constants": {"c_puct": c, "draw_value": [-0.5, 0.5]}}
            for one, c in zip(held, values, strict=True)
        ]
        first = 0.55 if name == "population" else 0.8
        for run, accuracy in zip(found[name]["runs"], (first, 0.9), strict=True):
            run["points"][-1] |= {"search": accuracy, "searches": 1000}
    return found


def test_a_population_is_judged_by_positions_that_did_not_choose() -> None:
    arms = populations()
    shown = population_section.shown(arms, 400)
    assert shown is not None
    said = shown.text[0]
    # Of the fitter run, not of the one that does best in the test; its last copy counts no more.
    assert "55.0 \N{PLUS-MINUS SIGN} 2.5 % in population (2 runs, 1 copy, 2,000 searches)" in said
    assert (
        "80.0 \N{PLUS-MINUS SIGN} 2.0 % in population_alone (2 runs, 0 copies, 2,000 searches)"
        in said
    )
    accuracy, c, draw = shown.plates[0].figure.axes
    fitness, tested = (line.get_ydata() for line in accuracy.lines[:2])
    np.testing.assert_allclose(fitness, [50, 70])
    np.testing.assert_allclose(tested[1], 55)
    thick = next(line for line in c.lines if line.get_linewidth() > 1 and len(line.get_xdata()) > 2)
    np.testing.assert_allclose(thick.get_ydata(), [0.5, 0.6, 0.6])  # by its ancestor
    assert c.get_yscale() == "log"
    assert draw.get_yscale() == "linear"
    rows = {row[0]: row for row in extensions_report.players(arms).rows}
    assert rows["population, best by fitness, ours"][1] == "0.600"
    assert rows["population, best by fitness, ours"][4] == "0.250"
    assert rows["population, mean of all runs, ours"][1] == "0.550"
    assert population_section.shown({"extended": arms["extended"]}, 400) is None
