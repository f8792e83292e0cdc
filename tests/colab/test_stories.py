"""The notebooks that tell a study's story, from the first cell to the last, at their tiny size."""

from pathlib import Path

import pytest

from jaxzero import workdir
from tests.colab.executing import STORIES, execute, kinds_of_display, printed


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_everything_runs_and_again(name: str, tmp_path: Path) -> None:
    first = execute(name, {"FOLDER": str(tmp_path), "SIZE": "tiny"}, minutes=30)
    assert "image/png" in kinds_of_display(first)
    results = {path: path.read_bytes() for path in tmp_path.glob(f"**/{workdir.RESULTS}")}
    assert results
    again = execute(name, {"FOLDER": str(tmp_path), "SIZE": "tiny"}, minutes=30)
    assert "nothing left to do" in "".join(map(printed, again.cells))
    assert all(path.read_bytes() == before for path, before in results.items())
