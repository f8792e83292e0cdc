"""Sections about the losses: ratings as the papers computed them, perfect play, differences."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments import published
from experiments.claims import ranking
from experiments.losses import elo_figures as elo
from experiments.losses import sentences
from experiments.pages import drawings
from experiments.pages.study import Study, load
from experiments.strength import absolute_section, papers_tournament
from jaxzero.games import make_game
from jaxzero.ratings import bayes_elo
from tests.experiments import made_up


def test_a_lost_row_that_parts_the_arena_games_leaves_a_run_unrated() -> None:
    wins = {f"arena/{r}{m}": n for r, n in zip(("wins", "draws", "losses"), (6, 2, 2), strict=True)
            for m in ("", "_moving_first")}  # fmt: skip
    rows = {i: {"iteration": i, "arena/opponent": i - 1, **wins} for i in range(1, 6)}

    def rated(*lost: int) -> list[int]:
        kept = {i: row for i, row in rows.items() if i not in lost}
        found = Study("s", {"runs": [{"name": "a", "target": "sum", "seed": 0}]}, {"a": kept})
        return [at for iterations, _ in found.authors_training_elo.values() for at in iterations]

    assert rated() == [0, 1, 2, 3, 4, 5]
    assert rated(5) == [0, 1, 2, 3, 4]
    assert rated(3) == []  # 2 and 3 never met


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
    pool = papers_tournament.ratings(Study("s", {"tournaments": [changed]}, {}))
    assert list(pool) == [*made_up.TARGETS, "random"]  # the untrained one is not in it
    expected = np.delete(strength, 8)
    expected = expected - expected.mean()
    np.testing.assert_allclose(
        np.concatenate([pool[name] for name in pool]), expected, rtol=0.02, atol=2
    )
    twice = papers_tournament.ratings(Study("s", {"tournaments": [changed, changed]}, {}))
    assert [len(found) for found in twice.values()] == [4, 4, 4, 4, 2]
    # Beside the tournament of one model for each loss stands that of all; which one is asked for.
    one = {**changed, "name": "published", "results": [[a, b, 500, 0, 500] for a, b, *_ in rows]}
    both = Study("s", {"tournaments": [changed, one]}, {})
    for name, elo_of_all in papers_tournament.ratings(both, all_models=True).items():
        np.testing.assert_allclose(elo_of_all, pool[name])
    as_published = np.concatenate(list(papers_tournament.ratings(both).values()))
    np.testing.assert_allclose(as_published, 0.0, atol=1e-6)
    # As published, the first-listed is thought to have an advantage of 32.8: of equal players the
    # later one comes out stronger.
    even = [[a, b, 500, 0, 500] for a in range(10) for b in range(10) if a != b]
    results = {
        "tournaments": [{**played, "results": even}],
        "switches": {"elo_first_listed_advantage": True},
    }
    found = papers_tournament.ratings(Study("s", results, {}))
    rated = np.concatenate([found[name] for name in published.LISTED])
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
    assert "published as a picture" in [text.get_text() for text in drawn.axes[0].texts]
    # A run that failed is rated up to there.
    broken = Study("s", results, rows, failed={"sum_seed0": 3})
    assert [its.tolist() for its, _ in elo.as_authors(broken, "sum")] == [[0, 1, 2]]
    assert "sum_seed0 in iteration 3; left out" in " ".join(broken.missing)


def test_the_end_of_a_recorded_game(tmp_path):
    game = make_game("connect_four_5x5")
    longer = [0, 1, 0, 1, 0, 1, 2, 1]  # the second player's column
    shorter = [0, 1, 0, 1, 0, 1, 0, -1]  # the first player's, one move earlier
    mirrored = [4, 3, 4, 3, 4, 3, 4, -1]  # as short, but not the last of them
    actions = np.array([mirrored, longer, shorter], np.int16).T[:, None, :]
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
                "value": {
                    s: {"bins": bins(predicted, exact, count), "constant_mse": 0.85} for s in stages
                },
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
    section = absolute_section.section_of(study)
    [table] = section.tables
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for row in table.rows for cell in row]
    assert {"0.613 ± 0.010", "0.824 ± 0.010", "0.777", "random", "0.512"} <= set(cells)
    assert "481 positions" in section.text[0]
    curve = section.plates[1].figure.axes[0].lines[1]  # after the diagonal; seeds pooled
    np.testing.assert_allclose(curve.get_xdata(), [0.25])
    np.testing.assert_allclose(curve.get_ydata(), [0.45])


@pytest.mark.parametrize(
    ("gap", "seeds", "apart"), [(300.0, 6, True), (5.0, 6, False), (300.0, 4, False)]
)
def test_losses_are_called_different_only_when_separated(gap, seeds, apart):
    noise = np.array([-12.0, 9.0, -6.0, 9.0, 3.0, -3.0])[:seeds]
    played = {
        "name": "final",
        "title": "Final networks",
        "players": [
            {"name": f"{t}{s}", "kind": "trained", "target": t, "seed": s}
            for t in ("sum", "value")
            for s in range(seeds)
        ],
        "elo": [*noise, *(noise[::-1] + gap)],
        "stderr": [20.0] * (2 * seeds),
    }
    rated = ranking.ranking(played)
    assert [r.target for r in rated] == ["value", "sum"]
    assert rated[0].mean - rated[1].mean == pytest.approx(gap)
    assert rated[0].stderr == pytest.approx(20 / math.sqrt(seeds))  # never below the ratings' own
    assert [len(pairs) for pairs in ranking.separated(rated)] == ([1, 0] if apart else [0, 1])
    said = " ".join(sentences.sentences(Study("s", {"tournaments": [played]}, {})))
    assert ("Separated at the 5 % level" in said) == apart
    assert ("No difference between the losses can be seen" in said) != apart


def test_leads_are_taken_seed_by_seed_where_seeds_are_shared():
    def rated(elo, *, error=1.0, first=0):
        seeds = range(first, first + len(elo))
        players = [{"kind": "trained", "target": "sum", "seed": seed} for seed in seeds]
        played = {"players": players, "elo": [*elo], "stderr": [error] * len(elo)}
        [one] = ranking.ranking(played)
        return one

    rng = np.random.default_rng(0)
    one, other = 300 * rng.normal(size=6) + np.array([[0.0] * 6, 10 + 5 * rng.normal(size=6)])
    low, high = stats.t.interval(0.95, 5, one.mean(), stats.sem(one))
    assert (rated(one).low, rated(one).high) == pytest.approx((low, high))
    lead = ranking.lead(rated(other), rated(one))
    assert lead == pytest.approx(((other - one).mean(), stats.sem(other - one)))
    apart = ranking.lead(rated(other, first=6), rated(one))
    errors = math.hypot(stats.sem(one), stats.sem(other))
    assert apart == pytest.approx(((other - one).mean(), errors))
    once = ranking.lead(rated(other, first=5), rated(one))  # one shared seed has no spread
    assert once == pytest.approx((other.mean() - one.mean(), errors))
    both = rated(one, error=30.0), rated(one + 20, error=40.0)
    assert ranking.lead(*both) == pytest.approx((-20, 50 / math.sqrt(6)))
    assert ranking.separated(both)[0] == []  # alike from seed to seed, but not surely rated so


def test_a_gain_in_the_tournament_is_over_the_untrained_network() -> None:
    players = [
        {"kind": "trained", "target": "sum", "seed": 0},
        {"kind": "untrained", "target": None, "seed": 0},
    ]
    results = {
        "runs": [{"name": "sum_seed0", "target": "sum", "seed": 0}],
        "tournaments": [{"name": "final", "players": players, "elo": [120.0, -30.0]}],
    }
    assert elo.tournament_gains(Study("s", results, {}), "sum").tolist() == [150.0]
