"""A game as it is being played: every position and every move so far. Nothing here talks."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxzero.games import Game
from jaxzero.games.base import State
from jaxzero.games.playouts import View, view_of
from jaxzero.play.display.notation import PASS, make_notation
from jaxzero.settings.config import ConfigError


class Position(NamedTuple):
    """One position and what the rules say of it, on the host."""

    state: State  # the game's, leaves are NumPy arrays
    legal: np.ndarray  # bool[A], all False at the end
    to_move: int  # 0 or 1
    is_terminal: bool  # nothing can be played any more
    # result of player 0 and of player 1 (+1, 0, -1); zeros before the end
    outcome: tuple[float, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Session:
    """The T moves so far."""

    game: Game  # the rules
    positions: tuple[Position, ...]  # T + 1, the start first
    actions: tuple[int, ...] = ()  # T
    opening: int = 0  # how many of the first moves were random; they are never taken back

    @property
    def now(self) -> Position:
        """The newest position."""
        return self.positions[-1]


def check_side(side: int) -> None:
    """Refuses what is no player's number (ConfigError)."""
    if side not in (0, 1):
        raise ConfigError(f"side={side}: 0 moves first, 1 second")


def begin(game: Game) -> Session:
    """A new game."""
    return Session(game, (_position(*_start(game)),))


def play(session: Session, action: int) -> Session:
    """After one more move. ValueError: it is not legal, in one line with the legal moves."""
    if not session.now.legal[action]:
        notation = make_notation(session.game)
        end = "the game is over"
        legal = end if session.now.is_terminal else notation.list_legal(session.now.legal)
        raise ValueError(f"{notation.names[action]} is not legal here; legal: {legal}")
    position = _position(*_step(session.game, session.now.state, np.int32(action)))
    return dataclasses.replace(
        session, positions=(*session.positions, position), actions=(*session.actions, int(action))
    )


def replay(game: Game, actions: Sequence[int], *, opening: int = 0) -> Session:
    """The game with those moves. ValueError: one of them is not legal, with its number."""
    session = begin(game)
    for number, action in enumerate(actions, 1):
        try:
            session = play(session, action)
        except ValueError as error:
            raise ValueError(f"move {number}: {error}") from error
    return dataclasses.replace(session, opening=opening)


def random_opening(game: Game, plies: int, seed: int | Sequence[int]) -> Session:
    """A game after random moves that do not end it; fewer where the next one would."""
    rng, session = np.random.default_rng(seed), begin(game)
    for _ in range(min(plies, game.max_plies)):
        moved = play(session, int(rng.choice(np.flatnonzero(session.now.legal))))
        if not moved.now.is_terminal:
            session = moved
    return dataclasses.replace(session, opening=len(session.actions))


def must_pass(session: Session) -> bool:
    """Is a pass all that is legal?"""
    legal = np.flatnonzero(session.now.legal)
    return len(legal) == 1 and make_notation(session.game).names[legal[0]] == PASS


def undo(session: Session, player: int) -> Session | None:
    """Back to the last earlier position in which `player` had something to choose.

    That takes back the player's last move and whatever was answered. None if there is no such
    position after the opening.
    """
    for ply in range(len(session.actions) - 1, session.opening - 1, -1):
        earlier = dataclasses.replace(
            session, positions=session.positions[: ply + 1], actions=session.actions[:ply]
        )
        if earlier.now.to_move == player and not must_pass(earlier):
            return earlier
    return None


@functools.partial(jax.jit, static_argnums=0)
def _start(game: Game) -> tuple[State, View]:
    state = game.init()
    return state, view_of(game, state)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: State, action: jax.Array) -> tuple[State, View]:
    state = game.step(state, action)
    return state, view_of(game, state)


def _position(state: Any, view: View) -> Position:
    state, view = jax.device_get((state, view))
    first, second = view.outcome.tolist()
    return Position(
        state=state,
        legal=np.asarray(view.legal),
        to_move=int(view.to_move),
        is_terminal=bool(view.terminal),
        outcome=(first, second),
    )
