"""Jobs of fake parts: how they are made, where they run, and what they have done."""

import subprocess
from pathlib import Path

from experiments.reproduce.launch import Share
from jaxzero.runs.hardware import Hardware
from tests.experiments.reproduce.fake_part import Fake

ROOT = Path(__file__).resolve().parents[3]
LAPTOP = Hardware("cpu", "a laptop", 1, None)
SERVER = Hardware("gpu", "2 x GPU", 2, None)


def share(folder: Path, *fakes: Fake) -> Share:
    return Share(fakes, "quick", folder, 0)


def steps(folder: Path, name: str) -> int:
    path = folder / name / "steps"
    return path.stat().st_size if path.exists() else 0


def worker(folder: Path, name: str) -> int:
    """Process of the job that runs a part: the parent of the study's."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            words = (status.parent / "cmdline").read_bytes().split(b"\0")
            if f"--workdir={folder / name}".encode() in words:
                return int(status.read_text().split("PPid:")[1].split()[0])
        except OSError:
            continue  # it has just ended
    raise AssertionError(f"nobody runs {name}")


class Job:
    """Of a process that the test began; or of nothing, and `cancel` is noted."""

    def __init__(self, process: subprocess.Popen | None = None) -> None:
        self.process, self.job_id = process, str(process.pid if process else 1)
        self.cancelled = False

    def done(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def cancel(self) -> None:
        self.cancelled = True
