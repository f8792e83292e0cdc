"""What holds for every notebook in the repository, without running one."""

import ast
import base64
import importlib.util
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from jaxzero.settings.config import ConfigError
from tests.colab.executing import FOLDER, NOTEBOOKS, STORIES, STRIPPED, read, tagged
from tests.test_docs import check_accepted, check_modules_and_presets, commands_in

LARGEST = 300_000  # bytes of a notebook with its outputs
MACHINES = r"(?<![\w.:/])/(?:work|home|root|tmp|var|usr|opt|Users|content)/(?!drive/MyDrive)"


def test_none_is_forgotten() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NOTEBOOKS)


@pytest.mark.parametrize("name", STRIPPED)
def test_outputs_are_stripped(name: str) -> None:
    for cell in read(name).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("name", STORIES)
def test_outputs_are_kept_and_small(name: str) -> None:
    """It can be read without running it: `python -m tests.colab.executing NAME` makes them."""
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells), "executed, every one"
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "display_data"} | {
        "execute_result"
    }
    pictures = [o.data["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= 3
    assert all(base64.b64decode(p).startswith(b"\x89PNG") for p in pictures)
    for output in outputs:
        assert output.get("name") != "stderr"
        texts = [str(v) for kind, v in output.get("data", {}).items() if kind != "image/png"]
        assert not re.search(MACHINES, "".join([output.get("text", ""), *texts]))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_compile_and_what_they_name_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cell in read(name).cells:
        if cell.cell_type == "code":
            compile(cell.source, name, "exec")
        else:
            check_modules_and_presets(cell.source, name)
            check_accepted(commands_in(cell.source), monkeypatch)
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", cell.source):
                assert "://" in target or (FOLDER / target).exists(), target


@pytest.mark.parametrize("name", STORIES)
def test_every_size_is_accepted(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook, names = read(name), {}
    parameters, settings = (
        notebook.cells[tagged(notebook, tag)].source for tag in ("parameters", "settings")
    )
    for size in ("auto", "tiny", "cpu", "gpu"):
        exec(f"{parameters}\nSIZE = {size!r}\n{settings}", names)
        assert f"size {'cpu' if size == 'auto' else size}: " in capsys.readouterr().out
    assert set(names["SIZES"]) == {"tiny", "cpu", "gpu"}
    with pytest.raises(ConfigError, match="size 'gp': did you mean 'gpu'"):
        exec(f"{parameters}\nSIZE = 'gp'\n{settings}", names)
    with pytest.raises(ConfigError, match=r"unknown key config\.gme"):
        exec(f"{parameters}\nCHANGES = {{'gme': 'othello_6x6'}}\n{settings}", names)


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
