"""The one object that training and studies hand their metrics to."""

from pathlib import Path
from typing import Self

import jax
from ml_collections import ConfigDict

from jaxzero import files, workdir
from jaxzero.tracking.background import Background, Service
from jaxzero.tracking.event_files import EventFiles
from jaxzero.tracking.summary import Row, StudySummary
from jaxzero.tracking.wandb_runs import WandbRuns


class Tracker:
    """Writes rows to `metrics.jsonl` and, if asked, sends them to W&B and TensorBoard.

    A context manager: left without `finish`, it says that the study stopped early. In a run of
    several processes only process 0 sends.
    """

    def __init__(self, directory: Path, config: ConfigDict, study: str) -> None:
        """Starts no service yet, but makes sure that it can.

        Raises:
          ConfigError: a package or a login is missing.
        """
        self._path = directory / workdir.METRICS
        self._services: list[Background] = []
        self._begun = False
        if jax.process_index() != 0:
            return
        services: list[tuple[str, Service]] = []
        if config.tracking.tensorboard:
            services.append(("TensorBoard", EventFiles(directory)))
        if config.tracking.wandb != "off":
            services.append(("W&B", WandbRuns(directory, config, study)))
        self._services = [Background(name, service) for name, service in services]

    def log(self, rows: list[Row]) -> None:
        """Takes the rows of one iteration: `iteration`, `run`, `target`, `seed` and metrics."""
        self._begin()
        files.append_rows(self._path, rows)
        for service in self._services:
            service.call("log", rows)

    def finish(self, summary: StudySummary) -> None:
        """Sends what is known at the end, waits until all is sent, and closes."""
        self._begin()
        for service in self._services:
            service.call("finish", summary)
        self.close()

    def close(self) -> None:
        """Waits until all is sent, and closes. More than once is as good as once."""
        services, self._services = self._services, []
        for service in services:
            service.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        """Hands over the rows of earlier processes: a service skips those that it has already."""
        if self._services and not self._begun:
            rows = sorted(files.read_rows(self._path), key=lambda row: row["iteration"])
            for service in self._services:
                service.call("log", rows)
        self._begun = True
