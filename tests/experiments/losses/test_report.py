"""The report says what the files say: every run, every number, everything that is missing."""

import importlib
import json
import math
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments import published
from experiments import report as remake
from experiments.losses import sentences
from experiments.pages import reports
from experiments.pages.study import Study, load
from experiments.pages.wording import number, plus_minus, short
from jaxzero import arguments
from jaxzero.settings.config import ConfigError
from tests.browser import check_report
from tests.experiments import made_up
from tests.experiments.losses.reading import Page

FIGURES = (
    "claims_1",
    "claims_2",
    "claims_3",
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


def test_the_page_is_whole_and_needs_nothing_from_outside(full):
    _, text = full
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.loaded
    assert all(link.startswith(("#", "data:")) for link in page.loaded)
    assert {link[1:] for link in page.loaded if link[0] == "#"} <= set(page.ids)
    assert not re.search(r"@import|url\((?!#)|<script|<link", text)
    assert "&lt;b&gt;" in text  # the command is escaped


def test_names_with_markup_stay_text(tmp_path):
    markup = "</svg><script>'&\"x</script><!--"
    given = [
        made_up.metrics(made_up.TARGETS, 1, 2),
        made_up.results(made_up.TARGETS, 1, 2, "connect_four_5x5"),
    ]
    words = json.dumps(given)
    for name in ("mcts_50", "sum_seed0", "Final networks", "trained beats untrained", "0.10.2"):
        assert f'"{name}"' in words
        words = words.replace(f'"{name}"', json.dumps(markup + name))
    folder = made_up.write(tmp_path, *json.loads(words))
    text = reports.write(folder).read_text(encoding="utf-8")
    assert Page(text).open == []
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 10
    figures = list((folder / "figures").glob("*.svg"))
    for figure in figures:
        ElementTree.parse(figure)
        assert "<script" not in figure.read_text(encoding="utf-8")
    assert any("&lt;script&gt;" in figure.read_text(encoding="utf-8") for figure in figures)


def test_the_page_fits_a_desktop_and_a_phone(full, browser, tmp_path):
    check_report(browser, full[0] / "report.html", tmp_path)


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
    for target in made_up.TARGETS:
        for seed in range(2):
            assert f"{target}_seed{seed}" in text
    assert "What is missing" not in text


def test_numbers_in_the_page_equal_the_inputs(full):
    folder, text = full
    study, cells = load(folder), set(Page(text).cells)
    final = study.tournaments[0]
    assert {number(rating, 1) for rating in final["elo"]} <= cells
    assert "17.8" in cells  # the standard error
    for target in made_up.TARGETS:
        last = [study.rows[f"{target}_seed{seed}"][3]["loss/policy"] for seed in range(2)]
        assert plus_minus(float(np.mean(last)), float(np.std(last, ddof=1)), 3) in cells
    theirs = published.loss_curves("connect_four_5x5")
    assert theirs is not None
    assert plus_minus(theirs["sum"]["value"].mean[2], theirs["sum"]["value"].sd[2], 3) in cells
    for key in ("train.learning_rate", "arena.threshold", "search.c_puct"):
        assert short(study.setting(key)) in cells
    assert {"4,321", f"{8 * 4321:,}", "70.0 %", "812.3", "253.2", "does not hold"} <= cells


def test_the_answer_leads(full):
    _, text = full
    answer = text.index("Undecided which loss makes the strongest player: 2 seeds a loss, 5 are")
    figure, verdicts = text.index('<figure id="tournament_1">'), text.index('<ul class="verdicts">')
    assert answer < figure < verdicts
    assert text.count("<dd>", answer, figure) == 3
    decided = Study("x", made_up.results(made_up.TARGETS, 6, 3, "connect_four_5x5"), {})
    assert sentences.headline(decided).startswith("Minimising policy")
    assert sentences.headline(decided).endswith("makes the strongest player.")


def test_verdicts_on_the_papers_claims_come_first(full):
    folder, text = full
    assert text.index("section-the-papers-claims") < text.index("section-losses")
    cells = Page(text).cells
    assert "undecided" in cells  # two seeds decide nothing
    # The untrained network has no seed here, so nothing can be told of the bias.
    assert "0 seeds of some contrasts, 5 are the fewest that decide" in text
    assert "of the papers' computing" in text.replace("&#39;", "'")
    figures = [path.read_text(encoding="utf-8") for path in folder.glob("figures/claims_*.svg")]
    assert sum(figure.count(">undecided, 2 seeds") for figure in figures) >= 10


def test_strength_against_fixed_opponents_is_told(full):
    folder, text = full
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in Page(text).cells]
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
    remake.main([str(folder)])
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert Page(text).open == []
    for told in (
        "1 of 2 runs stopped before iteration 5: sum_seed0 at 2",
        "No metrics of 1 of 2 runs: value_seed0",
        "One seed only for value, sum",
        "No training Elo was computed",
        "No checks were recorded",
        "No cost was recorded",
        "No losses on held-out positions",
        "There are pictures only, no numbers, for gobang_5x5",
        "1 damaged line.",
        "not between losses",
        "Published as a picture.",
        "Diamonds: the first and last values that the text names",
    ):
        assert told in text
    made = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert made == {"claims_1", "claims_2", "losses", "epochs", "papers_tournament", "tournament_1",
                    "selfplay", "boards", "schema"}  # fmt: skip
    for name, said in (
        ("claims_1", "no published data"),
        ("epochs", "no published data"),
        ("papers_tournament", "published as a picture"),
    ):
        assert said in (folder / "figures" / f"{name}.svg").read_text()


def test_a_study_without_results_or_metrics(tmp_path):
    rows = made_up.metrics(("sum",), 1, 1)
    text = reports.write(made_up.write(tmp_path / "a", rows, None)).read_text()
    assert "There is no results.json" in text
    (tmp_path / "b").mkdir()
    with pytest.raises(ConfigError, match="is no run directory"):
        reports.write(tmp_path / "b")


def test_every_study_has_a_report():
    for study, module in reports.REPORTS.items():
        assert callable(importlib.import_module(module).build), study


@pytest.mark.parametrize("study", ["loss_ablation", "hyperparameter_sweep", "tournament"])
def test_a_wrong_directory_is_one_line(study, tmp_path, monkeypatch, capsys):
    begun, other, damaged, foreign = (
        tmp_path / name for name in ("begun", "other", "damaged", "foreign")
    )
    made_up.write(begun, made_up.metrics(("sum",), 1, 1), None)
    (begun / "config.json").write_text(json.dumps({"study": study, "game": "othello_5x5"}))
    if study == "loss_ablation":  # which takes metrics alone
        (begun / "metrics.jsonl").unlink()
    made_up.write(other, [], {"study": "chess"})
    part = tmp_path / "whole" / "arms" / "baseline"
    for folder in (part.parents[1], part):
        folder.mkdir(parents=True)
        made_up.write(folder, [], None)
        (folder / "config.json").write_text(json.dumps({"study": "curriculum", "game": "x"}))
    (part.parent / "config.json").write_text("3")  # of another program, and not asked for
    made_up.write(foreign, [], None)
    (foreign / "config.json").write_text("[]")
    made_up.write(damaged, [], None)
    (damaged / "results.json").write_text('{"study":')
    listed = tmp_path / "listed"
    made_up.write(listed, [], None)
    (listed / "results.json").write_text("[]")
    for directory, said in (
        (tmp_path / "nowhere", "is no run directory"),
        (tmp_path, "is no run directory"),
        (other, "is a run of chess, which has no report: give the run directory of one of arms,"),
        (damaged, "results.json is damaged"),
        (listed, "has a results.json that no study wrote: choose another directory"),
        (foreign, "has a config.json that no study wrote: choose another directory"),
        (begun, "run its command again"),
        (part, f"is a part of {part.parents[1]}: give that"),
    ):
        monkeypatch.setattr(sys, "argv", ["program", str(directory)])
        with pytest.raises(SystemExit) as stop:
            arguments.run(remake.main)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {directory}")
        assert said in error
        assert error.count("\n") == 1
        assert not (directory / "figures").exists()


def test_values_that_are_not_finite_are_shown(tmp_path):
    rows = made_up.metrics(("sum",), 2, 2)
    rows[2]["loss/policy"] = math.nan
    rows[1]["loss_epochs/sum"][1] = math.inf
    folder = made_up.write(tmp_path / "nan", rows, made_up.results(("sum",), 2, 2, "othello_6x6"))
    text = reports.write(folder).read_text(encoding="utf-8")
    assert "2 values not finite in the metrics of sum_seed0" in text
    assert "sum_seed0, iteration 2, loss/policy: NaN" in text
    assert "sum_seed0, iteration 1, loss_epochs/sum (epoch 2): infinite" in text
    assert "NaN" in Page(text).cells
    assert ">not finite</text>" in (folder / "figures" / "losses.svg").read_text(encoding="utf-8")
