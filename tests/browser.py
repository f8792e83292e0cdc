"""Debian's Chromium, driven by Playwright, for the tests of pages."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SIZES = {"desktop": (1300, 900), "phone": (390, 844)}


def opened() -> Iterator[Any]:
    """A browser; skips with one line where there is none."""
    if shutil.which("chromium") is None or find_spec("playwright") is None:
        pytest.skip(
            "needs Chromium and Playwright: apt-get install chromium, pip install -e '.[dev]'"
        )
    from playwright import sync_api as driver

    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def watched(browser: Any, faults: list[str], size: str = "desktop", scheme: str = "light") -> Any:
    """A new tab of its own, whose errors and failed requests are added to `faults`."""
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    page = browser.new_context(
        viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
    ).new_page()
    page.set_default_timeout(60_000)  # a program may have to be compiled on a busy machine
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    return page


def too_wide(page: Any) -> list[str]:
    """What makes the page wider than the window: nothing, or descriptions of elements."""
    found: list[str] = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")]
          .filter(e => e.getBoundingClientRect().right > innerWidth)
          .map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`).slice(0, 5)"""
    )
    return found


def check_report(browser: Any, report: Path, folder: Path) -> None:
    """A report on both screens: no error, nothing wider than the window, no table than the page on
    the larger one; pictures are kept."""
    assert report.stat().st_size <= 1_500_000
    for size in SIZES:
        faults: list[str] = []
        page = watched(browser, faults, size, "dark" if size == "phone" else "light")
        page.goto(report.as_uri())
        page.screenshot(path=folder / f"{report.parent.name}_{size}.png", full_page=True)
        assert not too_wide(page)
        wide = "[...document.querySelectorAll('.scroll')].some(e => e.scrollWidth > e.clientWidth)"
        assert size == "phone" or not page.evaluate(wide)
        assert not faults
        page.context.close()
