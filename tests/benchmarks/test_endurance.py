"""Watching a study that lasts: samples, interruptions, what has grown."""

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from benchmarks import endurance
from benchmarks.endurance import Sample
from experiments.reproduce import child
from jaxzero.settings.config import ConfigError

STUDY = """
import pathlib, sys, time
directory = pathlib.Path(sys.argv[1].partition("=")[2])
directory.mkdir(exist_ok=True)
rows = directory / "metrics.jsonl"
while True:
    with rows.open("a") as file:
        print('{"iteration": 1}', file=file)
    done = len(rows.read_text().splitlines())
    if done >= 12:
        break
    time.sleep(1000 if done < 3 else 0.06)  # the first two starts hang
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of experiments with one study, which takes twelve iterations in all."""
    folder = tmp_path / "experiments" / "reproduce"
    folder.mkdir(parents=True)
    shutil.copy(child.__file__, folder)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder.parent / "fake.py").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_is_watched_to_its_end_and_begun_again(study: Path) -> None:
    record, handler = study / "kept" / "samples.tsv", signal.getsignal(signal.SIGINT)
    words = ["fake", f"--workdir={study / 'run'}"]
    assert endurance.watch(words, record, every=0.05, interrupt=1 / 60) == 0
    samples = endurance.read(record)
    ends = [sample.end for sample in samples if sample.end]
    assert ends[:2] == ["SIGTERM", "SIGKILL"]
    assert samples[-1].start in (len(ends) - 1, len(ends))  # the last one ends by itself
    assert 2 < samples[-1].iterations <= 12 + len(ends)  # one of each start that was ended, too
    assert all(s.resident > 1 and s.files >= 3 and s.threads >= 1 for s in samples)
    assert signal.getsignal(signal.SIGINT) is handler
    assert endurance.watch(words, record, every=0.01, interrupt=0) == 0  # another start
    assert endurance.read(record)[: len(samples)] == samples


def test_growth_is_that_of_the_samples() -> None:
    """A start that grows by 6 MiB an hour, in fact; by a jump in its first half, besides."""
    samples = [
        Sample(
            0, 60.0 * minute, 30.0 * minute, 100 + minute / 10 + 50 * (minute > 25), 9, 4, minute
        )
        for minute in range(61)
    ]
    samples += [sample._replace(start=1, resident=100) for sample in samples]
    first, second = endurance.series(samples)
    grown, mean = endurance.growth(first, "resident") or (0, 0)
    assert grown == pytest.approx(6)
    assert mean == pytest.approx(100 + 50 + 4.55)
    assert endurance.growth(second, "resident") == pytest.approx((0, 100), abs=1e-9)
    assert endurance.growth(first, "cpu_per_iteration") == pytest.approx((0, 30), abs=1e-9)
    np.testing.assert_allclose(second["hours"] - first["hours"], 1)
    assert endurance.table(samples).count("(+6.00 an hour)") == 1
    assert endurance.table(samples).count("(0 an hour)") == 7
    assert len(endurance.draw(samples).axes) == 4


def test_what_cannot_be_watched(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("start\nx\n")
    with pytest.raises(ConfigError, match=r"wrong\.tsv: no file of this program"):
        endurance.main([f"--record={wrong}", "--page"])
    with pytest.raises(ConfigError, match="nothing was recorded"):
        endurance.main([f"--record={tmp_path / 'none.tsv'}", "--page"])
    with pytest.raises(ConfigError, match="--workdir=DIR is missing"):
        endurance.main([f"--record={tmp_path / 'none.tsv'}", "--", "train"])
