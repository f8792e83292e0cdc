"""Positions with the exact score of every action: sampled, solved, kept in a file."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxzero import files
from jaxzero.games import ConnectFour, Game, make_game
from jaxzero.games.playouts import random_playout
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import bitbully, boards
from jaxzero.solvers.bounds import ILLEGAL

_GAMES_AT_ONCE = 256
_BATCHES = 40  # of games: rare plies stay short of positions rather than take for ever
_EMPTY_AT_MOST = {True: 24, False: 12}  # Connect Four, Othello: solved in a second each at most
_EMPTY_AT_LEAST = 4  # with fewer there is little to choose

Progress = Callable[[Sequence[Any]], Iterator[Any]]  # wraps what is gone through, for a bar


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Unfinished positions of one game and the truth about them, as NumPy arrays.

    Attributes:
      game: the rules.
      states: pytree, leaves [N, ...].
      scores: int16[N, A], of every action for the player to move (see `connect_four` and
        `othello`), `ILLEGAL` where it cannot be played.
      plies: int[N], stones placed since the start.
    """

    game: Game
    states: Any
    scores: np.ndarray
    plies: np.ndarray

    def take(self, index: Any) -> "Labelled":
        """Some of the positions: of `index`, int[M] or a slice."""
        states = jax.tree.map(lambda x: x[index], self.states)
        return Labelled(self.game, states, self.scores[index], self.plies[index])

    @property
    def legal(self) -> np.ndarray:
        """bool[N, A]."""
        return self.scores != ILLEGAL

    @property
    def value(self) -> np.ndarray:
        """float32[N]: the result under best play for the player to move, -1, 0 or 1."""
        return np.sign(self.scores.max(axis=1)).astype(np.float32)

    @property
    def weak(self) -> np.ndarray:
        """bool[N, A]: the actions that keep that result."""
        return self.legal & (np.sign(self.scores) == self.value[:, None])

    @property
    def strong(self) -> np.ndarray:
        """bool[N, A]: those that lead to the best score."""
        return self.scores == self.scores.max(axis=1, keepdims=True)

    @property
    def contested(self) -> np.ndarray:
        """bool[N]: positions in which some action gives away result."""
        return (self.legal & ~self.weak).any(axis=1)


def label(
    game: Game,
    states: Any,
    progress: Progress | None = None,
    solver: boards.Solver | None = None,
) -> Labelled:
    """Solves positions exactly.

    Args:
      game: of `boards.solver_of`.
      states: unfinished, leaves [N, ...].
      progress: for a bar.
      solver: the game's own by default; `jaxzero.solvers.bitbully` has one that knows the usual
        Connect Four board from its first move.

    Raises:
      ConfigError: the game has no solver.
    """
    solver = solver or boards.solver_of(game)
    pairs = boards.own_and_other(states)
    scores = np.full((len(pairs), game.num_actions), ILLEGAL, np.int16)
    # From the end: what is learnt of late positions shortens the search of early ones.
    order = np.argsort(-boards.stones_placed(states), kind="stable").tolist()
    for i in progress(order) if progress else order:
        scores[i] = solver.action_scores(*pairs[i])
    start = int(boards.stones_placed(game.init()))
    return Labelled(game, states, scores, boards.stones_placed(states) - start)


def default_plies(game: Game) -> range:
    """Plies whose positions are solved in about a second or less: at the end of the game."""
    squares = int(np.prod(game.observation_shape[:2]))
    start = int(boards.stones_placed(game.init()))
    empty = _EMPTY_AT_MOST[isinstance(game, ConnectFour)]
    return range(max(0, squares - empty - start), squares - _EMPTY_AT_LEAST - start + 1)


def solver_from(game: Game, ply: int) -> boards.Solver | None:
    """Who solves positions from a ply on in about a second or less; None: nobody.

    The usual Connect Four board is solved from its first stone with the extra `solver`.
    """
    with contextlib.suppress(ConfigError):  # a game without a solver, or bitbully is missing
        if game.name == bitbully.BOARD:
            return bitbully.perfect_solver()
    with contextlib.suppress(ConfigError):
        if ply >= default_plies(game).start:
            return boards.solver_of(game)
    return None


def sample(game: Game, *, positions: int, plies: range, seed: int) -> Any:
    """Different unfinished positions of random games, the same number of every ply if there are.

    Args:
      game: one whose stones stay on the board.
      positions: how many, N; fewer where random games do not reach so many.
      plies: stones placed since the start.
      seed: of the games.

    Returns:
      States [N], NumPy leaves, by ply.
    """
    quota = {p: positions // len(plies) for p in plies}
    for p in list(plies)[: positions % len(plies)]:
        quota[p] += 1
    start = int(boards.stones_placed(game.init()))
    by_ply: dict[int, dict[bytes, Any]] = {p: {} for p in plies}
    for batch in range(_BATCHES):
        if all(len(by_ply[p]) == quota[p] for p in plies):
            break
        played = random_playout(game, num_games=_GAMES_AT_ONCE, seed=seed * _BATCHES + batch)
        placed = boards.stones_placed(played.states) - start
        fine = ~played.views.terminal
        for p in plies:
            for where in zip(*np.nonzero(fine & (placed == p)), strict=True):
                if len(by_ply[p]) == quota[p]:
                    break
                state = jax.tree.map(lambda x, where=where: x[where], played.states)
                identity = state.stones.tobytes() + state.to_move.tobytes()
                by_ply[p].setdefault(identity, state)
    states = [state for p in plies for state in by_ply[p].values()]
    if not states:
        raise ConfigError(
            f"random games of {game.name} have no unfinished position with {plies.start} to "
            f"{plies.stop - 1} stones placed: choose other plies"
        )
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def kept(
    path: Path, game: Game, settings: dict[str, Any], make: Callable[[], Labelled]
) -> Labelled:
    """The positions of a file, which is made first, or again for another game or other settings.

    Args:
      game: theirs.
      settings: how they are made, plain values.
      make: makes them.

    Raises:
      ConfigError: the file is damaged or of another version.
    """
    if path.is_file():
        stored, made_for = load(path)
        if made_for == settings and stored.game.name == game.name:
            return dataclasses.replace(stored, game=game)  # which may observe otherwise
    made = make()
    save(path, made, settings)
    return made


def save(path: Path, labelled: Labelled, settings: dict[str, Any]) -> None:
    """Writes positions and scores, and how they were made, as one file; whole or not at all."""
    arrays = {
        "game": np.array(labelled.game.name),
        "settings": np.array(json.dumps(settings, sort_keys=True)),
        "scores": labelled.scores,
        "plies": labelled.plies,
    }
    leaves = jax.tree.leaves(labelled.states)
    files.write_arrays(path, arrays | {f"state_{i}": leaf for i, leaf in enumerate(leaves)})


def load(path: Path) -> tuple[Labelled, dict[str, Any]]:
    """What `save` wrote, its check sums verified.

    Raises:
      ConfigError: the file is damaged or of another version.
    """
    remedy = "delete it, and it is made again"
    arrays = files.read_arrays(path, ("game", "settings", "scores", "plies"), remedy)
    try:
        game = make_game(str(arrays["game"]))
        start, structure = jax.tree.flatten(game.init())
        leaves = [arrays[f"state_{i}"] for i in range(len(start))]
        settings = json.loads(str(arrays["settings"]))
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error}): {remedy}") from error
    forms = {"scores": ("i", ("positions", game.num_actions)), "plies": ("iu", ("positions",))}
    forms |= {f"state_{i}": files.form_of(leaf, "positions") for i, leaf in enumerate(start)}
    files.check_arrays(path, arrays, forms, remedy)
    states = jax.tree.unflatten(structure, leaves)
    return Labelled(game, states, arrays["scores"], arrays["plies"]), settings
