"""The command line: a wrong word is answered in one line, and nothing is made."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments import __main__ as listed
from experiments import glossary
from experiments.shell import cli
from jaxzero import __main__ as callable_ones
from jaxzero.settings.config import ConfigError

ROOT = Path(__file__).resolve().parents[2]
CONFIG = str(ROOT / "experiments" / "configs" / "loss_ablation.py")


class Study:
    """Remembers what it was asked to do."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[tuple[Any, Path]] = []
        self.error = error

    def __call__(self, config: Any, directory: Path, command: str) -> None:
        self.calls.append((config, directory))
        self.command = command
        if self.error is not None:
            raise self.error


def command(
    monkeypatch: pytest.MonkeyPatch, study: Study, *words: str, name: str = "loss_ablation"
) -> int:
    """The exit status of a command line."""
    monkeypatch.setattr(sys, "argv", ["study", *words])
    try:
        cli.run(study, name)
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
    assert study.command.startswith("python -m experiments.loss_ablation --config=")
    assert study.command.endswith("""'--config.study.targets=('"'"'sum'"'"',)'""")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("sum,value", ("sum", "value")),
        ("sum", ("sum",)),
        ("sum,", ("sum",)),
        ("('sum', 'value')", ("sum", "value")),
    ],
)
def test_a_tuple_of_words_needs_no_quotes(
    said: str, kept: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = Study()
    words = (f"--workdir={tmp_path}", f"--config.study.targets={said}")
    assert command(monkeypatch, study, *words, "--config.network.hidden=64,32") == 0
    config = study.calls[0][0]
    assert config.study.targets == kept
    assert config.network.hidden == (64, 32)


def test_the_last_word_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = Study()
    words = ("--workdir=a", "--config.seed=1", "--config.seed=2", f"--workdir={tmp_path}")
    assert command(monkeypatch, study, *words) == 0
    assert (study.calls[0][0].seed, study.calls[0][1]) == (2, tmp_path)


def test_minutes_are_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = Study()
    assert (
        command(monkeypatch, study, f"--workdir={tmp_path}", "--max-minutes=2.5", "--grace=30") == 0
    )
    assert study.calls[0][0].execution.max_minutes == 2.5
    assert study.calls[0][0].execution.grace == 30


def test_the_home_folder_and_the_share_are_filled_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    study = Study()
    assert command(monkeypatch, study, "--workdir=~/runs/mine") == 0
    assert study.calls[0][1] == tmp_path / "runs" / "mine"
    sweep = CONFIG.replace("loss_ablation", "hyperparameter_sweep")
    for words in (["--config.execution.shard=2/3"], ["--shard=2/3"]):
        config, directory = cli._parse(["--workdir=s_{shard}", *words], f"{sweep}:quick")
        assert (config.execution.shard, directory) == ("2/3", Path("s_2of3"))


def test_what_a_study_sets_itself_is_refused() -> None:
    for study, key, own in (
        ("hyperparameter_correlation", "train.iterations", "study.iterations"),
        ("hyperparameter_search", "train.epochs", "study.epochs"),
        ("connect_four_supervised", "network.blocks", "study.blocks"),
    ):
        named = f"{CONFIG.replace('loss_ablation', study)}:quick"
        with pytest.raises(ConfigError, match=f"config.{key}=3: this study sets it.*config.{own}"):
            cli._parse(["--workdir=x", f"--config.{key}=3"], named)


def test_a_settings_file_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is run once, may build on a study's, and need not declare keys or presets."""
    (tmp_path / "own.py").write_text(
        "from pathlib import Path\n"
        "from experiments.configs.loss_ablation import get_config as base\n"
        "def get_config():\n"
        f"    with Path({str(tmp_path / 'log')!r}).open('a') as file:\n"
        "        file.write('x')\n"
        "    config = base('gpu')\n"
        "    config.train.learning_rate = 0.5\n"
        "    return config\n"
    )
    study = Study()
    words = (f"--config={tmp_path / 'own.py'}", f"--workdir={tmp_path}", "--config.study.seeds=3")
    assert command(monkeypatch, study, *words) == 0
    config = study.calls[0][0]
    assert (config.train.learning_rate, config.study.seeds) == (0.5, 3)
    assert (tmp_path / "log").read_text() == "x"


def test_settings_built_on_another_study_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text("from experiments.configs.train import get_config\n")
    words = (f"--config={tmp_path / 'own.py'}", f"--workdir={tmp_path}")
    assert command(monkeypatch, Study(), *words) == 2
    assert "of another study (see config.study." in capsys.readouterr().err


def test_shipped_settings_are_found_from_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study()
    words = ("--config=experiments/configs/loss_ablation.py:gpu", f"--workdir={tmp_path}")
    assert command(monkeypatch, study, *words) == 0
    assert study.calls[0][0].preset == "gpu"


def test_the_default_settings_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = Study()
    assert command(monkeypatch, study, f"--workdir={tmp_path}") == 0
    assert study.calls[0][0].preset == "quick"


def test_a_flag_and_its_value_may_be_two_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study, directory = Study(), str(tmp_path / "new")
    words = ("--config", f"{CONFIG}:quick", "--workdir", directory, "--config.train.epochs=3")
    assert command(monkeypatch, study, *words) == 0
    [(config, place)] = study.calls
    assert config.train.epochs == 3
    assert place == Path(directory)


def test_the_package_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    listed.main()
    told = capsys.readouterr().out
    assert all(f"  {study} " in told for study in (*glossary.study_keys(), "tournament", "claims"))
    assert "see `" not in told


def test_the_library_names_what_can_be_called(capsys: pytest.CaptureFixture[str]) -> None:
    callable_ones.main()
    named = re.findall(r"python -m (\S+)", capsys.readouterr().out)
    assert {"jaxzero.play", "jaxzero.doctor", "experiments"} == set(named)
    assert all(importlib.util.find_spec(module) for module in named)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config.train.learning_rat=1"], "did you mean config.train.learning_rate?"),
        (["--config.batch_size=1"], "did you mean config.train.batch_size?"),
        (["--config.zzz=1"], "unknown key config.zzz"),
        (["--config.train.epochs=many"], "config.train.epochs='many': give a whole number"),
        (["--config.train.epochs=2.5"], "config.train.epochs='2.5': give a whole number"),
        (["--config.train.learning_rate=fast"], "config.train.learning_rate='fast': give a number"),
        (["--config.switches.keep_tree=perhaps"], "keep_tree='perhaps': give True or False"),
        (["--config.train.epochs"], "--config.train.epochs has no value: write"),
        (["--config.execution.compilation_cache"], "compilation_cache has no value"),
        (["--config.train=3"], "unknown key config.train:"),
        (["--config.network.hidden[0]=3"], "unknown key config.network.hidden[0]"),
        (["--max-minutes=soon"], "--max-minutes='soon': give a number"),
        (["--grace=-1"], "--grace='-1': give a number"),
        (["--max-minutes=-1"], "--max-minutes='-1': give a number"),
        (["--max-minutes=nan"], "--max-minutes='nan': give a number"),
        ([f"--config={CONFIG}:huge"], "unknown preset 'huge'"),
        ([f"--config={CONFIG}", "--config.preset=gpu"], "write --config=FILE:gpu"),
        (["--config=/no/such/file.py:quick"], "no such settings file"),
        (["train.epochs=3"], "unexpected argument 'train.epochs=3'"),
        (["--config=README.md"], "is no Python file"),
        ([f"--config={CONFIG.replace('loss_ablation', 'train')}:quick"], "of another study"),
        ([f"--config={CONFIG.replace('loss_ablation', 'arms')}:quick"], "(see config.study.arms)"),
        (["--wrkdir=x"], "unknown flag --wrkdir: did you mean --workdir?"),
        (["--workdir"], "--workdir has no value: write --workdir=VALUE"),
        (["--help=1"], "--help takes no value"),
        (["--train.epochs=3"], "unknown flag --train.epochs: did you mean --config.train.epochs?"),
        (["--game=othello_6x6"], "unknown flag --game: did you mean --config.game?"),
        (["--noconfig.execution.compilation_cache"], "unknown flag"),
        (["-x"], "unexpected argument '-x'"),
        (["--config.semantics=publishd"], "did you mean 'published'?"),
        (["--config.network.name=resnt", "--config.network.blocks=3"], "did you mean 'resnet'?"),
        (["--config.network.blocks=2"], "changes nothing here, it acts with config.network.name"),
        (["--shard=1/2"], "--shard=1/2: this study has no shares"),
        (["--shard=1\n2"], "--shard=1 2: this study has no shares"),
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


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study(RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying\nand more"))
    words = f"--config={CONFIG}:quick", f"--workdir={tmp_path}"
    assert command(monkeypatch, study, *words) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the device's memory is not enough (RESOURCE_EXHAUSTED: Out of ")


def test_the_workdir_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, Study()) == 2
    assert "--workdir is missing" in capsys.readouterr().err


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
