"""The command that decides the claims, and what it prints and writes."""

import json
from pathlib import Path

import pytest

from experiments.claims import command, effort, losses, measured
from experiments.claims import section as claim_pages
from experiments.pages.style import SYMBOLS
from jaxzero.settings.config import ConfigError
from tests.experiments.made_up_ratings import BOARD, rated_study


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = {"policy": 0.0, "value": 300.0, "sum": 0.0, "product": 0.0}
    run = rated_study(tmp_path / "run", means, without=["sum_seed2"])
    second = rated_study(tmp_path / "second", means, board="othello_5x5")
    command.main([str(run), str(second)])
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
    command.main([str(run)])
    assert (run / "claims.json").is_file()
    capsys.readouterr()
    command.main([str(rated_study(tmp_path / "go", means, board="othello_4x4"))])
    assert "claim nothing about the losses on othello_4x4" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="--out"):
        command.main([str(run), "--ouf=x"])
    with pytest.raises(ConfigError, match=r"--out=.*: a folder, name a file"):
        command.main([str(tmp_path), f"--out={tmp_path}"])
    before = (run / "results.json").read_bytes()
    with pytest.raises(ConfigError, match=r"--out=.*results.json: another file has that name"):
        command.main([str(run), f"--out={run / 'results.json'}"])
    assert (run / "results.json").read_bytes() == before
    with pytest.raises(ConfigError, match=r"--out=.*there is no folder"):
        command.main([str(run), f"--out={tmp_path / 'nowhere' / 'x.json'}"])


def test_tables_are_whole(tmp_path: Path) -> None:
    means = {"policy": 0.0, "value": 60.0, "sum": 0.0}
    run = rated_study(tmp_path / "run", means, sd=200.0, seeds=range(3))
    for table in claim_pages.section(losses.decide(measured.load([run]))).tables:
        assert table.rows
        assert all(len(row) == len(table.headers) for row in table.rows)
        assert all(isinstance(cell, str) and cell for row in table.rows for cell in row)
    other = rated_study(tmp_path / "no", means, board="othello_4x4")
    assert claim_pages.section(losses.decide(measured.load([other]))).tables == ()
