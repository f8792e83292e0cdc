"""How a command ends: its status, signals, other processes that wait, output nobody reads."""

import errno
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.errors import JaxRuntimeError

from experiments import arms, connect_four_search, recipe, tournament
from experiments.shell import cli
from jaxzero import arguments
from jaxzero.runs.stopping import Stopped
from jaxzero.settings.config import ConfigError, changed
from tests.experiments.test_cli import Study, command


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ConfigError("config.x=1: no"), 2, "error: config.x=1: no\n"),
        (OSError(errno.ENOSPC, "No space"), 2, "error: --workdir: [Errno 28] No space: make room"),
        (FloatingPointError("loss is nan"), 1, "error: loss is nan\n"),
        (Stopped("--max-minutes=3 are over", 0), 0, "--max-minutes=3 are over\n"),
        (Stopped("stopped by SIGTERM", 143), 143, "stopped by SIGTERM\n"),
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


class Left(Exception):
    """At once: nothing is waited for."""


def leave(status: int) -> None:
    raise Left(status)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Stopped("stopped by a second SIGTERM", 143, at_once=True), 143, "a second SIGTERM\n"),
        (KeyboardInterrupt(), 130, "interrupted; the same command resumes"),
    ],
)
def test_a_second_signal_does_not_wait_for_the_device(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(Left, match=str(status)):
        command(monkeypatch, Study(error), f"--workdir={tmp_path}")
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (JaxRuntimeError("Gloo X: closed\nmore"), 1, "error: another process of this .* closed"),
        (ValueError("UNKNOWN: Gloo X failed"), 1, "error: another process of this .* failed"),
        (JaxRuntimeError("out of memory"), 1, "Traceback .*out of memory\n"),
        (ValueError("NCCL is a word"), 1, "Traceback .*NCCL is a word\n"),
        (ConfigError("config.x=1: no"), 2, "error: config.x=1: no\n"),
    ],
)
def test_a_process_that_fails_does_not_wait_for_the_others(
    error: Exception,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(Left, match=str(status)):
        command(monkeypatch, Study(error), f"--workdir={tmp_path}")
    printed = capsys.readouterr().err
    assert re.match(said, printed, re.DOTALL)
    assert printed.startswith("Traceback") or printed.count("\n") == 1


@pytest.mark.parametrize("error", [JaxRuntimeError("Gloo X failed"), ValueError("own")])
def test_a_process_alone_fails_as_python_does(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(type(error)):
        command(monkeypatch, Study(error), f"--workdir={tmp_path}")


@pytest.mark.parametrize("program", ["study", "tournament"])
def test_output_that_nobody_reads_ends_it_quietly(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `--help | head` does, whose end of the pipe is closed before the page is through."""
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "argv", ["program", "--help"])
    with os.fdopen(writer, "w") as unread, pytest.raises(SystemExit) as stop:  # noqa: PT012
        monkeypatch.setattr(sys, "stdout", unread)
        if program == "study":
            cli.run(Study(), "loss_ablation")
        else:
            arguments.run(tournament.main)
    assert stop.value.code == 141
    assert not capsys.readouterr().err


def test_a_full_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(code: int) -> None:
        raise OSError(code, "why", "place")

    with pytest.raises(SystemExit, match="2"):
        arguments.run(lambda: fails(errno.ENOSPC))
    assert capsys.readouterr().err.startswith("error: [Errno 28] why: 'place': make room")
    with pytest.raises(FileNotFoundError):
        arguments.run(lambda: fails(errno.ENOENT))


def test_another_broken_pipe_is_no_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A connection or an engine that is lost must be heard of."""
    study = Study(BrokenPipeError())
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(BrokenPipeError):
            command(monkeypatch, study, f"--workdir={tmp_path}")


@pytest.mark.parametrize("study", [arms, connect_four_search, recipe])
def test_a_study_of_one_process_refuses_others(study: Any, tmp_path: Path) -> None:
    """They would wait for each other, or write the same files."""
    config = importlib.import_module(f"experiments.configs.{study.STUDY}").get_config()
    config = changed(config, {"execution.distributed": True})
    with pytest.raises(ConfigError, match=r"execution\.distributed=True: .* in one process"):
        study.run(config, tmp_path / "new")
    assert not (tmp_path / "new").exists()
