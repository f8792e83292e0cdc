"""`--help`: every key as it stands in the preset that is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.configs import loss_ablation
from experiments.shell import usage
from jaxzero.settings.config import KEYS, flatten
from jaxzero.settings.keys import table
from tests.experiments.test_cli import CONFIG, ROOT, Study, command


@pytest.mark.parametrize("preset", loss_ablation.PRESETS)
def test_help_shows_every_key_as_it_stands_in_the_preset(
    preset: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    study = Study()
    assert command(monkeypatch, study, f"--config={CONFIG}:{preset}", "--help") == 0
    page = capsys.readouterr().out
    assert not study.calls
    assert max(len(line) for line in page.splitlines() if CONFIG not in line) <= 90
    for flag in usage.FLAGS:
        assert (f"  --{flag}" in page) == (flag != "shard")  # this study has no shares
    for name in loss_ablation.PRESETS:
        assert f"\n  {name}" in page
    values = flatten(loss_ablation.get_config(preset))
    sections = {block.split("KEY=VALUE")[0]: block for block in page.split("\n\n--config.")[1:]}
    for key in table(KEYS, loss_ablation.KEYS).values():
        if key.name == "preset":  # chosen behind the file, refused as a setting
            assert "\n  preset " not in page
            continue
        block = sections[f"{key.section}." if key.section else ""]
        name = key.name.removeprefix(f"{key.section}.")
        row = [*([key.letter] if key.letter else []), name, usage.show(values[key.name])]
        assert row in [line.split()[: len(row)] for line in block.splitlines()]
        assert key.meaning.split()[-1] in block


def test_help_of_another_preset_shows_other_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Study(), "-h") == 0
    assert "settings in preset quick" in (quick := capsys.readouterr().out)
    assert command(monkeypatch, Study(), f"--config={CONFIG}:paper", "--help") == 0
    assert "settings in preset paper" in (paper := capsys.readouterr().out)
    assert "connect_four_5x5" in quick
    assert "connect_four_5x5" not in paper


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("hyperparameter_sweep", True),
        ("hyperparameter_correlation", True),
        ("hyperparameter_search", False),
        ("curriculum", False),
    ],
)
def test_shares_are_offered_where_a_study_has_them(
    name: str,
    shares: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = f"--config={ROOT / 'experiments' / 'configs' / name}.py:quick"
    assert command(monkeypatch, Study(), config, "--help", name=name) == 0
    assert ("  --shard=I/K" in capsys.readouterr().out) == shares
    words = (config, f"--workdir={tmp_path}", "--shard=1/2")
    assert command(monkeypatch, Study(), *words, name=name) == (0 if shares else 2)


def test_help_of_a_wrong_preset_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Study(), f"--config={CONFIG}:huge", "--help") == 2
    assert "unknown preset 'huge'" in capsys.readouterr().err


def test_help_looks_for_no_device(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experiments.loss_ablation", "--help"],
        cwd=ROOT, env=os.environ | {"JAX_PLATFORMS": "there_is_none"}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Which loss should AlphaZero minimise?")
    assert "usage: python -m experiments.loss_ablation --workdir=DIR" in done.stdout
