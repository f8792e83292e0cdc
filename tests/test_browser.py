"""Tests of pages are left out only where nobody promised a browser."""

from typing import Any

import pytest

from tests import browser


def test_no_browser_skips_on_a_strangers_machine_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    monkeypatch.delenv("CI", raising=False)
    assert not browser.has_browser()
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        next(browser.opened())
    monkeypatch.setenv("CI", "true")
    ask: Any
    for ask in (browser.has_browser, lambda: next(browser.opened())):
        with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
            ask()
