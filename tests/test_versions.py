"""`.ci/versions`: what passed at a commit is not run again, and its line is the only change.

What is deprecated is an error in the programs that tests start, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments import processes

ROOT = Path(__file__).parents[1]
SUITE = """echo $PYTHON >>asked
test $PYTHON != python3.12 || test -e mended || exit 1
echo 'ran with python 3.1 jax 0.1'
echo '7 passed in 1s'
"""
WHO = ("AUTHOR", "COMMITTER")


def git(at: Path, *words: str) -> str:
    names = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names |= {f"GIT_{who}_{what}": "x" for who in WHO for what in ("NAME", "EMAIL")}
    made = subprocess.run(
        ["git", *words],
        cwd=at,
        env=os.environ | names,
        check=True,
        text=True,
        capture_output=True,
    )
    return made.stdout.strip()


def test_what_passed_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "docs" / "reliability").mkdir(parents=True)
    record = tmp_path / "docs" / "reliability" / "versions.tsv"
    record.write_text("commit\tdate\tpython\tversions\tjax\ttests\n")
    shutil.copy(ROOT / ".ci" / "versions", tmp_path / ".ci")
    (tmp_path / ".ci" / "run").write_text(SUITE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "code")
    code = git(tmp_path, "rev-parse", "HEAD")[:12]

    def run() -> tuple[int, list[str]]:
        (tmp_path / "asked").unlink(missing_ok=True)
        words = ["bash", ".ci/versions", "python3.11:newest", "python3.12:newest"]
        ended = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True)
        asked = tmp_path / "asked"
        return ended.returncode, asked.read_text().split() if asked.exists() else []

    assert run() == (1, ["python3.11", "python3.12"])
    (tmp_path / "mended").touch()
    assert run() == (0, ["python3.12"])
    git(tmp_path, "commit", "-qam", "the record")
    assert run() == (0, [])
    rows = [line.split("\t") for line in record.read_text().splitlines()[1:]]
    passed = [[code, python, "0.1"] for python in ("python3.11", "python3.12")]
    assert [row[0::2] for row in rows] == passed
    (tmp_path / ".ci" / "run").write_text(SUITE + "# other code\n")
    assert run() == (1, [])  # commit first


@pytest.mark.parametrize(("module", "status"), [("jaxzero.games", 1), ("numpy", 0)])
def test_started_programs_call_nothing_deprecated(module: str, status: int) -> None:
    script = (
        f"import warnings; warnings.warn_explicit('old', DeprecationWarning, 'x', 1, '{module}')"
    )
    environment = os.environ | {"PYTHONPATH": str(processes.STRICT)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert ended.returncode == status
