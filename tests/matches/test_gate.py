"""Whether a candidate takes the best network's place, from the results of their match."""

import jax.numpy as jnp
import pytest

from jaxzero.matches import arena


@pytest.mark.parametrize(
    ("wins", "losses", "threshold", "accepted"),
    [
        (6, 4, 0.6, True),  # at least u, not more than u
        (59, 41, 0.6, False),
        (24, 16, 0.6, True),
        (23, 17, 0.6, False),
        (3, 0, 0.6, True),  # of the decisive games: 37 draws do not count
        (0, 3, 0.6, False),
        (1, 1, 0.5, True),
        (0, 5, 0.0, True),
        (70_001, 29_999, 0.7, True),
        (110_000, 90_000, 0.55, True),
        (109_999, 90_001, 0.55, False),
    ],
)
def test_the_gate(wins: int, losses: int, threshold: float, accepted: bool) -> None:
    for accept_all_drawn in (True, False):
        found = arena.is_accepted(
            jnp.int32(wins),
            jnp.int32(losses),
            jnp.float32(threshold),
            accept_all_drawn=accept_all_drawn,
        )
        assert found == accepted


@pytest.mark.parametrize("published", [True, False])
def test_accept_all_drawn(published: bool) -> None:
    nothing = jnp.int32(0)
    found = arena.is_accepted(nothing, nothing, jnp.float32(0.6), accept_all_drawn=published)
    assert found == published
