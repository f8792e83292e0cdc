"""A run directory in place of a settings file: `--config=RUN`."""

from pathlib import Path

import pytest

from experiments.shell import cli, presets
from jaxzero import files, pretrained, workdir
from jaxzero.settings.config import KEYS, ConfigError, flatten
from jaxzero.settings.keys import table
from tests.experiments.test_cli import CONFIG, Study, command


def test_a_run_directory_gives_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All but how and where it ran, which are the preset's; single ones can be changed."""
    changes = {"train.learning_rate": 0.25, "study.targets": ("sum",), "execution.grace": 9.0}
    trained = presets.settings("loss_ablation", "gpu", changes)
    workdir.claim(tmp_path / "old", trained, "loss_ablation")
    for named in (tmp_path / "old", tmp_path / "old" / "config.json"):
        study = Study()
        words = (f"--config={named}", f"--workdir={tmp_path / 'new'}", "--config.seed=8")
        assert command(monkeypatch, study, *words) == 0
        [(config, directory)] = study.calls
        expected = presets.settings("loss_ablation", "gpu", changes | {"seed": 8})
        expected.execution.grace = 0.0
        assert flatten(config) == flatten(expected)
        assert directory == tmp_path / "new"


def test_a_key_that_is_younger_than_the_run_had_its_default(tmp_path: Path) -> None:
    workdir.claim(tmp_path, presets.settings("loss_ablation", "gpu"), "loss_ablation")
    held = workdir.read_config(tmp_path)
    assert held.pop("network.channels") != table(KEYS)["network.channels"].default
    files.write_json(tmp_path / workdir.CONFIG, held)
    found = cli.load(str(tmp_path), CONFIG)
    assert found.config.network.channels == table(KEYS)["network.channels"].default


@pytest.mark.parametrize("player", pretrained.names())
def test_players_that_ship_can_be_trained_again(player: str) -> None:
    found = cli.load(f"pretrained:{player}", CONFIG.replace("loss_ablation", "train"))
    held = workdir.read_config(pretrained.directory(player))
    taken = files.plain(flatten(found.config))
    same = {k for k in held if not k.startswith(("execution.", "tracking."))} - {"study"}
    assert {k: taken[k] for k in same} == {k: held[k] for k in same}


def test_a_part_of_a_study_is_refused_but_not_its_player(tmp_path: Path) -> None:
    whole = presets.settings("curriculum", "quick")
    workdir.claim(tmp_path, whole, "curriculum")
    whole.execution.max_minutes = 3.0  # what was left
    workdir.claim(tmp_path / "player", whole, "curriculum")
    whole.selfplay.curriculum = "none"
    workdir.claim(tmp_path / "arms" / "baseline", whole, "curriculum")
    default = CONFIG.replace("loss_ablation", "curriculum")
    assert cli.load(str(tmp_path / "player"), default).config.selfplay.curriculum != "none"
    with pytest.raises(ConfigError, match=f"is a part of a study, .*: give {tmp_path}$"):
        cli.load(str(tmp_path / "arms" / "baseline"), default)


def test_what_is_no_run_of_this_study_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = files.plain(flatten(presets.settings("loss_ablation", "quick")))
    held["study"] = "loss_ablation"
    for changes, message in (
        (None, "is no run directory (config.json is missing)"),
        ({"study": "arms"}, "of another study, of arms: begin with python -m experiments.arms"),
        ({"train.speed": 1}, "has the setting train.speed, which this version lacks"),
        ({"train.epochs": "many"}, "config.json is damaged"),
        ({"preset": "huge"}, "unknown preset 'huge'"),
    ):
        if changes is not None:
            files.write_json(tmp_path / workdir.CONFIG, held | changes)
        words = (f"--config={tmp_path}", f"--workdir={tmp_path / 'never'}")
        assert command(monkeypatch, Study(), *words) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert message in line
        assert not (tmp_path / "never").exists()
