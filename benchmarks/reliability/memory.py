"""Studies with too little memory: a control group's limit, or one of addresses (`ulimit -v`)."""

import contextlib
import random
import resource
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.reliability import studies
from jaxzero.settings.config import ConfigError

_GROUPS = Path("/sys/fs/cgroup/memory")  # version 1, which root may write
# Of what the study needs; with fewer addresses Python can't load its libraries.
_SHARES = (("resident", 0.2, 0.8), ("addresses", 0.35, 1.0))
_LINKER = 127  # the C library's own end, where a thread has no room
_PATIENCE = 600  # seconds: of threads that could not begin, some wait for ever


def starve(study: str, number: int) -> tuple[Mapping[str, int], str | None]:
    """Runs a study with less memory than it needs, then again with enough.

    Returns:
      what happened (`memory refused`, `killed for memory`, `memory enough`), and what was wrong.
    """
    kind, least, most = _SHARES[number % 2]
    limit = int(random.Random(number).uniform(least, most) * studies.needs(study)[kind])
    directory = studies.FOLDER / study / f"starved_{number}"
    studies.remove(directory)
    process = studies.begin(study, directory)
    with _group(process, limit) if kind == "resident" else contextlib.nullcontext():
        if kind == "addresses":
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
        try:
            status, wrong = process.wait(_PATIENCE), None
        except subprocess.TimeoutExpired:
            process.kill()
            status, wrong = process.wait(), f"goes on after {_PATIENCE} s"
    happened = {0: "memory enough", 2: "memory refused"}.get(status, "killed for memory")
    if status > 0 and status != _LINKER:
        wrong = studies.refused(status, directory)
    wrong = wrong or studies.resumed(study, directory)
    if wrong is None:
        studies.remove(directory)
    return {happened: 1}, wrong and f"{study} {number}, {limit >> 20} MiB {kind}: {wrong}"


@contextlib.contextmanager
def _group(process: subprocess.Popen, limit: int) -> Iterator[None]:
    """Holds a process in a control group with so many bytes.

    Raises:
      ConfigError: none can be made.
    """
    group = _GROUPS / f"reliability_{process.pid}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit), "utf-8")
        (group / "cgroup.procs").write_text(str(process.pid), "utf-8")
    except OSError as error:
        process.kill()
        raise ConfigError(f"memory: {error}: run it as root, with control groups") from error
    yield
    process.wait()
    group.rmdir()
