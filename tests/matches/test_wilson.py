"""The interval against Newcombe's closed form and published values, and the stopping rule."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.matches import wilson
from jaxzero.matches.wilson import BETTER, CLOSE, GOING_ON, WORSE, Rule

PAPER = Rule(confidence=0.95, width=0.1)
Z = 1.959963984540054
interval = jax.jit(functools.partial(wilson.interval, confidence=0.95))
verdict = jax.jit(functools.partial(wilson.verdict, rule=PAPER))
first_verdict = jax.jit(functools.partial(wilson.first_verdict, rule=PAPER))


def newcombe(points, n, z=Z):
    """Method 4 of Newcombe (1998), written down from the paper."""
    p, q = points / n, 1 - points / n
    low, high, scale = 0.0, 1.0, 2 * (n + z * z)
    if p > 0:
        root = math.sqrt(max(z * z - 2 - 1 / n + 4 * p * (n * q + 1), 0))
        low = (2 * n * p + z * z - 1 - z * root) / scale
    if p < 1:
        root = math.sqrt(max(z * z + 2 - 1 / n + 4 * p * (n * q - 1), 0))
        high = (2 * n * p + z * z + 1 + z * root) / scale
    return low, high


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [  # Newcombe 1998, table I, method 4
        (81, 263, 0.2535, 0.3682),
        (15, 148, 0.0598, 0.1644),
        (0, 20, 0.0000, 0.2005),
        (1, 29, 0.0018, 0.1963),
    ],
)
def test_the_interval_has_the_published_values(wins, games, low, high):
    found = interval(jnp.float32(wins), jnp.int32(games))
    np.testing.assert_allclose(found, (low, high), atol=6e-5)


def test_the_interval_is_the_closed_form():
    rng = np.random.default_rng(0)
    games = rng.integers(1, 500, 200)
    points = np.round(2 * games * rng.random(200)) / 2
    low, high = interval(jnp.asarray(points, jnp.float32), jnp.asarray(games))
    expected = np.array([newcombe(p, n) for p, n in zip(points, games, strict=True)])
    np.testing.assert_allclose(low, np.clip(expected[:, 0], 0, 1), atol=2e-5)
    np.testing.assert_allclose(high, np.clip(expected[:, 1], 0, 1), atol=2e-5)


def test_no_game_says_nothing():
    low, high = interval(jnp.float32(0), jnp.int32(0))
    assert (float(low), float(high)) == (0.0, 1.0)
    assert int(verdict(jnp.float32(0), jnp.int32(0))) == GOING_ON


@pytest.mark.parametrize(
    ("points", "games", "said"),
    [
        (5, 5, GOING_ON),
        (6, 6, BETTER),  # 0.517 is the bound of six wins
        (0, 6, WORSE),
        (5.5, 6, GOING_ON),
        (50, 100, GOING_ON),
        (61, 100, BETTER),
        (39, 100, WORSE),
        (195, 390, GOING_ON),
        (205, 410, CLOSE),
        (700, 1400, CLOSE),
        (760, 1400, BETTER),  # narrow as well, but decided
        (640, 1400, WORSE),
    ],
)
def test_when_it_stops(points, games, said):
    low, high = newcombe(points, games)
    expected = (
        BETTER if low > 0.5 else WORSE if high < 0.5 else CLOSE if high - low < 0.1 else GOING_ON
    )
    assert expected == said
    assert int(verdict(jnp.float32(points), jnp.int32(games))) == said


def test_games_are_looked_at_one_after_another():
    points = np.array([1.0] * 8 + [0.0] * 30, np.float32)
    played = np.ones(38, np.int32)
    said, place = first_verdict(points, played)
    assert (int(said), int(place)) == (BETTER, 5)  # what comes later can change nothing
    said, place = first_verdict(points, np.where(np.arange(38) < 3, 0, played))
    assert int(said) == WORSE  # five wins decide nothing, the losses behind them do
    assert int(place) > 8
    said, place = first_verdict(points[:5], played[:5])
    assert (int(said), int(place)) == (GOING_ON, 5)
