"""One report of several finished studies."""

import itertools
import json
from pathlib import Path

import pytest

from experiments import loss_report
from experiments.configs.loss_ablation import BOARDS
from jaxzero.settings.config import ConfigError
from tests.experiments import made_up
from tests.experiments.exhibits import missing_in
from tests.experiments.made_up_ratings import rated_study


def test_one_report_of_several_boards(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 50.0, "product": 0.0}
    runs = [
        rated_study(tmp_path / "six", means, board="othello_6x6"),
        rated_study(tmp_path / "seven", means, board="othello_7x7", without=["sum_seed1"]),
        rated_study(tmp_path / "again", means, board="othello_7x7", seeds=range(8, 12)),
        rated_study(
            tmp_path / "published", means, board="othello_6x6", changes={"semantics": "published"}
        ),
    ]
    out = tmp_path / "out"
    loss_report.main([*map(str, runs), f"--out={out}"])
    lost = missing_in(out / "report.html", "loss_ablation")
    assert lost == {"epochs", "training_elo", "Settings"}  # made up, or of single runs
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
    assert "published as a picture for 7" in sizes
    assert not (out / "figures" / "training_elo.svg").exists()  # no arena games were recorded
    with pytest.raises(ConfigError, match="is one of the runs"):
        loss_report.main([str(runs[0]), f"--out={runs[0]}"])
    with pytest.raises(ConfigError, match=r"holds no results\.json"):
        loss_report.main([str(tmp_path / "nowhere"), f"--out={out}"])


@pytest.mark.parametrize(
    ("boards", "most"),
    [(["othello_6x6"], 300_000), pytest.param(BOARDS, 1_500_000, marks=pytest.mark.slow)],
)
def test_the_page_of_eight_boards_is_small(boards: list[str], most: int, tmp_path: Path) -> None:
    seeds, iterations = 5, 32
    rows, runs = made_up.metrics(made_up.TARGETS, seeds, iterations), []
    for row in (row for row in rows if row["iteration"]):
        row["arena/opponent"] = row["iteration"] - 1
        for end in ("wins", "draws", "losses"):
            row[f"arena/{end}_moving_first"] = row[f"arena/{end}"] // 2
    for board, semantics in itertools.product(boards, ("corrected", "published")):
        results = made_up.results(made_up.TARGETS, seeds, iterations, board)
        results["config"]["semantics"] = semantics
        runs.append(made_up.write(tmp_path / f"{board}.{semantics}", rows, results))
    out = loss_report.write(runs, tmp_path / "out", "")
    assert (tmp_path / "out" / "figures" / "training_elo.svg").exists()
    assert out.stat().st_size <= most
