"""What is computed from finished hyper-parameter runs, against closed forms and brute force."""

import dataclasses
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments import published
from experiments.hyperparameters import importance, pareto, sweep_report
from experiments.hyperparameters.importance import Outcome, Swept
from experiments.hyperparameters.settings import LETTERS
from experiments.pages import draw, page, style
from experiments.pages.study import Study
from jaxzero.matches import arena, round_robin
from tests import small

# ---- Tables 3 and 4, the remarks


def samples(*values: np.ndarray) -> list[dict[int, float]]:
    """By seed, from 0."""
    return [dict(enumerate(one.tolist())) for one in values]


def test_two_settings_are_judged_as_scipy_does() -> None:
    """Of two settings the studentised range, seed by seed, is the paired t test."""
    rng = np.random.default_rng(0)
    agreed = set()
    for _ in range(30):
        shared, shift = 5 * rng.normal(size=8), rng.choice([0.0, 1.0])
        pair = shared + rng.normal(size=8), shared + shift + rng.normal(size=8)
        [found] = importance.spans([samples(*pair)])
        assert found.significant == (stats.ttest_rel(*pair).pvalue < 0.05)
        agreed.add(found.significant)
        assert found.span == pytest.approx(abs(pair[0].mean() - pair[1].mean()))
        assert found.significant == (found.span > found.noise)
    assert agreed == {True, False}


def test_rows_without_an_effect_have_one_in_a_twentieth_of_the_cases() -> None:
    rng = np.random.default_rng(1)
    blocks = [
        importance.block_of(samples(*(5 * rng.normal(size=6) + rng.normal(size=(3, 6)))))
        for _ in range(2000)
    ]
    bound = stats.studentized_range.ppf(0.95, 3, 10)
    wrong = np.mean([one.span / one.error > bound for one in blocks])
    assert 0.035 < wrong < 0.065  # binomial sd 0.005
    assert blocks[0].noise(0.05) == pytest.approx(bound * blocks[0].error)
    level = blocks[0].p_value()
    assert blocks[0].noise(level) == pytest.approx(blocks[0].span, rel=1e-3)


def test_rows_are_corrected_together() -> None:
    rng = np.random.default_rng(2)
    one = samples(*(rng.normal(size=(3, 6)) + np.array([[0.0], [0.0], [2.2]])))
    most = int(0.05 / importance.block_of(one).p_value())
    assert most >= 1
    for rows, expected in ((most, True), (most + 1, False)):
        for row in importance.spans([one] * rows):
            assert row.significant == (row.span > row.noise) == expected


def test_few_seeds_decide_nothing() -> None:
    for seeds in (1, 4):
        values = [np.full(seeds, 1.0), np.full(seeds, 100.0), np.array([])]
        [found] = importance.spans([samples(*values)])
        assert found.significant is None
        assert (found.span, math.isnan(found.noise), math.isnan(found.means[2])) == (99, True, True)
    assert importance.spans([samples(np.array([1.0]))])[0].significant is None
    assert importance.spans([[{}, {}]])[0].significant is None


def outcomes(
    losses: dict[str, list[float]], seconds: dict[str, float], *, seeds: int, noise: float
) -> dict[tuple[str, int], Outcome]:
    """Curves by setting, with noise of its own for every seed."""
    rng = np.random.default_rng(1)
    return {
        (name, seed): Outcome(
            np.arange(1, len(curve) + 1),
            np.array(curve) + noise * rng.normal(),
            seconds.get(name, 10.0) * (1 + 0.01 * rng.normal()),
        )
        for name, curve in losses.items()
        for seed in range(seeds)
    }


EPISODES = Swept("E", (10, 50, 100), ("E=10", "default", "E=100"))
EPOCHS = Swept("ep", (5, 10, 15), ("ep=5", "default", "ep=15"))
FLAT = [1.0] * 10


def row_of(swept: Swept, found: dict[tuple[str, int], Outcome]) -> dict[str, Any]:
    """Of a table with this row alone."""
    [row] = importance.describe([swept], found)
    return row


def test_the_rows_of_tables_3_and_4() -> None:
    curves = {"E=10": FLAT, "default": FLAT, "E=100": [1.0] * 9 + [0.2]}
    times = {"E=10": 5.0, "default": 10.0, "E=100": 20.0}
    row = row_of(EPISODES, outcomes(curves, times, seeds=8, noise=0.02))
    assert row["type"] == importance.SENSITIVE
    assert (row["best_for_loss"], row["best_for_time"]) == ("100", "10")
    assert row["seconds"]["means"] == pytest.approx([5, 10, 20], rel=0.02)
    row = row_of(EPISODES, outcomes(dict.fromkeys(curves, FLAT), {}, seeds=8, noise=0.1))
    assert row["type"] == importance.FRIENDLY
    lost = outcomes(curves, times, seeds=8, noise=0.02)
    lost["E=10", 0] = dataclasses.replace(lost["E=10", 0], loss=np.array([1.0, math.nan]))
    row = row_of(EPISODES, lost)  # a run that diverged, and its seed, are left out
    assert (row["loss"]["seeds"], row["best_for_loss"]) == (7, "100")
    row = row_of(EPISODES, outcomes(dict.fromkeys(curves, FLAT), {}, seeds=8, noise=0.1))
    assert (row["best_for_loss"], row["best_for_time"]) == ("insignificant", "similar")
    row = row_of(EPISODES, outcomes(curves, times, seeds=1, noise=0.0))
    assert row["type"] == importance.NOT_DECIDED
    assert (row["best_for_loss"], row["best_for_time"]) == ("100 (1 seed)", "10 (1 seed)")


def test_the_maximum_of_many_values_is_the_largest() -> None:
    names = ("E=10", "E=20", "default", "E=80", "E=100")
    swept = Swept("E", (10, 20, 50, 80, 100), names)
    times = dict(zip(names, (1.0, 2.0, 5.0, 8.0, 10.0), strict=True))
    found = outcomes(dict.fromkeys(names, FLAT), times, seeds=5, noise=0.0)
    study = Study("made up", {"sweep": {"parameters": [row_of(swept, found)]}}, {})
    [row] = (table := sweep_report.table_3(study)).rows
    shown = dict(zip(table.headers, row, strict=True))
    means = [float(shown[name].split()[0]) for name in ("minimum", "default", "maximum")]
    assert means == pytest.approx([1, 5, 10], rel=0.02)


def test_statistics_of_a_run() -> None:
    curve = [2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.4, 0.3, 0.3, 0.3, 0.2, 0.1, 0.5, 0.3, 0.2]
    long = Outcome(np.arange(1, 16), np.array(curve), 1.0)
    assert importance.statistic("final_loss", long, 10) == 0.2
    assert importance.statistic("loss_at_70", long, 10) == 0.4
    assert importance.statistic("early_loss", long, 10) == pytest.approx(1.1)
    assert importance.statistic("rise_after", long, 10) == pytest.approx(0.5 - 0.1)
    assert importance.statistic("fall_after", long, 10) == pytest.approx(0.5 - 0.2)
    # Between iterations 8 to 15.
    changes = [0.0, 0.0, -0.1, -0.1, 0.4, -0.2, -0.1]
    fluctuation = importance.statistic("loss_fluctuation", long, 10)
    assert fluctuation == pytest.approx(np.std(changes, ddof=1))
    less = dataclasses.replace(long, iterations=long.iterations[:14], loss=long.loss[:14])
    assert importance.statistic("fall_after", less, 10) == pytest.approx(0.5 - 0.3)
    short = dataclasses.replace(long, iterations=long.iterations[:5], loss=long.loss[:5])
    assert math.isnan(importance.statistic("rise_after", short, 10))
    assert math.isnan(importance.statistic("loss_at_70", short, 10))


@pytest.mark.parametrize("name", ["rise_after", "fall_after"])
def test_a_loss_that_stays_neither_rises_nor_falls(name: str) -> None:
    rng = np.random.default_rng(0)
    found = [
        importance.statistic(name, Outcome(np.arange(1, 151), loss, 1.0), 100)
        for loss in rng.normal(size=(400, 150))
    ]
    assert np.mean(found) == pytest.approx(0, abs=0.1)  # of which the sd is 0.022
    # As the papers have it: up to the level of iteration 100, and down again, below that of 120.
    bump = np.r_[np.linspace(2.0, 1.0, 100), np.full(20, 0.5), np.ones(10), np.full(20, 0.4)]
    change = importance.statistic(name, Outcome(np.arange(1, 151), bump, 1.0), 100)
    assert change == pytest.approx({"rise_after": 1.0 - 0.5, "fall_after": 1.0 - 0.4}[name])


@pytest.mark.parametrize(
    ("last", "seeds", "verdict"),
    [
        (0.5, 8, "reproduced"),
        (1.5, 8, "contradicted"),
        (1.0, 8, "equivalent"),
        (0.5, 4, "undecided"),
    ],
)
def test_verdicts_on_a_remark(last: float, seeds: int, verdict: str) -> None:
    """ "The most epochs give the lowest loss": against the default and against the minimum."""
    curves = {"ep=5": FLAT, "default": FLAT, "ep=15": [1.0] * 9 + [last]}
    remark, strength = importance.remarks(
        [EPOCHS], outcomes(curves, {}, seeds=seeds, noise=0.01), iterations=10
    )
    assert (strength["id"], strength["verdict"]) == ("higher_is_stronger", "undecided")  # unrated
    assert (remark["id"], remark["verdict"]) == ("ep_many", verdict)
    assert len(remark["contrasts"]) == 2
    assert remark["contrasts"][0]["effect"] == pytest.approx(last - 1, abs=0.03)


def test_higher_values_are_stronger_in_the_mean_over_hyper_parameters() -> None:
    settings = (*EPISODES.settings, "ep=5", "ep=15")
    elo = {"E=10": 0.0, "default": 50.0, "E=100": 200.0, "ep=5": 100.0, "ep=15": 60.0}
    found = outcomes(dict.fromkeys(settings, FLAT), {}, seeds=5, noise=0.01)
    rated = {
        key: dataclasses.replace(one, elo=elo[key[0]] + key[1] % 2) for key, one in found.items()
    }
    decided = {row["id"]: row for row in importance.remarks([EPISODES, EPOCHS], rated, 10)}
    [test] = decided["higher_is_stronger"]["contrasts"]
    assert test["effect"] == pytest.approx((200 - 40) / 2)
    assert decided["higher_is_stronger"]["verdict"] == "reproduced"

    one_sided = Swept("u", (0.6, 0.7), ("default", "u=0.7"))  # nothing below the default
    again = {row["id"]: row for row in importance.remarks([EPISODES, EPOCHS, one_sided], rated, 10)}
    [same] = again["higher_is_stronger"]["contrasts"]
    assert same["effect"] == test["effect"]


def test_nothing_to_compare_is_no_insignificant_effect() -> None:
    row = row_of(EPISODES, outcomes({"default": FLAT}, {}, seeds=8, noise=0.1))
    assert (row["best_for_loss"], row["best_for_time"]) == (importance.NOT_DECIDED,) * 2


def test_the_published_tables_are_whole() -> None:
    paper = published.load("wang2021_sweep") or {}
    for table in ("table_1", "table_3", "table_4"):
        assert list(paper[table]) == list(LETTERS)
    assert all(values[1] == values_of_default[letter] for letter, values in paper["table_1"].items()
               for values_of_default in [_defaults()])  # fmt: skip
    assert {row["hours"][1] for row in paper["table_3"].values()} == {44.0}
    claims = (published.load("claims_sweep") or {})["claims"]
    letters = [claim.get("letter") for claim in claims]
    assert letters == [*LETTERS, "u", "bs", None]
    known = (published.load("claims_sweep") or {})["statistics"]
    for claim in claims:
        for contrast in claim["contrasts"]:
            assert contrast["statistic"] in known
            assert {*contrast["plus"], *contrast["minus"]} <= {"minimum", "default", "maximum"}


def _defaults() -> dict[str, float]:
    settings = (published.load(published.LOSSES) or {})["settings"]
    return {letter: settings[key] for letter, key in LETTERS.items()}


# ---- fronts


def test_a_front_is_what_nothing_dominates() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        cost, elo = rng.integers(0, 6, 12).astype(float), rng.integers(0, 6, 12).astype(float)
        kept = pareto.front(cost, elo)
        beaten = [
            any((cost[j] <= cost[i] and elo[j] >= elo[i] and (cost[j], elo[j]) != (cost[i], elo[i]))
                for j in range(12))
            for i in range(12)
        ]  # fmt: skip
        assert {(cost[i], elo[i]) for i in kept} == {
            (cost[i], elo[i]) for i in range(12) if not beaten[i]
        }
        assert len(kept) == len({(cost[i], elo[i]) for i in kept})
        points = rng.uniform([0, 0], [6, 6], (40_000, 2))
        covered = ((points[:, :1] >= cost) & (points[:, 1:] <= elo)).any(1)
        area = pareto.hypervolume(cost, elo, most=6, least=0)
        assert area == pytest.approx(36 * covered.mean(), abs=0.6)
    assert pareto.hypervolume([7.0], [5.0], most=6, least=0) == 0


# ---- the size of the round robin


def test_the_full_round_robin_counts_33210_games_with_balanced_colours() -> None:
    """Every part of the schedule of 82 players, without playing it."""
    players, games = 82, 10
    parts = round_robin.cut(players, games // 2, parts=24, least=8)
    played = np.zeros((players, players), int)
    for first_round, first_game in parts.starts:
        pairs = round_robin.round_pairs(players, first_round, parts.rounds)
        real = pairs[pairs[:, 0] != pairs[:, 1]]
        np.add.at(played, tuple(real.T), min(parts.games, games // 2 - first_game))
    assert played.sum() == 33_210
    assert (played + played.T == games - games * np.eye(players, dtype=int)).all()
    assert (played == played.T).all()  # each of a pair moves first as often
    game = small.small_spec().game
    assert round_robin.forecast(game, [0] * players, games // 2).games == 33_210
    assert len(arena.ordered_pairs(players)) == 2 * 3321


# ---- figures that tell their points


def test_points_tell_their_settings(tmp_path: Path) -> None:
    figure, (axes,) = style.new_figure(panel=(2, 2))
    draw.points(
        axes, [1.0, 3.0, math.nan], [2.0, 4.0, 1.0], ["E < 5 & m", "two", "three"], "#000000"
    )
    root = ElementTree.fromstring(page.save(figure, tmp_path / "points"))
    name = "{http://www.w3.org/2000/svg}"
    titled = [group for group in root.iter(f"{name}g") if group.find(f"{name}title") is not None]
    said = [group.findtext(f"{name}title") for group in titled if list(group.iter(f"{name}use"))]
    assert said == ["E < 5 & m", "two"]  # what is nowhere is not drawn
