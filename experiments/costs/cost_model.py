"""The papers' time cost function (000 and 003, section 4.4, Equation 2), and Table 3 by it.

A run's time is the sum over iterations of self-play (games x plies x simulations), training
(epochs x minibatches) and arena (games x plies x simulations), each times the seconds of one.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy

from experiments import published
from experiments.costs.clock import Cost
from jaxzero.settings.config import KEYS as GENERAL_KEYS

PUBLISHED = "wang2021_sweep"
BOARD = "othello_6x6"  # of Table 3


@dataclasses.dataclass(frozen=True)
class Job:
    """What Equation 2 asks of a run."""

    iterations: int  # I
    episodes: int  # E
    simulations: int  # m, of each move
    window: int  # rs
    epochs: int  # ep
    batch_size: int  # bs
    arena_games: int  # n; 0 without a gate
    plies: float  # of a game, mean
    images: int  # symmetric images of a position, each an example


KEYS: Mapping[str, str] = {
    "iterations": "train.iterations",
    "episodes": "selfplay.episodes",
    "simulations": "search.num_simulations",
    "window": "replay.window",
    "epochs": "train.epochs",
    "batch_size": "train.batch_size",
    "arena_games": "arena.games",
}


def job(settings: Mapping[str, Any], *, plies: float, images: int) -> Job:
    """From settings by dotted key; without a gate (`arena.gate=none`) no arena."""
    values = {field: int(settings[key]) for field, key in KEYS.items()}
    if settings.get("arena.gate") == "none":
        values["arena_games"] = 0
    return Job(**values, plies=plies, images=images)


def work(asked: Job) -> Cost:
    """Equation 2 with every time 1: simulations, simulations of the arena, minibatches.

    The window holds min(i, rs) iterations in iteration i; an epoch is its examples over bs, rounded
    down, at least one minibatch (the authors' program).
    """
    per_game = asked.plies * asked.simulations
    examples = asked.episodes * asked.plies * asked.images
    windows = np.minimum(np.arange(1, asked.iterations + 1), asked.window)
    minibatches = np.maximum(np.floor(windows * examples / asked.batch_size), 1)
    return Cost(
        selfplay=asked.iterations * asked.episodes * per_game,
        training=float(asked.epochs * minibatches.sum()),
        arena=asked.iterations * asked.arena_games * per_game,
    )


def seconds(asked: Job, units: Cost) -> Cost:
    """Equation 2: seconds of each phase, from those of a simulation and of a minibatch."""
    return work(asked).times(units)


def our_seconds(asked: Job, units: Cost) -> Cost:
    """Equation 2 with seconds of evaluations, as the clock has them: a move has m + 1."""
    factor = (asked.simulations + 1) / asked.simulations
    return seconds(asked, Cost(units.selfplay * factor, units.arena * factor, units.training))


class Row(NamedTuple):
    """A run of Table 3."""

    letter: str  # what was changed; empty for the default
    value: float  # what to; 0 for the default
    hours: float  # published
    job: Job  # what Equation 2 asks of it
    called: str  # time-sensitive or time-friendly by the papers; empty for the default


def table_3() -> list[Row]:
    """The published runs, the default first, then lowest and highest of each setting (000, 003)."""
    found = published.load(PUBLISHED)
    plies = published.random_plies(BOARD)
    assert found is not None
    assert plies is not None
    default = published.default_settings(BOARD)
    keys = {key.letter: key.name for key in GENERAL_KEYS if key.letter}

    def of(changes: Mapping[str, float]) -> Job:
        return job({**default, **changes}, plies=plies, images=8)

    hours = {letter: entry["hours"] for letter, entry in found["table_3"].items()}
    rows = [Row("", 0.0, float(hours["I"][1]), of({}), "")]
    for letter, entry in found["table_3"].items():
        values = found["table_1"][letter]
        for place in (0, 2):
            asked = of({keys[letter]: values[place]})
            rows.append(Row(letter, values[place], hours[letter][place], asked, entry["type"]))
    return rows


def fit(rows: list[Row]) -> Cost:
    """Seconds of a simulation, of an arena simulation and of a minibatch that suit hours best.

    Least squares of relative errors, none below 0. Self-play and arena ask for the same kind of
    work: how surely they are told apart is what E and n were varied for.
    """
    counts = np.array([work(row.job)[:3] for row in rows])
    hours = np.array([row.hours for row in rows])
    scale = counts.max(axis=0)
    weights, _ = scipy.optimize.nnls(counts / scale / hours[:, None], np.ones(len(rows)))
    return Cost(*(3600 * weights / scale).tolist())


def hours(asked: Job, units: Cost) -> float:
    """Of a whole run by Equation 2."""
    return seconds(asked, units).total / 3600
