"""Claims are decided from made-up results whose truth is known."""

import json
from pathlib import Path

import pytest

from experiments.claims import decision, effort, inference, losses, measured, papers, section
from experiments.claims.decision import CONTRADICTED, UNDECIDED, Decided
from experiments.claims.papers import Contrast
from experiments.claims.wording import words_of
from experiments.losses import report
from experiments.pages.study import Run, Study, load
from jaxzero.settings.config import ConfigError
from tests.experiments.made_up import TARGETS
from tests.experiments.made_up_ratings import BOARD, rated_study


def verdicts(*directories: Path) -> dict[tuple[str, str], Decided]:
    """By claim and semantics."""
    findings = losses.decide(measured.load(directories))
    return {(one.claim.id, one.semantics): one for one in findings.decided}


def test_a_clear_effect_is_reproduced_and_the_reverse_contradicted(tmp_path: Path) -> None:
    for sign, expected in ((1, "reproduced"), (-1, "contradicted")):
        means = {"policy": 0.0, "value": 300.0 * sign, "sum": 0.0, "product": 0.0}
        found = verdicts(rated_study(tmp_path / f"run{sign}", means))
        best = found["value_best", "corrected"]
        assert best.verdict == expected
        assert [test.verdict for test in best.tests] == 3 * [expected]
        for test in best.tests:
            assert test.estimate is not None
            low, high = test.interval
            assert low < 300 * sign < high
            assert high - low < 120  # what the seeds share is not in it
            assert test.needed is None
            assert (losses.published_effect(test.contrast) or 0) > 0
        assert best.absent == ("connect_four_5x5", "othello_6x6", "othello_7x7")
        equal = found["product_above_sum", "corrected"]
        assert equal.verdict == "equivalent"


def test_one_rival_that_is_equal_makes_the_best_equivalent(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 300.0}
    best = verdicts(rated_study(tmp_path / "run", means))["value_best", "corrected"]
    assert [test.verdict for test in best.tests] == ["reproduced", "reproduced", "equivalent"]
    assert best.verdict == "equivalent"


def test_a_large_spread_is_undecided_and_says_how_many_seeds(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 60.0, "sum": 60.0, "product": 0.0}
    best = verdicts(rated_study(tmp_path / "run", means, sd=200.0))["value_best", "corrected"]
    assert best.verdict == "undecided"
    open_ones = [test for test in best.tests if test.verdict == "undecided"]
    for test in open_ones:
        assert test.estimate is not None
        wanted = inference.seeds_needed(
            test.estimate.effect, test.estimate.sd, 50, tests=3, direction="greater"
        )
        assert test.needed == (None if wanted is None else max(wanted, 9))
    assert any(test.needed is not None and test.needed > 9 for test in open_ones)


def test_directions(tmp_path: Path) -> None:
    flat = dict.fromkeys(TARGETS, 0.0)
    found = verdicts(rated_study(tmp_path / "five", flat, board="othello_5x5", sd=5.0))
    assert found["small_othello_no_difference", "corrected"].verdict == "reproduced"
    assert found["training_elo_rises_othello", "corrected"].verdict == "reproduced"
    assert found["training_elo_policy_fastest", "corrected"].verdict == "equivalent"
    assert found["combination_lowest_loss", "corrected"].verdict == "equivalent"
    # A gain of 100 in training, of 100 in the tournament: no bias.
    assert found["training_elo_biased", "corrected"].verdict == "contradicted"
    biased = rated_study(tmp_path / "biased", flat, board="othello_5x5", sd=5.0, gain=900.0)
    found = verdicts(biased)
    assert found["training_elo_biased", "corrected"].verdict == "reproduced"
    apart = flat | {"value": 400.0}
    found = verdicts(rated_study(tmp_path / "apart", apart, board="othello_5x5", sd=5.0))
    assert found["small_othello_no_difference", "corrected"].verdict == "contradicted"
    assert found["training_elo_incomparable", "corrected"].verdict == "reproduced"
    small = verdicts(
        rated_study(tmp_path / "falls", flat, board="connect_four_5x5", sd=5.0, gain=-300.0),
    )
    assert small["training_elo_falls_small_boards", "corrected"].verdict == "reproduced"
    assert small["loss_and_elo_move_apart", "corrected"].verdict == "reproduced"


def test_boards_and_seeds_are_counted_together(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    runs = [
        rated_study(tmp_path / "a", means, seeds=range(4)),
        rated_study(tmp_path / "b", means, seeds=range(4, 8)),
        rated_study(tmp_path / "c", means, board="othello_6x6"),
        rated_study(tmp_path / "d", means, changes={"semantics": "published"}),
    ]
    found = verdicts(*runs)
    best = found["value_best", "corrected"]
    assert [test.contrast.board for test in best.tests] == 3 * ["othello_6x6"] + 3 * [BOARD]
    assert [test.estimate.seeds for test in best.tests if test.estimate] == 6 * [8]
    assert best.missing == ()  # the seeds of b begin at 4
    alone = found["value_best", "published"]
    assert len(alone.tests) == 3
    # Six tests are corrected for, not three: the smallest p value counts six times.
    smallest = min(test.estimate.p_value() for test in best.tests if test.estimate)
    assert min(test.adjusted for test in best.tests) == pytest.approx(6 * smallest)


def test_a_trend_over_boards(tmp_path: Path) -> None:
    runs = [
        rated_study(tmp_path / board, dict.fromkeys(TARGETS, 0.0) | {"value": lead}, board=board)
        for board, lead in (("othello_6x6", 400.0), ("othello_7x7", 200.0), ("othello_8x8", 210.0))
    ]
    falls = verdicts(*runs)["value_falls_with_board", "corrected"]
    assert [test.verdict for test in falls.tests] == ["reproduced", "equivalent"]
    first = falls.tests[0].estimate
    assert first is not None
    assert first.effect == pytest.approx(200.0, abs=30)
    findings = losses.decide(measured.load(runs))
    spent = [effort.fraction(group.studies[0]) or 0.0 for group in findings.groups[:2]]
    assert findings.compute(falls, falls.tests[0].contrast) == min(spent) < max(spent)
    least, most = sorted(findings.compute(falls, test.contrast) or 0.0 for test in falls.tests)
    assert section._computing(findings, [falls]) == section._percent(least)
    assert section._percent(least) != section._percent(most)


def test_what_is_missing_is_named_and_the_rest_reported(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0}
    run = rated_study(tmp_path / "run", means, without=["policy_seed3"])
    best = verdicts(run)["value_best", "corrected"]
    assert "policy_seed3 of run: no tournament_elo" in best.missing
    assert "product_seed0 of run: no such run" in best.missing
    asked = {"study.targets": ["policy", "value", "sum"]}
    fewer = verdicts(rated_study(tmp_path / "two", means, changes=asked))["value_best", "corrected"]
    assert fewer.missing == ("product: no loss of two (study.targets)",)  # once, not by seed
    by_rival = {test.contrast.minus[0]: test for test in best.tests}
    assert by_rival["sum"].estimate is not None
    assert by_rival["sum"].estimate.seeds == 8
    assert by_rival["policy"].estimate is not None
    assert by_rival["policy"].estimate.seeds == 7
    assert by_rival["product"].estimate is None
    assert [by_rival[t].verdict for t in ("policy", "sum", "product")] == [
        "reproduced",
        "reproduced",
        "undecided",
    ]
    assert best.verdict == "undecided"


def test_entries_of_one_model_are_no_seeds_and_all_models_beside_them_decide(
    tmp_path: Path,
) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = rated_study(tmp_path / "run", means, changes={"semantics": "published"})
    results = json.loads((run / "results.json").read_text())
    results["switches"] = {"tournament_one_model_per_target": True}
    (run / "results.json").write_text(json.dumps(results))
    found = verdicts(run)
    best = found["value_best", "published"]
    assert best.verdict == "undecided"
    assert all(test.estimate is None for test in best.tests)
    assert "entries of a loss are one model" in best.missing[0]
    results["tournaments"].append(results["tournaments"][0] | {"name": "published"})
    (run / "results.json").write_text(json.dumps(results))
    assert verdicts(run)["value_best", "published"].verdict == "reproduced"
    gains = found["training_elo_value_fastest", "published"]  # training Elo is each run's own
    assert all(test.estimate is not None for test in gains.tests)


def test_a_claim_is_told_by_its_contrast_that_needs_most() -> None:
    [claim] = [c for c in papers.claims(papers.LOSSES) if c.id == "value_best"]
    found = inference.Estimate(10.0, 30.0, 6, 5.0)
    tests = tuple(
        decision.Tested(contrast, found, 1.0, 0.05, verdict, needed)
        for contrast, verdict, needed in zip(
            claim.contrasts, (UNDECIDED, UNDECIDED, CONTRADICTED), (9, 400, None), strict=False
        )
    )
    assert section._needed(Decided(claim, tests[:2])) == "400"
    unknown = decision.Tested(tests[0].contrast, found, 1.0, 0.05, UNDECIDED, None)
    assert section._needed(Decided(claim, (*tests[:2], unknown))) == "over 1,000"
    assert section._needed(Decided(claim, tests)) == "\N{EN DASH}"
    boards = list(dict.fromkeys(contrast.board for contrast in claim.contrasts))
    assert section._boards(Decided(claim, tests)) == f"{boards[0]} (1 of {len(boards)})"
    every = tuple(decision.Tested(c, None, 1.0, 0.05, UNDECIDED, None) for c in claim.contrasts)
    assert section._boards(Decided(claim, every)) == ", ".join(boards)


def test_a_number_that_a_paper_compares_with_is_subtracted_and_said() -> None:
    contrast = Contrast(("value",), (), statistic="final_value_loss", direction="less", than=0.1)
    values = {0: 0.35, 1: 0.05}
    assert decision.differences(contrast, lambda _: values) == pytest.approx([0.25, -0.05])
    assert words_of(contrast) == "last value loss: \N{SCRIPT SMALL L}ᵥ < 0.1"
    board = "connect_four_5x5"
    theirs = measured.published_value("final_value_loss", board, "sum")
    assert theirs is not None
    contrast = Contrast(("sum",), (), board, statistic="final_value_loss", than=0.1)
    assert losses.published_effect(contrast) == pytest.approx(theirs - 0.1)


def test_a_switch_set_apart_is_a_semantics_of_its_own(tmp_path: Path) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    changes = {"semantics": "published", "switches.dropout_inactive": False}
    [group] = measured.load([rated_study(tmp_path / "run", means, changes=changes)])
    assert group.semantics == "published, dropout_inactive=False"


@pytest.mark.parametrize(
    "changes", [{"switches.keep_tree": False}, {"switches.gobang_absolute_labels": True}]
)
def test_a_switch_that_changes_nothing_is_counted_with_the_rest(
    tmp_path: Path, changes: dict[str, bool]
) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    one = rated_study(tmp_path / "one", means, board="othello_6x6")
    other = rated_study(
        tmp_path / "other", means, board="othello_6x6", seeds=range(8, 16), changes=changes
    )
    [group] = measured.load([one, other])
    assert group.semantics == "corrected"


def test_keys_that_are_younger_than_a_run_had_their_default_in_it(tmp_path: Path) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    one = rated_study(tmp_path / "one", means, seeds=range(5))
    other = rated_study(tmp_path / "other", means, seeds=range(5, 9))
    results = json.loads((other / "results.json").read_text())
    del results["config"]["train"]["batch_size"]
    (other / "results.json").write_text(json.dumps(results))
    [group] = measured.load([one, other])
    assert len(group.studies) == 2


def test_bad_directories(tmp_path: Path) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    one = rated_study(tmp_path / "one", means)
    with pytest.raises(ConfigError, match=r"empty: holds no results\.json"):
        measured.load([tmp_path / "empty"])
    with pytest.raises(ConfigError, match=r"policy_seed0 is in .*one too"):
        measured.load([one, rated_study(tmp_path / "twice", means)])
    changed = {"train.batch_size": 32}
    other = rated_study(tmp_path / "other", means, seeds=range(8, 16), changes=changed)
    with pytest.raises(ConfigError, match=r"train\.batch_size=32, but 64 in"):
        measured.load([one, other])
    results = json.loads((one / "results.json").read_text()) | {"study": "tournament"}
    (one / "results.json").write_text(json.dumps(results))
    (one / "failed.json").write_text('{"trial_0": "a search\'s own reason"}')
    with pytest.raises(ConfigError, match="is a run of tournament"):
        measured.load([one])
    (one / "results.json").write_text(json.dumps(results | {"study": measured.STUDY}))
    for name in ("ladder.json", "results.json"):
        (one / name).write_text('{"study": ')
        with pytest.raises(ConfigError, match=rf"one/{name} is damaged"):
            measured.load([one])


def test_a_failed_run_decides_nothing_and_is_named(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = rated_study(tmp_path / "run", means)
    noted = {"value_seed2": {"iteration": 2, "reason": "loss/policy is nan"}}
    (run / "failed.json").write_text(json.dumps(noted))
    curve = {"iterations": [0, 1, 2], "elo": [0.0, 10.0, 20.0]}
    (run / "ladder.json").write_text(json.dumps({"runs": {"value_seed2": curve}}))
    [group] = measured.load([run])
    assert group.studies[0].results["ladder"]["runs"]["value_seed2"]["elo"] == [0, 10]
    best = verdicts(run)["value_best", "corrected"]
    assert "value_seed2 of run: failed in iteration 2" in best.missing
    assert [test.estimate.seeds for test in best.tests if test.estimate] == [7, 7, 7]
    assert best.verdict == "reproduced"


def test_a_study_that_was_trained_on_decides_nothing_until_it_has_ended(tmp_path: Path) -> None:
    """Its tournament is of fewer iterations than its losses."""
    run = rated_study(
        tmp_path / "run", dict.fromkeys(TARGETS, 0.0), changes={"train.iterations": 2}
    )
    assert measured.load([run])
    assert report._claims(load(run)).tables
    row = {"iteration": 3, "run": "sum_seed0", "target": "sum", "seed": 0}
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    told = "results.json is of iteration 2, training is at 3: the study's command, run to its end"
    with pytest.raises(ConfigError, match=rf"run: {told}, makes it again"):
        measured.load([run])
    study = load(run)
    assert any(text.startswith(told) for text in study.missing)
    assert not report._claims(study).tables


def test_an_unknown_share_of_the_papers_computing_is_not_told(tmp_path: Path) -> None:
    def told(name: str, **changes: str) -> str:
        run = rated_study(tmp_path / name, {"value": 9.0, "sum": 0.0}, changes=changes)
        [sentence] = section.summary(losses.decide(measured.load([run])))
        return sentence

    known = "under corrected semantics and with at least 3.9 % of the papers' computing for a run: "
    assert known in told("known")
    assert "under corrected semantics: " in told("unknown", **{"network.name": "resnet"})


def test_runs_are_paired_within_a_directory(tmp_path: Path) -> None:
    runs = [rated_study(tmp_path / target, {target: 0.0}) for target in ("value", "sum")]
    [group] = measured.load(runs)
    found = [group.values("tournament_elo", target)[0] for target in ("value", "sum")]
    assert [set(one) for one in found] == [{(at, seed) for seed in range(8)} for at in (0, 1)]


def test_statistics_of_the_second_half_and_of_both_losses() -> None:
    rows = {
        i: {"loss/minimised": 8.0 - i, "loss/value": 1.0 - 0.1 * i, "loss/policy": 2.0 - 0.3 * i}
        for i in range(1, 7)
    }
    rated = {"iterations": [0, 1, 2, 3, 4, 5, 6], "elo": [-90, 0, 10, 40, 45, 48, 50]}
    results = {"training_elo": {"a": rated | {"stderr": [1] * 7}}}
    study, run = Study("s", results, {"a": rows}), Run("a", "sum", 0)
    found = {name: measure(study, run) for name, measure in measured.STATISTICS.items()}
    assert found["second_half_training_elo_gain"] == 50 - 40  # from iteration 3 of 6
    assert found["training_elo_gain"] == 140
    assert found["second_half_loss_fall"] == pytest.approx(3)
    assert found["final_loss"] == 2.0
    assert found["value_less_policy"] == pytest.approx(0.4 - 0.2)
    assert measured.STATISTICS["value_less_policy"](Study("s", {}, {}), run) is None


@pytest.mark.parametrize(("name", "step"), [("policy", 1.0), ("value", 0.3)])
def test_falls_after_the_tenth_iteration(name: str, step: float) -> None:
    rows = {i: {f"loss/{name}": step * (20 - i)} for i in range(1, 21)}
    study, run = Study("s", {}, {"a": rows}), Run("a", "sum", 0)
    whole, late = (
        measured.STATISTICS[f"{name}_loss_fall{after}"](study, run) for after in ("", "_after_10")
    )
    assert (whole, late) == pytest.approx((19 * step, 10 * step))
