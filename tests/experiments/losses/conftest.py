"""A finished study and its report, shared by the tests of what pages are made of."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.losses.report import write_report
from experiments.pages import page
from tests.experiments import made_up


@pytest.fixture(scope="session", autouse=True)
def coarse() -> Iterator[None]:
    """Pictures beside the pages, which no test looks at, are drawn small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_PNG_DPI", 40)
        yield


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished study of four losses, two seeds, on a board with published curves."""
    rows = made_up.metrics(made_up.TARGETS, 2, 3)
    results = made_up.results(made_up.TARGETS, 2, 3, "connect_four_5x5")
    folder = made_up.write(tmp_path_factory.mktemp("full"), rows, results)
    path = write_report(folder)
    assert path == folder / "report.html"
    return folder, path.read_text(encoding="utf-8")
