"""Algorithm 1 of paper 000 as one pure, compiled function: (state) -> (state, metrics).

self-play -> window -> training -> arena -> gate. Nothing in it waits for the host.
"""

import dataclasses
from typing import Any, cast

import jax
import jax.numpy as jnp
from flax import struct

from jaxzero.games.distinct import count_distinct, hash_rows
from jaxzero.loops import DATA_AXIS
from jaxzero.training import curriculum, game_window, learner, position_window, replay, selfplay
from jaxzero.training.curriculum import Lesson
from jaxzero.training.game_window import Batch, Filled
from jaxzero.training.gate import gate
from jaxzero.training.learner import Learner, Window
from jaxzero.training.position_window import PositionWindow
from jaxzero.training.replay import Examples, Replay
from jaxzero.training.selfplay import Trajectory
from jaxzero.training.spec import Hyper, Spec


@struct.dataclass
class RunState:
    """Everything a run is, between iterations: what a checkpoint holds.

    Attributes:
      learner: the best network so far with its optimiser. A candidate exists only inside an
        iteration: it takes this place, or it is dropped.
      replay: the window.
      key: typed random key.
      iteration: int32, iterations done.
      best: int32, the iteration that `learner` came from; 0 is the untrained network.
      progress: of the curriculum, see `curriculum.Progress`; `()` without one.
      filled: what the window holds, see `filling.Filled`; `()` if it holds iterations.
    """

    learner: Learner
    replay: Window
    key: jax.Array
    iteration: jax.Array
    best: jax.Array
    progress: Any = ()
    filled: Any = ()


def init(spec: Spec, seed: jax.Array) -> RunState:
    """A run before its first iteration. Runs with equal seeds start from equal weights."""
    key, weights_key = jax.random.split(jax.random.key(seed))
    observation = jax.eval_shape(lambda: spec.game.observe(spec.game.init()))
    actions = spec.game.num_actions
    window: Window
    if spec.window_positions:
        window = position_window.empty(spec.window_positions, observation, actions, spec.extras)
    else:
        window = replay.empty(spec.window, spec.positions, observation, actions, spec.extras)
    return RunState(
        learner=learner.init(spec, weights_key),
        replay=window,
        key=key,
        iteration=jnp.int32(0),
        best=jnp.int32(0),
        progress=curriculum.begin(jnp.float32(spec.initial_plies)) if spec.curriculum else (),
        filled=game_window.begin(spec.window) if spec.filling else (),
    )


def iterate(
    spec: Spec, hyper: Hyper, state: RunState, heldout: tuple[Examples, jax.Array]
) -> tuple[RunState, dict[str, jax.Array]]:
    """One iteration of one run.

    Args:
      spec: static settings.
      hyper: traced settings.
      state: the run.
      heldout: fixed examples [N] that no run trains on, and bool[N], which of them count.

    Returns:
      The run after the iteration, and its metrics: float32 scalars but for `loss/*` [spec.epochs].
      The names are explained in `docs/metrics.md`.
    """
    key, play_key, fit_key, arena_key = jax.random.split(state.key, 4)
    iteration = state.iteration + 1

    epochs_done = state.iteration * hyper.epochs
    filled: Filled | None = None
    if spec.filling is None:
        batch = play_batch(spec, hyper, state.learner, state.progress, epochs_done, play_key)
        window, window_metrics = _take_in(
            spec, state.replay, batch.examples, batch.count, iteration
        )
        newest, used = iteration, hyper.window
    else:
        batch, window, filled = game_window.fill(
            spec.filling,
            state.filled,
            cast(Replay, state.replay),
            state.progress,
            iteration,
            lambda progress, number: play_batch(
                spec, hyper, state.learner, progress, epochs_done,
                jax.random.fold_in(play_key, number),
            ),
        )  # fmt: skip
        newest, used, window_metrics = filled.newest, game_window.batches(filled), {}
    is_new = jnp.arange(spec.positions) < batch.count
    unseen = learner.evaluate_losses(spec, state.learner, batch.examples, is_new)

    in_use = dataclasses.replace(hyper, window=used)
    candidate, metrics = learner.fit(spec, in_use, state.learner, window, newest, fit_key)
    accepted, arena_metrics = gate(spec, hyper, candidate, state.learner, arena_key)
    kept = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), candidate, state.learner)
    held = learner.evaluate_losses(spec, candidate, *heldout)

    metrics |= batch.metrics | arena_metrics | window_metrics
    metrics |= {f"unseen/{name}": value for name, value in unseen.items()}
    metrics |= {f"heldout/{name}": value for name, value in held.items()}
    metrics["count/examples"] = (
        learner.window_counts(spec, in_use, window, newest).sum() * spec.num_images
    ).astype(jnp.float32)
    metrics["arena/opponent"] = state.best.astype(jnp.float32)
    remaining: Any = ()
    if spec.filling is not None and filled is not None:
        metrics["count/window_games"] = game_window.games_in(filled).astype(jnp.float32)
        remaining = game_window.leave(spec.filling, filled)
    state = RunState(
        learner=kept,
        replay=window,
        key=key,
        iteration=iteration,
        best=jnp.where(accepted, iteration, state.best),
        progress=batch.progress,
        filled=remaining,
    )
    return state, metrics


def play_batch(
    spec: Spec,
    hyper: Hyper,
    network: Learner,
    progress: Any,
    epochs_done: jax.Array,
    key: jax.Array,
) -> Batch:
    """E games by the best network, and what of them is learned from.

    Args:
      spec: static settings.
      hyper: traced settings.
      network: plays.
      progress: of the curriculum, `()` without one.
      epochs_done: int32, t of 004's schedule.
      key: consumed.
    """
    lesson = None
    if spec.curriculum is not None:
        lesson = curriculum.next_lesson(spec.curriculum, progress, epochs_done, spec.game.max_plies)
    trajectory, metrics = self_play(spec, hyper, network, key, lesson)
    learned = trajectory
    if spec.curriculum is not None and lesson is not None:
        progress = curriculum.learn(spec.curriculum, progress, trajectory)
        metrics |= curriculum.describe(lesson, progress, trajectory)
        if spec.curriculum.drop == "trim":
            learned = curriculum.trim(learned, lesson.fraction)
    if spec.drop_draws:
        learned = curriculum.drop_draws(learned, spec.drop_draws, key)
    examples, count = replay.from_trajectory(
        learned,
        spec.positions,
        extras=spec.extras,
        root_value_share=spec.root_value_share,
    )
    games = learned.recorded.any(0).sum(dtype=jnp.int32)
    return Batch(examples, count, games, progress, metrics)


def _take_in(
    spec: Spec, window: Window, examples: Examples, count: jax.Array, iteration: jax.Array
) -> tuple[Window, dict[str, jax.Array]]:
    """The window after an iteration's self-play; how much of it was new, where that is known."""
    if not isinstance(window, PositionWindow):
        return replay.add(window, examples, count, iteration), {}
    size = position_window.size_at(
        iteration, start=spec.window_start, final=spec.window_positions, grows=spec.window_grows
    )
    after, new = position_window.add(
        window, examples, count, size=size, duplicate_weight=spec.duplicate_weight
    )
    return after, {"count/new_positions": new.astype(jnp.float32)}


def self_play(
    spec: Spec, hyper: Hyper, network: Learner, key: jax.Array, lesson: Lesson | None = None
) -> tuple[Trajectory, dict[str, jax.Array]]:
    """E games by the best network, over all devices of the run.

    Args:
      spec: static settings.
      hyper: traced settings.
      network: plays with running averages of batch norm.
      key: consumed. A game's key is folded from its number, so that the number of devices does
        not change the games.
      lesson: which plies are played at random; None: none.

    Returns:
      All E games (on every device), and metrics `selfplay/*`, `search/*`, `count/*`.
    """
    part = -(-spec.episodes // spec.data_devices)
    number = jnp.arange(part)
    if spec.data_devices > 1:
        number = number + jax.lax.axis_index(DATA_AXIS) * part
    trajectory, diagnostics = selfplay.play(
        spec.game,
        learner.acting(spec, network),
        jax.vmap(jax.random.fold_in, (None, 0))(key, number),
        number < hyper.episodes,
        options=spec.search,
        num_simulations=_simulations(spec, hyper),
        c_puct=hyper.c_puct,
        temperature_plies=hyper.temperature_plies,
        keep_tree=spec.switches.keep_tree,
        one_hot_after_temperature=spec.switches.one_hot_after_temperature,
        first_player_always_loses=spec.switches.gobang_absolute_labels,
        random_plies=None if lesson is None else lesson.random_plies,
        kept=1.0 if lesson is None else lesson.fraction,
        caps=spec.caps,
    )
    depth_max = diagnostics.depth_max
    counts = {
        "evaluations": diagnostics.evaluations,
        "useful": diagnostics.useful_evaluations,
        "finished": diagnostics.finished_leaves,
        "depth": diagnostics.depth_sum,
        "simulations": diagnostics.simulations,
        "nodes": (diagnostics.nodes * (number < hyper.episodes)).sum().astype(jnp.float32),
    }
    if spec.data_devices > 1:
        counts = jax.lax.psum(counts, DATA_AXIS)
        depth_max = jax.lax.pmax(depth_max, DATA_AXIS)
        trajectory = _gather(trajectory)
    metrics = _describe(spec, trajectory)
    metrics |= {
        "search/depth_mean": counts["depth"] / jnp.maximum(counts["simulations"], 1),
        "search/depth_max": depth_max.astype(jnp.float32),
        "search/tree_occupancy": counts["nodes"] / (hyper.episodes * spec.search.capacity),
        "count/selfplay_evaluations": counts["evaluations"],
        "count/selfplay_useful_evaluations": counts["useful"],
        "count/selfplay_finished_leaves": counts["finished"],
        "count/selfplay_simulations": counts["simulations"],
    }
    return trajectory, metrics


def _simulations(spec: Spec, hyper: Hyper) -> Any:
    """m, traced where the search can take it so."""
    return spec.num_simulations if spec.search.fixes_simulations else hyper.num_simulations


def _gather(trajectory: Trajectory) -> Trajectory:
    """The games of all devices, on every device."""

    def gather(axis: int) -> Any:
        return lambda x: jax.lax.all_gather(x, DATA_AXIS, axis=axis, tiled=True)

    by_game = ("outcome", "plies", "active", "start", "rolled_back")
    fields: dict[str, Any] = {
        name: value if value is None else gather(0 if name in by_game else 1)(value)
        for name, value in vars(trajectory).items()
    }
    return Trajectory(**fields)


def _describe(spec: Spec, trajectory: Trajectory) -> dict[str, jax.Array]:
    """How the games looked."""
    games = trajectory.active.sum()
    first, second = trajectory.outcome[:, 0], trajectory.outcome[:, 1]

    def share(mask: jax.Array) -> jax.Array:
        return (mask & trajectory.active).sum() / games

    valid = trajectory.valid.reshape(-1)
    capacity = min(valid.shape[0], spec.max_distinct_positions)
    observations = trajectory.observation.reshape(-1, *spec.game.observation_shape)
    policy = trajectory.policy
    entropy = -(policy * jnp.log(jnp.maximum(policy, 1e-30))).sum(-1)
    return {
        "selfplay/plies": curriculum.lengths(trajectory).sum() / games,
        "selfplay/plies_max": curriculum.lengths(trajectory).max().astype(jnp.float32),
        "selfplay/first_player_wins": share(first > second),
        "selfplay/second_player_wins": share(second > first),
        "selfplay/draws": share(first == second),
        "selfplay/positions": trajectory.plies.sum().astype(jnp.float32),
        "selfplay/distinct_positions": count_distinct(
            hash_rows(observations[:capacity]), valid[:capacity]
        ).astype(jnp.float32),
        "selfplay/distinct_games": count_distinct(
            hash_rows(trajectory.action.T), trajectory.active
        ).astype(jnp.float32),
        "search/root_value_at_start": (trajectory.root_value[0] * trajectory.active).sum() / games,
        "selfplay/policy_entropy": (entropy * trajectory.valid).sum()
        / jnp.maximum(trajectory.valid.sum(), 1),
        "count/games": games.astype(jnp.float32),
    }
