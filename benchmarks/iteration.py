"""A whole iteration at the papers' settings, phase by phase, and the hours of a full run.

Each phase is compiled alone. Its unit (a move of all games, a minibatch) is timed on the network of
the full width; how many units an iteration has is counted in one that is really played, with the
network that `counted` says: the game's length and the share of useful evaluations depend little on
the width of an untrained network, and a full iteration takes many minutes on a CPU. The floor of a
phase is the matrix products that it asks for, at the largest rate. The window fills up over its
first rs iterations; `training` is that of a full one.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import cases as cases_lib
from benchmarks import search, setups, timing, training
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, Thunk, interleave
from jaxzero.loops import MEMBER_AXIS
from jaxzero.matches import arena
from jaxzero.runs import flops, population
from jaxzero.training import episodes, gate, heldout, learner, replay
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec

Heldout = tuple[Examples, jax.Array]


class Point(NamedTuple):
    """The papers' default settings on a board."""

    game: str  # the board
    channels: int  # of the network that is timed
    counted: int  # channels of the network whose iteration is counted
    iterations: int  # I, of the full run
    steps: int  # minibatches that are timed
    members: int = 0  # runs that go together on the device; 0 for one without that axis
    runs: int = 32  # of the whole study, for the hours
    changes: tuple[tuple[str, Any], ...] = ()  # other keys of the config


_SMALL = (
    ("network.hidden", (8, 8)),
    ("selfplay.episodes", 4),
    ("search.num_simulations", 3),
    ("arena.games", 4),
    ("train.batch_size", 8),
    ("evaluation.heldout_games", 2),
    ("evaluation.heldout_simulations", 2),
)
_POINTS = {
    "cpu": [Point("othello_6x6", 256, 32, 100, 6), Point("connect_four_5x5", 256, 32, 200, 6)],
    "gpu": [
        Point("othello_6x6", 256, 256, 100, 60, members=32),
        Point("othello_6x6", 256, 256, 100, 300),
        Point("connect_four_5x5", 256, 256, 200, 300),
    ],
    "tiny": [
        Point("connect_four_5x5", 4, 4, 3, 2, members=2, changes=_SMALL),
        Point("connect_four_5x5", 4, 4, 3, 2, changes=_SMALL),
    ],
}
_EFFORT = {"cpu": Effort(4, 12.0), "gpu": Effort(5, 10.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """A case for each point."""
    for point in _POINTS[preset]:
        together = f" {point.members} runs together" if point.members else ""
        yield Case(
            f"iteration/{point.game} {point.channels}ch{together}",
            {**point._asdict(), "changes": dict(point.changes)},
            functools.partial(_measure, point, _EFFORT[preset]),
            guess=100.0,
            first=1,
        )


class Counts(NamedTuple):
    """What one iteration of one run does.

    positions: self-play positions; ticks: moves of all games at once that have as many evaluations
    as were made; shares: by phase and kind, of the evaluations that it would take if all games were
    evaluated until the last is over, and how many of those are made.
    """

    positions: float
    selfplay_ticks: float
    arena_ticks: float
    shares: dict[str, float]


def count(spec: Spec, hyper: Hyper, epochs: int = 1) -> Counts:
    """Plays one iteration (with few epochs) and counts.

    Args:
      spec, hyper: of a run.
      epochs: that the candidate is trained for before it meets the untrained network.
    """
    best = setups.network(spec)
    trajectory, seen = jax.jit(functools.partial(episodes.self_play, spec, hyper))(
        best, jax.random.key(1)
    )
    examples, number = jax.jit(replay.from_trajectory, static_argnums=1)(trajectory, spec.positions)
    empty = replay.empty(spec.replay.window, examples)
    window = replay.add(empty, examples, number, jnp.int32(1))
    few = dataclasses.replace(hyper, epochs=jnp.int32(epochs))
    candidate, _ = jax.jit(functools.partial(training.epoch, spec, few))(
        best, window, jax.random.key(2)
    )
    two = jax.tree.map(lambda a, b: jnp.stack([a, b]), candidate, best)
    match = jax.jit(functools.partial(_match, spec, hyper))(two, jax.random.key(3))

    calls = spec.num_simulations + 1  # evaluations of a search
    positions = float(seen["selfplay/positions"])
    moved = match.actions >= 0
    opening = spec.arena.opening_plies * float(match.played.sum())
    plies = float(moved.any((1, 2)).sum()) - spec.arena.opening_plies
    selfplay = Evaluations(
        all_lanes=float(trajectory.valid.any(1).sum()) * spec.selfplay.episodes * calls,
        unfinished=float(seen["count/selfplay_simulations"]) + positions,
        useful=float(seen["count/selfplay_useful_evaluations"]),
        made=float(seen["count/selfplay_evaluations"]),
    )
    gate = Evaluations(
        all_lanes=plies * spec.arena.games * calls,
        unfinished=(float(moved.sum()) - opening) * calls,
        useful=float(match.cost.useful_evaluations),
        made=float(match.cost.evaluations),
    )
    return Counts(
        positions=positions,
        selfplay_ticks=selfplay.made / calls / spec.selfplay.episodes,
        arena_ticks=gate.made / calls / spec.arena.games,
        shares={
            f"{phase} {kind}": share
            for phase, found in (("selfplay", selfplay), ("arena", gate))
            for kind, share in found.shares().items()
        },
    )


class Evaluations(NamedTuple):
    """Of a phase: `all_lanes` would be made in lock-step, `unfinished` of them in games that go on.

    Of these `useful` are of unfinished leaves; `made` were made.
    """

    all_lanes: float
    unfinished: float
    useful: float
    made: float

    def shares(self) -> dict[str, float]:
        """By kind, of `all_lanes`."""
        return {
            "useful": self.useful / self.all_lanes,
            "in finished games": 1 - self.unfinished / self.all_lanes,
            "of finished leaves": (self.unfinished - self.useful) / self.all_lanes,
            "made": self.made / self.all_lanes,
        }


def _match(spec: Spec, hyper: Hyper, two: Any, key: jax.Array) -> arena.Match:
    """The gate's games."""
    two = dataclasses.replace(two, opt_state=())
    return arena.play_match(
        spec.game,
        [gate.arena_players(spec, hyper, two)],
        key,
        games_per_direction=spec.arena.games // 2,
        opening_plies=spec.arena.opening_plies,
        draw_for_asked=spec.search.draw_for_asked,
    )


def units(point: Point, spec: Spec, hyper: Hyper, held: Heldout) -> dict[str, Thunk]:
    """The unit of each phase, for all members: a move of E games, the two searches of a move of n
    games, `steps` minibatches, the measured losses of an iteration."""
    members = max(point.members, 1)
    network, key = setups.network(spec), jax.random.key(0)
    window = setups.window(spec, -(-point.steps * spec.train.batch_size // spec.num_images))
    slot = 1 % spec.replay.window  # where iteration 1 lies
    new = jax.tree.map(lambda x: x[slot], window.examples)

    def search_of(games: int) -> Any:
        states = setups.positions(spec.game, games, jax.random.key(3))
        keys = jax.random.split(jax.random.key(4), games)
        return lambda network: search.one_move(spec, hyper, network, keys, states)

    def arena_move(network: Any) -> Any:  # of the two players one after the other, as in a match
        two = jax.tree.map(lambda x: jnp.stack([x, x]), dataclasses.replace(network, opt_state=()))
        return jax.lax.map(search_of(spec.arena.games // 2), two)

    def measuring(network: Any) -> Any:
        counted = jnp.ones((spec.positions,), bool)
        return (
            learner.evaluate_losses(spec, network, new, counted),
            learner.evaluate_losses(spec, network, *held),
        )

    one_epoch = dataclasses.replace(hyper, epochs=jnp.int32(1))
    phases = {
        "self-play": search_of(spec.selfplay.episodes),
        "arena": arena_move,
        "training": lambda network: training.epoch(spec, one_epoch, network, window, key),
        "measuring": measuring,
    }
    if point.members:
        network = population.stack([setups.network(spec, seed) for seed in range(members)])
        phases = {n: jax.vmap(f, axis_name=MEMBER_AXIS) for n, f in phases.items()}

    def thunk(phase: Any) -> Thunk:
        compiled = jax.jit(phase)
        return lambda: compiled(network)

    return {name: thunk(phase) for name, phase in phases.items()}


def _heldout(changes: Mapping[str, Any], spec: Spec) -> Heldout:
    """The held-out set; only its size matters here, so its searches are short."""
    config = setups.configure(changes)
    return heldout.make(
        spec.game,
        num_games=config.evaluation.heldout_games,
        num_simulations=2,
    )


def _measure(point: Point, effort: Effort) -> Mapping[str, Measured]:
    changes = {"game": point.game, "network.channels": point.channels, **dict(point.changes)}
    spec, hyper = setups.make(changes)
    counted = count(*setups.make({**changes, "network.channels": point.counted}))
    matmul = timing.matmul(setups.dtype(spec), small=effort.small)
    held = _heldout(changes, spec)
    times = interleave({"matmul": matmul.thunk, **units(point, spec, hyper, held)}, effort)
    ceiling, members = matmul.amount / times["matmul"], max(point.members, 1)

    examples = counted.positions * spec.num_images  # of one iteration
    steps = {w: steps_of(spec, hyper, examples * w) for w in range(1, spec.replay.window + 1)}
    unit = {
        "self-play": times["self-play"] / members,
        "arena": times["arena"] / members,
        "training": times["training"] / members / point.steps,
        "measuring": times["measuring"] / members,
    }
    number = {
        "self-play": counted.selfplay_ticks,
        "arena": counted.arena_ticks,
        "training": steps[spec.replay.window],
        "measuring": 1.0,
    }
    calls, forward = spec.num_simulations + 1, flops.forward(spec)
    evaluated = spec.positions + held[1].size
    work = {  # FLOP of a unit
        "self-play": calls * spec.selfplay.episodes * forward,
        "arena": calls * spec.arena.games * forward,
        "training": training.flop_per_example(spec) * spec.train.batch_size,
        "measuring": evaluated * forward,
    }
    details = {
        "counted_channels": point.counted,
        "dtype": setups.dtype(spec).name,
        "matmul_gflops": ceiling / 1e9,
    }
    found = {
        phase: cases_lib.seconds(
            number[phase] * unit[phase],
            number[phase] * work[phase] / ceiling,
            "matmul rate",
            units=number[phase],
            unit_seconds=unit[phase],
            **details,
        )
        for phase in unit
    }
    found |= {
        f"share {name}": Measured(value=share, unit="of evaluations")
        for name, share in counted.shares.items()
    }
    fixed = sum(number[p] * unit[p] for p in ("self-play", "arena", "measuring"))
    total = sum(
        fixed + steps[min(i, spec.replay.window)] * unit["training"]
        for i in range(1, point.iterations + 1)
    )
    found["hours of a run, predicted"] = Measured(
        value=total / 3600,
        unit="h",
        details={
            "iterations": point.iterations,
            "positions_per_iteration": counted.positions,
            "first_iteration_seconds": fixed + steps[1] * unit["training"],
            "full_window_seconds": fixed + steps[spec.replay.window] * unit["training"],
        },
    )
    found[f"hours of {point.runs} runs, predicted"] = Measured(
        value=point.runs * total / 3600, unit="h", details={"together": point.members}
    )
    return found


def steps_of(spec: Spec, hyper: Hyper, examples: float) -> float:
    """Minibatches of an iteration with so many examples in its window."""
    return max(examples // spec.train.batch_size, 1) * int(hyper.epochs)
