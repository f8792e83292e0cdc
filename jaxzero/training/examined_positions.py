"""Positions for `examination`: fixed ones of random games, solved exactly or by a long search."""

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxzero import files, solvers
from jaxzero.games import Game
from jaxzero.games.playouts import mean_random_plies
from jaxzero.loops import in_chunks
from jaxzero.search import core
from jaxzero.search.options import SearchOptions
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.training import examination, openings
from jaxzero.training import learner as learner_lib
from jaxzero.training.examination import Positions
from jaxzero.training.learner import Learner
from jaxzero.training.spec import Spec

LONG = 8 * examination.SIMULATIONS  # simulations of the search that labels where nothing solves
_SEED = 2003  # of the positions: not a run's seed
_EARLIEST = 4  # one part in so many of the board is filled: earlier ones take seconds to solve


def has_solver(game: Game) -> bool:
    """Whether `solved` knows the game."""
    try:
        solvers.solver_of(game)
    except ConfigError:
        return False
    return True


@functools.cache
def solved(game: Game, count: int) -> Positions:
    """At most `count` positions of random games with exact results, always the same; seconds.

    Raises:
      ConfigError: the game has no solver.
    """
    plies = solvers.default_plies(game)
    filled = int(np.prod(game.observation_shape[:2])) // _EARLIEST
    plies = range(max(plies.start, min(filled, plies.stop - 1)), plies.stop)
    return of(solvers.label(game, solvers.sample(game, positions=count, plies=plies, seed=_SEED)))


def of(found: Labelled) -> Positions:
    """Solved positions: an action is right if it keeps the result under best play."""
    return Positions(
        states=jax.tree.map(jnp.asarray, found.states),
        right=jnp.asarray(found.weak),
        value=jnp.asarray(found.value),
        contested=jnp.asarray(found.contested),
        plies=jnp.asarray(found.plies, jnp.int32),
    )


def searched(spec: Spec, teacher: Learner, count: int) -> Positions:
    """`count` positions after random openings of different lengths, judged by a long search.

    An action is right if the search of `LONG` simulations visits it most; its value is the truth.
    """
    game = spec.game
    longest = round(mean_random_plies(game))

    @jax.jit
    def search(teacher: Learner) -> Positions:
        opening_keys, search_keys = jax.random.split(jax.random.key(_SEED), (2, count))
        begun = openings.random_openings(
            game,
            opening_keys,
            jnp.ones((count,), bool),
            plies=openings.lengths(opening_keys, longest),
            kept=openings.TAKEN_BACK,
        )

        def judge(keys: jax.Array, states: Any) -> tuple[jax.Array, jax.Array]:
            found = core.run(
                game,
                learner_lib.acting(spec, teacher),
                keys,
                states,
                options=SearchOptions(capacity=LONG + 1),
                num_simulations=LONG,
                c_puct=examination.C_PUCT,
            )
            return found.action, found.value

        at_once = examination.trees_at_once(game, LONG + 1)
        action, value = in_chunks(judge, at_once, search_keys, begun.states)
        right = jax.nn.one_hot(action, game.num_actions, dtype=bool)
        legal = jax.vmap(game.legal_actions)(begun.states)
        several = legal.sum(-1) > 1
        return Positions(begun.states, right, value, several, begun.plies)

    return search(teacher)


def save(path: Path, positions: Positions) -> None:
    """Writes them as one file; whole or not at all."""
    leaves = jax.tree.leaves(positions)
    files.write_arrays(path, {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)})


def load(path: Path, game: Game) -> Positions:
    """What `save` wrote. ConfigError: the file is damaged."""
    one = Positions(
        states=game.init(),
        right=jnp.zeros((game.num_actions,), bool),
        value=jnp.zeros(()),
        contested=jnp.zeros((), bool),
        plies=jnp.int32(0),
    )
    leaves, structure = jax.tree.flatten(one)
    forms = {f"leaf_{i}": files.form_of(leaf, "positions") for i, leaf in enumerate(leaves)}
    remedy = "delete it and learning.json, and both are made again"
    arrays = files.read_arrays(path, forms, remedy)
    files.check_arrays(path, arrays, forms, remedy)
    return jax.tree.unflatten(structure, [jnp.asarray(arrays[name]) for name in forms])
