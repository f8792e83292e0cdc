"""Which trainings share a compiled program and run as one population.

What decides shapes or code (minibatch, network, board, switches) must agree; of m, E, rs, ep and n
a program has room for the largest (`spec.CAPACITIES`), and each member uses its own. Room costs
time where it is not used, so a study is cut into as many groups as it may compile, where that saves
most. On a CPU a training has the bits of the run alone with the group's sizes; in a group of other
sizes it may round otherwise, and some iterations later its games differ.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from ml_collections import ConfigDict

from experiments.hyperparameters.settings import LETTERS, Training
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib

LEAST_GAIN: Final = 0.02  # of the study's work: below it another program does not pay
_EXAMPLE: Final = 4  # evaluations that learning from an example takes: forward, 2 backward, measure
_NAMED: Final = ("I", "E", "m", "rs", "ep", "bs", "n")


@dataclasses.dataclass(frozen=True)
class ProgramGroup:
    """Trainings of one program."""

    name: str  # of its directory; it tells the sizes of the program
    config: ConfigDict  # the study's settings with these sizes and the number of iterations
    trainings: tuple[Training, ...]  # its members


def partition(
    trainings: Sequence[Training], *, programs: int, together: bool
) -> list[ProgramGroup]:
    """Cuts a study into groups, at most `programs` of them where that is possible.

    Args:
      trainings: all of the study, also those that another machine will do: the sizes of a program
        must not depend on who does what.
      programs: compilations wanted at most. Shapes and numbers of iterations may force more.
      together: members are computed at the same time (vmap), so that all take as many turns of a
        loop as the longest; else one after another.

    Returns:
      The groups, the longest work first.
    """
    parts = _by_shape(trainings)
    total = sum(work(part, together=together) for part in parts)
    while len(parts) < programs:
        gain, place, halves = max(
            (_best_cut(part, place, together=together) for place, part in enumerate(parts)),
            key=lambda cut: cut[0],
        )
        if gain < LEAST_GAIN * total:
            break
        parts[place : place + 1] = halves
    parts.sort(key=lambda part: -work(part, together=together))
    return [_make_group(part) for part in parts]


def _by_shape(trainings: Sequence[Training]) -> list[list[Training]]:
    """Trainings that one program could hold, and that leave it after the same iteration."""
    room = _largest([t.config for t in trainings])
    found: dict[tuple, list[Training]] = {}
    for training in trainings:
        spec = spec_lib.make_spec(spec_lib.with_capacity(training.config, room))
        found.setdefault((spec, training.config.train.iterations), []).append(training)
    return list(found.values())


def _largest(configs: Sequence[ConfigDict]) -> ConfigDict:
    """The first settings, with the largest sizes of all."""
    traced = spec_lib.capacities(configs[0])
    most = {key: max(config_lib.get(config, key) for config in configs) for key in traced}
    return config_lib.changed(configs[0], most)


def work(trainings: Sequence[Training], *, together: bool) -> float:
    """What a group will take, in evaluations for each ply of a game: E (m + 1), n (m + 1), and
    the examples of the window ep times. Lanes that a member leaves empty are computed too.
    """
    configs = [training.config for training in trainings]
    room = _largest(configs)
    games = room.selfplay.episodes + (room.arena.games if room.arena.gate != "none" else 0)
    searches = np.array([config.search.num_simulations + 1 for config in configs], float)
    examples = np.array([_examples(config) for config in configs], float)
    if together:
        searches[:], examples[:] = searches.max(), examples.max()
    total = games * searches.sum() + _EXAMPLE * examples.sum()
    return float(room.train.iterations * total)


def _examples(config: ConfigDict) -> float:
    """Learned from in an iteration, for each ply of a game: ep, E, K and the window's mean length.

    K, the symmetric images, is 8 on square boards; it need not be exact to compare groups.
    """
    iterations, window = config.train.iterations, config.replay.window
    held = np.minimum(np.arange(1, iterations + 1), window).mean()
    return float(config.train.epochs * config.selfplay.episodes * 8 * held)


def _best_cut(
    part: list[Training], place: int, *, together: bool
) -> tuple[float, int, list[list[Training]]]:
    """(work saved, place, the two halves) of the best cut by one size; nothing is saved by none."""
    best: tuple[float, int, list[list[Training]]] = (0.0, place, [part])
    whole = work(part, together=together)
    for key in spec_lib.capacities(part[0].config):
        values = [config_lib.get(training.config, key) for training in part]
        for bound in sorted(set(values))[:-1]:
            below = [t for t, v in zip(part, values, strict=True) if v <= bound]
            above = [t for t, v in zip(part, values, strict=True) if v > bound]
            saved = whole - sum(work(half, together=together) for half in (below, above))
            if saved > best[0]:
                best = saved, place, [below, above]
    return best


def _make_group(part: Sequence[Training]) -> ProgramGroup:
    sized = _largest([training.config for training in part])
    lengths = {length for training in part for _, length in training.serves}
    own = config_lib.changed(
        sized,
        {
            "seed": min(training.seed for training in part),
            # Networks are kept at least when a setting is done.
            "execution.snapshot_every": math.gcd(*lengths, sized.execution.snapshot_every),
        },
    )
    values = {letter: config_lib.get(own, LETTERS[letter]) for letter in _NAMED}
    name = "_".join(f"{letter}{value:g}" for letter, value in values.items())
    return ProgramGroup(name, own, tuple(part))


def share(groups: Sequence[ProgramGroup], shard: str, *, together: bool) -> list[ProgramGroup]:
    """The part of a study that one machine does, `"i/k"`: about a k-th of the work.

    Groups are kept whole as far as that goes, and have the programs of the whole study.
    ConfigError: that is no share.
    """
    number, count = parse_shard(shard)
    if count == 1:
        return list(groups)
    pieces = [(group, training) for group in groups for training in group.trainings]
    costs = [work(g.trainings, together=together) / len(g.trainings) for g, _ in pieces]
    middles = np.cumsum(costs) - np.array(costs) / 2
    mine = [
        piece
        for piece, middle in zip(pieces, middles, strict=True)
        if int(count * middle / sum(costs)) == number - 1
    ]
    found = []
    for name, members in itertools.groupby(mine, key=lambda piece: piece[0].name):
        parts = list(members)
        found.append(
            ProgramGroup(
                f"{name}.{number}of{count}", parts[0][0].config, tuple(t for _, t in parts)
            )
        )
    return found


def parse_shard(shard: str) -> tuple[int, int]:
    """(i, k) of `"i/k"`. ConfigError: it is not of that form."""
    number, slash, count = shard.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise ConfigError(f"--shard={shard!r}: give i/k, the i-th of k shares, e.g. 1/4")
