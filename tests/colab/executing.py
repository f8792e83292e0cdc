"""Notebooks as a person runs them: all cells in a kernel of their own, parameters injected.

`python -m tests.colab.executing losses` executes one as it stands and keeps its outputs.
"""

import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "colab"
STRIPPED = ("quickstart", "your_own_game")  # kept without outputs
STORIES = ("losses", "hyperparameters", "connect_four", "curriculum")  # kept with outputs
NOTEBOOKS = STRIPPED + STORIES


def read(name: str) -> Any:
    """A notebook of `colab/`."""
    return nbformat.read(FOLDER / f"{name}.ipynb", nbformat.NO_CONVERT)


def tagged(notebook: Any, tag: str) -> int:
    """The number of the one cell with that tag."""
    (found,) = (i for i, c in enumerate(notebook.cells) if tag in c.metadata.get("tags", ()))
    return found


def injected(name: str, parameters: dict[str, Any]) -> Any:
    """A notebook with a cell behind the one tagged `parameters`, as papermill would make it."""
    notebook = read(name)
    lines = [f"{key} = {value!r}" for key, value in parameters.items()]
    cell = nbformat.v4.new_code_cell("\n".join(lines))
    notebook.cells.insert(tagged(notebook, "parameters") + 1, cell)
    return notebook


def client_of(notebook: Any, *, minutes: float = 10) -> NotebookClient:
    """What executes a notebook, in its folder, with this Python; a cell may take so long."""
    return NotebookClient(
        notebook,
        timeout=round(60 * minutes),
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    )


def execute(name: str, parameters: dict[str, Any], *, minutes: float = 10) -> Any:
    """Runs all cells; a cell that fails raises `CellExecutionError`."""
    notebook = injected(name, parameters)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        client_of(notebook, minutes=minutes).execute()
    finally:  # the client leaves Python's own, also where they were ignored
        for number, handler in before.items():
            signal.signal(number, handler)
    return notebook


def printed(cell: Any) -> str:
    """What a cell said: streams and the texts of its displays."""
    texts = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        texts.append(output.get("text") or data.get("text/markdown") or data.get("text/plain", ""))
    return "".join(texts)


def kinds_of_display(notebook: Any) -> set[str]:
    """MIME types of everything shown."""
    return {
        kind for c in notebook.cells for o in c.get("outputs", ()) for kind in o.get("data", {})
    }


def shortened(outputs: list[Any]) -> list[Any]:
    """Outputs as they are kept: without progress bars, and each in its best form alone."""
    kept = [one for one in outputs if one.get("name") != "stderr"]
    for one in kept:
        if len(one.get("data", {})) > 1:
            one["data"].pop("text/plain", None)
            one["metadata"] = {}
    return kept


def keep_outputs(name: str) -> None:
    """Executes a notebook with its own parameters, in a new folder, and saves what it shows."""
    notebook = read(name)
    with tempfile.TemporaryDirectory() as folder:
        client = client_of(notebook, minutes=60)
        client.resources["metadata"]["path"] = folder  # whose runs/ no one else has
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = shortened(cell.outputs)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    for word in sys.argv[1:]:
        keep_outputs(word)
