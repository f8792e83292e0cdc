"""End-game-first curricula: which share zeta of a game, its end, is learned from (West 2020).

By a schedule over the epochs done (West 2020, Equations 5 and 6), or by the visibility horizon: how
many plies before the end the search's value still says who wins, measured in every iteration.
"""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.training.spec import SelfPlaySettings
from jaxzero.training.trajectory import Trajectory

_BUCKET = 2  # plies: one of each player
_FEWEST = 8  # positions in which a correlation means something
_DRAWS = 0x7FFFFFFE  # folded into a key beside the numbers of games


@struct.dataclass
class Progress:
    """What a run remembers."""

    mean_plies: jax.Array  # float32, running average of a game's length, random plies included
    # float32, running average of the plies before the end up to which the search sees
    horizon: jax.Array


@struct.dataclass
class Lesson:
    """What this batch of games is to be."""

    fraction: jax.Array | float  # float32, zeta; 1: whole games
    # int32, plies of each game before the search takes over; None: it plays all
    random_plies: jax.Array | None


WHOLE = Lesson(1.0, None)


def begin(own: SelfPlaySettings) -> Progress | None:
    """Before the first game, when nothing is seen yet; None without a curriculum."""
    if own.curriculum == "none":
        return None
    return Progress(jnp.float32(own.curriculum_initial_plies), jnp.float32(0))


def scheduled(own: SelfPlaySettings, epochs_done: jax.Array) -> jax.Array:
    """float32: zeta after so many epochs (West 2020, Equations 5 and 6)."""
    place = (epochs_done >= jnp.asarray(own.curriculum_epochs)).sum() - 1
    return jnp.asarray(own.curriculum_fractions, jnp.float32)[place]


def next_lesson(
    own: SelfPlaySettings, progress: Progress, epochs_done: jax.Array, max_plies: int
) -> Lesson:
    """zeta and the random plies of the next games.

    Args:
      epochs_done: int32, t of West 2020.
    """
    if own.curriculum == "schedule":
        fraction = scheduled(own, epochs_done)
    else:
        seen = (progress.horizon + own.curriculum_margin) / jnp.maximum(progress.mean_plies, 1.0)
        fraction = jnp.clip(seen, own.curriculum_least, 1.0)
    if own.curriculum_drop == "trim":
        return Lesson(fraction, None)
    plies = jnp.floor((1.0 - fraction) * progress.mean_plies + 1e-4).astype(jnp.int32)
    return Lesson(fraction, jnp.clip(plies, 0, max_plies - 1))


def learned_part(
    own: SelfPlaySettings, lesson: Lesson, trajectory: Trajectory, key: jax.Array
) -> Trajectory:
    """What of the games is learned from; the key is that of `drop_draws`."""
    if own.curriculum != "none" and own.curriculum_drop == "trim":
        trajectory = trim(trajectory, lesson.fraction)
    return drop_draws(trajectory, own.drop_draws, key) if own.drop_draws else trajectory


def trim(trajectory: Trajectory, fraction: jax.Array | float) -> Trajectory:
    """Without the first (1 - zeta) of each game's own plies: they are not `recorded` any more."""
    first = jnp.floor((1.0 - fraction) * trajectory.plies + 1e-4).astype(jnp.int32)
    ply = jnp.arange(trajectory.valid.shape[0])
    late = ply[:, None] >= first[None]
    return dataclasses.replace(trajectory, recorded=trajectory.recorded & late)


def drop_draws(trajectory: Trajectory, share: float, key: jax.Array) -> Trajectory:
    """Without some drawn games (West 2020's drop-draw chance).

    Args:
      share: of the drawn ones that go, at random.
      key: of the self-play that made them, consumed: its games fold in their own numbers.
    """
    drawn = trajectory.outcome[:, 0] == trajectory.outcome[:, 1]
    lots = jax.random.uniform(jax.random.fold_in(key, _DRAWS), drawn.shape)
    kept = ~(drawn & (lots < share))
    return dataclasses.replace(trajectory, recorded=trajectory.recorded & kept[None])


def horizon(trajectory: Trajectory, level: float) -> jax.Array:
    """float32: how many plies before the end the search's value says who wins.

    Correlation, over all games, of the root's value with the label z, both from the player to move,
    for positions equally far from the end (two plies at a time): up to where it is at least
    `level` without a gap. Fewer than 8 positions tell nothing, and neither does a constant.
    """
    rows = trajectory.valid.shape[0]
    left = trajectory.plies[None] - 1 - jnp.arange(rows)[:, None]  # plies to the last move
    bucket = jnp.where(trajectory.valid, left // _BUCKET, rows)
    x, y = trajectory.root_value, trajectory.value

    def total(values: jax.Array) -> jax.Array:
        sums = jnp.zeros((rows,), jnp.float32)
        return sums.at[bucket.reshape(-1)].add(values.reshape(-1), mode="drop")

    n = jnp.maximum(total(jnp.ones_like(x)), 1.0)
    mean_x, mean_y = total(x) / n, total(y) / n
    covariance = total(x * y) / n - mean_x * mean_y
    variances = (total(x * x) / n - mean_x**2) * (total(y * y) / n - mean_y**2)
    correlation = covariance / jnp.sqrt(jnp.maximum(variances, 1e-12))
    sees = (correlation >= level) & (n >= _FEWEST) & (variances > 1e-12)
    return _BUCKET * jnp.cumprod(sees.astype(jnp.float32)).sum()


def learn(own: SelfPlaySettings, progress: Progress, trajectory: Trajectory) -> Progress:
    """What these games change.

    Args:
      trajectory: all that was searched, before `trim`.
    """
    games = jnp.maximum(trajectory.active.sum(), 1)
    mean = (lengths(trajectory) * trajectory.active).sum() / games
    seen = horizon(trajectory, own.curriculum_level)
    return Progress(
        mean_plies=progress.mean_plies + own.curriculum_averaging * (mean - progress.mean_plies),
        horizon=progress.horizon + own.curriculum_averaging * (seen - progress.horizon),
    )


def lengths(trajectory: Trajectory) -> jax.Array:
    """int32[B]: plies of each game, the random ones at its beginning included."""
    if trajectory.start is None:
        return trajectory.plies
    return trajectory.plies + trajectory.start


def describe(lesson: Lesson, progress: Progress, trajectory: Trajectory) -> dict[str, jax.Array]:
    """Metrics `curriculum/*`."""
    games = jnp.maximum(trajectory.active.sum(), 1)
    rolled_back = jnp.float32(0)
    if trajectory.rolled_back is not None:
        rolled_back = (trajectory.rolled_back & trajectory.active).sum() / games
    return {
        "curriculum/fraction": jnp.asarray(lesson.fraction, jnp.float32),
        "curriculum/random_plies": jnp.asarray(
            0 if lesson.random_plies is None else lesson.random_plies, jnp.float32
        ),
        "curriculum/rolled_back": rolled_back,
        "curriculum/mean_plies": progress.mean_plies,
        "curriculum/horizon": progress.horizon,
    }
