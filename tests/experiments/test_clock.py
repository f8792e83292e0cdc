"""The clock: what phases take, timed once for settings that share them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.costs import clock
from experiments.costs.clock import Clock, Cost, Timing
from jaxzero.runs import population
from tests import small


def test_phases_are_timed_once_for_settings_that_share_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed: list[Any] = []

    def timer(name: str, decides: Any) -> Any:
        def measure(clock: Clock) -> Timing:
            timed.append((name, decides(clock.spec)))
            return Timing(float(len(timed)), 1, None)

        return measure

    for name, decides in (("selfplay", lambda spec: spec.selfplay.episodes),
                          ("arena", lambda spec: spec.arena.games),
                          ("training", lambda spec: spec.train.batch_size)):  # fmt: skip
        monkeypatch.setattr(Clock, name, timer(name, decides))
    base = small.small_config()
    found = clock.of_settings(
        {
            "default": base,
            "lr": small.changed(base, {"train.learning_rate": 0.1}),
            "E": small.changed(base, {"selfplay.episodes": 4}),
        }
    )
    assert timed == [("selfplay", 8), ("arena", 4), ("training", 16), ("selfplay", 4)]
    assert found["default"] == found["lr"] == Cost(1, 2, 3)
    assert found["E"] == Cost(4, 2, 3)
    row = {
        "count/selfplay_useful_evaluations": 10.0,
        "count/arena_useful_evaluations": 5.0,
        "count/gradient_steps": 2.0,
    }
    assert clock.work([row, row, {}]) == Cost(20, 10, 4, 3)
    assert clock.seconds([row, row, {}], Cost(1, 2, 3)).total == 52


def test_the_seconds_of_a_unit_are_all_seconds_over_the_units_of_all_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = dict.fromkeys((clock._SELFPLAY, clock._ARENA, clock._TRAINING), jnp.array([30.0, 10.0]))
    monkeypatch.setattr(Clock, "_compiled", lambda *_: None)
    monkeypatch.setattr(Clock, "_best", lambda *_: (8.0, found))
    monkeypatch.setattr(clock, "_once", lambda *_: (1e-3, found))
    heldout: Any = None
    timed = Clock(small.small_spec(), population.stack([small.small_hyper()] * 2), heldout)
    assert timed.selfplay().unit == timed.arena().unit == timed.training().unit == 8 / 40
    assert timed.training().size == 20  # minibatches of a member
    assert timed.measuring(2).unit == 8 / 2  # iterations of two members


@pytest.mark.slow
def test_unit_seconds_are_measured() -> None:
    unit = clock.of_settings({"small": small.small_config()})["small"]
    assert all(0 < seconds < 1 for seconds in unit[:3])


def test_a_game_that_is_over_costs_nothing() -> None:
    """Work is the same in any company: what other games of a batch wait for is not counted."""
    row = {"count/selfplay_useful_evaluations": 10.0, "count/selfplay_evaluations": 15.0}
    assert clock.work([row]).selfplay == 10


def test_made_up_examples_look_like_positions() -> None:
    spec = small.small_spec()
    made = jax.jit(lambda seed: clock.made_up(spec, 6, seed))(2)
    assert made.observation.shape == (6, *spec.game.observation_shape)
    assert set(np.unique(made.observation)) == {-1, 0, 1}
    np.testing.assert_allclose(made.policy.sum(-1), 1)
