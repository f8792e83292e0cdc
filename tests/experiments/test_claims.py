"""Claims are decided from made-up results whose truth is known."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from experiments import claims, loss_report, published
from experiments.analysis import decisions, effort, measured
from experiments.reporting.losses import claims as claim_pages
from experiments.reporting.style import SYMBOLS
from jaxzero.config import ConfigError
from jaxzero.games import make_game
from jaxzero.networks.convnet import ConvNet

TARGETS = ("policy", "value", "sum", "product")
BOARD = "connect_four_6x6"  # value_best and product_above_sum, among others


def made_up(
    directory: Path,
    means: Mapping[str, float],
    *,
    sd: float = 20.0,
    seeds: Sequence[int] = range(8),
    board: str = BOARD,
    changes: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
    gain: float = 100.0,
) -> Path:
    """A finished study: ratings around `means` by target; what belongs to a seed is shared."""
    rng = np.random.default_rng(len(directory.name) + 100 * min(seeds))
    shared = {seed: rng.normal(0, 300) for seed in seeds}  # pairing takes it out
    runs = [{"name": f"{t}_seed{s}", "target": t, "seed": s} for t in means for s in seeds]
    players: list[dict[str, Any]] = [{**run, "kind": "trained"} for run in runs]
    elo = [means[r["target"]] + shared[r["seed"]] + rng.normal(0, sd) for r in runs]
    players += [{"name": f"u{s}", "kind": "untrained", "target": None, "seed": s} for s in seeds]
    elo += [-100.0 + shared[s] for s in seeds]
    kept = [i for i, player in enumerate(players) if player["name"] not in without]
    config = {
        "game": board,
        "semantics": "corrected",
        "seed": min(seeds),
        "switches.dropout_inactive": None,
        "study.seeds": len(seeds),
        "train.batch_size": 64,
        "network.name": "convnet",
        "network.channels": 256,
        "network.hidden": [1024, 512],
    } | dict(changes or {})
    nested: dict[str, Any] = {}
    for key, value in config.items():
        section, _, name = key.rpartition(".")
        (nested.setdefault(section, {}) if section else nested)[name] = value
    results = {
        "study": "loss_ablation",
        "game": board,
        "config": nested,
        "switches": {},
        "runs": runs,
        "training_elo": {
            r["name"]: {"iterations": [0, 1, 2], "elo": [0.0, 50.0, gain + rng.normal(0, sd)]}
            for r in runs
        },
        "tournaments": [
            {"name": "low", "players": players[:1], "elo": [9e9]},
            {
                "name": "final",
                "players": [players[i] for i in kept],
                "elo": [elo[i] for i in kept],
                "results": [
                    [a, b, 6, 1, 3] for a in range(len(kept)) for b in range(len(kept)) if a != b
                ],
            },
        ],
        "cost": {
            "runs": {
                r["name"]: {"evaluations": 4e6, "useful_evaluations": 3e6, "gradient_steps": 1e4}
                for r in runs
            }
        },
    }
    directory.mkdir(parents=True)
    (directory / "results.json").write_text(json.dumps(results))
    rows = [
        {"iteration": i, "run": r["name"], "target": r["target"], "seed": r["seed"]}
        | {"loss/minimised": loss, "loss/policy": loss, "loss/value": loss}
        for r in runs
        for i, loss in enumerate((9.0, 2.0, 1.0 + 0.01 * rng.normal()))
    ]
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return directory


def verdicts(*directories: Path) -> dict[tuple[str, str], decisions.Decided]:
    """By claim and semantics."""
    findings = decisions.decide(measured.load(directories))
    return {(one.claim.id, one.semantics): one for one in findings.decided}


def test_a_clear_effect_is_reproduced_and_the_reverse_contradicted(tmp_path: Path) -> None:
    for sign, expected in ((1, "reproduced"), (-1, "contradicted")):
        means = {"policy": 0.0, "value": 300.0 * sign, "sum": 0.0, "product": 0.0}
        found = verdicts(made_up(tmp_path / f"run{sign}", means))
        best = found["value_best", "corrected"]
        assert best.verdict == expected
        assert [test.verdict for test in best.tests] == 3 * [expected]
        for test in best.tests:
            assert test.estimate is not None
            low, high = test.estimate.interval
            assert low < 300 * sign < high
            assert high - low < 120  # what the seeds share is not in it
            assert test.needed is None
            assert test.published is not None
            assert test.published > 0
        assert best.absent == ("connect_four_5x5", "othello_6x6", "othello_7x7")
        equal = found["product_above_sum", "corrected"]
        assert equal.verdict == "equivalent"


def test_one_rival_that_is_equal_makes_the_best_equivalent(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 300.0}
    best = verdicts(made_up(tmp_path / "run", means))["value_best", "corrected"]
    assert [test.verdict for test in best.tests] == ["reproduced", "reproduced", "equivalent"]
    assert best.verdict == "equivalent"


def test_a_large_spread_is_undecided_and_says_how_many_seeds(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 60.0, "sum": 60.0, "product": 0.0}
    best = verdicts(made_up(tmp_path / "run", means, sd=200.0))["value_best", "corrected"]
    assert best.verdict == "undecided"
    needed = [test.needed for test in best.tests if test.verdict == "undecided"]
    assert all(seeds is None or seeds > 8 for seeds in needed)
    assert any(seeds is not None for seeds in needed)


def test_directions(tmp_path: Path) -> None:
    flat = dict.fromkeys(TARGETS, 0.0)
    found = verdicts(made_up(tmp_path / "five", flat, board="othello_5x5", sd=5.0))
    assert found["small_othello_no_difference", "corrected"].verdict == "reproduced"
    assert found["training_elo_rises_othello", "corrected"].verdict == "reproduced"
    assert found["training_elo_policy_fastest", "corrected"].verdict == "equivalent"
    assert found["combination_lowest_loss", "corrected"].verdict == "equivalent"
    # A gain of 100 in training, of 100 in the tournament: no bias.
    assert found["training_elo_biased", "corrected"].verdict == "contradicted"
    found = verdicts(made_up(tmp_path / "biased", flat, board="othello_5x5", sd=5.0, gain=900.0))
    assert found["training_elo_biased", "corrected"].verdict == "reproduced"
    apart = flat | {"value": 400.0}
    found = verdicts(made_up(tmp_path / "apart", apart, board="othello_5x5", sd=5.0))
    assert found["small_othello_no_difference", "corrected"].verdict == "contradicted"
    assert found["training_elo_incomparable", "corrected"].verdict == "reproduced"
    small = verdicts(
        made_up(tmp_path / "falls", flat, board="connect_four_5x5", sd=5.0, gain=-300.0),
    )
    assert small["training_elo_falls_small_boards", "corrected"].verdict == "reproduced"
    assert small["loss_and_elo_move_apart", "corrected"].verdict == "reproduced"


def test_boards_and_seeds_are_counted_together(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    runs = [
        made_up(tmp_path / "a", means, seeds=range(4)),
        made_up(tmp_path / "b", means, seeds=range(4, 8)),
        made_up(tmp_path / "c", means, board="othello_6x6"),
        made_up(tmp_path / "d", means, changes={"semantics": "published"}),
    ]
    found = verdicts(*runs)
    best = found["value_best", "corrected"]
    assert [test.contrast.board for test in best.tests] == 3 * ["othello_6x6"] + 3 * [BOARD]
    assert [test.estimate.seeds for test in best.tests if test.estimate] == 6 * [8]
    alone = found["value_best", "published"]
    assert len(alone.tests) == 3
    # Six tests are corrected for, not three: the smallest p value counts six times.
    smallest = min(test.estimate.p_value() for test in best.tests if test.estimate)
    assert min(test.adjusted for test in best.tests) == pytest.approx(6 * smallest)


def test_a_trend_over_boards(tmp_path: Path) -> None:
    runs = [
        made_up(tmp_path / board, dict.fromkeys(TARGETS, 0.0) | {"value": lead}, board=board)
        for board, lead in (("othello_6x6", 400.0), ("othello_7x7", 200.0), ("othello_8x8", 210.0))
    ]
    falls = verdicts(*runs)["value_falls_with_board", "corrected"]
    assert [test.verdict for test in falls.tests] == ["reproduced", "equivalent"]
    first = falls.tests[0].estimate
    assert first is not None
    assert first.effect == pytest.approx(200.0, abs=30)


def test_what_is_missing_is_named_and_the_rest_reported(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0}
    run = made_up(tmp_path / "run", means, without=["policy_seed3"])
    best = verdicts(run)["value_best", "corrected"]
    assert "policy_seed3 of run: no tournament_elo" in best.missing
    assert "product_seed0 of run: no such run" in best.missing
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


def test_entries_of_one_model_are_no_seeds(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = made_up(tmp_path / "run", means, changes={"semantics": "published"})
    results = json.loads((run / "results.json").read_text())
    results["switches"] = {"tournament_one_model_per_target": True}
    (run / "results.json").write_text(json.dumps(results))
    found = verdicts(run)
    best = found["value_best", "published"]
    assert best.verdict == "undecided"
    assert all(test.estimate is None for test in best.tests)
    assert "tournament_one_model_per_target=False" in best.missing[0]
    gains = found["training_elo_value_fastest", "published"]  # training Elo is each run's own
    assert all(test.estimate is not None for test in gains.tests)


def test_a_switch_set_apart_is_a_semantics_of_its_own(tmp_path: Path) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    changes = {"semantics": "published", "switches.dropout_inactive": False}
    [group] = measured.load([made_up(tmp_path / "run", means, changes=changes)])
    assert group.semantics == "published, dropout_inactive=False"


def test_bad_directories(tmp_path: Path) -> None:
    means = dict.fromkeys(TARGETS, 0.0)
    one = made_up(tmp_path / "one", means)
    with pytest.raises(ConfigError, match=r"empty: holds no results\.json"):
        measured.load([tmp_path / "empty"])
    with pytest.raises(ConfigError, match=r"policy_seed0 is in .*one too"):
        measured.load([one, made_up(tmp_path / "twice", means)])
    changed = {"train.batch_size": 32}
    other = made_up(tmp_path / "other", means, seeds=range(8, 16), changes=changed)
    with pytest.raises(ConfigError, match=r"train\.batch_size=32, but 64 in"):
        measured.load([one, other])
    results = json.loads((one / "results.json").read_text()) | {"study": "tournament"}
    (one / "results.json").write_text(json.dumps(results))
    with pytest.raises(ConfigError, match="is a run of tournament"):
        measured.load([one])
    (one / "results.json").write_text('{"study": ')
    with pytest.raises(ConfigError, match="not valid JSON"):
        measured.load([one])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = made_up(tmp_path / "run", means, without=["sum_seed2"])
    second = made_up(tmp_path / "second", means, board="othello_5x5")
    claims.main([str(run), str(second)])
    out, err = capsys.readouterr()
    assert "reproduced" in out
    assert f"{SYMBOLS['value']} \N{MINUS SIGN} {SYMBOLS['policy']} > 0" in out
    assert "missing: sum_seed2 of run: no tournament_elo" in err
    written = json.loads((tmp_path / "claims.json").read_text())
    assert {r["board"] for r in written["runs"]} == {BOARD, "othello_5x5"}
    best = next(c for c in written["claims"] if c["id"] == "value_best")
    assert best["verdict"] == "reproduced"
    assert len(best["contrasts"][0]["interval"]) == 2
    assert best["contrasts"][0]["of_papers_computing"] == pytest.approx(
        effort.fraction(measured.load([run])[0].studies[0])
    )
    claims.main([str(run)])
    assert (run / "claims.json").is_file()
    capsys.readouterr()
    claims.main([str(made_up(tmp_path / "go", means, board="othello_4x4"))])
    assert "claim nothing about the losses on othello_4x4" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="--out"):
        claims.main([str(run), "--ouf=x"])
    with pytest.raises(ConfigError, match=r"--out=.*there is no folder"):
        claims.main([str(run), f"--out={tmp_path / 'nowhere' / 'x.json'}"])


def test_tables_are_whole(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 60.0, "sum": 0.0}
    run = made_up(tmp_path / "run", means, sd=200.0, seeds=range(3))
    for table in claim_pages.section(decisions.decide(measured.load([run]))).tables:
        assert table.rows
        assert all(len(row) == len(table.headers) for row in table.rows)
        assert all(isinstance(cell, str) and cell for row in table.rows for cell in row)
    other = made_up(tmp_path / "no", means, board="othello_4x4")
    assert claim_pages.section(decisions.decide(measured.load([other]))).tables == ()


def test_a_failed_run_decides_nothing_and_is_named(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = made_up(tmp_path / "run", means)
    noted = {"value_seed2": {"iteration": 2, "reason": "loss/policy is nan"}}
    (run / "failed.json").write_text(json.dumps(noted))
    best = verdicts(run)["value_best", "corrected"]
    assert "value_seed2 of run: failed in iteration 2" in best.missing
    assert [test.estimate.seeds for test in best.tests if test.estimate] == [7, 7, 7]
    assert best.verdict == "reproduced"


def test_one_report_of_several_boards(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 50.0, "product": 0.0}
    runs = [
        made_up(tmp_path / "six", means, board="othello_6x6"),
        made_up(tmp_path / "seven", means, board="othello_7x7", without=["sum_seed1"]),
        made_up(tmp_path / "again", means, board="othello_7x7", seeds=range(8, 12)),
        made_up(
            tmp_path / "published", means, board="othello_6x6", changes={"semantics": "published"}
        ),
    ]
    out = tmp_path / "out"
    loss_report.main([*map(str, runs), f"--out={out}"])
    text = (out / "report.html").read_text()
    for told in (
        "under corrected semantics",
        "under published semantics",
        "Othello 7\N{MULTIPLICATION SIGN}7",
        "sum_seed1 of seven: no tournament_elo",
    ):
        assert told in text
    written = json.loads((out / "claims.json").read_text())
    best = [c for c in written["claims"] if c["id"] == "value_best"]
    assert {c["semantics"] for c in best} == {"corrected", "published"}
    assert [x["seeds"] for x in best[0]["contrasts"]] == 3 * [8] + [12, 11, 12]
    sizes = (out / "figures" / "othello_sizes.svg").read_text()
    assert "no published data for 7" in sizes
    assert not (out / "figures" / "training_elo.svg").exists()  # no arena games were recorded
    with pytest.raises(ConfigError, match="is one of the runs"):
        loss_report.main([str(runs[0]), f"--out={runs[0]}"])
    with pytest.raises(ConfigError, match=r"holds no results\.json"):
        loss_report.main([str(tmp_path / "nowhere"), f"--out={out}"])


def test_the_claims_are_well_formed_and_agree_with_the_published_numbers() -> None:
    found = published.claims()
    assert len({claim.id for claim in found}) == len(found)
    against_their_words = set()
    for claim in found:
        assert claim.where
        assert all(place[:3] in ("000", "001", "003") for place in claim.where)
        for contrast in claim.contrasts:
            assert contrast.statistic in measured.STATISTICS
            assert contrast.direction in ("greater", "less", "equal", "different")
            assert {*contrast.plus, *contrast.minus} <= {*TARGETS}
            assert contrast.plus
            elo = "elo" in contrast.statistic
            assert contrast.margin == (50.0 if elo else 0.05)
            for board in filter(None, (contrast.board, contrast.against)):
                assert published.random_plies(board)
                make_game(board)
            effect = decisions.published_effect(contrast)
            if effect is None:
                continue
            agrees = {
                "greater": effect > contrast.margin,
                "less": effect < -contrast.margin,
                "equal": abs(effect) < contrast.margin,
                "different": abs(effect) > contrast.margin,
            }[contrast.direction]
            if not agrees:
                against_their_words.add((claim.id, contrast.board, *contrast.plus, *contrast.minus))
    assert against_their_words == {
        ("small_othello_no_difference", "othello_5x5", "value", "sum"),  # 51 Elo
        ("small_othello_no_difference", "othello_5x5", "sum", "product"),  # 61
        ("training_elo_policy_fastest", "othello_5x5", "policy", "product"),  # -15
        ("training_elo_falls_small_boards", "connect_four_5x5", "value"),  # rises by 174
    }


def test_the_papers_computing() -> None:
    theirs = effort.of_papers("othello_6x6")
    assert theirs is not None
    # Counted by hand from the settings: 3.7 million steps of 64, 29 million evaluations.
    assert theirs.examples / 64 == pytest.approx(3.68e6, rel=0.01)
    assert theirs.evaluations == pytest.approx(100 * (50 + 40) * 32.5 * 100)
    assert effort.of_papers("othello_4x4") is None
    assert effort.multiplications("nowhere", 8, (4,)) is None


@pytest.mark.parametrize("board", ["othello_6x6", "connect_four_5x5"])
def test_multiplications_are_those_of_the_network(board: str) -> None:
    """Each weight is multiplied once for every cell that its kernel is laid on."""
    game = make_game(board, observation="signed")
    network = ConvNet(game.num_actions, channels=8, hidden=(16, 12))
    observation = np.zeros((1, *game.observation_shape), np.float32)
    shapes = jax.eval_shape(network.init, jax.random.key(0), observation)["params"]
    height, width = game.observation_shape[:2]
    cells = {f"conv_{i}": (height - cut) * (width - cut) for i, cut in enumerate((0, 0, 2, 4))}
    assert cells.keys() <= shapes.keys()
    counted = sum(
        cells.get(name, 1) * math.prod(layer["kernel"].shape)
        for name, layer in shapes.items()
        if "kernel" in layer
    )
    assert effort.multiplications(board, 8, (16, 12)) == counted
