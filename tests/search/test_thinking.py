"""Searches that end when more simulations change little, and players who have a clock."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxzero.search import SearchOptions, thinking
from jaxzero.search.options import Numbers
from jaxzero.settings.config import ConfigError
from jaxzero.training import selfplay
from tests import small
from tests.oracles.stub_network import jax_stub_evaluate
from tests.search.common import (
    LANES,
    SMALL,
    game_named,
    options_of,
    search_all,
    various_positions,
)

STEP, MOST, STOP = 8, 64, -4.0


def plain_gain(before: list[float], now: list[float]) -> float:
    """Sum of p log2(p / q) over what had weight before, both renormalised there."""
    had = [i for i, x in enumerate(before) if x > 0]
    whole, later = sum(before[i] for i in had), sum(now[i] for i in had)
    found = 0.0
    for i in had:
        if now[i] > 0:
            p, q = before[i] / whole, now[i] / later
            found += p * math.log2(p / q)
    return found


def test_the_gain_is_the_divergence_over_moves_that_had_weight() -> None:
    rng = np.random.default_rng(0)
    before, now = rng.integers(0, 4, (2, 64, 5)).astype(np.float32)
    before[:, 0] += 1
    now[:, 0] += 1
    expected = [plain_gain(b, n) for b, n in zip(before.tolist(), now.tolist(), strict=True)]
    np.testing.assert_allclose(
        thinking.gain(jnp.array(before), jnp.array(now)), expected, atol=1e-5
    )
    assert min(expected) < 0 < max(expected)  # where a move lost all its weight


def test_a_search_ends_where_a_plain_rule_ends_it() -> None:
    options = options_of(kld_step=STEP, kld_stop=STOP)
    positions = various_positions(SMALL)
    found = search_all(SMALL, positions, MOST, options=options)
    fixed = [search_all(SMALL, positions, m) for m in range(STEP, MOST + 1, STEP)]
    priors = np.exp(np.asarray(found.tree.children_prior_logits[:, 0]))
    ended = []
    for lane in range(LANES):
        before = (priors[lane] * (fixed[0].visit_counts[lane] > 0)).tolist()
        for number, result in enumerate(fixed):
            now = result.visit_counts[lane].tolist()
            gain = plain_gain(before, now)
            if number == len(fixed) - 1 or not (gain > 1e-7 and math.log2(gain) > STOP):
                np.testing.assert_array_equal(found.visit_counts[lane], now)
                ended.append(number)
                break
            before = now
    assert len(set(ended)) > 2
    assert found.diagnostics.simulations == sum(STEP * (number + 1) for number in ended)


def test_a_clock_is_spent_and_each_turn_adds_a_step() -> None:
    """Each has its own: the first player ends every search at once, the second none."""
    games, clock, most = 8, 25, 24  # the one that is left over is no step
    game, stops = game_named(SMALL), jnp.full((games, 2), -90.0).at[:, 0].set(90.0)

    def run(keys: jax.Array) -> tuple:
        return selfplay.play(
            game,
            jax_stub_evaluate(game.num_actions, 5),
            keys,
            jnp.ones((games,), bool),
            options=SearchOptions(capacity=most + 1, kld_step=STEP),
            players=Numbers(*jnp.ones((4, games, 2)), stops),
            num_simulations=most,
            c_puct=1.0,
            temperature_plies=99,
            clock=clock,
        )

    played, costs = jax.device_get(jax.jit(run)(jax.random.split(jax.random.key(1), games)))
    expected = without = 0
    for plies in played.plies:
        left = [clock, clock]
        for ply in range(plies):
            left[ply % 2] += STEP
            used = min(left[ply % 2] // STEP * STEP, most) if ply % 2 else STEP
            left[ply % 2] -= used
            expected += used
            without += most
    # A search whose step changes nothing ends before its time is up.
    assert 0.9 * expected < costs.simulations <= expected < 0.7 * without


@pytest.mark.parametrize(
    "changes",
    [
        {"search.kld_step": 4, "search.algorithm": "gumbel"},
        {"search.kld_step": 4, "switches.keep_tree": True},
        {"search.kld_step": 1},
        {"selfplay.clock": 100},
        {"selfplay.clock": 100, "search.kld_step": 4, "search.key": "position"},
    ],
)
def test_what_does_not_go_with_thinking_time_is_refused(changes: dict) -> None:
    with pytest.raises(ConfigError, match=r"config\.(search\.kld_step|selfplay\.clock)"):
        small.small_spec(changes)
