"""A tracking service on its own thread: training neither waits for it nor dies of it."""

import queue
import sys
import threading
from typing import Any, Protocol

from tqdm import tqdm

from jaxzero.tracking.summary import Row, StudySummary

_PATIENCE = 600.0  # seconds to wait at the end for a service, however much it has to send


class Service(Protocol):
    """A place that metrics are sent to besides the local files. All calls come from one thread."""

    def log(self, rows: list[Row]) -> None:
        """Takes rows in order of iteration; some may have been sent by an earlier process."""

    def finish(self, summary: StudySummary) -> None:
        """Takes what is known at the end of the study."""

    def close(self) -> None:
        """Lets go of everything; without `finish` before, the study stopped early.

        It comes after a call that failed, too. Several failures are an `ExceptionGroup`.
        """


class Background:
    """Runs a service's calls in order, on a thread.

    After the first call that fails the service is only closed: a line for each failure says so, and
    training continues with the local files.
    """

    def __init__(self, name: str, service: Service, patience: float = _PATIENCE) -> None:
        """Args: name: for people. patience: seconds that `stop` waits."""
        self._name, self._patience = name, patience
        self._service = service
        self._left = False  # nobody waits any longer, and the line about it is the last
        self._calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def call(self, method: str, *values: Any) -> None:
        """Queues a call of the service; returns at once."""
        self._calls.put((method, values))

    def stop(self) -> None:
        """Closes the service after the queued calls and waits for it, but not for ever."""
        self.call("close")
        self._calls.put(None)
        self._thread.join(self._patience)
        if self._thread.is_alive():
            self._warn(f"has not ended after {self._patience:g} seconds")
            self._left = True

    def _work(self) -> None:
        failed = False
        while (call := self._calls.get()) is not None:
            method, values = call
            if failed and method != "close":
                continue
            try:
                getattr(self._service, method)(*values)
            except Exception as error:
                failed = True
                for each in error.exceptions if isinstance(error, ExceptionGroup) else [error]:
                    self._warn(f"failed ({reason(each)})")

    def _warn(self, what: str) -> None:
        if not self._left:
            line = f"warning: {self._name} {what}: continuing with local files only"
            tqdm.write(line, file=sys.stderr)


def reason(error: Exception) -> str:
    """Why something failed, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
