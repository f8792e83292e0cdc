"""What holds for every notebook in the repository, without running one."""

import ast
import importlib.util
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.colab.executing import FOLDER, NOTEBOOKS, read, tagged


def test_none_is_forgotten() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_stripped(name: str) -> None:
    for cell in read(name).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_parameters_are_plain_values(name: str) -> None:
    """So that any of them can be injected."""
    notebook = read(name)
    for statement in ast.parse(notebook.cells[tagged(notebook, "parameters")].source).body:
        assert isinstance(statement, ast.Assign)
        ast.literal_eval(statement.value)


def installation(notebook: Any) -> str:
    """The source of the cell that installs jaxzero."""
    return notebook.cells[tagged(notebook, "install")].source


def test_all_install_alike_and_keep_the_runtimes_jax() -> None:
    first, *others = (installation(read(name)) for name in NOTEBOOKS)
    assert all(other == first for other in others)


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, repository: str, status: int = 0
) -> list[str]:
    """Runs that cell where jaxzero cannot be imported; pip's words."""
    commands = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", run)
    exec(installation(read(NOTEBOOKS[0])), {"REPOSITORY": repository})
    (command,) = commands
    return command


def test_installation_from_a_repository_pins_jax(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = install(monkeypatch, tmp_path, "https://example.org/OWNER/REPO")
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert words[-1] == "git+https://example.org/OWNER/REPO"
    pins = Path(words[words.index("-c") + 1]).read_text().split()
    for package in ("jax", "jaxlib", "numpy"):
        assert f"{package}=={metadata.version(package)}" in pins
    assert not any(pin.startswith(("jaxzero", "flax")) for pin in pins)


def test_installation_in_a_checkout_takes_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install(monkeypatch, FOLDER, "")[-1] == FOLDER.parent.as_uri()


def test_installation_that_cannot_work_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="set REPOSITORY in the first cell"):
        install(monkeypatch, tmp_path, "")
    with pytest.raises(SystemExit, match=r"pip found nothing that fits .*jax \d"):
        install(monkeypatch, tmp_path, "https://example.org/OWNER/REPO", status=1)
