"""What every game offers: pure state transitions that can be jitted and vmapped.

A game is a frozen, hashable dataclass: its fields (board size, line length, encoding) are static,
so a game can be closed over or passed as a static argument of `jax.jit`. A *state* is a pytree of
small integer arrays, because one is stored in every node of every search tree. All methods treat
one game; `jax.vmap` makes a batch.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import jax

State = Any  # a pytree of arrays, opaque to everything outside the game's own file


@runtime_checkable
class Game(Protocol):
    """The protocol that search, self-play and the arena rely on.

    Player 0 moves first. "The player to move" is written P below. `Hash` and `==` compare the
    static fields, so two games made with the same arguments share compiled programs.
    """

    def __hash__(self) -> int: ...

    is_alternating: ClassVar[bool]  # False where one player may move twice in a row (Reversi)

    @property
    def name(self) -> str:
        """The name that `jaxzero.make_game` accepts, e.g. `"othello_6x6"`."""
        ...

    @property
    def num_actions(self) -> int:
        """Number A of actions, legal or not; actions are int32 in [0, A)."""
        ...

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of `observe`."""
        ...

    @property
    def max_plies(self) -> int:
        """Upper bound on the plies of any game (passes count as plies)."""
        ...

    def init(self) -> State:
        """The start position."""
        ...

    def step(self, state: State, action: jax.Array) -> State:
        """Plays `action` (int32 scalar, legal) for P. A finished game is returned unchanged.

        The result for an illegal action is unspecified but finite; callers mask. The games of this
        package take a plain int as well.
        """
        ...

    def to_move(self, state: State) -> jax.Array:
        """int32 scalar, 0 or 1: whose turn it is. Player 0 moves first."""
        ...

    def legal_actions(self, state: State) -> jax.Array:
        """bool[A]: what P may play; all False when the game is finished."""
        ...

    def is_terminal(self, state: State) -> jax.Array:
        """bool scalar."""
        ...

    def outcome(self, state: State) -> jax.Array:
        """float32[2]: result of player 0 and of player 1 (+1 won, 0 drawn, -1 lost).

        Zeros before the end. Always the true result; papers' scoring defects live elsewhere.
        """
        ...

    def observe(self, state: State) -> jax.Array:
        """[H, W, C] for the network, from the view of P; int8 unless the game says otherwise."""
        ...

    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """All K images, the identity first: ([H, W, C], [A]) -> ([K, H, W, C], [K, A])."""
        ...

    def render(self, state: State) -> str:
        """A board for people, several lines."""
        ...


@runtime_checkable
class CountsMaterial(Protocol):
    """What a game may offer besides: something on the board that is good to have more of."""

    def material(self, state: State) -> jax.Array:
        """int32[2]: of player 0 and of player 1, e.g. the discs of each in Othello."""
        ...
