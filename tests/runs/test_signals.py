"""Training that stops by a signal or by the clock, and resumes as if it had not."""

import gc
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxzero.runs.runner import Trained
from jaxzero.runs.stages import Stages
from jaxzero.runs.stopping import Stopped
from jaxzero.tracking import Tracker
from tests.runs.trained import Rows, rows_of, train
from tests.small import assert_equal


def set_stop(monkeypatch: pytest.MonkeyPatch, number: int, action: Callable[[], None]) -> None:
    """Calls `action` while the rows of an iteration are logged."""
    log = Tracker.log

    def and_act(tracker: Tracker, rows: Rows) -> None:
        log(tracker, rows)
        if rows[-1]["iteration"] == number:
            action()

    monkeypatch.setattr(Tracker, "log", and_act)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_save_and_stop(
    uninterrupted: tuple[Path, Trained],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    directory, whole = uninterrupted
    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        set_stop(patch, 1, lambda: signal.raise_signal(number))
        with pytest.raises(Stopped, match=rf"{number.name}: saved at iteration 2 of 4") as caught:
            train(tmp_path, {"train.iterations": 4})
    assert caught.value.status == 128 + number
    assert signal.getsignal(number) is before
    assert [row["iteration"] for row in rows_of(tmp_path)] == [0, 1, 0, 1, 2, 2]
    resumed = train(tmp_path, {"train.iterations": 4})
    assert rows_of(tmp_path) == rows_of(directory)
    assert_equal(resumed.states, whole.states)


def test_a_signal_in_the_last_iteration_stops_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other trainings or tournaments may come after it."""
    with monkeypatch.context() as patch:
        set_stop(patch, 1, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(Stopped, match="SIGTERM: saved at iteration 2 of 2") as caught:
            train(tmp_path, {"train.iterations": 2})
    assert caught.value.status == 128 + signal.SIGTERM
    before = rows_of(tmp_path)
    train(tmp_path, {"train.iterations": 2})
    assert rows_of(tmp_path) == before


def test_a_signal_while_it_compiles_stops_before_the_first_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiling(stages: Stages, number: int, hypers: Any, states: Any, held: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return states

    monkeypatch.setattr(Stages, "prepare", compiling)
    with pytest.raises(Stopped, match="SIGINT: saved at iteration 0 of 4") as caught:
        train(tmp_path, {"train.iterations": 4})
    assert caught.value.status == 130


def test_the_second_signal_acts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> None:
        gc.disable()  # an exception that is raised while it collects would be lost
        try:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.1)  # two at once would count as one
            signal.raise_signal(signal.SIGINT)
            time.sleep(1)  # ends with the signal
        finally:
            gc.enable()

    set_stop(monkeypatch, 1, twice)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Python's own
    try:
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, {"train.iterations": 4})
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_limit_of_minutes_saves_and_stops(
    uninterrupted: tuple[Path, Trained], tmp_path: Path
) -> None:
    limited = {"train.iterations": 4, "execution.max_minutes": 1e-9}
    for done in (1, 2, 3):
        with pytest.raises(Stopped, match=f"max-minutes=1e-09 are over: saved at .* {done} of 4"):
            train(tmp_path, limited)
    train(tmp_path, limited)  # the last iteration: nothing is left to stop
    assert rows_of(tmp_path) == rows_of(uninterrupted[0])
