"""The forecast of memory against XLA's count: what is recorded, and what is not asked twice."""

import csv
from pathlib import Path
from typing import Any

import pytest

from benchmarks import forecasts
from jaxzero.runs.memory import Forecast
from jaxzero.settings.config import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def test_a_record_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted: list[tuple[str, int]] = []

    def count(config: Any, members: Any, device: Any, platform: str) -> forecasts.Counted:
        counted.append((config.game, len(members)))
        return forecasts.Counted(Forecast({"window": 30, "trees": 3}, 0), 22)

    monkeypatch.setattr(forecasts, "count", count)
    record = tmp_path / "new" / "forecasts.tsv"
    names = ["train:quick", "loss_ablation:quick"]
    forecasts.main([names[0], f"--record={record}"])
    forecasts.main([*names, f"--record={record}"])
    assert counted == [("connect_four_5x5", 1), ("connect_four_5x5", 8)]
    head, *rows = (line.split("\t") for line in record.read_text("utf-8").splitlines())
    assert head == ["device", "preset", "xla", "forecast", "ratio", "commit", "jax"]
    assert [row[:5] for row in rows] == [["CPU", name, "22", "33", "1.500"] for name in names]
    said = capsys.readouterr().out
    assert said.count("forecast 1.50 of it") == 2


def test_all_presets_are_known() -> None:
    every = forecasts.every_preset()
    assert {"arms:defects", "train:othello_6x6.gpu", "loss_ablation:paper"} <= set(every)
    assert len(set(every)) == len(every)


def test_no_recorded_forecast_is_below_xlas_count() -> None:
    with (ROOT / "docs/reliability/forecasts.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert all(int(row["forecast"]) >= int(row["xla"]) > 0 for row in rows)
    for device in ("CPU", "H100"):
        recorded = [row["preset"] for row in rows if row["device"] == device]
        assert sorted(recorded) == sorted(forecasts.every_preset())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("loss_ablation", "loss_ablation"), ("chess:quick", "chess"), ("train:tiny", "tiny")],
)
def test_others_are_refused(name: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        forecasts.main([name])
