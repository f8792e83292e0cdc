"""Learning rate and momentum over training: paper 002's numbers."""

from typing import Any

import jax.numpy as jnp
import pytest

from jaxzero.settings.config import default_config, section
from jaxzero.training import optimiser
from jaxzero.training.spec import TrainSettings


def settings(schedule: str, **changes: Any) -> TrainSettings:
    return section(TrainSettings, default_config().train, schedule=schedule, **changes)


def rate(schedule: TrainSettings, iteration: int, progress: float) -> float:
    factor = optimiser.learning_rate_factor(schedule, jnp.int32(iteration), jnp.float32(progress))
    return 0.2 * float(factor)


def test_constant() -> None:
    assert rate(settings("constant"), 3, 0.5) == 0.2
    assert optimiser.momentum(settings("constant"), jnp.float32(0.5)) == 0.9


def test_the_baselines_steps() -> None:
    """0.2 in iterations 1 to 6, 0.02 in 7 to 13, 0.002 from 14 on."""
    schedule = settings("steps", schedule_steps=(7, 14))
    found = [rate(schedule, i, 0.9) for i in (1, 6, 7, 13, 14, 30)]
    assert found == pytest.approx([0.2, 0.2, 0.02, 0.02, 0.002, 0.002])


def test_linear() -> None:
    """From 0.2 at the beginning to 0.02 after 9 iterations, also within each of them."""
    schedule = settings("linear", anneal_to=0.1, anneal_iterations=9)
    places = ((1, 0.0), (1, 0.5), (4, 0.5), (10, 0.0), (30, 0.5))
    found = [rate(schedule, i, p) for i, p in places]
    assert found == pytest.approx([0.2, 0.19, 0.13, 0.02, 0.02])
    assert optimiser.momentum(schedule, jnp.float32(0.5)) == 0.9


def test_a_cycle() -> None:
    """0.02 to 0.2 at 35 %, back at 70 %, 0.003 at the end; momentum 0.95, 0.85, 0.95, 0.95."""
    schedule = settings("cyclic")
    places = (0.0, 0.175, 0.35, 0.525, 0.7, 0.85, 1.0)
    found = [rate(schedule, 1, p) for p in places]
    assert found == pytest.approx([0.02, 0.11, 0.2, 0.11, 0.02, 0.0115, 0.003], abs=1e-6)
    momenta = [float(optimiser.momentum(schedule, jnp.float32(p))) for p in places]
    assert momenta == pytest.approx([0.95, 0.9, 0.85, 0.9, 0.95, 0.95, 0.95])


def test_cycles_are_annealed() -> None:
    """By a factor that falls linearly from 1 in iteration 1 to 0.4: the peak is 0.08 at last."""
    schedule = settings("cyclic", anneal_to=0.4, anneal_iterations=20)
    found = [rate(schedule, i, 0.35) for i in (1, 11, 21, 40)]
    assert found == pytest.approx([0.2, 0.14, 0.08, 0.08])
