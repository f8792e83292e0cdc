"""The wall seconds of a training, over all the processes that it took."""

from unittest import mock

import pytest

from jaxzero.runs import training_clock
from jaxzero.runs.training_clock import TrainingClock


def test_seconds_of_earlier_processes_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, compiled = 107.0, 5.0
    monkeypatch.setattr(training_clock, "time", mock.Mock(monotonic=lambda: now))
    earlier = [{"seconds": s, "starting_seconds": 4.0} for s in (10.0, 20.0)]
    clock = TrainingClock(earlier, 100.0, lambda: compiled)
    now, compiled = 130.0, 9.0  # 2 seconds were neither compiling nor iterations
    assert clock.read() == {"seconds": 20.0 + 30.0, "starting_seconds": 4.0 + 2.0 + 9.0}
