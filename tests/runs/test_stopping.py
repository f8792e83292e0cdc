"""Stopping at once, and all processes together."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils
from tqdm import tqdm

from jaxzero.runs import stopping
from jaxzero.runs.stopping import Stopped, StopRequest

# Its main thread waits in C for ever, where Python handles no signal: like one for a device.
_WAITS = """
import ctypes, signal, sys, time
from jaxzero.runs.stopping import StopRequest
system, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
system.pthread_mutex_lock(mutex)
signal.signal(signal.SIGUSR1, print)
with StopRequest(0.0, time.monotonic(), float(sys.argv[1])):
    print("waits", flush=True)
    system.pthread_mutex_lock(mutex)
"""


@pytest.mark.parametrize(
    ("grace", "signals", "said"),
    [
        ("0", [signal.SIGINT, signal.SIGTERM], "a second SIGTERM"),
        ("0.1", [signal.SIGTERM], "--grace=0.1 seconds are over"),
    ],
)
def test_a_process_that_waits_for_its_device_ends_at_once(
    grace: str, signals: list[signal.Signals], said: str
) -> None:
    command = [sys.executable, "-c", _WAITS, grace]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == "waits\n"
            for number in signals:
                process.send_signal(number)
                time.sleep(0.2)  # two at once may count as one
            assert process.wait(60) == 128 + signal.SIGTERM
            first, last = process.stderr.read().split("\n\n")
            step = f"{signals[0].name}: stopping after the current step; a second one stops at once"
            assert first.strip() == step
            assert last.strip() == (
                f"stopped by {said}: the same command resumes from the newest checkpoint, if any"
            )
        finally:
            process.kill()


def test_other_signals_do_not_prolong_the_grace() -> None:
    command = [sys.executable, "-c", _WAITS, "0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGTERM)
            for _ in range(200):
                if process.poll() is not None:
                    break
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.1)
            assert process.poll() == 128 + signal.SIGTERM
        finally:
            process.kill()


def test_the_second_signal_where_python_works() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopRequest(0.0, time.monotonic()) as stop:
        signal.raise_signal(signal.SIGTERM)
        reason = stop.reason()
        assert reason is not None
        assert reason.status == 143
        with pytest.raises(Stopped, match="a second SIGTERM: the same command") as caught:
            signal.raise_signal(signal.SIGTERM)
    assert caught.value.status == 143
    assert caught.value.at_once
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_the_limit_is_of_minutes() -> None:
    now = time.monotonic()
    with StopRequest(1.0, now - 30) as stop:
        assert stop.reason() is None
    with StopRequest(1.0, now - 61) as stop:
        reason = stop.reason()
    assert reason is not None
    assert (str(reason), reason.status) == ("--max-minutes=1 are over", 0)
    assert stopping.minutes_left(2.0, now - 60, "the next") == pytest.approx(1.0, abs=0.5)


def test_processes_go_by_the_clock_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    now = time.monotonic()
    for others, stops in ((-1.0, True), (3.0, False)):
        monkeypatch.setattr(
            multihost_utils, "broadcast_one_to_all", lambda _, others=others: np.float32(others)
        )
        for started in (now, now - 10_000):  # here time is left, or none
            if stops:
                with pytest.raises(Stopped, match="max-minutes=5 are over before the next"):
                    stopping.minutes_left(5.0, started, "the next")
            else:
                assert stopping.minutes_left(5.0, started, "the next") == 3.0
    assert stopping.minutes_left(0.0, now, "the next") == 0.0


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_run_whose_output_nobody_reads_stops_when_it_is_saved(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may end the reader first, of `2>&1 | tee`."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as error:
        monkeypatch.setattr(sys, "stderr", error)
        with StopRequest(0.0, time.monotonic()) as stop, tqdm(total=2) as bar:
            bar.update()
            assert stop.reason() is None
            os.close(reader)
            if interrupted:
                signal.raise_signal(signal.SIGINT)
            for _ in range(2):
                bar.set_postfix_str("words", refresh=True)
            reason = stop.reason()
        assert sys.stderr is error
    assert reason is not None
    assert reason.status == 128 + (signal.SIGINT if interrupted else signal.SIGPIPE)
