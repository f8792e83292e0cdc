"""Games of pgx (https://github.com/sotetsuk/pgx) behind the `Game` protocol: `pgx:<env_id>`.

What differs, and is translated here:

* pgx chooses player 0 at random; here player 0 is whoever moves first.
* pgx's legal mask is all True when the game is over, ours all False.
* pgx's step after the end sets the rewards to 0; here it changes nothing.
* pgx carries the observation in its state; here it is computed when asked for, because a search
  tree stores a state in every node.

pgx is an optional dependency, imported when the first such game is made.
"""

import dataclasses
import difflib
import functools
import importlib
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

PREFIX = "pgx:"

# The longest game of every supported environment. Where the rules alone would not end a game,
# pgx cuts it off after that many plies (`MAX_TERMINATION_STEPS`, Go: 2 * size * size).
MAX_PLIES = {
    "animal_shogi": 256,
    "chess": 512,
    "connect_four": 42,
    "gardner_chess": 256,
    "go_9x9": 162,
    "go_19x19": 722,
    "hex": 122,  # 121 squares, and taking over the first stone fills none
    "othello": 119,  # 60 squares; a pass after each but the last (or two, with a square left)
    "shogi": 512,
    "tic_tac_toe": 9,
}
# Environments of pgx that no game here can be made of, and why.
REFUSED = {
    "2048": "it has one player and chance",
    "backgammon": "it has chance",
    "bridge_bidding": "it has four players and hidden cards",
    "kuhn_poker": "it has chance and hidden cards",
    "leduc_holdem": "it has chance and hidden cards",
    "minatar-asterix": "it has one player and chance",
    "minatar-breakout": "it has one player and chance",
    "minatar-freeway": "it has one player and chance",
    "minatar-seaquest": "it has one player and chance",
    "minatar-space_invaders": "it has one player and chance",
    "sparrow_mahjong": "it has three players and chance",
}
# Environments whose first two planes are the stones of the player to move and of the other.
STONES_IN_PLANES = ("connect_four", "go_9x9", "go_19x19", "hex", "othello", "tic_tac_toe")


def make_pgx_game(env_id: str, *, observation: str = "planes") -> "PgxGame":
    """Makes the game of the environment `env_id`.

    Raises:
      ValueError: for an environment that is unknown, or not a deterministic two-player game, and
        for another `observation` than "planes": pgx has one encoding per game.
      ImportError: where pgx is not installed.
    """
    if env_id in REFUSED:
        raise ValueError(
            f"{PREFIX + env_id!r} is not a deterministic game of two players: {REFUSED[env_id]}"
        )
    if env_id not in MAX_PLIES:
        close = difflib.get_close_matches(env_id, MAX_PLIES, n=1, cutoff=0.0)[0]
        raise ValueError(f"unknown game {PREFIX + env_id!r}; did you mean {PREFIX + close!r}?")
    if observation != "planes":
        raise ValueError(
            f"{PREFIX + env_id!r} has its own observation; leave observation='planes', "
            f"got {observation!r}"
        )
    _environment(env_id)
    return PgxGame(env_id)


@dataclasses.dataclass(frozen=True)
class PgxGame:
    """One environment of pgx; its states are pgx's, with an empty `observation`."""

    is_alternating: ClassVar[bool] = True

    env_id: str

    @property
    def name(self) -> str:
        """E.g. `pgx:go_9x9`."""
        return PREFIX + self.env_id

    @property
    def num_actions(self) -> int:
        """Actions as pgx numbers them."""
        return int(_start(self.env_id).legal_action_mask.shape[0])

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of pgx's observation."""
        height, width, channels = _observation(self.env_id).shape
        return (height, width, channels)

    @property
    def max_plies(self) -> int:
        """See `MAX_PLIES`."""
        return MAX_PLIES[self.env_id]

    def init(self) -> Any:
        """pgx's start position."""
        return jax.tree.map(jnp.asarray, _start(self.env_id))

    def step(self, state: Any, action: jax.Array | int) -> Any:
        """Plays `action` (int32 scalar); an illegal one loses the game, as in pgx."""
        with jax.numpy_rank_promotion("allow"):
            successor = _environment(self.env_id).step(self._observed(state), action)
        finished = self.is_terminal(state)
        return jax.tree.map(
            lambda old, new: jnp.where(finished, old, new), state, _without_observation(successor)
        )

    def to_move(self, state: Any) -> jax.Array:
        """int32 scalar, 0 or 1; 0 moves first."""
        return (state.current_player != self._first).astype(jnp.int32)

    def legal_actions(self, state: Any) -> jax.Array:
        """bool[num_actions]; all False when finished."""
        return state.legal_action_mask & ~self.is_terminal(state)

    def is_terminal(self, state: Any) -> jax.Array:
        """bool scalar: over by the rules, or cut off."""
        return state.terminated | state.truncated

    def outcome(self, state: Any) -> jax.Array:
        """float32[2]: result of player 0 and of player 1; zeros before the end."""
        rewards = state.rewards if self._first == 0 else state.rewards[::-1]
        return jnp.where(self.is_terminal(state), rewards.astype(jnp.float32), jnp.float32(0))

    def observe(self, state: Any) -> jax.Array:
        """[H, W, C] from the player to move: int8 where pgx has bool, else pgx's dtype."""
        with jax.numpy_rank_promotion("allow"):
            observation = _environment(self.env_id).observe(self._observed(state))
        return observation.astype(jnp.int8) if observation.dtype == jnp.bool_ else observation

    def symmetries(self, observation: jax.Array, policy: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The identity alone, K = 1: which others hold, pgx does not say."""
        return observation[None], policy[None]

    def render(self, state: Any) -> str:
        """The stones where pgx shows them in planes (X is player 0), and who is to move."""
        state = jax.tree.map(jnp.asarray, state)  # pgx indexes with arrays, which NumPy cannot
        mover = int(self.to_move(state))
        lines = []
        if self.env_id in STONES_IN_PLANES:
            planes = np.asarray(self.observe(state))
            own, other = ("X", "O") if mover == 0 else ("O", "X")
            marks = np.where(planes[..., 0] != 0, own, np.where(planes[..., 1] != 0, other, "."))
            lines = [" ".join(row) for row in marks]
        if not bool(self.is_terminal(state)):
            return "\n".join([*lines, f"{self.name}: {'XO'[mover]} to move"])
        first = int(self.outcome(state)[0])
        return "\n".join([*lines, f"{self.name}: {('draw', 'X has won', 'O has won')[first]}"])

    @property
    def _first(self) -> int:
        """pgx's number of the player who moves first."""
        return int(_start(self.env_id).current_player)

    def _observed(self, state: Any) -> Any:
        """`state` with an observation of pgx's shape, as pgx's functions need."""
        observation = _observation(self.env_id)
        return state.replace(observation=jnp.zeros(observation.shape, observation.dtype))


@functools.cache
def _environment(env_id: str) -> Any:
    """pgx's environment; made once."""
    try:
        pgx = importlib.import_module("pgx")
    except ModuleNotFoundError as error:
        raise ImportError(
            f'{PREFIX + env_id!r} needs pgx: install it with `pip install -e ".[pgx]"`'
        ) from error
    return pgx.make(env_id)


@functools.cache
def _first_state(env_id: str) -> Any:
    """pgx's start as NumPy arrays; the key only decides which number the first player gets."""
    with jax.ensure_compile_time_eval(), jax.numpy_rank_promotion("allow"):
        state = _environment(env_id).init(jax.random.PRNGKey(0))
        return jax.tree.map(np.asarray, state)


@functools.cache
def _start(env_id: str) -> Any:
    return _without_observation(_first_state(env_id))


def _observation(env_id: str) -> np.ndarray:
    return _first_state(env_id).observation


def _without_observation(state: Any) -> Any:
    return state.replace(observation=np.zeros((0,), state.observation.dtype))
