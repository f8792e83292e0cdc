"""The tables of docs/performance.md are those of the committed figures."""

from pathlib import Path

import pytest

from benchmarks import docs, markdown, suite, targets
from benchmarks.cases import Measured
from benchmarks.records import Records
from jaxzero import files
from jaxzero.settings.config import ConfigError

FOLDER = docs.PAGE.with_suffix("")


def test_the_page_holds_the_committed_figures() -> None:
    page = docs.PAGE.read_text()
    assert docs.fill(page, FOLDER) == page, "run: python -m benchmarks.docs"


def test_every_family_has_its_table() -> None:
    page = docs.PAGE.read_text()
    for kind in (*suite.FAMILIES, "about", "targets", "predicted", "assumed"):
        assert f" {kind} -->" in page, kind


def test_a_changed_figure_changes_the_page(tmp_path: Path) -> None:
    found = files.read_json(FOLDER / "cpu.json")
    changed = next(f for f in found["figures"] if f["case"].startswith("selfplay/"))
    changed["value"] = 123_456_789.0
    files.write_json(tmp_path / "cpu.json", found)
    page = "<!-- table cpu selfplay -->\nold\n<!-- end -->\nmore"
    filled = docs.fill(page, tmp_path)
    assert "123,456,789" in filled
    assert "old" not in filled
    assert filled.endswith("<!-- end -->\nmore")
    assert docs.fill(filled, tmp_path) == filled


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert "Not measured yet" in docs.fill("<!-- table gpu games -->\n<!-- end -->", tmp_path)


def test_a_command_line_that_asks_for_something_else_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "PAGE", tmp_path / "page.md")
    docs.PAGE.write_text("<!-- table cpu selfplay -->\nold\n<!-- end -->")
    before = docs.PAGE.read_text()
    with pytest.raises(SystemExit) as stop:
        docs.main(["--help"])
    assert stop.value.code == 0
    assert "usage: python -m benchmarks.docs" in capsys.readouterr().out
    for words in (["gpu"], ["--json=x"]):
        with pytest.raises(ConfigError, match=f"unknown argument '{words[0]}'"):
            docs.main(words)
    assert docs.PAGE.read_text() == before
    docs.main([])
    assert "Not measured yet" in docs.PAGE.read_text()


@pytest.mark.parametrize(("value", "met"), [(1.19, "yes"), (1.21, "**no**")])
def test_targets(value: float, met: str, tmp_path: Path) -> None:
    target = next(t for t in targets.TARGETS if t.at_most and t.limit == 1.2)
    case = next(c for c in suite.choose("cpu", ()) if c.name == target.figure)
    kept = Records(tmp_path / "some.json")
    kept.put(case, {"": Measured(value=1.0, unit="s", details={"over_floor": value})}, 1.0)
    table = docs.fill("<!-- table some targets -->\n<!-- end -->", tmp_path)
    [row] = [line for line in table.splitlines() if target.what in line]
    assert row.split(" | ")[1:] == ["at most 1.2", f"{value:.2f}", f"{met} |"]
    assert table.count("not measured") == len(targets.TARGETS) - 1


@pytest.mark.parametrize(
    ("number", "said"), [(123456.7, "123,457"), (12.345, "12.3"), (0.012345, "0.0123"), (0, "0.00")]
)
def test_numbers(number: float, said: str) -> None:
    assert markdown.short(number) == said
