"""The reference opponent gets stronger with its simulations (004 section II-B4)."""

import jax
import numpy as np
import pytest

from experiments.strength import opponents
from jaxzero.games import make_game
from jaxzero.matches import arena, tournament


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reversi_6x6"])
def test_800_simulations_beat_200(name: str) -> None:
    game = make_game(name)
    _, kinds = opponents.build(game, ("mcts_200", "mcts_800"))
    match = jax.jit(
        lambda key: arena.play_match(game, kinds, key, games_per_direction=110, opening_plies=3)
    )(jax.random.key(0))
    counted = tournament.is_first_of_its_kind(np.asarray(match.actions), np.asarray(match.played))
    outcome = np.asarray(match.outcome)
    assert counted.sum() >= 200
    # Row 0: 200 simulations move first, row 1: 800 do.
    points = np.concatenate([outcome[0, counted[0], 1], outcome[1, counted[1], 0]])
    assert ((points + 1) / 2).mean() >= 0.6
