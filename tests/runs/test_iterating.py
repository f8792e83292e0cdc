"""The loop from one iteration to the next, with stand-ins for what it trains and saves."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from jaxzero.runs import runner, training_clock
from jaxzero.runs.training_clock import TrainingClock
from tests import small
from tests.runs.trained import members_of

LOSSES = ("loss/policy", "loss/value", "unseen/policy", "unseen/value", "unseen/product")


def iterate(
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    changes: dict[str, Any],
    step: Callable[[int, Any], tuple[Any, dict[str, np.ndarray]]],
    states: Any,
) -> list[int]:
    """Goes through all iterations of two runs; those whose networks were kept."""
    config = small.small_config(changes)
    stub: Any = mock.MagicMock()
    stub.reason.return_value = None
    snapshots: Any = mock.MagicMock()
    job = runner._Job(config, members_of(config), directory, stub, stub, snapshots, None, None)
    monkeypatch.setattr(runner, "population", mock.Mock(fetch=lambda measured: measured))
    monkeypatch.setattr(runner.runs, "without_optimiser", lambda learner: learner)
    runner._iterate(job, step, states, 0, TrainingClock([], 0.0, lambda: 0.0), stub)
    return [call.args[0] for call in snapshots.save.call_args_list]


def test_the_speed_of_an_iteration_is_of_its_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of the last one, which is logged right after the one before."""
    clock, shown = [0.0], []

    def step(number: int, states: Any) -> tuple[Any, dict[str, np.ndarray]]:
        clock[0] += 4 * number  # it is finished when the call returns
        counted = {"count/selfplay_evaluations": np.full(2, 40.0)}
        return states, dict.fromkeys(LOSSES, np.ones(2)) | counted

    monkeypatch.setattr(runner, "time", mock.Mock(monotonic=lambda: clock[0]))
    monkeypatch.setattr(
        runner.tqdm, "set_postfix_str", lambda self, text, refresh: shown.append(text)
    )
    iterate(monkeypatch, tmp_path, {"train.iterations": 2}, step, mock.MagicMock())
    assert [text.rpartition(" l_v ")[2] for text in shown] == [
        "1.000 20 evaluations/s",
        "1.000 10 evaluations/s",
    ]


def test_a_network_of_each_width_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = {"network.name": "resnet", "network.grow_at": (2,), "network.grow_to": (8,)}
    settings |= {"train.iterations": 5, "execution.snapshot_every": 9, "arena.gate": "none"}

    def of_width(channels: int) -> SimpleNamespace:
        params = {"block_0_conv_0": {"kernel": np.zeros((2, 3, 3, 4, channels))}}
        return SimpleNamespace(learner=SimpleNamespace(params=params))

    def step(number: int, states: Any) -> tuple[Any, dict[str, np.ndarray]]:
        return of_width(8 if number > 2 else 4), dict.fromkeys(LOSSES, np.ones(2))

    assert iterate(monkeypatch, tmp_path, settings, step, of_width(4)) == [3, 5]


def test_the_observers_time_is_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(runner, "time", mock.Mock(monotonic=lambda: now[0]))
    monkeypatch.setattr(training_clock, "time", mock.Mock(monotonic=lambda: now[0]))
    monkeypatch.setattr(runner, "population", mock.Mock())
    monkeypatch.setattr(runner.runs, "without_optimiser", mock.Mock())

    def look(number: int, networks: Any) -> bool:
        now[0] += 100.0
        return True

    job: Any = SimpleNamespace(observer=SimpleNamespace(look=look))
    clock = TrainingClock([{"seconds": 40.0, "starting_seconds": 10.0}], 2.0, lambda: 1.0)
    assert runner._look(job, 3, mock.MagicMock(), clock)
    now[0] += 7.0
    assert clock.read() == {"seconds": 50.0, "starting_seconds": 13.0}
