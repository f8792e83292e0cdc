"""Rows of metrics: epochs, counts, the running Elo and losses that are not finite."""

from typing import Any

import numpy as np
import pytest

from jaxzero.runs import Member, metrics
from jaxzero.training import losses
from tests import small


def measured(policy: list[float], value: list[float]) -> dict[str, np.ndarray]:
    """An iteration's metrics of one run."""
    return {
        "loss/policy": np.array([policy]),
        "loss/value": np.array([value]),
        "count/selfplay_evaluations": np.array([5.0]),
        "count/selfplay_useful_evaluations": np.array([4.0]),
        "count/arena_evaluations": np.array([2.0]),
        "count/arena_useful_evaluations": np.array([1.0]),
    }


def rows(values: dict[str, np.ndarray], changes: dict[str, Any] | None = None) -> list[Any]:
    member = Member("a", "sum", 0, small.small_config(changes))
    return metrics.make_rows([member], 2, values, times={"seconds": 1.5}, elo={"a": 10.0})


def test_a_loss_that_breaks_down_in_the_last_epoch_is_seen() -> None:
    found = rows(measured([1.0, np.nan], [1.0, 2.0]))
    with pytest.raises(
        FloatingPointError,
        match=r"loss/policy of run a is nan in epoch 2 of iteration 2: lower .*; nothing was saved",
    ):
        metrics.refuse_nan(found, saved=0)


def test_epochs_beyond_a_members_own_are_left_out() -> None:
    [row] = rows(measured([1.0, np.nan], [2.0, np.nan]), {"train.epochs": 1})
    assert row["loss_epochs/policy"] == [1.0]
    assert row["loss/value"] == 2.0
    metrics.refuse_nan([row], saved=0)


def test_an_empty_window_has_no_loss_and_ends_no_run() -> None:
    [row] = rows(measured([np.nan], [np.nan]), {"train.epochs": 1})
    metrics.refuse_nan([row | {"count/gradient_steps": 0.0}], saved=0)
    metrics.refuse_nan([row | {"iteration": 0}], saved=0)  # nor has the network before it
    with pytest.raises(FloatingPointError):
        metrics.refuse_nan([row], saved=0)


def test_counts_are_summed_over_the_phases() -> None:
    [row] = rows(measured([1.0], [2.0]), {"train.epochs": 1})
    assert (row["count/evaluations"], row["count/useful_evaluations"]) == (7.0, 5.0)
    assert row["seconds"] == 1.5


def test_the_untrained_network_is_measured_by_what_is_minimised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = small.small_config({"train.loss": "weighted", "train.loss_weight": 0.25})
    values = measured([1.0, 1.0], [2.0, 2.0])
    values |= {"unseen/policy": np.array([4.0]), "unseen/value": np.array([8.0])}
    member = Member("a", "weighted", 0, config)
    untrained, _ = metrics.make_rows([member], 1, values, times={}, elo={})
    assert untrained["loss/minimised"] == 0.25 * 4 + 0.75 * 8
    monkeypatch.setattr(losses, "combine", lambda weights, policy, value: policy**value)
    untrained, _ = metrics.make_rows([member], 1, values, times={}, elo={})
    assert untrained["loss/minimised"] == 4**8  # also of a loss that somebody adds


def match(wins: float, draws: float, losses: float, *, accepted: bool) -> dict[str, float]:
    return {
        "arena/wins": wins,
        "arena/draws": draws,
        "arena/losses": losses,
        "arena/accepted": float(accepted),
    }


def test_running_elo_adds_up_the_matches_of_accepted_networks() -> None:
    assert metrics.running_elo(50.0, match(9, 0, 1, accepted=False)) == 50.0
    # 30 of 40 points and the drawn game of the prior: 30.5 / 41.
    gain = metrics.running_elo(50.0, match(28, 4, 8, accepted=True)) - 50
    assert gain == pytest.approx(400 * np.log10(30.5 / 10.5))
    assert np.isfinite(metrics.running_elo(0.0, match(40, 0, 0, accepted=True)))


def test_the_newest_elo_is_found_for_resuming() -> None:
    members = [Member(name, "sum", 0, small.small_config()) for name in "ab"]
    found = metrics.newest_elo(
        members,
        [
            {"run": "a", "elo/running": 1.0},
            {"run": "a", "elo/running": 2.0},
            {"run": "b"},
            {"run": "gone", "elo/running": 9.0},
        ],
    )
    assert found == {"a": 2.0, "b": 0.0}
