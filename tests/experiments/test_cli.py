"""The command line: a wrong word is answered in one line, and nothing is made."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments import cli
from jaxzero.config import ConfigError

ROOT = Path(__file__).resolve().parents[2]
CONFIG = str(ROOT / "experiments" / "configs" / "loss_ablation.py")


class Study:
    """Remembers what it was asked to do."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[tuple[Any, Path]] = []
        self.error = error

    def __call__(self, config: Any, directory: Path) -> None:
        self.calls.append((config, directory))
        if self.error is not None:
            raise self.error


def command(monkeypatch: pytest.MonkeyPatch, study: Study, *words: str) -> int:
    """The exit status of a command line."""
    monkeypatch.setattr(sys, "argv", ["study", *words])
    try:
        cli.run(study, f"{CONFIG}:quick")
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_settings_reach_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = Study()
    status = command(
        monkeypatch,
        study,
        f"--config={CONFIG}:gpu",
        f"--workdir={tmp_path / 'new'}",
        "--config.train.learning_rate=0.25",
        "--config.game=othello_6x6",
        "--config.train.iterations=7",
        "--config.switches.keep_tree=True",
        "--config.study.targets=('sum',)",
    )
    assert status == 0
    [(config, directory)] = study.calls
    assert directory == tmp_path / "new"
    assert config.preset == "gpu"
    assert (config.train.learning_rate, config.train.iterations) == (0.25, 7)
    assert (config.game, config.switches.keep_tree) == ("othello_6x6", True)
    assert config.study.targets == ("sum",)
    assert config.is_locked


def test_the_default_settings_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = Study()
    assert command(monkeypatch, study, f"--workdir={tmp_path}") == 0
    assert study.calls[0][0].preset == "quick"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config.train.learning_rat=1"], "did you mean config.train.learning_rate?"),
        (["--config.batch_size=1"], "did you mean config.train.batch_size?"),
        (["--config.zzz=1"], "unknown key config.zzz"),
        (["--config.train.epochs=many"], "train.epochs"),
        ([f"--config={CONFIG}:huge"], "unknown preset 'huge'"),
        (["--config=/no/such/file.py:quick"], "no such settings file"),
        (["train.epochs=3"], "unexpected argument 'train.epochs=3'"),
        (["--wrkdir=x"], "wrkdir"),
    ],
)
def test_a_wrong_word_is_answered_in_one_line(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, directory = Study(), tmp_path / "never"
    assert command(monkeypatch, study, f"--workdir={directory}", *words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not study.calls
    assert not directory.exists()


def test_the_workdir_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Study()) == 2
    assert "--workdir is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ConfigError("config.x=1: no"), 2, "error: config.x=1: no\n"),
        (FloatingPointError("loss is nan"), 1, "error: loss is nan\n"),
        (KeyboardInterrupt(), 130, "interrupted; the same command goes on"),
    ],
)
def test_exit_status(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(monkeypatch, Study(error), f"--workdir={tmp_path}") == status
    assert said in capsys.readouterr().err


def test_the_module_is_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experiments.loss_ablation", f"--workdir={tmp_path / 'never'}",
         "--config.train.los=policy"],
        cwd=ROOT, env=os.environ | {"JAX_PLATFORMS": "cpu"}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "error: unknown key config.train.los: did you mean config.train.loss?"
    )
    assert not (tmp_path / "never").exists()
