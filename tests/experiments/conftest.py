"""How the tests of studies draw: small, or not at all."""

from collections.abc import Iterator

import pytest

from experiments.pages import page

_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"></svg>'


@pytest.fixture(scope="session", autouse=True)
def coarse() -> Iterator[None]:
    """Pictures beside the pages, which no test looks at, are drawn small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_PNG_DPI", 40)
        yield


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have empty figures: for tests of studies that are run again, drawn by another test."""
    monkeypatch.setattr(page, "save", lambda figure, stem: _EMPTY)
