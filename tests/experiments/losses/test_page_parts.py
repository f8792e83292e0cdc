"""What pages are made of: tables, bands over seeds, words for numbers, inlined figures."""

import dataclasses
import io
import math
from collections.abc import Callable

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments.connect_four import supervised_report
from experiments.losses import tables
from experiments.pages import draw, record, style
from experiments.pages.bands import band_of, thinned
from experiments.pages.page import inline
from experiments.pages.study import Study, load
from experiments.pages.tables import Table
from experiments.pages.wording import (
    ABSENT,
    NONE,
    duration,
    error_of_mean,
    mean_and_error,
    mean_and_sd,
    moving_first,
    number,
    percent,
    plus_minus,
)
from experiments.published import Curve
from experiments.strength import ladder_figures, tournament_figures, tournament_report
from jaxzero.ratings import bayes_elo, displayed_scale


def test_cross_table_scores_add_up(full):
    folder, _ = full
    played = load(folder).tournaments[0]
    points, games = tournament_figures.pairings(played)
    assert np.array_equal(games, games.T)
    np.testing.assert_allclose((points + points.T)[games > 0], games[games > 0])
    by_player = tournament_figures.scores(played)
    assert by_player.rows[0][3] == "50"  # 6.5 of 10 as first, 3.5 of 10 as second


def test_a_band_keeps_ended_and_diverged_runs_apart():
    its = np.arange(4)
    long, short_run = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, math.inf])
    band = band_of([(its, long), (its[:2], short_run)])
    assert band is not None
    np.testing.assert_allclose(band.mean, [2.0, math.nan, 3.0, 4.0])
    np.testing.assert_allclose(band.sd, [math.sqrt(2), math.nan, math.nan, math.nan])
    assert band.reached.tolist() == [2, 2, 1, 1]
    assert band.last == 1
    assert band_of([]) is None


def test_the_arena_has_shares_of_games_and_of_gates():
    runs = [{"name": f"sum_seed{seed}", "target": "sum", "seed": seed} for seed in (0, 1)]
    played = {"arena/wins": 5.0, "arena/draws": 2.0, "arena/losses": 3.0, "arena/accepted": 1.0}
    drawn = {"arena/wins": 0.0, "arena/draws": 10.0, "arena/losses": 0.0, "arena/accepted": 0.0}
    rows = {"sum_seed0": {1: played, 2: drawn}, "sum_seed1": {1: played, 2: played}}
    table = tables.arena(Study("s", {"runs": runs}, rows))
    shown = dict(zip(table.headers, table.rows[0], strict=True))
    assert shown["new network won"] == "37.5 %"
    assert (shown["drew"], shown["lost"]) == ("40.0 %", "22.5 %")
    assert (shown["accepted per run"], shown["every game drawn"]) == ("1.5", percent(0.25))


def test_settings_table_names_the_papers_letters(full):
    folder, _ = full
    table = record.settings(load(folder))
    assert table is not None
    assert " ".join(row[0] for row in table.rows) == "I E T' m c rs ep bs lr d n u"
    assert all(row[3] != "not recorded" and row[4] != "-" for row in table.rows)


def test_settings_tables_have_all_values_tried_and_the_switches_as_they_were(full):
    found = load(full[0])
    config = found.results["config"] | {"switches": {"keep_tree": None, "small_draw_value": True}}
    tried = [{"name": "default", "values": {}}, {"name": "m=7", "values": {"m": 7}}]
    results = found.results | {"config": config, "switches": {"keep_tree": False}}
    study = dataclasses.replace(found, results=results | {"settings": tried})
    table, others = record.settings(study), record.other_settings(study)
    assert table is not None
    assert others is not None
    values = {row[0]: row[3] for row in table.rows}
    default = found.setting("search.num_simulations")
    assert values["m"] == ", ".join(str(m) for m in sorted((7, default)))
    assert values["E"] == str(found.setting("selfplay.episodes"))
    assert ("switches.keep_tree", "no") in others.rows
    assert ("switches.small_draw_value", "yes") in others.rows
    every = [{"name": f"m={m}", "values": {"m": m}} for m in (9, 8)]
    study = dataclasses.replace(found, results=results | {"settings": every})
    table = record.settings(study)
    assert table is not None
    assert {row[0]: row[3] for row in table.rows}["m"] == "8, 9"


def test_wording():
    assert number(None) == "not recorded"
    assert number(-0.04, 1) == "0.0"
    assert number(-1234567) == "\N{MINUS SIGN}1,234,567"
    assert number(math.inf, 2) == "∞"
    assert plus_minus(1.5, None, 1) == "1.5"
    assert [duration(s) for s in (41.2, 812.3, 9000.0)] == ["41.2 s", "13.5 min", "2.5 h"]
    assert [duration(s) for s in (89.0, 90.0, 5399.0, 5400.0)] == [
        "89 s", "1.5 min", "90.0 min", "1.5 h",
    ]  # fmt: skip


def test_spreads_are_those_of_samples():
    values = [1.0, 2.0, 6.0]  # mean 3, variance (4 + 1 + 9) / 2
    assert error_of_mean(values) == pytest.approx(math.sqrt(7 / 3))
    assert mean_and_error(values, 2) == plus_minus(3.0, 1.5275, 2)
    assert mean_and_sd(values) == plus_minus(3.0, 2.6458)
    assert mean_and_sd([4.0]) == mean_and_error([4.0]) == "4"


def test_work_is_summed_where_all_of_it_is_known():
    counts = {
        "a": {"evaluations": 1000, "gradient_steps": 5},
        "b": {"evaluations": 500, "gradient_steps": 6, "games": 9},
    }
    few, many = ({"count/evaluations": n, "count/useful_evaluations": 100} for n in (100, 900))
    study = Study("s", {"cost": {"runs": counts}}, {"a": {1: few, 2: many}})
    table = record.work(study)
    assert table is not None
    assert table.rows == (
        ("a", "1,000", "5", ABSENT, percent(200 / 1000)),  # of all, not of each iteration
        ("b", "500", "6", "9", NONE),
        ("all runs", "1,500", "11", ABSENT, NONE),
    )


def test_words_of_a_table_stand_left_and_numbers_right():
    made = Table("", ("a", "words", "n"), (("1", "x", "10"), ("222", "yy", "3")), text_columns=2)
    assert made.text().splitlines() == [
        "a    words   n",
        "1    x      10",
        "222  yy      3",
    ]
    assert made.text((0, 2)).splitlines() == ["a     n", "1    10", "222   3"]


def test_an_inlined_svg_has_ids_of_its_own():
    svg = '<?xml?><svg width="72pt" height="36pt"><metadata>x</metadata><g id="a"/>'
    svg += '<use href="#a" clip-path="url(#a)"/></svg>'
    text = inline(svg, "one", "p1")
    assert text.startswith("<svg")
    assert 'aria-labelledby="one-title"' in text
    assert 'id="p1a"' in text
    assert 'href="#p1a"' in text
    assert "url(#p1a)" in text
    assert "metadata" not in text


def test_a_thinned_curve_keeps_its_ends_and_its_gaps():
    curve = Curve(np.arange(33), np.arange(33.0), np.zeros(33))
    curve.mean[7] = np.nan
    assert thinned(curve, 10).iterations.tolist() == [0, 4, 7, *range(8, 33, 4)]
    assert thinned(curve, 10, last=60).iterations.tolist() == [0, 6, 7, 12, 18, 24, 30, 32]
    assert thinned(curve, 33).iterations.tolist() == list(range(33))


def test_single_seeds_are_thinned_where_they_would_bloat_a_page():
    _, [axes] = style.new_figure(panel=(2.0, 2.0))
    x = np.arange(60_000.0)
    lines = [axes.plot(x, 2 * x, label=name)[0] for name in (style.SEED, style.SEED, "mean")]
    style.lighten(axes.figure)
    assert [len(line.get_xdata()) for line in lines] == [20_000, 20_000, 60_000]
    for line in lines:
        np.testing.assert_array_equal(line.get_ydata(), 2 * np.asarray(line.get_xdata()))
        assert line.get_xdata()[0] == 0


@pytest.mark.parametrize(("top", "height"), [(8.0, 8.0), (50.0, 3.0)])
def test_what_is_far_above_the_rest_is_cut_off_and_said(top, height):
    _, [axes] = style.new_figure(panel=(2.0, 2.0))
    draw.limit_height(axes, [np.append(np.ones(99), top), np.array([np.nan])])
    assert axes.get_ylim() == pytest.approx((0.0, 1.06 * height))
    said = [text.get_text() for text in axes.texts]
    assert said == ([] if height == top else ["↑ off the scale: up to 50"])


def test_levels_stand_where_they_are_and_their_names_side_by_side():
    _, [axes] = style.new_figure(panel=(2.0, 2.0))
    axes.set_ylim(0, 100)
    draw.levels(axes, [("b", 50.5), ("a", 50.0), ("c", 80.0)])
    assert [line.get_ydata()[0] for line in axes.lines] == [50.0, 50.5, 80.0]
    heights = {text.get_text(): text.xy[1] for text in axes.texts}
    assert heights == pytest.approx({"a": 50.0, "b": 54.5, "c": 80.0})
    assert axes.get_ylim() == (0, 100)
    assert draw.beside(2.0, 3, width=1.0).tolist() == [1.5, 2.0, 2.5]
    assert draw.beside(2.0, 1).tolist() == [2.0]


def test_moving_first_is_worth_as_much_as_a_player_as_far_ahead():
    played = {"advantage": 100.0, "draw_elo": 350.0}
    assert moving_first(played) == "moving first is worth 41.5 Elo"
    assert f"{100 * displayed_scale(350.0):.1f}" == "41.5"


def test_what_was_assumed_is_not_called_the_worth_of_moving_first():
    rated = bayes_elo([[0, 1, 9, 2, 1], [1, 0, 9, 2, 1]])  # its defaults, the papers' ratings
    said = moving_first({"advantage": rated.advantage, "draw_elo": rated.draw_elo})
    assert said == "rated as published: 30.4 Elo for the player listed first, whoever moved first"


def test_twenty_eight_curves_can_be_told_apart():
    assert len({tuple(style.line(place).values()) for place in range(28)}) == 28


def _many() -> dict[str, Callable[[list[str]], Figure | None]]:
    """Figures with a legend of names that nobody counted before."""
    curve = {"iterations": [0, 1], "elo": [0.0, 9.0], "stderr": [1.0, 1.0]}

    def tournament(names: list[str]) -> Figure:
        own = [{"name": f"{n}/p@{i}", "run": n, "target": "sum", "seed": 0, "iteration": i}
               for n in names for i in (1, 2)]  # fmt: skip
        rated = {"players": own, "elo": [0.0] * len(own), "stderr": [1.0] * len(own)}
        return tournament_report.training_figure(rated)

    return {
        "tournament": tournament,
        "ladder": lambda names: ladder_figures.figure(
            ladder_figures.groups_of({"runs": dict.fromkeys(names, curve)}, {}), []
        ),
        "supervised": lambda names: supervised_report.learning_curves(
            [{"target": name, "run": name, "iteration": i, "validation/move": 0.5,
              "validation/result": 0.5} for name in names for i in (1, 2)]
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["tournament", "ratings", "ladder"])
def test_dollars_in_a_directorys_name_make_no_formula(name: str) -> None:
    names = ["a$1_b$2", "c"]
    if name == "ratings":
        rated = {"elo": [0.0, 9.0], "stderr": [1.0, 1.0]}
        drawn = tournament_report.ratings_figure({"players": [{"name": n} for n in names]} | rated)
    else:
        drawn = _many()[name](names)
    assert drawn is not None
    saved = io.BytesIO()
    with matplotlib.rc_context(style.RC):
        drawn.savefig(saved, format="svg")
    assert ">a$1_b$2<" in saved.getvalue().decode()


@pytest.mark.parametrize("name", _many())
def test_the_names_of_a_legend_have_looks_of_their_own(name: str) -> None:
    names = [f"run_{i}" for i in range(9)]
    drawn = _many()[name](names)
    assert drawn is not None
    [legend] = drawn.legends or [axes.legend_ for axes in drawn.axes if axes.legend_]
    lines = legend.get_lines() or [bars.lines[0] for bars in drawn.axes[0].containers]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(names)


def test_a_run_is_short_that_lacks_its_last_iteration():
    runs = [{"name": name, "target": "sum", "seed": seed} for seed, name in enumerate("ab")]
    rows = {"a": {1: {}, 2: {}}, "b": {2: {}, 3: {}}}
    study = Study("s", {"runs": runs, "config": {"train": {"iterations": 3}}}, rows)
    assert "1 of 2 runs stopped before iteration 3: a at 2." in study.missing


def test_the_value_loss_has_the_unit_of_its_head():
    scalar = Study("s", {"config": {"network": {"value_head": "scalar"}}}, {})
    assert scalar.loss_units == "nats; squared error"
    wdl = Study("s", {"config": {"network": {"value_head": "wdl"}}}, {})
    assert (wdl.value_unit, wdl.loss_units) == ("nats", "nats")
