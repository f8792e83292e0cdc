"""A stored position of the plain-Python tree search, with its edges' statistics."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracles.mcts_games import State


@dataclasses.dataclass(eq=False)
class Node:
    """A stored position. The arrays have one entry per action."""

    state: State
    serial: int  # order of creation; a child's is always higher than its parent's
    to_move: int
    finished: bool
    value: Any  # zero-sum value of the position itself, to the player to move
    draw: Any  # draw probability of the position itself
    legal: NDArray[np.bool_]
    prior: NDArray[Any]  # without root noise; 0 where illegal
    n: NDArray[np.int64]
    z: NDArray[Any]
    d: NDArray[Any]
    children: dict[int, Node]

    def subtree(self) -> list[Node]:
        """This node and everything below it, in no particular order."""
        nodes, todo = [], [self]
        while todo:
            node = todo.pop()
            nodes.append(node)
            todo.extend(node.children.values())
        return nodes
