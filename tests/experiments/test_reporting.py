"""The report says what the files say: every run, every number, everything that is missing."""

import dataclasses
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import published
from experiments.reporting import tables, tournament
from experiments.reporting.losses import absolute, boxplots, drawings, elo, verdicts
from experiments.reporting.page import inline
from experiments.reporting.report import main, write_report
from experiments.reporting.study import Study, band_of, load
from experiments.reporting.wording import duration, number, plus_minus, short
from jaxzero.games import make_game
from jaxzero.ratings import bayes_elo
from tests.experiments import made_up

TARGETS = ("policy", "value", "sum", "product")
FIGURES = (
    "claims_1",
    "losses",
    "held_out",
    "epochs",
    "training_elo",
    "elo_bias",
    "ladder",
    "papers_tournament",
    "tournament_1",
    "selfplay",
    "boards",
    "schema",
)


class _Page(HTMLParser):
    """Checks nesting and collects cells, text and what the page would load."""

    VOID = ("meta", "br", "link", "img", "hr")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.cells: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "srcset"):
                self.loaded.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished study of four losses, two seeds, on a board with published curves."""
    rows = made_up.metrics(TARGETS, 2, 3)
    results = made_up.results(TARGETS, 2, 3, "connect_four_5x5")
    folder = made_up.write(tmp_path_factory.mktemp("full"), rows, results)
    path = write_report(folder)
    assert path == folder / "report.html"
    return folder, path.read_text(encoding="utf-8")


def test_the_page_is_whole_and_needs_nothing_from_outside(full):
    _, text = full
    page = _Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.loaded
    assert all(link.startswith(("#", "data:")) for link in page.loaded)
    assert {link[1:] for link in page.loaded if link[0] == "#"} <= set(page.ids)
    assert not re.search(r"@import|url\((?!#)|<script|<link", text)
    assert "&lt;b&gt;" in text  # the command is escaped


def test_every_figure_is_there_in_both_formats_and_in_the_page(full):
    folder, text = full
    for name in FIGURES:
        for suffix in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size > 5000
        assert f'<figure id="{name}">' in text
    assert text.count("<svg") == len(FIGURES)


def test_the_summary_tells_what_was_run_and_at_what_cost(full):
    _, text = full
    for told in (
        "I = 3 iterations",
        "E = 21 games",
        "m = 25 simulations",
        "ep = 2 epochs",
        "connect_four_5x5",
        "preset quick",
        "0123abc",
        "0.10.2",
        "13.5 min",
        f"{8 * 4321:,} evaluations",
        "1 of 2 checks hold; not: order",
    ):
        assert told in text
    for target in TARGETS:
        for seed in range(2):
            assert f"{target}_seed{seed}" in text
    assert "What is missing" not in text


def test_numbers_in_the_page_equal_the_inputs(full):
    folder, text = full
    study, cells = load(folder), set(_Page(text).cells)
    final = study.tournaments[0]
    assert {number(rating, 1) for rating in final["elo"]} <= cells
    assert "17.8" in cells  # the standard error
    for target in TARGETS:
        last = [study.rows[f"{target}_seed{seed}"][3]["loss/policy"] for seed in range(2)]
        assert plus_minus(float(np.mean(last)), float(np.std(last, ddof=1)), 3) in cells
    theirs = published.loss_curves("connect_four_5x5")
    assert theirs is not None
    assert plus_minus(theirs["sum"]["value"].mean[2], theirs["sum"]["value"].sd[2], 3) in cells
    for key in ("train.learning_rate", "arena.threshold", "search.c_puct"):
        assert short(study.setting(key)) in cells
    assert {"4,321", f"{8 * 4321:,}", "70.0 %", "812.3", "253.2", "does not hold"} <= cells


def test_verdicts_on_the_papers_claims_come_first(full):
    folder, text = full
    assert text.index("section-the-papers-claims") < text.index("section-losses")
    cells = _Page(text).cells
    assert "undecided" in cells  # two seeds decide nothing
    # The untrained network has no seed here, so nothing can be told of the bias.
    assert "Contrasts with fewer than 5 seeds decide nothing (fewest here: 0)" in text
    assert "of the papers' computing" in text.replace("&#39;", "'")
    figure = (folder / "figures" / "claims_1.svg").read_text(encoding="utf-8")
    assert figure.count(">undecided, 2 seeds") >= 10


def test_the_papers_pool_is_rated_without_the_others(full):
    folder, _ = full
    study = load(folder)
    played = study.tournaments[0]
    strength = np.array([*np.linspace(150, -150, 8), -60.0, -400.0])
    rows = []
    for a in range(10):
        for b in range(10):
            if a != b:
                p = 1 / (1 + 10 ** (-(strength[a] - strength[b]) / 400))
                rows.append([a, b, round(1000 * p), 0, 1000 - round(1000 * p)])
    changed = {**played, "results": rows}
    pool = boxplots.papers_pool(Study("s", {"tournaments": [changed]}, {}))
    assert list(pool) == [*TARGETS, "random"]  # the untrained one is not in it
    expected = np.delete(strength, 8)
    expected = expected - expected.mean()
    np.testing.assert_allclose(
        np.concatenate([pool[name] for name in pool]), expected, rtol=0.02, atol=2
    )
    twice = boxplots.papers_pool(Study("s", {"tournaments": [changed, changed]}, {}))
    assert [len(found) for found in twice.values()] == [4, 4, 4, 4, 2]
    # As published, the first-listed is thought to have an advantage of 32.8: of equal players the
    # later one comes out stronger.
    even = [[a, b, 500, 0, 500] for a in range(10) for b in range(10) if a != b]
    results = {
        "tournaments": [{**played, "results": even}],
        "switches": {"elo_first_listed_advantage": True},
    }
    rated = np.concatenate(list(boxplots.papers_pool(Study("s", results, {})).values()))
    assert (np.diff(rated) > 1).all()


def _arena_row(iteration: int, *, wins: int) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "run": "sum_seed0",
        "target": "sum",
        "seed": 0,
        "loss/policy": 1.0,
        "loss/value": 1.0,
        "arena/opponent": iteration - 1.0,
        "arena/wins": wins,
        "arena/draws": 0,
        "arena/losses": 40 - wins,
        "arena/wins_moving_first": wins // 2,
        "arena/draws_moving_first": 0,
        "arena/losses_moving_first": 20 - wins // 2,
    }


def test_gains_by_training_elo_and_by_fixed_opponents():
    rows = {"sum_seed0": {i: _arena_row(i, wins=30) for i in range(1, 5)}}
    curve = {"iterations": [0, 4], "elo": [100.0, 130.0], "stderr": [9.0, 9.0]}
    results = {"ladder": {"runs": {"sum_seed0": curve}}, "game": "gobang_5x5"}
    study = Study("s", results, rows)
    climbing = elo.gains(elo.as_authors(study, "sum"))
    level = elo.gains(elo.anchored(study, "sum"))
    assert climbing is not None
    assert level is not None
    assert level.mean.tolist() == [0.0, 30.0]
    chain = [[i, i - 1, 30, 0, 10] for i in range(1, 5)]
    expected = bayes_elo(chain, advantage=32.8, draw_elo=97.3).elo
    np.testing.assert_allclose(climbing.mean, expected - expected[0])
    # Without the advantage of the newer, each of the four steps is 32.8 larger on that scale.
    level_field = bayes_elo(chain, advantage=0.0, draw_elo=97.3).elo
    more = (level_field - level_field[0])[-1] - climbing.mean[-1]
    assert more == pytest.approx(4 * 32.8 * 0.925, rel=0.1)  # the prior pulls
    drawn = elo.bias(study)
    assert drawn is not None
    assert "no published data" in [text.get_text() for text in drawn.axes[0].texts]
    # A run that failed is rated up to there.
    broken = Study("s", results, rows, failed={"sum_seed0": 3})
    assert [its.tolist() for its, _ in elo.as_authors(broken, "sum")] == [[0, 1, 2]]
    assert "sum_seed0 in iteration 3; left out" in " ".join(broken.missing)


def test_the_end_of_a_recorded_game(tmp_path):
    game = make_game("connect_four_5x5")
    longer = [0, 1, 0, 1, 0, 1, 2, 1]  # the second player's column
    shorter = [0, 1, 0, 1, 0, 1, 0, -1]  # the first player's, one move earlier
    actions = np.array([longer, shorter], np.int16).T[:, None, :]
    np.savez_compressed(tmp_path / "final.npz", actions=actions)
    stones = drawings.example_end(game, tmp_path / "final.npz")
    assert stones is not None
    assert stones[:, 0].tolist() == [0, 1, 1, 1, 1]
    assert stones[:, 1].tolist() == [0, 0, 2, 2, 2]
    assert drawings.example_end(game, tmp_path / "none.npz") is None
    drawn = drawings.positions({"connect_four_5x5": (game, stones)})
    assert drawn is not None
    faces = [patch.get_facecolor() for patch in drawn.axes[1].patches]
    assert len(set(faces)) == 4  # wall, holes, discs of both


def _measured_moves() -> dict[str, Any]:
    def shares(value: float) -> dict[str, Any]:
        groups = ("all", "contested", "contested_early", "contested_middle", "contested_late")
        both = {kind: {"mean": value, "stderr": 0.01} for kind in ("weak", "strong")}
        return dict.fromkeys(groups, both)

    def bins(predicted: float, exact: float | None, count: int) -> list[dict[str, Any]]:
        return [{"positions": count, "predicted": predicted, "exact": exact}]

    stages = ("all", "early", "middle", "late")
    return {
        "positions": {"found": 481, "contested": 323, "constant_mse": 0.85},
        "players": {"random": {"contested": {"weak": 0.512, "strong": 0.3}}},
        "targets": [
            {
                "target": "sum",
                "iteration": 4,
                "seeds": 2,
                "network": shares(0.613),
                "search": shares(0.824),
                "value": {s: {"mse": {"mean": 0.777, "stderr": None}} for s in stages},
            }
        ],
        "networks": [
            {
                "target": "sum",
                "iteration": 4,
                "value": {s: {"bins": bins(predicted, exact, count)} for s in stages},
            }
            for predicted, exact, count in ((0.2, 0.6, 30), (0.4, 0.0, 10))
        ],
    }


def test_absolute_strength_is_told_where_it_was_measured(full):
    folder, text = full
    assert "Absolute strength" not in text
    (folder / "absolute_strength.json").write_text(json.dumps(_measured_moves()))
    try:
        study = load(folder)
    finally:
        (folder / "absolute_strength.json").unlink()
    section = absolute.section(study)
    [table] = section.tables
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for row in table.rows for cell in row]
    assert {"0.613 ± 0.010", "0.824 ± 0.010", "0.777", "random", "0.512"} <= set(cells)
    assert "481 positions" in section.text[0]
    curve = section.plates[1].figure.axes[0].lines[1]  # after the diagonal; seeds pooled
    np.testing.assert_allclose(curve.get_xdata(), [0.25])
    np.testing.assert_allclose(curve.get_ydata(), [0.45])


def test_cross_table_scores_add_up(full):
    folder, _ = full
    played = load(folder).tournaments[0]
    points, games = tournament.pairings(played)
    assert np.array_equal(games, games.T)
    np.testing.assert_allclose((points + points.T)[games > 0], games[games > 0])
    by_player = tournament.cross(played, by_player=True)
    assert by_player is not None
    assert by_player.rows[0][2] == "50.0"  # 6.5 of 10 as first, 3.5 of 10 as second


def test_strength_against_fixed_opponents_is_told(full):
    folder, text = full
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in _Page(text).cells]
    assert "Strength against fixed opponents" in text
    assert "3,456 games, 3,210 distinct" in text
    assert {"101 ± 14", "407 ± 21", "306", "mcts_50", "512", "34"} <= set(cells)
    figure = (folder / "figures" / "ladder.svg").read_text(encoding="utf-8")
    assert ">mcts_50</text>" in figure
    # What was measured later, for more games or with other runs, takes its place.
    later = json.loads((folder / "results.json").read_text())["ladder"] | {"games": 9999}
    (folder / "ladder.json").write_text(json.dumps(later))
    try:
        assert load(folder).results["ladder"]["games"] == 9999
    finally:
        (folder / "ladder.json").unlink()


def test_missing_pieces_are_said_and_nothing_is_invented(tmp_path):
    rows = [
        {k: v for k, v in row.items() if not k.startswith("heldout")}
        for row in made_up.metrics(("sum",), 1, 2)
    ]
    results = made_up.results(("sum", "value"), 1, 5, "gobang_5x5")
    for key in ("checks", "training_elo", "cost", "ladder"):
        del results[key]
    folder = made_up.write(tmp_path / "partial", rows, results)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 3, "run": "su')  # an interrupted write
    main([str(folder)])
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert _Page(text).open == []
    for told in (
        "1 of 2 runs stopped before iteration 5: sum_seed0 at 2",
        "No metrics of 1 of 2 runs: value_seed0",
        "One seed only for value, sum",
        "No training Elo was computed",
        "No checks were recorded",
        "No cost was recorded",
        "No losses on held-out positions",
        "no published data for gobang_5x5",
        "1 damaged line.",
        "not between losses",
        "No published data for this board",
    ):
        assert told in text
    made = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert made == {"claims_1", "losses", "epochs", "papers_tournament", "tournament_1", "selfplay",
                    "boards", "schema"}  # fmt: skip
    for name in ("claims_1", "losses", "epochs", "papers_tournament"):
        assert "no published data" in (folder / "figures" / f"{name}.svg").read_text()


def test_a_study_without_results_or_metrics(tmp_path):
    rows = made_up.metrics(("sum",), 1, 1)
    text = write_report(made_up.write(tmp_path / "a", rows, None)).read_text()
    assert "There is no results.json" in text
    (tmp_path / "b").mkdir()
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path / "b")


def test_values_that_are_not_finite_are_shown(tmp_path):
    rows = made_up.metrics(("sum",), 2, 2)
    rows[2]["loss/policy"] = math.nan
    rows[1]["loss_epochs/sum"][1] = math.inf
    folder = made_up.write(tmp_path / "nan", rows, made_up.results(("sum",), 2, 2, "othello_6x6"))
    text = write_report(folder).read_text(encoding="utf-8")
    assert "2 values not finite in the metrics of sum_seed0" in text
    assert "sum_seed0, iteration 2, loss/policy: NaN" in text
    assert "sum_seed0, iteration 1, loss_epochs/sum (epoch 2): infinite" in text
    assert "NaN" in _Page(text).cells
    assert ">not finite</text>" in (folder / "figures" / "losses.svg").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(("gap", "seeds", "apart"), [(300.0, 4, True), (5.0, 4, False)])
def test_losses_are_called_different_only_when_separated(gap, seeds, apart):
    noise = np.array([-12.0, 9.0, -6.0, 9.0])[:seeds]
    played = {
        "name": "final",
        "players": [
            {"name": f"{t}{s}", "kind": "trained", "target": t, "seed": s}
            for t in ("sum", "value")
            for s in range(seeds)
        ],
        "elo": [*noise, *(noise[::-1] + gap)],
        "stderr": [20.0] * (2 * seeds),
    }
    rated = verdicts.ranking(played)
    assert [r.target for r in rated] == ["value", "sum"]
    assert rated[0].mean - rated[1].mean == pytest.approx(gap)
    assert rated[0].stderr == pytest.approx(20 / math.sqrt(seeds))  # never below the ratings' own
    assert [len(pairs) for pairs in verdicts.separated(rated)] == ([1, 0] if apart else [0, 1])
    said = " ".join(verdicts.sentences(Study("s", {"tournaments": [played]}, {})))
    assert ("Separated at the 5 % level" in said) == apart
    assert ("No difference between the losses can be seen" in said) != apart


def test_published_numbers():
    curves, ratings = published.loss_curves("othello_6x6"), published.tournament("othello_6x6")
    rated = published.training_elo("connect_four_5x5")
    assert curves is not None
    assert ratings is not None
    assert rated is not None
    # Last iteration of 6x6 Othello under the sum, and mean tournament Elo of value-only networks.
    assert (curves["sum"]["policy"].mean[-1], curves["sum"]["value"].mean[-1]) == (0.238, 0.186)
    assert curves["sum"]["sum"].iterations[[0, -1]].tolist() == [1, 100]
    assert ratings["value"].mean() == pytest.approx(415, abs=0.5)
    assert (rated["sum"].mean[0], rated["sum"].mean[-1]) == (741, -1766)
    assert rated["sum"].iterations[0] == 0
    assert published.loss_curves("gobang_5x5") is None
    assert published.load("no_such_paper") is None
    assert (published.settings("othello_5x5") or {})["train.iterations"] == 200


def test_settings_table_names_the_papers_letters(full):
    folder, _ = full
    table = tables.settings(load(folder))
    assert table is not None
    assert [row[0] for row in table.rows] == [
        "I",
        "E",
        "T'",
        "m",
        "c",
        "rs",
        "ep",
        "bs",
        "lr",
        "d",
        "n",
        "u",
    ]
    assert all(row[3] != "not recorded" and row[4] != "-" for row in table.rows)


def test_settings_tables_have_all_values_tried_and_the_switches_as_they_were(full):
    found = load(full[0])
    config = found.results["config"] | {"switches": {"keep_tree": None, "small_draw_value": True}}
    tried = [{"name": "default", "values": {}}, {"name": "m=7", "values": {"m": 7}}]
    results = found.results | {"config": config, "switches": {"keep_tree": False}}
    study = dataclasses.replace(found, results=results | {"settings": tried})
    table, others = tables.settings(study), tables.other_settings(study)
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
    table = tables.settings(study)
    assert table is not None
    assert {row[0]: row[3] for row in table.rows}["m"] == "8, 9"


def test_wording():
    assert number(None) == "not recorded"
    assert number(-0.04, 1) == "0.0"
    assert number(-1234567) == "\N{MINUS SIGN}1,234,567"
    assert number(math.inf, 2) == "∞"
    assert plus_minus(1.5, None, 1) == "1.5"
    assert [duration(s) for s in (41.2, 812.3, 9000.0)] == ["41.2 s", "13.5 min", "2.5 h"]


def test_an_inlined_svg_has_ids_of_its_own():
    svg = '<?xml?><svg width="72pt" height="36pt"><metadata>x</metadata><g id="a"/>'
    svg += '<use href="#a" clip-path="url(#a)"/></svg>'
    text = inline(svg, "one")
    assert text.startswith("<svg")
    assert 'id="one-a"' in text
    assert 'href="#one-a"' in text
    assert "url(#one-a)" in text
    assert "metadata" not in text
