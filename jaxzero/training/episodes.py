"""The games of an iteration: E by the best network, over all devices, and what is learned from."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxzero.games.distinct import count_distinct, hash_rows
from jaxzero.loops import DATA_AXIS
from jaxzero.search.options import Numbers
from jaxzero.training import (
    archive,
    big_tree,
    curriculum,
    features,
    in_parts,
    league,
    learner,
    openings,
    replay,
    retry,
    seen,
    selfplay,
    sharing,
)
from jaxzero.training.curriculum import Lesson
from jaxzero.training.learner import Learner
from jaxzero.training.openings import Openings
from jaxzero.training.past import NOTHING, Past
from jaxzero.training.selfplay import PlayoutCaps
from jaxzero.training.sharing import Costs, Sharing
from jaxzero.training.spec import Hyper, Spec
from jaxzero.training.trajectory import Trajectory, along_games
from jaxzero.training.windows import Batch


def play_batch(
    spec: Spec,
    hyper: Hyper,
    network: Learner,
    past: Past,
    epochs_done: jax.Array,
    key: jax.Array,
) -> Batch:
    """E games by the best network, and what of them is learned from.

    Args:
      past: what is remembered of earlier games.
      epochs_done: int32, t of West 2020's schedule.
      key: consumed.
    """
    own = spec.selfplay
    lesson = curriculum.WHOLE
    if past.curriculum is not None:
        plies = spec.game.max_plies
        lesson = curriculum.next_lesson(own, past.curriculum, epochs_done, plies)
    trajectory, metrics = self_play(spec, hyper, network, key, lesson, past)
    if past.curriculum is not None:
        progress = curriculum.learn(own, past.curriculum, trajectory)
        past = dataclasses.replace(past, curriculum=progress)
        metrics |= curriculum.describe(lesson, progress, trajectory)
    if past.archive is not None:
        found = archive.learn(own, spec.game, past.archive, trajectory, key)
        past = dataclasses.replace(past, archive=found)
        metrics |= archive.describe(found, trajectory)
    new = jnp.zeros(trajectory.plies.shape)
    if past.seen is not None:
        memory, new = seen.look(past.seen, trajectory)
        past = dataclasses.replace(past, seen=memory)
        metrics |= seen.describe(memory, trajectory, new)
    if past.league is not None:
        who = league.pairs(own, past.league, key, len(trajectory.plies))
        players = league.learn(own, spec.search, past.league, who, trajectory, new, key)
        past = dataclasses.replace(past, league=players)
        metrics |= league.describe(own, players)
    learned = curriculum.learned_part(own, lesson, trajectory, key)
    targets = None
    if spec.features is not None:
        teacher = features.teacher_network(spec.network, *spec.features.size)
        targets = features.of_games(teacher, hyper.teacher, spec.features.wanted, learned)
    examples, count = replay.from_trajectory(
        learned,
        spec.positions,
        extras=spec.extras,
        root_value_share=spec.train.root_value_share,
        features=targets,
    )
    games = learned.recorded.any(0).sum(dtype=jnp.int32)
    metrics["count/new_examples"] = (count * spec.num_images).astype(jnp.float32)
    return Batch(examples, count, games, past, metrics)


def self_play(
    spec: Spec,
    hyper: Hyper,
    network: Learner,
    key: jax.Array,
    lesson: Lesson = curriculum.WHOLE,
    past: Past = NOTHING,
) -> tuple[Trajectory, dict[str, jax.Array]]:
    """E games by the best network, over all devices of the run.

    Args:
      network: plays with running averages of batch norm.
      key: consumed. A game's key is folded from its number, so that the number of devices does
        not change the games.
      lesson: which plies are played at random.

    Returns:
      All E games (on every device), and metrics `selfplay/*`, `search/*`, `count/*`.
    """
    part = -(-spec.selfplay.episodes // spec.data_devices)
    number = jnp.arange(part)
    if spec.data_devices > 1:
        number = number + jax.lax.axis_index(DATA_AXIS) * part
    m = spec.simulations(hyper)
    own = spec.selfplay
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, number)
    active = number < hyper.episodes
    caps = PlayoutCaps(own.fast_share, own.fast_simulations, own.fast_noise)
    shared = _sharing(spec, key, part)
    play = functools.partial(
        selfplay.play,
        spec.game,
        learner.acting(spec, network),
        options=spec.search,
        num_simulations=m,
        c_puct=hyper.c_puct,
        temperature_plies=hyper.temperature_plies,
        keep_tree=spec.switches.keep_tree,
        one_hot_after_temperature=spec.switches.one_hot_after_temperature,
        first_player_always_loses=spec.switches.gobang_absolute_labels,
        begun=_beginnings(spec, keys, active, lesson, past),
        players=_players(spec, hyper, key, number, past),
        caps=caps,
        known_labels=own.known_labels,
        sharing=shared,
        clock=own.clock,
    )
    trajectory, costs = _in_parts(spec, play, keys, active, shared.capacity)
    depth_max = costs.depth_max
    counts = {
        "evaluations": costs.evaluations,
        "useful": costs.useful_evaluations,
        "finished": costs.finished_leaves,
        "depth": costs.depth_sum,
        "simulations": costs.simulations,
        "searches": costs.memory.searches,
        "stored": costs.memory.stored,
        "nodes": (costs.nodes * active).sum().astype(jnp.float32),
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
        "count/searches": counts["searches"],
    }
    if shared.capacity:
        room = shared.capacity * spec.data_devices
        metrics["selfplay/table_use"] = counts["stored"] / room
        metrics["count/table_overflow"] = counts["searches"] - counts["stored"]
    return trajectory, metrics


def _sharing(spec: Spec, key: jax.Array, games: int) -> Sharing:
    """How so many games share their searches."""
    own, shared = spec.selfplay, sharing.NOT_SHARED
    if spec.search_key == "position":
        shared = sharing.by_position(
            key,
            own.share,
            games=-(-games // own.parts),
            max_plies=spec.game.max_plies,
            at_once=spec.evaluate_at_once,
            most=own.share_positions,
        )
    if own.parts > 1:  # one table for all of them
        held = sharing.capacity(games, spec.game.max_plies, own.share_positions)
        shared = shared._replace(capacity=held)
    return shared


def _in_parts(
    spec: Spec,
    play: Callable[..., tuple[Trajectory, Costs]],
    keys: jax.Array,
    active: jax.Array,
    capacity: int,
) -> tuple[Trajectory, Costs]:
    """All games, one part of them after another; `capacity`: positions in their table."""
    own = spec.selfplay
    if own.parts == 1:
        return play(keys, active)

    def first(shapes: Trajectory) -> Any:
        if own.retry:
            return retry.first(spec.game, shapes, capacity)
        return big_tree.begin(spec.game, own.tree_c, capacity)

    return in_parts.play(
        lambda keys, active, pick, begun, memory: play(
            keys, active, pick=pick, begun=begun, memory=memory
        ),
        keys,
        active,
        parts=own.parts,
        first=first,
    )


def _players(
    spec: Spec, hyper: Hyper, key: jax.Array, number: jax.Array, past: Past
) -> Numbers | None:
    """Numbers of the searches of who plays games of these numbers, [B, 2]; None: the spec's."""
    own, search, others = spec.selfplay, spec.search, hyper.numbers
    if past.league is None:
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (len(number), 2)), others)
    who = league.pairs(own, past.league, key, len(number) * spec.data_devices)[number]
    others = others or search.numbers(hyper.c_puct)
    return league.numbers(own, past.league, who, others)


def _beginnings(
    spec: Spec, keys: jax.Array, active: jax.Array, lesson: Lesson, past: Past
) -> Openings | None:
    """Where games [B] begin; None: all at the start."""
    plies, kept = lesson.random_plies, lesson.fraction
    if spec.selfplay.opening_plies:
        plies, kept = openings.lengths(keys, spec.selfplay.opening_plies), openings.TAKEN_BACK
    begun = None
    if plies is not None:
        begun = openings.random_openings(spec.game, keys, active, plies=plies, kept=kept)
    if past.archive is not None:
        others = openings.at_start(spec.game, len(keys)) if begun is None else begun
        begun = archive.draw(past.archive, keys, spec.selfplay.archive_share, others)
    return begun


def _gather(trajectory: Trajectory) -> Trajectory:
    """The games of all devices, on every device."""

    def gather(x: jax.Array, axis: int) -> jax.Array:
        return jax.lax.all_gather(x, DATA_AXIS, axis=axis, tiled=True)

    return along_games(gather, trajectory)


def _describe(spec: Spec, trajectory: Trajectory) -> dict[str, jax.Array]:
    """How the games looked."""
    games = trajectory.active.sum()
    first, second = trajectory.outcome[:, 0], trajectory.outcome[:, 1]

    def share(mask: jax.Array) -> jax.Array:
        return (mask & trajectory.active).sum() / games

    valid = trajectory.valid.reshape(-1)
    capacity = min(valid.shape[0], spec.max_distinct_positions)
    observations = trajectory.observation.reshape(-1, *spec.game.observation_shape)
    played = hash_rows(trajectory.action.T)
    if trajectory.start is not None:  # games may begin anywhere
        played = hash_rows(jnp.concatenate([played, hash_rows(trajectory.observation[0])], -1))
    of_first = jnp.where(trajectory.to_move[0] == 0, 1.0, -1.0) * trajectory.root_value[0]
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
        "selfplay/distinct_games": count_distinct(played, trajectory.active).astype(jnp.float32),
        "search/root_value_at_start": (of_first * trajectory.active).sum() / games,
        "selfplay/policy_entropy": (entropy * trajectory.valid).sum()
        / jnp.maximum(trajectory.valid.sum(), 1),
        "count/games": games.astype(jnp.float32),
    }
