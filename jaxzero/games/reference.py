"""The same random games on a game and on an independent implementation of its rules."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax

from jaxzero.games.base import Game
from jaxzero.games.playouts import random_playout


class Reference(Protocol):
    """One game of an independent implementation, changed in place by `step`."""

    def legal_actions(self) -> Sequence[bool]:
        """One entry per action, for the player to move; all False when finished."""
        ...

    def step(self, action: int) -> None:
        """Plays a legal action."""
        ...

    def to_move(self) -> int:
        """0 or 1."""
        ...

    def is_terminal(self) -> bool:
        """Is the game finished?"""
        ...

    def outcome(self) -> tuple[float, float]:
        """Result of player 0 and of player 1; zeros before the end."""
        ...


def check_against_reference(
    game: Game,
    new_reference: Callable[[], Reference],
    *,
    num_games: int = 32,
    seed: int = 0,
    same_position: Callable[[Any, Any], bool] | None = None,
) -> None:
    """Plays the same random games on `game` and on an independent implementation of its rules.

    Args:
      new_reference: makes a game of the other implementation, at its start.
      same_position: of (state, reference): do both show the same board? Not asked if None.

    Raises:
      AssertionError: at the first ply at which the two differ.
    """
    playout = random_playout(game, num_games=num_games, seed=seed)
    states, view, actions = playout
    for i in range(num_games):
        reference = new_reference()
        for ply in range(len(view.terminal)):
            where = f"{game.name}: game {i}, after actions {actions[:ply, i].tolist()}"
            actual = (
                view.legal[ply, i].tolist(),
                int(view.to_move[ply, i]),
                bool(view.terminal[ply, i]),
                tuple(view.outcome[ply, i].tolist()),
            )
            expected = (
                [bool(legal) for legal in reference.legal_actions()],
                # Whose turn it is after the end has no meaning, so it is not compared.
                actual[1] if reference.is_terminal() else reference.to_move(),
                reference.is_terminal(),
                tuple(float(result) for result in reference.outcome()),
            )
            names = ("legal actions", "player to move", "end", "outcome")
            for name, ours, theirs in zip(names, actual, expected, strict=True):
                assert ours == theirs, f"{where}: {name} is {ours}, the reference has {theirs}"
            if same_position is not None:
                state = jax.tree.map(lambda leaf, p=ply, g=i: leaf[p, g], states)
                assert same_position(state, reference), f"{where}: the boards differ"
            if actual[2]:
                break
            reference.step(int(actions[ply, i]))
