"""Programs beside Python that some tests need: skipped where they lack, but not in CI."""

import os

import pytest


def found(there: bool, needs: str) -> bool:
    """Whether they are there; with `CI` set, a test that asks in vain fails in one line."""
    if not there and os.environ.get("CI"):
        pytest.fail(needs, pytrace=False)
    return there
