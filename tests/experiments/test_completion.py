"""Completion in real shells: what the Tab key makes of a line."""

import os
import pty
import select
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from experiments import completion
from jaxzero.settings.config import ConfigError

LOSSES = "python -m experiments.loss_ablation"
FILE = "experiments/configs/loss_ablation.py"
# What is typed before the Tab key, and what the line is then.
CASES = {
    "python -m experiments.loss_ab": f"{LOSSES} ",
    f"{LOSSES} --wor": f"{LOSSES} --workdir=",
    f"{LOSSES} --config=ex": f"{LOSSES} --config={FILE}:",
    f"{LOSSES} --config={FILE}:pa": f"{LOSSES} --config={FILE}:paper ",
    f"{LOSSES} --config.trai": f"{LOSSES} --config.train.",
    f"{LOSSES} --config.train.epo": f"{LOSSES} --config.train.epochs=",
    f"{LOSSES} --config.search.algorithm=gu": f"{LOSSES} --config.search.algorithm=gumbel ",
    f"{LOSSES} --config.study.tar": f"{LOSSES} --config.study.targets=",
    f"{LOSSES} --config.switches.keep_tree=u": f"{LOSSES} --config.switches.keep_tree=unset ",
    f"{LOSSES} --config.execution.evaluate_at": f"{LOSSES} --config.execution.evaluate_at_once=",
    f"{LOSSES} --config.execution.evaluate_at_once=u": (
        f"{LOSSES} --config.execution.evaluate_at_once=unset "
    ),
    "python -m experiments.curriculum --config.study.ref": (
        "python -m experiments.curriculum --config.study.reference="
    ),
    f"{LOSSES} --config.nothing": f"{LOSSES} --config.nothing",
    f"{LOSSES} --config.pres": f"{LOSSES} --config.pres",  # it stands behind the file
    "python one_fi": "python one_file.txt ",  # files, as without it
}


@cache
def script(shell: str) -> str:
    return completion.script(shell)


def lines_after_tab(shell: list[str], folder: Path) -> dict[str, str]:
    """What each of the `CASES` becomes in an interactive shell, which writes it to a file."""
    (folder / "script").write_text(script(shell[0]))
    (folder / "one_file.txt").touch()
    terminal, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder)}
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = subprocess.Popen(shell, cwd=folder, env=env, start_new_session=True, **ends)
    os.close(theirs)
    _type(terminal, ". ./script")
    shown = {}
    for line in CASES:
        # The Tab key; then Ctrl-A and Ctrl-E for what goes before and behind the line.
        _type(terminal, f"{line}\t\x01echo '\x05<' > line")
        shown[line] = (folder / "line").read_text().removesuffix("<\n")
    os.write(terminal, b"exit\n")
    process.wait(timeout=30)
    os.close(terminal)
    return shown


def _type(terminal: int, line: str) -> None:
    """Types a line and waits until it was obeyed."""
    os.write(terminal, f"{line}; echo end$((41 + 1))\n".encode())
    text = ""
    while "end42" not in text:
        assert select.select([terminal], [], [], 30)[0], f"the shell is silent after {text!r}"
        text += os.read(terminal, 4096).decode(errors="replace")


def test_bash(tmp_path: Path) -> None:
    assert lines_after_tab(["bash", "--norc", "--noprofile", "-i"], tmp_path) == CASES


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh: apt-get install zsh")
def test_zsh(tmp_path: Path) -> None:
    shown = lines_after_tab(["zsh", "-f", "-i"], tmp_path)
    assert {line: text.rstrip() for line, text in shown.items()} == {
        line: text.rstrip() for line, text in CASES.items()
    }


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    completion.main(["zsh"])
    assert capsys.readouterr().out == script("zsh")
    with pytest.raises(ConfigError, match="shell 'bahs': did you mean 'bash'"):
        completion.main(["bahs"])
