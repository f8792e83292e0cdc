"""Watches a study for hours: do its memory, open files, threads and speed stay as they were?

python -m benchmarks.endurance --record=FILE.tsv -- STUDY --config=... --workdir=DIR
python -m benchmarks.endurance --record=FILE.tsv --interrupt=15 -- STUDY --config=... --workdir=DIR
python -m benchmarks.endurance --record=FILE.tsv --page    # FILE.svg, and the table on the screen

STUDY is the last part of `python -m experiments.STUDY`. `--interrupt=N` ends it every N minutes, by
turns with SIGTERM and with kill -9, and begins it again. Each start adds to the file. Linux, macOS.
"""

import contextlib
import csv
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import numpy as np
import psutil
from matplotlib.figure import Figure

from benchmarks.markdown import as_table, short
from experiments.pages import style
from jaxzero import arguments, files, workdir
from jaxzero.settings.config import ConfigError

_FEWEST: Final = 10  # samples that say how something grows
_CHILD: Final = "experiments.reproduce.child"  # ends with the one that started it
_SIGNALS: Final = (signal.SIGTERM, signal.SIGKILL)
_PANELS: Final = (
    ("resident", "resident memory, MiB"),
    ("files", "open files"),
    ("threads", "threads"),
    ("cpu_per_iteration", "CPU seconds an iteration of a run"),
)


class Sample(NamedTuple):
    """A process at a moment."""

    start: int  # number of the process, from 0
    seconds: float  # since its begin
    cpu: float  # seconds of all its threads so far
    resident: float  # MiB
    files: int  # open
    threads: int
    iterations: int  # trained so far, of all runs, those of earlier starts too
    end: str = ""  # the signal that was sent to it as the sample was taken


def read(path: Path) -> list[Sample]:
    """The samples of a file, none where it is missing.

    Raises:
      ConfigError: it is no such file.
    """
    if not path.exists():
        return []
    kinds = Sample.__annotations__.values()
    try:
        with path.open(encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter="\t"))[1:]
            return [Sample(*(k(word) for k, word in zip(kinds, r, strict=True))) for r in rows]
    except (ValueError, csv.Error) as error:
        raise ConfigError(f"--record={path}: no file of this program ({error})") from error


def watch(words: Sequence[str], record: Path, every: float, interrupt: float) -> int:
    """Runs a study to its end, with a sample every few seconds.

    Args:
      words: its command line after `python -m experiments.`, with `--workdir`.
      record: where samples are added.
      every: seconds between two samples.
      interrupt: minutes after which it is ended and begun again; 0: never.

    Returns:
      the study's exit status.
    """
    directory = _directory(words)
    known = read(record)
    start = known[-1].start + 1 if known else 0
    record.parent.mkdir(parents=True, exist_ok=True)
    while True:
        command = ["-m", _CHILD, str(os.getpid()), f"experiments.{words[0]}", *words[1:]]
        with psutil.Popen([sys.executable, *command]) as process, _passing_signals_to(process):
            ended = None
            for sample in _samples(process, directory, start, every):
                if interrupt and not ended and sample.seconds >= 60 * interrupt:
                    ended = _SIGNALS[start % 2]
                    process.send_signal(ended)
                    sample = sample._replace(end=ended.name)
                _add(sample, record)
            status = process.wait()
        if not ended or status == 0:
            return status
        start += 1


@contextlib.contextmanager
def _passing_signals_to(process: psutil.Popen) -> Iterator[None]:
    """SIGTERM goes to the study, and Ctrl-C reaches it by itself: it saves and ends."""

    def handle(number: int, _: FrameType | None) -> None:
        if number == signal.SIGTERM:
            process.send_signal(number)

    before = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _add(sample: Sample, record: Path) -> None:
    new = not record.exists()
    with record.open("a", encoding="utf-8", newline="") as file:
        out = csv.writer(file, delimiter="\t", lineterminator="\n")
        out.writerows([Sample._fields] if new else [])
        out.writerow([round(v, 2) if isinstance(v, float) else v for v in sample])


def _samples(process: psutil.Popen, directory: Path, start: int, every: float) -> Iterator[Sample]:
    begun = last = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        if now - last >= every:
            with contextlib.suppress(psutil.Error):  # it has ended
                sample = _sample(process, directory, start, now - begun)
                if process.poll() is None:
                    yield sample
            last = now
        time.sleep(0.1)


def _sample(process: psutil.Popen, directory: Path, start: int, seconds: float) -> Sample:
    with process.oneshot():
        cpu = process.cpu_times()
        return Sample(
            start,
            seconds,
            cpu.user + cpu.system,
            process.memory_info().rss / 2**20,
            process.num_fds(),
            process.num_threads(),
            sum(len(files.read_rows(path)) for path in directory.rglob(workdir.METRICS)),
        )


def _directory(words: Sequence[str]) -> Path:
    for word in words:
        if word.startswith("--workdir="):
            return Path(word.partition("=")[2])
    raise ConfigError("the study's --workdir=DIR is missing: its iterations are counted there")


def series(samples: Sequence[Sample]) -> list[dict[str, np.ndarray]]:
    """Of each start, by name: `hours` since the first began, and what `_PANELS` draws, float[n].

    `cpu_per_iteration` is that of the iterations between two samples, and not a number where
    none ended.
    """
    found, before = [], 0.0
    for start in sorted({sample.start for sample in samples}):
        own = [sample for sample in samples if sample.start == start]
        columns = {
            name: np.array([getattr(s, name) for s in own], float)
            for name in ("seconds", "cpu", "resident", "files", "threads", "iterations")
        }
        hours = before + columns["seconds"] / 3600
        before = float(hours[-1])
        columns["cpu_per_iteration"] = _per_iteration(columns["cpu"], columns["iterations"])
        found.append(columns | {"hours": hours})
    return found


def _per_iteration(cpu: np.ndarray, iterations: np.ndarray) -> np.ndarray:
    costs, last = np.full(len(cpu), np.nan), 0
    for i in range(1, len(cpu)):
        if new := iterations[i] - iterations[last]:
            costs[i] = (cpu[i] - cpu[last]) / new
            last = i
    return costs


def growth(start: dict[str, np.ndarray], name: str) -> tuple[float, float] | None:
    """What a column grows by in an hour, and its mean; None: too few samples.

    By least squares over the second half of a start: the first compiles and fills windows.
    """
    fine = (start["seconds"] > start["seconds"][-1] / 2) & np.isfinite(start[name])
    hours, values = start["hours"][fine], start[name][fine]
    if len(values) < _FEWEST:
        return None
    return float(np.polyfit(hours, values, 1)[0]), float(values.mean())


def table(samples: Sequence[Sample]) -> str:
    """Markdown: of each start its length, its end, and the columns in its second half."""
    rows = []
    for start, found in enumerate(series(samples)):
        own = [sample for sample in samples if sample.start == start]
        cells = []
        for name, _ in _PANELS:
            grown = growth(found, name)
            cells.append(f"{short(grown[1])} ({_change(*grown)} an hour)" if grown else "")
        iterations = own[-1].iterations - own[0].iterations
        end = next((sample.end for sample in own if sample.end), "")
        rows.append((start + 1, f"{own[-1].seconds / 60:.0f}", iterations, *cells, end))
    return as_table(
        ("start", "minutes", "iterations of runs", *(w for _, w in _PANELS), "ended by"), rows
    )


def _change(grown: float, mean: float) -> str:
    return (
        "0" if abs(grown) < 1e-4 * abs(mean) else f"{'+' if grown > 0 else '-'}{short(abs(grown))}"
    )


@style.styled
def draw(samples: Sequence[Sample]) -> Figure:
    """A panel for each quantity over the hours of all starts, one after another."""
    figure, panels = style.new_figure(len(_PANELS), panel=(3.6, 2.4), columns=2)
    for axes, (name, words) in zip(panels, _PANELS, strict=True):
        for i, found in enumerate(series(samples)):
            fine = np.isfinite(found[name])
            axes.plot(found["hours"][fine], found[name][fine], color=style.PALETTE[0], lw=1)
            if i:
                axes.axvline(found["hours"][0], color=style.FAINT, lw=0.6)
        axes.set_title(words)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("hours; a vertical line: begun again")
    return figure


@style.styled
def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def main(words: Sequence[str] | None = None) -> int:
    """Watches, or draws; the exit status: the study's."""
    parser = arguments.Parser(prog="python -m benchmarks.endurance", description=__doc__)
    add = parser.add_argument
    add("study", nargs="*", metavar="-- STUDY ...", help="its name, settings and --workdir")
    add("--record", type=Path, required=True, metavar="FILE.tsv", help="samples are added here")
    add("--every", type=float, default=30.0, metavar="SECONDS", help="a sample (default 30)")
    add("--interrupt", type=float, default=0.0, metavar="MINUTES", help="0: never")
    add("--page", action="store_true", help="draws what was recorded")
    asked = parser.parse(words)
    status = watch(asked.study, asked.record, asked.every, asked.interrupt) if asked.study else 0
    if asked.page:
        samples = read(asked.record)
        if not samples:
            raise ConfigError(f"--record={asked.record}: nothing was recorded there")
        _save(draw(samples), asked.record.with_suffix(".svg"))
        print(table(samples), end="")
    return status


if __name__ == "__main__":
    arguments.run(lambda: sys.exit(main()))
