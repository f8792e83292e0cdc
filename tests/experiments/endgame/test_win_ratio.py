"""Pooled curves, their intervals, and what decides 004's claims."""

import copy
import dataclasses

import numpy as np
import pytest

from experiments import published
from experiments.claims import papers
from experiments.claims.decision import CONTRADICTED, NOT_ADDRESSED, REPRODUCED, UNDECIDED
from experiments.configs.curriculum import PRESETS, get_config
from experiments.endgame import claims, win_ratio
from experiments.endgame.win_ratio import Curve, Point
from experiments.pages.bands import mean_between
from tests import small


def line(arm, seed, height, *, count=21, games=30, last=100.0):
    """Points whose win ratio is a function of where they are, 0 to 1, on every axis."""
    found = []
    for i in range(count):
        share = i / (count - 1)
        wins = round(games * height(share))
        x = dict.fromkeys(win_ratio.AXES, share * last)
        found.append(Point(arm, seed, i, x, wins, 0, games - wins))
    return found


def test_the_moving_average_pools_seeds_and_weighs_games():
    points = [
        Point("a", seed, 0, dict.fromkeys(win_ratio.AXES, x), wins, draws, losses)
        for seed, x, wins, draws, losses in (
            (0, 1.0, 10, 0, 10),
            (1, 2.0, 0, 0, 40),
            (0, 3.0, 5, 10, 5),
            (1, 4.0, 0, 0, 0),  # not one game: no point
        )
    ]
    curve = win_ratio.smooth(points, "steps", 2, 0.5)
    np.testing.assert_allclose(curve.x, [1.5, 2.5])
    np.testing.assert_allclose(curve.mean, [10 / 60, 10 / 60])
    assert (curve.low < curve.mean).all()
    assert (curve.mean < curve.high).all()
    # Wilson's interval of 10 of 60, as scipy has it.
    from scipy.stats import binomtest

    expected = binomtest(10, 60).proportion_ci(method="wilson")
    np.testing.assert_allclose((curve.low[0], curve.high[0]), expected, atol=1e-9)
    assert len(win_ratio.smooth([], "steps", 2, 0.5).x) == 0
    assert len(win_ratio.smooth(points, "steps", 20, 0.0).x) == 1


def test_means_are_of_the_line_between_the_points():
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0])
    assert mean_between(x, y, 0.0, 1.0) == pytest.approx(0.5)
    assert mean_between(x, y, 0.5, 3.0) == pytest.approx((0.375 + 2) / 2.5)
    assert np.isnan(mean_between(x[:1], y[:1], 0.0, 1.0))


def over(low, high):
    return lambda x, y: mean_between(x, y, low, high)


def test_differences_are_taken_seed_by_seed():
    points = []
    for seed in range(6):
        points += line("curriculum", seed, lambda s: min(1.0, 0.2 + s), last=200.0)
        points += line("baseline", seed, lambda s: s, last=100.0)
    points += line("baseline", 99, lambda s: s)  # a seed of one arm alone
    points += line("trim", 0, lambda s: s, last=10.0)  # plays no part
    found = win_ratio.paired(points, "minutes", 0.0, over(0, 50))
    assert len(found) == 6
    np.testing.assert_allclose(found, 0.2 + 0.125 - 0.25, atol=0.02)
    late = win_ratio.paired(points, "minutes", 0.0, over(50, 100))
    np.testing.assert_allclose(late, 0.2 + 0.375 - 0.75, atol=0.02)
    mean = win_ratio.paired(points, "minutes", 0.0, over(50, 100), (0.5, 0.5))
    np.testing.assert_allclose(mean, (0.2 + 0.375 + 0.75) / 2, atol=0.02)


def test_what_is_gained_late():
    x = np.linspace(0, 1000, 1001)
    assert win_ratio.late_gain(x, x / 1000, 1000.0, 0.2) == pytest.approx(0.4)
    assert win_ratio.late_gain(x, np.minimum(x / 1000, 0.3), 1000.0, 0.2) == pytest.approx(0)


def test_a_curve_that_begins_late_is_compared_with_what_there_is():
    x = np.linspace(400, 1000, 601)
    risen = win_ratio.gain_around(x, np.where(x < 500, x / 500 - 0.8, 0.5), 500.0, 300.0)
    assert risen == pytest.approx(0.5 - 0.1, abs=0.01)


def test_arms_are_compared_up_to_where_the_first_ends():
    points = [
        p for arm, last in (("curriculum", 100.0), ("baseline", 80.0))
        for p in line(arm, 0, lambda s: s, last=last)
    ]  # fmt: skip
    assert win_ratio.common_end(points, "minutes") == 80.0


def test_where_the_leader_is_overtaken():
    x = np.linspace(0, 10, 101)
    ahead = Curve(x, np.minimum(0.1 + x / 10, 0.6), x, x)
    behind = Curve(x, x / 10, x, x)
    assert win_ratio.meeting(ahead, behind) == pytest.approx(6.0, abs=0.1)
    assert win_ratio.meeting(behind, ahead) is None
    low = Curve(x, np.maximum(ahead.mean, behind.mean + 0.02), x, x)  # its lead only gets small
    assert win_ratio.meeting(low, behind, 0.05) is None
    assert win_ratio.meeting(Curve(x, behind.mean + 1, x, x), behind) is None


def test_skill_lost_where_the_curriculum_ends():
    """Compared with what was shortly before, whatever came long before and comes long after."""
    points, heights = [], (0.1, 0.6, 0.4, 0.9)  # by quarter
    for seed in range(5):
        points += line("curriculum", seed, lambda s: heights[min(int(4 * s), 3)], last=2000.0)
        points += line("baseline", seed, lambda s: 0.4, last=2000.0)
    points += line("trim", 0, lambda s: s, last=10.0)  # plays no part
    found = {v.claim.id: v for v in claims.decide(get_config("paper_racing_kings"), points)}
    assert found["skill_lost"].tests[0].estimate.effect < -0.15  # the whole game from 1000 on
    assert found["skill_lost"].tests[0].seeds == 5
    late = found["converge"].tests[0].estimate.effect
    assert late == pytest.approx(0.5, abs=0.01)  # the last fifth
    config = small.changed(get_config("paper_racing_kings"), {"study.draw_points": 1.0})
    drawn = [dataclasses.replace(p, draws=p.losses, losses=0) for p in points]
    decided = [v for v in claims.decide(config, drawn) if v.tests]
    assert all(v.tests[0].estimate.effect == 0 for v in decided)
    short = [dataclasses.replace(p, x={k: v / 2 for k, v in p.x.items()}) for p in points]
    found = {v.claim.id: v for v in claims.decide(get_config("paper_racing_kings"), short)}
    assert found["skill_lost"].tests[0].estimate is None  # nobody went on
    assert found["speed_of_the_curriculum"].verdict == NOT_ADDRESSED


@pytest.mark.parametrize(
    ("gain", "said"), [(0.2, REPRODUCED), (-0.2, CONTRADICTED), (0.0, UNDECIDED)]
)
def test_verdicts_follow_the_seeds(gain, said):
    rng = np.random.default_rng(0)
    points = []
    for seed in range(8):
        noise = 0.1 * rng.normal()
        points += line("curriculum", seed, lambda s, n=noise: min(0.3 + gain + n + s / 5, 1))
        points += line("baseline", seed, lambda s: 0.3 + s / 5)
    found = {v.claim.id: v for v in claims.decide(get_config("paper"), points)}
    assert found["faster_in_time"].verdict == said
    assert "skill_lost" not in found  # 004 says that of Racing Kings alone
    few = [p for p in points if p.seed < 3]
    verdicts = {v.verdict for v in claims.decide(get_config("paper"), few)}
    assert verdicts == {UNDECIDED, NOT_ADDRESSED}
    assert claims.decide(get_config("paper"), [p for p in points if p.arm == "baseline"]) == []


def test_the_papers_own_curves_lead_early():
    points = line("curriculum", 0, lambda s: s) + line("baseline", 0, lambda s: s)
    rows = claims.as_json(claims.decide(get_config("paper_racing_kings"), points))
    theirs = {row["id"]: row["published"] for row in rows}
    assert all(value > 0.02 for value in theirs["faster_in_time"].values())
    assert all(value > 0.02 for value in theirs["faster_in_steps"].values())
    assert all(abs(value) < 0.1 for value in theirs["converge"].values())
    assert set(theirs["faster_in_time"]) == {"fig4", "fig5", "fig6"}
    assert {**theirs["skill_lost"]} == {"fig4": pytest.approx(-0.11, abs=0.02)}  # around epoch 1000
    assert all(value > 0.1 for value in theirs["below_maximum"].values())
    assert theirs["other_networks_and_curricula"] == {}


def test_the_paper_presets_have_the_papers_values():
    reversi, racing = get_config("paper"), get_config("paper_racing_kings")
    for config in (reversi, racing):
        assert (config.search.num_simulations, config.search.c_puct) == (200, 3.0)
        assert (config.train.epochs, config.train.batch_size) == (20, 350)
        assert config.network.blocks == 10
        assert config.search.draw_value == -0.5
        assert config.study.seeds == 5
        assert config.study.games >= 30
    assert claims.end_of_curriculum(reversi) == 500
    assert claims.end_of_curriculum(racing) == 1000
    assert [claims.figure_of(get_config(p)) for p in PRESETS] == [
        None, "fig4", "fig6", *("fig5", "fig4", "fig6") * 3,
    ]  # fmt: skip
    assert len(published.load(claims.CURVES)["figures"]) == 3


def test_published_curves_are_compared_where_both_are_known(monkeypatch):
    [claim] = [c for c in papers.claims(papers.CURRICULUM) if c.id == "faster_in_time"]
    before = claims.published_effects(claim)
    known = claims.published_curves

    def longer(figure):
        """One curve begins earlier than the other, with something absurd."""
        found = copy.deepcopy(known(figure))
        curves = found[claim.raw["axis"]]
        first = min(curves[arm]["x"][0] for arm in claims.PAIR)
        early = min(claims.PAIR, key=lambda arm: curves[arm]["x"][0])
        curves[early]["x"].insert(0, first / 2)
        curves[early]["y"].insert(0, 50.0)
        return found

    monkeypatch.setattr(claims, "published_curves", longer)
    assert claims.published_effects(claim) == pytest.approx(before)
    assert len(before) == 3
