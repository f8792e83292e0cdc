"""What notebooks show of a report, and how they choose their size."""

import io
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from PIL import Image

from experiments import arms, curriculum, hyperparameter_sweep, loss_ablation, notebook
from experiments.configs.loss_ablation import PRESETS
from experiments.pages import page
from experiments.pages.page import Page, plate, section
from experiments.pages.tables import Table
from experiments.shell import cli, presets
from jaxzero import files, workdir
from jaxzero.runs import hardware
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError, flatten


def write(directory: Path, headline: str) -> None:
    """A report of one figure and one table."""
    drawn = Figure(figsize=(9, 4))
    drawn.subplots().plot([1, 3, 2])
    table = Table("Losses", ("loss", "Elo", "seeds"), (("l_v", "12", "8"), ("l_p", "7", "8")), "N.")
    content = section("All", plate("curves", drawn, "Curves", "Three."), table)
    numbers = [("12", "Elo of l_v")]
    page.write(Page("T", "", ["First."], [], [], [content], headline, numbers), directory)


def test_a_report_in_parts(tmp_path: Path) -> None:
    write(tmp_path, "l_v wins.")
    assert notebook.answer(tmp_path) == "**l_v wins.**\n\n* **12** Elo of l_v"
    assert "| l_p | 7 | 8 |" in notebook.table(tmp_path, "Losses")
    short = notebook.table(tmp_path, "Losses", ("loss", "seeds"))
    assert "| l_p | 8 |" in short
    assert short.endswith("\n\nN.")
    kept = notebook.figure(tmp_path, "curves")
    with Image.open(io.BytesIO(kept)) as shown:
        assert shown.width == 760
        assert shown.format == "PNG"
    assert len(kept) < 40_000
    with pytest.raises(ConfigError, match="table 'Loses': did you mean 'Losses'"):
        notebook.table(tmp_path, "Loses")
    with pytest.raises(ConfigError, match="column 'seed': did you mean 'seeds'"):
        notebook.table(tmp_path, "Losses", ("seed",))
    with pytest.raises(ConfigError, match=r"figure 'curve' of .*: did you mean 'curves'"):
        notebook.figure(tmp_path, "curve")


def test_a_report_without_a_headline_says_its_verdicts(tmp_path: Path) -> None:
    write(tmp_path, "")
    assert notebook.answer(tmp_path) == "* First."


@pytest.mark.parametrize(("platform", "size"), [("cpu", "cpu"), ("gpu", "gpu"), ("tpu", "gpu")])
def test_the_size_is_that_of_the_device(
    platform: str, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "look", lambda: Hardware(platform, "some", 1, None))
    assert notebook.choose(("tiny", "cpu", "gpu")) == size
    assert notebook.choose(("tiny", "cpu", "gpu"), "tiny") == "tiny"


def test_changes_that_change_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"config.network.blocks=2: changes nothing here"):
        notebook.settings(loss_ablation, "quick", {"network.blocks": 2})


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_chosen(preset: str) -> None:
    assert notebook.settings(loss_ablation, preset, {}).train.iterations > 0


def test_what_a_preset_leaves_open_is_filled_in() -> None:
    assert notebook.settings(arms, "paper", {}).train.iterations > 0


def test_a_cell_tries_again_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Path] = []
    monkeypatch.setattr(hyperparameter_sweep, "run", lambda config, at, command: tried.append(at))
    for changes in ({}, {"execution.retry_failed": True}):
        config = notebook.settings(hyperparameter_sweep, "quick", changes)
        for failed in ({}, {"I=1": "loss is nan"}):
            stored = {"config": config.to_dict(), "failed": failed}
            files.write_json(tmp_path / workdir.RESULTS, stored)
            (tmp_path / "report.html").touch()
            assert notebook.run(config, tmp_path, hyperparameter_sweep)
    assert tried == [tmp_path]  # what had failed, and was asked for


def test_the_command_is_that_of_the_study() -> None:
    changes = {"study.c_puct": (), "train.epochs": 3}
    config = notebook.settings(hyperparameter_sweep, "quick", changes)
    assert presets.command(hyperparameter_sweep.STUDY, config, Path("runs/x")) == (
        "python -m experiments.hyperparameter_sweep "
        "--config=experiments/configs/hyperparameter_sweep.py:quick --workdir=runs/x "
        "'--config.study.c_puct=()' --config.train.epochs=3"
    )


def test_the_command_takes_a_value_away_that_the_preset_has() -> None:
    config = notebook.settings(curriculum, "gpu", {"switches.keep_tree": None})
    words = presets.words(curriculum.STUDY, config, Path("runs/x"))
    assert words[-1] == "--config.switches.keep_tree=unset"
    parsed, _ = cli._parse(words, words[0].removeprefix("--config="))
    assert flatten(parsed) == flatten(config)
