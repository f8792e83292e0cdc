"""The dashboards show what the studies send; nothing here asks a server."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from experiments import dashboards
from jaxzero.settings.config import ConfigError
from tests.experiments.test_tracking import documented, undocumented

ELSEWHERE = {"accuracy/search", "arms", "groups"}  # of studies with arms: docs/tracking.md


def test_every_metric_is_documented() -> None:
    rows = {name for names in dashboards.CURVES.values() for name in names}
    assert undocumented(rows, documented("Each iteration")) == []
    figures = {f"figures/{name}" for name in dashboards.FIGURES}
    ends = {*dashboards.STUDY_CURVES, *dashboards.FINAL, *dashboards.TABLES, *figures} - ELSEWHERE
    assert undocumented(ends, documented("At the end")) == []


def test_workspace_and_report_are_what_the_lists_say() -> None:
    pytest.importorskip("wandb_workspaces", reason="needs the extra dashboards")
    made = dashboards.workspace("team", "games")
    by_name = {section.name: section for section in made.sections}
    assert list(by_name)[: len(dashboards.CURVES)] == list(dashboards.CURVES)
    losses = configs(made._to_model().spec.section.panel_bank_config.sections[0].panels)
    assert [config["metrics"] for config in losses] == [[n] for n in dashboards.CURVES["Losses"]]
    for config in losses:  # a band over the seeds of a target
        assert config["groupBy"] == "target.value"
        assert (config["groupAgg"], config["groupArea"]) == ("mean", "stddev")
        assert config["xAxis"] == "iteration"
    ladder, *_ = by_name["Strength and accuracy, by run"].panels
    assert ladder.metric_regex == "^elo/ladder/"

    written = dashboards.report("team", "games")
    headings = [block.text for block in written.blocks if type(block).__name__ == "H2"]
    assert headings == list(by_name)
    grids = [block for block in written.blocks if type(block).__name__ == "PanelGrid"]
    assert [len(grid.panels) for grid in grids] == [len(s.panels) for s in made.sections]
    assert written._to_model().display_name == "games: self-play"

    quick = dashboards.report("team", "games", "loss_ablation/quick")
    runs = next(block for block in quick.blocks if type(block).__name__ == "PanelGrid").runsets[0]
    [only] = runs._to_model().filters["filters"]
    assert (only["key"]["name"], only["value"]) == ("group", "loss_ablation/quick")
    view = dashboards.workspace("team", "games", "loss_ablation/quick")
    assert view.name == "loss_ablation/quick"
    assert view.runset_settings.filters == "Group == 'loss_ablation/quick'"


def configs(panels: list[Any]) -> list[dict[str, Any]]:
    """As they are sent."""
    return [panel.model_dump(by_alias=True, exclude_none=True)["config"] for panel in panels]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces.reports.v2", None)
    with pytest.raises(ConfigError, match=r'not installed, pip install -e "\.\[dashboards\]"$'):
        dashboards.main(["games"])


def test_both_are_made_where_they_are_asked_for_and_saved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wandb_workspaces", reason="needs the extra dashboards")
    wandb = pytest.importorskip("wandb")
    saved = []

    def make(kind: str, *where: str) -> Any:
        return SimpleNamespace(save=lambda: saved.append((kind, *where)), url=f"https://{kind}")

    monkeypatch.setattr(wandb, "Api", lambda: SimpleNamespace(default_entity="me"))
    for kind in ("workspace", "report"):
        monkeypatch.setattr(dashboards, kind, lambda *where, kind=kind: make(kind, *where))
    dashboards.main(["games"])
    assert saved == [("workspace", "me", "games", ""), ("report", "me", "games", "")]
    assert capsys.readouterr().out.split() == ["https://workspace", "https://report"]
    dashboards.main(["team/games", "--group=arms/quick"])
    assert saved[2:] == [(kind, "team", "games", "arms/quick") for kind in ("workspace", "report")]


def test_nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb_workspaces", reason="needs the extra dashboards")
    wandb = pytest.importorskip("wandb")

    def refuse() -> None:
        raise wandb.errors.UsageError("No API key configured.\nUse wandb login.")

    monkeypatch.setattr(wandb, "Api", refuse)
    with pytest.raises(ConfigError, match=r"nobody is logged in; run `wandb login`[^\n]*$"):
        dashboards.main(["games"])
