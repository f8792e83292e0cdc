"""Games small enough to be played out, for the plain-Python search."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tests.oracles.mcts_games import Evaluate, Evaluation, OracleGame, State
from tests.oracles.stub_network import deterministic_stub_network


class TicTacToe(OracleGame):
    """Noughts and crosses. A state is (nine cells holding 0, 1 or None, player to move).

    `evaluate` maps an observation [3, 3, 2] (own stones, the other's) to (logits [9], value) or
    (logits, value, draw probability). Without it the logits and the value are 0.
    """

    LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

    def __init__(self, evaluate: Evaluate | None = None) -> None:
        self._evaluate = evaluate

    def init(self) -> State:
        """The empty board."""
        return (None,) * 9, 0

    def position(self, text: str) -> State:
        """A state from nine cells, rows from the top: `"XX. OO. ..."`; X moves first."""
        stones = {"X": 0, "O": 1, ".": None}
        cells = tuple(stones[c] for c in text if not c.isspace())
        return cells, cells.count(0) - cells.count(1)

    def winner(self, state: State) -> int | None:
        """The owner of a full line, if there is one."""
        cells = state[0]
        for i, j, k in self.LINES:
            if cells[i] is not None and cells[i] == cells[j] == cells[k]:
                return int(cells[i])
        return None

    def to_move(self, state: State) -> int:
        return int(state[1])

    def legal(self, state: State) -> list[bool]:
        over = self.terminal(state)
        return [cell is None and not over for cell in state[0]]

    def step(self, state: State, action: int) -> State:
        cells, player = state
        return (*cells[:action], player, *cells[action + 1 :]), 1 - player

    def terminal(self, state: State) -> bool:
        return None not in state[0] or self.winner(state) is not None

    def outcome(self, state: State) -> tuple[float, float]:
        winner = self.winner(state)
        if winner is None:
            return 0.0, 0.0
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def observe(self, state: State) -> NDArray[np.int8]:
        """Two planes: stones of the player to move, stones of the other."""
        cells, player = state
        planes = [[cell == player, cell == 1 - player] for cell in cells]
        return np.array(planes, np.int8).reshape(3, 3, 2)

    def evaluate(self, state: State) -> Evaluation:
        if self._evaluate is None:
            return np.zeros(9), 0.0, 0.0
        logits, value, *draw = self._evaluate(self.observe(state))
        return np.asarray(logits), float(value), float(draw[0]) if draw else 0.0


class AgainNim(OracleGame):
    """Take 1, 2 or 3 stones; who takes the last wins; after taking 2 the same player goes on."""

    def __init__(self, stones: int) -> None:
        self.stones = stones
        self.network = deterministic_stub_network(3, seed=5)

    def init(self) -> Any:
        return self.stones, 0, None

    def to_move(self, state: Any) -> int:
        return int(state[1])

    def legal(self, state: Any) -> list[bool]:
        return [state[0] > a for a in range(3)]

    def step(self, state: Any, action: int) -> Any:
        stones, player, _ = state
        return stones - action - 1, player if action == 1 else 1 - player, player

    def terminal(self, state: Any) -> bool:
        return state[0] == 0

    def outcome(self, state: Any) -> tuple[float, float]:
        return (1.0, -1.0) if state[2] == 0 else (-1.0, 1.0)

    def evaluate(self, state: Any) -> Any:
        return self.network(np.array([[state[0], state[0] % 3]]))


class Bandit(OracleGame):
    """One move by player 0, then the end: action a pays `results[a]` to player 0."""

    def __init__(self, results: list[float], logits: list[float], legal: list[bool]) -> None:
        self.results, self.logits, self.allowed = results, logits, legal

    def to_move(self, state: Any) -> int:
        return 0 if state is None else 1

    def legal(self, state: Any) -> list[bool]:
        return self.allowed

    def step(self, state: Any, action: int) -> Any:
        return action

    def terminal(self, state: Any) -> bool:
        return state is not None

    def outcome(self, state: Any) -> tuple[float, float]:
        return self.results[state], -self.results[state]

    def evaluate(self, state: Any) -> Any:
        return np.array(self.logits), 0.25, 0.5


@dataclasses.dataclass(frozen=True)
class JaxTicTacToe:
    """The same rules as `TicTacToe` for arrays."""

    is_alternating: ClassVar[bool] = True
    num_actions: ClassVar[int] = 9

    def init(self) -> Any:
        return jnp.zeros(9, jnp.int8), jnp.int32(0)  # 1 and 2 for the players' stones

    def step(self, state: Any, action: jax.Array) -> Any:
        cells, player = state
        over = self.is_terminal(state)
        played = cells.at[action].set((player + 1).astype(jnp.int8))
        return jnp.where(over, cells, played), jnp.where(over, player, 1 - player)

    def _won(self, state: Any, player: int) -> jax.Array:
        lines = state[0][jnp.array(TicTacToe.LINES)]
        return (lines == player + 1).all(axis=1).any()

    def to_move(self, state: Any) -> jax.Array:
        return state[1]

    def is_terminal(self, state: Any) -> jax.Array:
        return self._won(state, 0) | self._won(state, 1) | (state[0] != 0).all()

    def legal_actions(self, state: Any) -> jax.Array:
        return (state[0] == 0) & ~self.is_terminal(state)

    def outcome(self, state: Any) -> jax.Array:
        result = self._won(state, 0).astype(jnp.float32) - self._won(state, 1)
        return jnp.stack([result, -result])

    def observe(self, state: Any) -> jax.Array:
        cells, player = state
        planes = jnp.stack([cells == player + 1, cells == 2 - player], axis=-1)
        return planes.astype(jnp.int8).reshape(3, 3, 2)


STUB = TicTacToe(deterministic_stub_network(9, seed=1))
