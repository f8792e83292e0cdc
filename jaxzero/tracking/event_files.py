"""TensorBoard's event files: `tensorboard/<run>` for each run, `tensorboard/study` for the rest."""

import importlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxzero.settings.config import NO_TENSORBOARD, ConfigError
from jaxzero.tracking.summary import Row, StudySummary, scalars

FOLDER = "tensorboard"
STUDY = "study"
_FLUSH_SECONDS = 10.0


class EventFiles:
    """Writes event files through tensorboardX, without TensorFlow.

    Every process makes them again, from the rows of earlier ones, so that an iteration that is
    done again after a crash is never there twice. Written without the library's own thread: that
    one never comes back from a full disk.
    """

    def __init__(self, directory: Path) -> None:
        """Args: directory: the run directory.

        Raises:
          ConfigError: tensorboardX is missing.
        """
        try:
            self._summary: Any = importlib.import_module("tensorboardX.summary")
            self._protocol: Any = importlib.import_module("tensorboardX.proto.event_pb2")
            self._files: Any = importlib.import_module("tensorboardX.event_file_writer")
        except ImportError as error:
            raise ConfigError(NO_TENSORBOARD) from error
        self._folder = directory / FOLDER
        self._writers: dict[str, Any] = {}
        self._flushed = time.monotonic()

    def log(self, rows: list[Row]) -> None:
        """Scalars of some rows."""
        for row in rows:
            self._scalars(row["run"], scalars(row), row["iteration"])
        if time.monotonic() > self._flushed + _FLUSH_SECONDS:
            self._flush()

    def finish(self, summary: StudySummary) -> None:
        """Curves and numbers to their runs; the study's numbers, tables and figures to `study`."""
        for metric, curves in summary.curves.items():
            for run, values in curves.items():
                for iteration, value in values.items():
                    self._scalars(run, {metric: value}, iteration)
        for run, numbers in summary.members.items():
            single = {name: x for name, x in numbers.items() if name not in summary.curves}
            self._scalars(run, single, summary.iteration)
        self._scalars(STUDY, summary.numbers, summary.iteration)
        for name, table in summary.tables.items():
            self._write(STUDY, self._summary.text(name, table.markdown()), summary.iteration)
        for path in summary.figures:
            image = self._summary.image(
                f"figures/{path.stem}", _read_image(path), dataformats="HWC"
            )
            self._write(STUDY, image, summary.iteration)
        self._flush()

    def close(self) -> None:
        """Writes what is still in memory."""
        self._flush()
        for writer in self._writers.values():
            writer.close()
        self._writers = {}

    def _scalars(self, run: str, values: Mapping[str, float], iteration: int) -> None:
        """All of an iteration in one event."""
        if values:
            first, *others = (self._summary.scalar(n, float(v)) for n, v in values.items())
            for other in others:
                first.MergeFrom(other)
            self._write(run, first, iteration)

    def _write(self, run: str, summary: Any, iteration: int) -> None:
        event = self._protocol.Event(summary=summary, step=iteration, wall_time=time.time())
        self._writer(run).write_event(event)

    def _writer(self, run: str) -> Any:
        if run not in self._writers:
            folder = self._folder / run
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob("events.out.tfevents.*"):
                old.unlink()
            writer = self._files.EventsWriter(str(folder / "events"))
            # Makes a TensorBoard that has read the old files forget them.
            started = self._protocol.SessionLog(status=self._protocol.SessionLog.START)
            writer.write_event(self._protocol.Event(session_log=started, wall_time=time.time()))
            self._writers[run] = writer
        return self._writers[run]

    def _flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()
        self._flushed = time.monotonic()


def _read_image(path: Path) -> np.ndarray:
    """uint8[H, W, 3]."""
    from PIL import Image  # comes with Matplotlib

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
