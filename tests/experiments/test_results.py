"""Recorded runs: what is kept of them, and that the page is what their data says."""

import gzip
import json
from pathlib import Path

import pytest

from experiments.results import command, data, document, shown
from jaxzero.settings.config import ConfigError
from tests.experiments.made_up_ratings import BOARD, rated_study

MEANS = {"policy": 0.0, "value": 300.0, "sum": 20.0, "product": -10.0}


def test_the_page_is_that_of_the_data() -> None:
    groups = data.read()
    made = document.pages(groups)
    assert [path.name for path in made] == ["recorded.md", "results.md"]
    for path, text in made.items():
        assert path.read_text() == text, "run: python -m experiments.results"
    for group, runs in groups.items():
        assert all((data.ROOT / one.file).is_file() for one in shown.drawings(group, runs))


def test_runs_are_kept_and_make_the_page(tmp_path: Path) -> None:
    root, runs = tmp_path / "docs", tmp_path / "somewhere"
    runs.mkdir()
    one = rated_study(runs / "one", MEANS)
    two = rated_study(runs / "two", MEANS, changes={"semantics": "published"})
    stored = json.loads((one / "results.json").read_text())
    stored["command"] = f"python -m experiments.loss_ablation --workdir={one} | more"
    (one / "results.json").write_text(json.dumps(stored))
    (one / "arms" / "plain").mkdir(parents=True)
    (one / "arms" / "plain" / "metrics.jsonl").write_text('{"iteration": 1}\n')
    data.add([one, two], "laptop", root)
    rows = root / "data" / "laptop" / "one" / "arms" / "plain" / "metrics.jsonl.gz"
    assert gzip.decompress(rows.read_bytes()) == b'{"iteration": 1}\n'
    summary = tmp_path / "results.md"
    summary.write_text("# By hand\n<!-- recorded -->\nold\n<!-- end -->\nby hand\n")
    assert document.write(root) == [root / "recorded.md", summary]
    text = (root / "recorded.md").read_text()
    found = summary.read_text()
    assert found.startswith("# By hand\n")
    assert found.endswith("by hand\n")
    assert "old" not in found
    assert f"({BOARD}, published) | " in found
    assert "undecided |" not in found
    assert "[loss_ablation](results/recorded.md#laptop)" in found
    assert "## laptop" in text
    assert f"| two | loss_ablation | {BOARD} | published | 8 |" in text
    assert "`python -m experiments.loss_ablation --workdir=runs/one &#124; more`" in text
    assert str(tmp_path) not in text
    assert "| reproduced |" in text
    assert (root / "recorded_laptop.svg").is_file()
    assert list(root.glob("*.png")) == []
    kept = root / "data" / "laptop" / "one" / "results.json.gz"
    before = kept.read_bytes()
    data.add([one], "laptop", root)
    assert kept.read_bytes() == before
    document.write(root)
    assert (root / "recorded.md").read_text() == text
    assert summary.read_text() == found
    stored = json.loads(gzip.decompress(before))
    stored["tournaments"][1]["elo"][0] += 1000
    kept.write_bytes(gzip.compress(json.dumps(stored).encode()))
    assert document.text(data.read(root)) != text


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"holds no results\.json, name finished runs"):
        data.add([tmp_path], "laptop", tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    (tmp_path / "results.json").write_text("{}")
    monkeypatch.setattr(data, "MOST", 10)
    with pytest.raises(ConfigError, match="leave out runs, 10 are the most"):
        data.add([tmp_path], "laptop", tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    with pytest.raises(ConfigError, match="--add and --group"):
        command.main([f"--add={tmp_path}"])
