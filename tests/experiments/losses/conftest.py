"""A finished study and its report, shared by the tests of what pages are made of."""

from pathlib import Path

import pytest

from experiments.pages import reports
from tests.experiments import made_up


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished study of four losses, two seeds, on a board with published curves."""
    rows = made_up.metrics(made_up.TARGETS, 2, 3)
    results = made_up.results(made_up.TARGETS, 2, 3, "connect_four_5x5")
    folder = made_up.write(tmp_path_factory.mktemp("full"), rows, results)
    path = reports.write(folder)
    assert path == folder / "report.html"
    return folder, path.read_text(encoding="utf-8")
