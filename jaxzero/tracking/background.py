"""A tracking service on its own thread: training neither waits for it nor dies of it."""

import queue
import sys
import threading
from typing import Any, Protocol

from tqdm import tqdm

from jaxzero.tracking.summary import Row, StudySummary


class Service(Protocol):
    """A place that metrics are sent to besides the local files. All calls come from one thread."""

    def log(self, rows: list[Row]) -> None:
        """Takes rows in order of iteration; some may have been sent by an earlier process."""

    def finish(self, summary: StudySummary) -> None:
        """Takes what is known at the end of the study."""

    def close(self) -> None:
        """Lets go of everything; without `finish` before, the study stopped early."""


class Background:
    """Runs a service's calls in order, on a thread.

    The first call that fails is the last one: one line says so, and training continues with the
    local files.
    """

    def __init__(self, name: str, service: Service) -> None:
        """Args: name: for people."""
        self._name = name
        self._service = service
        self._calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def call(self, method: str, *values: Any) -> None:
        """Queues a call of the service; returns at once."""
        self._calls.put((method, values))

    def stop(self) -> None:
        """Closes the service after the queued calls and waits for it."""
        self.call("close")
        self._calls.put(None)
        self._thread.join()

    def _work(self) -> None:
        failed = False
        while (call := self._calls.get()) is not None:
            method, values = call
            if failed:
                continue
            try:
                getattr(self._service, method)(*values)
            except Exception as error:
                failed = True
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                tqdm.write(
                    f"warning: {self._name} failed ({reason}): continuing with local files only",
                    file=sys.stderr,
                )
