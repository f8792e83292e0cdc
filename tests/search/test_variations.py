"""Principal variations of a tree that is written down."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxzero.search import variations


class Written(NamedTuple):
    """The two fields of a tree that are read."""

    children_index: jnp.ndarray
    children_visits: jnp.ndarray


def test_the_most_visited_replies_follow_each_move() -> None:
    # The root's moves: 2 (visited 5 times, node 1), 0 (3 times, finished: no node), 1 (never).
    # Below node 1: 0 (4 times, node 2); below that 1, once, and then nothing is known.
    index = [[-1, -1, 1], [2, -1, -1], [-1, 3, -1], [-1, -1, -1]]
    visits = [[3, 0, 5], [4, 0, 0], [0, 1, 0], [0, 0, 0]]
    tree = Written(jnp.array([index, index]), jnp.array([visits, np.zeros_like(visits)]))
    lines = variations.principal(tree, count=5, depth=4)  # type: ignore[arg-type]
    assert lines.shape == (2, 3, 4)
    expected = [[2, 0, 1, -1], [0, -1, -1, -1], [-1, -1, -1, -1]]
    np.testing.assert_array_equal(lines[0], expected)
    assert (lines[1] == -1).all()
    np.testing.assert_array_equal(variations.principal(tree, count=1, depth=2)[0], [[2, 0]])  # type: ignore[arg-type]
