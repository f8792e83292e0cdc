"""A fixed set of examples that no run trains on, the same for all runs on a board.

Its games are played by plain MCTS with random rollouts against itself: no network's taste is in
it, so losses on it can be compared between targets, seeds and settings.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxzero.games.base import Game
from jaxzero.players import rollout_evaluate
from jaxzero.search.options import SearchOptions
from jaxzero.training import replay, selfplay
from jaxzero.training.replay import Examples

# Of the set itself, whatever a run has.
SEED = 1999
TEMPERATURE_PLIES = 15  # T' of Wang 2019: plies 1 .. 14 are sampled, for variety


def make(game: Game, *, num_games: int, num_simulations: int) -> tuple[Examples, jax.Array]:
    """Plays the games.

    Args:
      num_simulations: m of the rollout search.

    Returns:
      `Examples` [N] with policy = visit distribution and value = true result, both from the player
      to move, and bool[N], which of them count.
    """
    return _program(game, num_games, num_simulations)(jax.random.key(SEED))


def shapes(game: Game, *, num_games: int) -> tuple[Examples, jax.Array]:
    """Of what `make` returns: no search is traced, which takes seconds on a large board."""
    count = num_games * game.max_plies
    observation = jax.eval_shape(lambda: game.observe(game.init()))
    return jax.eval_shape(
        lambda: (Examples.zeros((count,), observation, game.num_actions), jnp.zeros(count, bool))
    )


@functools.lru_cache(maxsize=4)  # the parts of a study have one set: it is compiled once
def _program(
    game: Game, num_games: int, num_simulations: int
) -> Callable[[jax.Array], tuple[Examples, jax.Array]]:
    """The key -> the games, compiled."""

    def run(key: jax.Array) -> tuple[Examples, jax.Array]:
        trajectory, _ = selfplay.play(
            game,
            rollout_evaluate(game),
            jax.random.split(key, num_games),
            jnp.ones((num_games,), bool),
            options=SearchOptions(capacity=num_simulations + 1),
            num_simulations=num_simulations,
            c_puct=jnp.sqrt(2.0),
            temperature_plies=TEMPERATURE_PLIES,
        )
        examples, count = replay.from_trajectory(trajectory, num_games * game.max_plies)
        return examples, jnp.arange(num_games * game.max_plies) < count

    return jax.jit(run)
