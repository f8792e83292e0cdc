"""Where jobs run: in the checkout, on a fast disk, by a stand-in for Slurm."""

import os
from pathlib import Path

import pytest

from tests.experiments.reproduce import fake_slurm
from tests.experiments.reproduce.jobs import ROOT


@pytest.fixture
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SUBMITIT_LOG_LEVEL", "NOCONFIG")  # else it keeps one test's stdout for ever


@pytest.fixture
def on_a_fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that died leaves no result; submitit would wait for it for 15 seconds."""
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 1)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands on the path; the folder of its jobs."""
    jobs = fake_slurm.install(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return jobs
