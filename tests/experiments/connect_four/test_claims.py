"""Paper 002's claims are decided from made-up runs whose truth is known; its curves and numbers."""

from typing import Any

import numpy as np
import pytest

from experiments import published
from experiments.claims import papers, sides, supervised
from experiments.claims import section as claims_section
from experiments.configs.connect_four_efficiency import OTHER_ARMS, PAPER_ARMS
from experiments.connect_four import claims, learning_lines
from experiments.connect_four.learning_lines import Line
from experiments.connect_four.supervised_report import accuracies, sets
from experiments.pages.wording import NONE


def arm(name: str, lift: float, *, speed: float = 1.0, seeds: int = 6) -> dict[str, Any]:
    """Runs that learn 10 points in 10 iterations; `lift`: further points; `speed`: cheaper."""

    def point(seed: int, i: int) -> dict[str, Any]:
        accuracy = (50 + i + lift + 0.02 * ((seed + i) % 3)) / 100
        own = {"iteration": i, "hours": i / speed, "search": accuracy, "network": accuracy - 0.1}
        own |= cost(3600 * own["hours"] / 0.0156)
        return own | {"new_share": 0.7 - 0.02 * i if i else None}

    runs = [{"seed": s, "points": [point(s, i) for i in range(11)]} for s in range(seeds)]
    return {"arm": name, "seconds_per_move": 0.0156, "runs": runs}


def cost(searches: float, channels: int = 128) -> dict[str, Any]:
    """Searches of a hundred simulations by networks of one width."""
    made = {"asked": searches, "searches": searches, "simulations": 100 * searches}
    return made | {"searches_by_channels": {str(channels): searches}}


def verdicts(study: str, *arms: dict[str, Any]) -> dict[str, dict[str, Any]]:
    rows = claims.rows({"study": claims.PREFIX + study, "arms": list(arms)})
    return {row["id"]: row for row in rows}


def test_claims_are_decided_by_cost_and_by_network() -> None:
    found = verdicts("extensions", arm("extended", 0), arm("cached", 0, speed=1.5))
    faster = found["cached_more_efficient"]
    assert faster["verdict"] == "reproduced"
    # From the first network of `extended` to the 10 / 1.5 hours that `cached` took: half the hours
    # are half a network more.
    [test] = faster["contrasts"]
    assert test["effect"] == pytest.approx(0.5 * (1 + 10 / 1.5) / 2, abs=0.05)
    assert test["published"]["Clausen 2021"] == pytest.approx(1.0, abs=0.5)
    assert found["cached_learns_the_same"]["verdict"] == "reproduced"
    elsewhere = {"study": claims.PREFIX + "extensions", "game": "connect_four_5x5"}
    both = [arm("extended", 0), arm("cached", 0, speed=1.5)]
    rows = {row["id"]: row for row in claims.rows(elsewhere | {"arms": both})}
    assert rows["cached_more_efficient"]["contrasts"][0]["published"] == {}
    slower = verdicts("extensions", arm("extended", 0), arm("cached", -3))
    assert slower["cached_more_efficient"]["verdict"] == "contradicted"
    assert slower["cached_learns_the_same"]["verdict"] == "contradicted"
    few = verdicts("extensions", arm("extended", 0, seeds=4), arm("cached", 3, seeds=4))
    assert few["cached_more_efficient"]["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("lift", "verdict"), [(-3, "reproduced"), (0, "reproduced"), (3, "contradicted")]
)
def test_no_improvement_is_refuted_by_one_alone(lift: float, verdict: str) -> None:
    found = verdicts("extensions", arm("cached", 0), arm("retry", lift))["retry_no_gain"]
    assert found["verdict"] == verdict
    [row] = claims_section.of_results("", [found], "").rows
    assert "best moves with search, %: retry \N{MINUS SIGN} cached ≤ 0" in row


def test_what_was_not_run_is_not_addressed_and_says_what_it_needs() -> None:
    found = verdicts("efficiency", arm("baseline", 0), arm("dedupe", 2), arm("dedupe_0.2", 0))
    assert found["merging_duplicates_helps"]["verdict"] == "reproduced"
    assert found["search_improves_the_network"]["verdict"] == "reproduced"
    weights = found["duplicate_weight_0.8"]  # one of two contrasts was run
    assert (weights["verdict"], len(weights["contrasts"])) == ("undecided", 2)
    absent = found["cycle_accelerates"]
    assert (absent["verdict"], absent["contrasts"]) == ("not addressed", [])
    assert absent["needs"] == "runs of cyclic"
    assert found["two_networks"]["needs"].startswith("an arm")
    table = claims_section.of_results("", list(found.values()), "")
    assert len({len(row) for row in table.rows}) == 1
    assert any(row[2:4] == ("not addressed", "needs runs of cyclic") for row in table.rows)
    searched = claims.rows({"study": "connect_four_search", "trials": []})
    assert {row["verdict"] for row in searched} == {"not addressed"}


def test_a_published_effect_needs_a_number_of_every_side() -> None:
    contrast = papers.Contrast(("a", "b"), ("c",))
    known = {"a": {0: 1.0, 1: 3.0}, "b": {0: 4.0}, "c": {0: 2.5}}
    assert sides.effect(contrast, lambda _, name: known[name]) == pytest.approx((2 + 4) / 2 - 2.5)
    for absent in ({}, {0: float("nan")}):
        values = known | {"c": absent}
        assert sides.effect(contrast, lambda _, name, values=values: values[name]) is None


def test_a_network_that_grows_drops_at_its_steps() -> None:
    steps, unknown = np.arange(1.0, 9.0), np.full(8, np.nan)
    accuracy = np.array([50, 51, 49, 52, 53, 46, 54, 55.0])
    lines = {
        "growing": tuple(
            Line(s, steps, steps, steps, accuracy + s, unknown, unknown, (3, 6)) for s in range(5)
        )
    }
    [found] = [
        row
        for row in claims.decide("extensions", lambda c, name: claims.of_lines(lines, c, name))
        if row["id"] == "growing_drops"
    ]
    assert [test["effect"] for test in found["contrasts"]] == [-2, -7]
    assert found["verdict"] == "reproduced"
    published = [test["published"]["Clausen 2021"] for test in found["contrasts"]]
    assert published == pytest.approx([-0.545, -2.8])


def test_the_claims_are_well_formed_and_agree_with_the_published_numbers() -> None:
    found = papers.claims(papers.EFFICIENCY)
    assert len({claim.id for claim in found}) == len(found)
    arms = {*PAPER_ARMS, *OTHER_ARMS}
    against = {}
    for claim in found:
        assert {*claim.raw["studies"]} <= {"efficiency", "supervised", "search", "extensions"}
        for contrast in claim.contrasts:
            if not contrast.sides:
                assert claim.raw["needs"]
                continue
            assert contrast.statistic in papers.file(papers.EFFICIENCY)["statistics"]
            if claim.raw["studies"] == ["efficiency"]:
                assert {name for name, _ in contrast.sides} <= arms
            known = supervised if contrast.statistic in supervised.STATISTICS else claims
            effect, margin = known.published_effect(contrast), contrast.margin
            if effect is None:
                continue
            agrees = {
                "greater": effect > margin,
                "less": effect < -margin,
                "equal": abs(effect) < margin,
                "not_greater": effect < margin,
            }[contrast.direction]
            if not agrees:
                against[claim.id, contrast.statistic, *contrast.plus] = round(effect, 2)
    assert against == {
        ("playout_caps_accelerate", "accuracy", "playout_caps"): -0.85,  # in the thesis
        ("features_hurt_late", "late_network_accuracy", "win0"): -0.27,
        ("features_hurt_late", "late_network_accuracy", "only_move2"): -0.19,
    }


def test_published_curves_stand_at_what_a_network_had_cost() -> None:
    drawn, honest = learning_lines.of_paper(as_drawn=True), learning_lines.of_paper()
    for name, [line, *_] in honest.items():
        other = drawn[name][0]
        np.testing.assert_allclose(line.hours[1:], other.hours[:-1], err_msg=name)
        np.testing.assert_array_equal(line.accuracy, other.accuracy)
        np.testing.assert_array_equal(line.diversity[1:], other.diversity[:-1], err_msg=name)
        assert (np.diff(line.hours) > 0).all(), name
    # The fact sheet's table: mean accuracy of network 8 and 20, diversity of iteration 28.
    for name, at_8, at_20 in (
        ("extended", 88.1, 91.2),
        ("cached", 87.7, 91.0),
        ("kld", 87.2, 90.1),
    ):
        for n, expected in ((8, at_8), (20, at_20)):
            own = [line.accuracy[line.network == n][0] for line in honest[name]]
            assert np.mean(own) == pytest.approx(expected, abs=0.06)
    late = [line.diversity[line.network == 29][0] for line in honest["extended"]]
    assert np.mean(late) == pytest.approx(0.40, abs=0.01)
    assert honest["move1"][0].hours[0] > 2  # the small network's hours
    # An iteration of `extended` ends after 260,000 to 460,000 moves of 7.8 ms.
    hours = np.diff(honest["extended"][0].hours[5:])
    assert ((hours > 0.5) & (hours < 1.25)).all()


def results(probability: float, *, squeeze_excite: bool = False) -> dict[str, Any]:
    """Of a supervised study with two kinds of labels and known accuracies."""
    seeds = [{"network": {"all": {"strong": 0.9 + s / 1000, "result": 0.8}}} for s in range(5)]
    statistics = {"best_moves": 1.7, "won": 0.6, "lost": 0.3, "drawn": 0.1}
    mean = {"mean": 0.9, "stderr": 0.001}
    groups = [
        {"blocks": blocks, "version": 2, "labels": labels, "parameters": 1, "seeds": seeds}
        | {"positions": {"train": 10}, "network": {"strong": mean, "result": mean}}
        | {"statistics": statistics}
        for blocks in (5, 10)
        for labels in ("corrected", "published")
    ]
    config = {
        "study": {"best_move_probability": probability},
        "network": {"squeeze_excite": squeeze_excite},
    }
    return {"study": "connect_four_supervised", "config": config, "groups": groups}


@pytest.mark.parametrize(
    ("probability", "squeeze_excite", "moves"),
    [
        (0.5, False, ["92.44", "92.44", "93.00", "93.00"]),
        (0.5, True, ["92.60", "92.60", NONE, NONE]),
        (0.9, True, ["96.94", "96.94", NONE, NONE]),
        (0.9, False, 4 * [NONE]),
        (0.7, False, 4 * [NONE]),
    ],
)
def test_published_rows_are_matched_by_recipe(
    probability: float, squeeze_excite: bool, moves: list[str]
) -> None:
    found = results(probability, squeeze_excite=squeeze_excite)
    shown = [dict(zip(accuracies(found).headers, r, strict=True)) for r in accuracies(found).rows]
    assert [row["moves, Clausen 2021"] for row in shown] == moves
    assert [row["results, Clausen 2021"] == NONE for row in shown[:1]] == [True]  # true labels
    beside = {0.5: "Clausen 2021's hard version 2", 0.9: "Clausen 2021's easy test"}
    assert [row[0] for row in sets(found).rows][1:] == [*filter(None, [beside.get(probability)])]


def test_table_1_is_decided_for_each_kind_of_labels() -> None:
    rows = claims.rows(results(0.5))
    deeper = [row for row in rows if row["id"] == "deeper_is_better"]
    assert [row["semantics"] for row in deeper] == ["corrected", "published"]
    tested = [test for test in deeper[0]["contrasts"] if test["seeds"]]
    assert [test["plus"] for test in tested] == 2 * [("blocks10_v2",)]
    assert tested[0]["published"]["Clausen 2021"] == pytest.approx(0.56)
    easy = {row["id"]: row for row in rows}["hard_set_is_harder"]
    assert (easy["verdict"], easy["needs"]) == ("not addressed", "runs of easy_none")
    more = results(0.5)
    better = [{"network": {"all": {"strong": 0.95, "result": 0.8}}}] * 5
    more["groups"][1] |= {"features": "move1", "labels": "corrected", "seeds": better}
    found = {row["id"]: row for row in claims.rows(more) if row["semantics"] == "corrected"}
    note = accuracies(more).note
    assert "results of move1 (79.09)" in note  # the rows that the thesis mixes up
    assert "76.16 ± 1.50 % of moves right without features" in note
    assert "thesis" not in accuracies(results(0.5)).note
    [test] = found["features_help_supervised"]["contrasts"]
    assert test["effect"] == pytest.approx(4.8)
    assert test["published"]["Clausen 2021"] == pytest.approx(0.29)
    assert len((published.load(supervised.PUBLISHED) or {})["features"]) == 25


def test_a_study_of_both_sets_tells_them_apart() -> None:
    study, easy = results(0.5), results(0.9)
    study["config"]["study"]["best_move_probability"] = [0.5, 0.9]
    for made, probability, accuracy in ((study, 0.5, 0.8), (easy, 0.9, 0.9)):
        for group in made["groups"]:
            seeds = [{"network": {"all": {"strong": accuracy, "result": 0.8}}}] * 5
            group |= {"best_move_probability": probability, "seeds": seeds}
    study["groups"] += easy["groups"]
    found = {row["id"]: row for row in claims.rows(study)}["hard_set_is_harder"]
    assert found["verdict"] == "reproduced"
    assert found["contrasts"][0]["effect"] == pytest.approx(10)
    shown = [row[0] for row in accuracies(study).rows]
    assert shown[0] == "5, version 2, corrected"
    assert shown[4] == "5, version 2, easy, corrected"
    assert [row[0] for row in sets(study).rows] == [
        "ours, hard, version 2",
        "Clausen 2021's hard version 2",
        "ours, easy, version 2",
        "Clausen 2021's easy test",
    ]


def test_few_examples_are_few() -> None:
    study = results(0.5)
    study["groups"][1] |= {"features": "move0_win0", "labels": "corrected"}
    verdicts = []
    for count in (8_000, 50_000):
        for group in study["groups"]:
            group["positions"]["train"] = count
        rows = {row["id"]: row for row in claims.rows(study) if row["semantics"] == "corrected"}
        verdicts.append(rows["features_help_few"]["verdict"])
        if count == 8_000:
            [test] = rows["features_help_few"]["contrasts"]
            assert test["published"]["Clausen 2021"] == pytest.approx(4.22)
    assert verdicts == ["equivalent", "not addressed"]  # the same networks
