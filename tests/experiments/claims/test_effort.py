"""The papers' computing, counted."""

import math

import jax
import numpy as np
import pytest

from experiments.claims import effort
from jaxzero.games import make_game
from jaxzero.networks.convnet import ConvNet


def test_the_papers_computing() -> None:
    theirs = effort.of_papers("othello_6x6")
    assert theirs is not None
    # Counted by hand from the settings: 3.7 million steps of 64, 29 million evaluations.
    assert theirs.examples / 64 == pytest.approx(3.68e6, rel=0.01)
    assert theirs.evaluations == pytest.approx(100 * (50 + 40) * 32.5 * 100)
    assert effort.of_papers("othello_4x4") is None
    assert effort.multiplications("nowhere", 8, (4,)) is None


@pytest.mark.parametrize("board", ["othello_6x6", "connect_four_5x5"])
def test_multiplications_are_those_of_the_network(board: str) -> None:
    """Each weight is multiplied once for every cell that its kernel is laid on."""
    game = make_game(board, observation="signed")
    network = ConvNet(game.num_actions, channels=8, hidden=(16, 12))
    observation = np.zeros((1, *game.observation_shape), np.float32)
    shapes = jax.eval_shape(network.init, jax.random.key(0), observation)["params"]
    height, width = game.observation_shape[:2]
    cells = {f"conv_{i}": (height - cut) * (width - cut) for i, cut in enumerate((0, 0, 2, 4))}
    assert cells.keys() <= shapes.keys()
    counted = sum(
        cells.get(name, 1) * math.prod(layer["kernel"].shape)
        for name, layer in shapes.items()
        if "kernel" in layer
    )
    assert effort.multiplications(board, 8, (16, 12)) == counted
