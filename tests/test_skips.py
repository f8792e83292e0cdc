"""Tests are left out only on a stranger's machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "test_file.py": "import pytest\npytest.importorskip('nosuchextra')\n",
    "test_few.py": """
import pytest

@pytest.fixture
def browser():
    pytest.skip("needs Chromium")

def test_page(browser): ...

@pytest.mark.skipif(True, reason="needs Linux")
def test_processes(): ...

@pytest.mark.xfail
def test_known(): assert False

def test_extra():
    pytest.importorskip("nosuchextra")

def test_sum(): ...
""",
}


@pytest.mark.parametrize(
    ("ci", "counts"),
    [("", "1 passed, 4 skipped, 1 xfailed"), ("true", "1 failed, 1 passed, 1 xfailed, 3 errors")],
)
def test_a_skip_is_a_failure_in_ci(tmp_path: Path, ci: str, counts: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    words = ["-p", "tests.skips", "--continue-on-collection-errors", "-rsfE", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, *words],
        env={**os.environ, "CI": ci},
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
    )
    assert counts in ended.stdout
    for reason in ("nosuchextra", "needs Chromium", "needs Linux"):
        assert reason in ended.stdout
    assert ended.returncode == (1 if ci else 0)
