"""W&B that fails: each run is closed, nothing waits for ever, and local files are whole."""

import contextlib
import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from jaxzero import files
from jaxzero.tracking import StudySummary, wandb_runs
from jaxzero.tracking.background import Background
from tests import small

_TRAINS = """
import sys
from pathlib import Path
from jaxzero.tracking import StudySummary, Tracker
from tests import small
config = small.small_config({"tracking.wandb": "online"})
with Tracker(Path(sys.argv[1]), config, "test") as tracker:
    for iteration in range(3):
        tracker.log([{"iteration": iteration, "run": "a", "target": "sum", "seed": 0, "loss": 1.0}])
    tracker.finish(StudySummary(iteration=2))
"""


class Failing(http.server.BaseHTTPRequestHandler):
    """Answers 500 to everything."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_POST

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextlib.contextmanager
def fails() -> Iterator[int]:
    """A server that answers 500: its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextlib.contextmanager
def never_answers() -> Iterator[int]:
    """A server that lets all in and says nothing: its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("server", [fails, never_answers])
def test_a_server_that_fails_stops_no_training(server: Any, tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    with server() as port:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")} | {
            "HOME": str(tmp_path),
            "NO_PROXY": "127.0.0.1",
            "WANDB_API_KEY": "a" * 40,
            "WANDB_BASE_URL": f"http://127.0.0.1:{port}",
            "WANDB_INIT_TIMEOUT": "20",  # seconds, instead of 90
        }
        done = subprocess.run(
            [sys.executable, "-c", _TRAINS, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=150,
        )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("wandb: ")]
    assert len(said) == 1, said
    assert said[0].startswith("warning: W&B failed (")
    assert said[0].endswith("): continuing with local files only")
    assert [row["iteration"] for row in files.read_rows(tmp_path / "metrics.jsonl")] == [0, 1, 2]


class Abacus:
    """A service whose calls fail, or wait for an event."""

    def __init__(self, *, waits_for: threading.Event | None = None) -> None:
        self.calls: list[str] = []
        self._event = waits_for

    def log(self, rows: list[dict[str, Any]]) -> None:
        self.calls.append("log")
        raise OSError("the network\nis gone")

    def finish(self, summary: StudySummary) -> None:
        self.calls.append("finish")

    def close(self) -> None:
        self.calls.append("close")
        if self._event is not None:
            self._event.wait(60)
        raise ExceptionGroup("two", [OSError("a: no\nnetwork"), TimeoutError()])


def test_a_service_that_failed_is_closed_with_a_line_for_each_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    abacus = Abacus()
    background = Background("Abacus", abacus)
    background.call("log", [])
    background.call("finish", StudySummary(iteration=0))
    background.stop()
    assert abacus.calls == ["log", "close"]
    assert capsys.readouterr().err.splitlines() == [
        f"warning: Abacus failed ({reason}): continuing with local files only"
        for reason in ("the network", "a: no", "TimeoutError")
    ]


def test_nothing_waits_for_ever_for_a_service(capsys: pytest.CaptureFixture[str]) -> None:
    event = threading.Event()
    background = Background("Abacus", Abacus(waits_for=event), patience=0.1)
    background.stop()
    event.set()
    background._thread.join()
    said = "warning: Abacus has not ended after 0.1 seconds: continuing with local files only"
    assert capsys.readouterr().err.splitlines() == [said]


@pytest.mark.parametrize("exit_code", [0, 1])
def test_every_wandb_run_is_finished_although_others_fail(exit_code: int) -> None:
    sent = object.__new__(wandb_runs.WandbRuns)
    opened = {name: mock.Mock() for name in ("a", "b", "c")}
    for name in ("a", "b"):
        opened[name].finish.side_effect = TimeoutError("too\nslow")
    sent._runs = dict(opened)
    with pytest.raises(ExceptionGroup) as caught:
        sent.close() if exit_code else sent._finish_runs()
    assert [str(error) for error in caught.value.exceptions] == ["a: too", "b: too"]
    for run in opened.values():
        run.finish.assert_called_once_with(exit_code=exit_code)
        assert run.mark_preempting.called == bool(exit_code)
    sent.close()  # again: nothing is left


def test_the_last_step_does_not_depend_on_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    config = small.small_config({"tracking.wandb": "offline"})
    sent = wandb_runs.WandbRuns(tmp_path, config, "test")
    logs = {"0900": (5, True), "1000": (3, True), "0930": (9, True), "0945": (12, False)}
    paths = {}
    for time, read in logs.items():  # the clock was set back after the one of 1000
        folder = tmp_path / "wandb" / f"offline-run-20260101_{time}00-{sent._identity('a')}"
        folder.mkdir(parents=True)
        paths[folder / "run.wandb"] = read
        (folder / "run.wandb").touch()
    monkeypatch.setattr(wandb_runs, "_read_log", paths.__getitem__)
    assert sent._held_offline("a") == 9
    assert [path.is_file() for path in paths] == [whole for _, whole in logs.values()]
    cut = next(path for path in paths if "_0900" in path.parent.name)
    paths[cut] = (12, False)
    cut.with_name("run.wandb.syncstate").touch()
    assert sent._held_offline("a") == 12
    assert not cut.parent.exists()
