"""With `CI` set nothing may be left out: a skipped test, or file of tests, is a failure.

A stranger's machine may lack an extra, a browser or a shell; the tests that need it say so there.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest


def _not_in_ci(report: Any) -> Any:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"not in CI: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Of each phase of a test."""
    return _not_in_ci((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Of each file."""
    return _not_in_ci((yield))
