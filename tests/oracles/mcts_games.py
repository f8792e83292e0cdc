"""Games as the plain-Python search asks about them, and the compiled ones made so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

State = Any
Evaluation = tuple[NDArray[np.floating[Any]], float, float]
Evaluate = Callable[..., tuple[Any, ...]]


class OracleGame(ABC):
    """What the search asks of a game and its network. Players are 0 and 1."""

    @abstractmethod
    def to_move(self, state: State) -> int:
        """Whose turn it is."""

    @abstractmethod
    def legal(self, state: State) -> Sequence[bool] | NDArray[np.bool_]:
        """One bool per action."""

    @abstractmethod
    def step(self, state: State, action: int) -> State:
        """The state after a legal action; the given state is unchanged."""

    @abstractmethod
    def terminal(self, state: State) -> bool:
        """Whether the game is over."""

    @abstractmethod
    def outcome(self, state: State) -> tuple[float, float]:
        """Results of player 0 and player 1 in a finished game."""

    @abstractmethod
    def evaluate(self, state: State) -> Evaluation:
        """Logits over all actions, value and draw probability, for the player to move."""

    def key(self, state: State) -> Hashable:
        """Equal for equal states; only `solve` needs it."""
        return state


class Position(NamedTuple):
    """A state of a compiled game, with everything that can be asked about it."""

    state: Any
    to_move: int
    legal: NDArray[np.bool_]
    terminal: bool
    outcome: tuple[float, float]
    observation: Any


class JaxGame(OracleGame):
    """A jaxzero game, driven one state at a time.

    `evaluate` maps observations [1, H, W, C] to (logits [1, A], value [1]) or
    (logits, value, draw probability [1]); without the third the draw probability is 0. Both a state
    of the game and a `Position` are accepted wherever a state is asked for; `step` returns a
    `Position`.
    """

    def __init__(self, game: Any, evaluate: Evaluate) -> None:
        self.game = game

        def look(state: Any) -> tuple[Any, ...]:
            return (
                game.to_move(state),
                game.legal_actions(state),
                game.is_terminal(state),
                game.outcome(state),
                game.observe(state),
            )

        def step(state: Any, action: jax.Array) -> tuple[Any, tuple[Any, ...]]:
            state = game.step(state, action)
            return state, look(state)

        self._look = jax.jit(look)
        self._step = jax.jit(step)
        self._evaluate = jax.jit(evaluate)

    def position(self, state: State) -> Position:
        """The state with its facts looked up."""
        if isinstance(state, Position):
            return state
        return self._position(state, self._look(state))

    @staticmethod
    def _position(state: Any, facts: tuple[Any, ...]) -> Position:
        to_move, legal, terminal, outcome, observation = jax.device_get(facts)
        results = (float(outcome[0]), float(outcome[1]))
        return Position(
            state, int(to_move), np.asarray(legal), bool(terminal), results, observation
        )

    def init(self) -> Position:
        """The start position."""
        return self.position(self.game.init())

    def to_move(self, state: State) -> int:
        return self.position(state).to_move

    def legal(self, state: State) -> NDArray[np.bool_]:
        return self.position(state).legal

    def step(self, state: State, action: int) -> Position:
        raw = state.state if isinstance(state, Position) else state
        return self._position(*self._step(raw, np.int32(action)))

    def terminal(self, state: State) -> bool:
        return self.position(state).terminal

    def outcome(self, state: State) -> tuple[float, float]:
        return self.position(state).outcome

    def evaluate(self, state: State) -> Evaluation:
        outputs = jax.device_get(self._evaluate(self.position(state).observation[None]))
        draw = float(outputs[2][0]) if len(outputs) > 2 else 0.0
        return np.asarray(outputs[0][0]), float(outputs[1][0]), draw

    def key(self, state: State) -> Hashable:
        return tuple(np.asarray(x).tobytes() for x in jax.tree.leaves(self.position(state).state))
