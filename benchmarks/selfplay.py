"""Self-play: simulations per second of unfinished games, against evaluations of the bare network.

Whole games, each to its end, where `moves` is 0; else that many moves of games that are under way,
for networks with which whole games take minutes.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import cases as cases_lib
from benchmarks import search, setups
from benchmarks.cases import Case, Measured
from benchmarks.timing import Effort, Thunk, interleave
from jaxzero.loops import MEMBER_AXIS
from jaxzero.training import episodes
from jaxzero.training.spec import Hyper, Spec


class Point(NamedTuple):
    """`members` runs (0: one, without that axis) of `games` games each."""

    channels: int
    whole: bool
    games: int = 50
    m: int = 100
    members: int = 0
    game: str = "othello_6x6"


_POINTS = {
    "cpu": [Point(64, True), Point(512, False)],
    "gpu": [
        Point(64, True),
        Point(512, True),
        Point(256, True, members=32),
        Point(64, True, members=32),
        Point(64, True, games=1600),
        Point(256, True, games=1600),
    ],
    "tiny": [
        Point(4, True, 4, 3, game="connect_four_5x5"),
        Point(4, False, 4, 3, game="connect_four_5x5"),
        Point(4, True, 4, 3, members=2, game="connect_four_5x5"),
    ],
}
_EFFORT = {"cpu": Effort(6, 20.0), "gpu": Effort(6, 10.0), "tiny": Effort(1, 0.0, small=True)}


def cases(preset: str) -> Iterator[Case]:
    """A case for each point."""
    for point in _POINTS[preset]:
        games = f"{point.members}x{point.games}" if point.members else f"{point.games}"
        part = "" if point.whole else " one move"
        hidden = {"network.hidden": (8, 8)} if preset == "tiny" else {}
        yield Case(
            f"selfplay/{point.game} {point.channels}ch m={point.m} {games} games{part}",
            {**point._asdict(), **hidden},
            functools.partial(_measure, point, hidden, _EFFORT[preset]),
            guess=40.0,
            first=0,
        )


def _measure(point: Point, hidden: dict[str, Any], effort: Effort) -> Mapping[str, Measured]:
    changes: dict[str, Any] = {
        "game": point.game,
        "network.channels": point.channels,
        "search.num_simulations": point.m,
        "selfplay.episodes": point.games,
        **hidden,
    }
    spec, hyper = setups.make(changes)
    prepared = search.prepare(spec, hyper, point.games, members=point.members)
    if point.whole:
        play, bare, moves, seen = _whole_games(point, spec, hyper, prepared)
        simulations = seen["count/selfplay_simulations"]
    else:
        play, bare, moves, seen = prepared.move, prepared.bare, 1, {}
        simulations = float(prepared.move()[2].simulations.sum())
    times = interleave({"it": play, "bare": bare}, effort)
    members = max(point.members, 1)
    evaluations = moves * (point.m + 1) * point.games * members
    details: dict[str, Any] = {"dtype": setups.dtype(spec).name, "seconds": times["it"]}
    if seen:
        useful = seen["count/selfplay_useful_evaluations"] / seen["count/selfplay_evaluations"]
        details |= {"useful_share": useful, "plies_mean": seen["selfplay/plies"] / members}
    figure = cases_lib.rate(
        simulations / times["it"],
        "simulations/s",
        evaluations / times["bare"],
        "evaluations of the bare network",
        evaluations_per_second=evaluations / times["it"],
        **details,
    )
    return {"": figure}


def _whole_games(
    point: Point, spec: Spec, hyper: Hyper, prepared: search.Prepared
) -> tuple[Thunk, Thunk, int, dict[str, float]]:
    """(the games, the bare network working as long, moves of all games at once, metrics)."""
    networks = [setups.network(spec, seed) for seed in range(max(point.members, 1))]
    play: Callable = functools.partial(episodes.self_play, spec, hyper)
    network, key = networks[0], jax.random.key(5)
    if point.members:
        network = jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks)
        play = jax.vmap(play, (0, None), axis_name=MEMBER_AXIS)
    run = jax.jit(lambda network, key: play(network, key)[1])
    seen = {name: float(value.sum()) for name, value in run(network, key).items()}
    evaluations = (point.m + 1) * point.games * max(point.members, 1)
    moves = round(seen["count/selfplay_evaluations"] / evaluations)
    return (
        lambda: run(network, key),
        lambda: [prepared.bare() for _ in range(moves)],
        moves,
        seen,
    )
