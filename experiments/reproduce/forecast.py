"""What a part will take: its work is counted from its settings, nothing is compiled.

Hours are work times the seconds of a unit: right to a factor of two or three, meant for planning;
`experiments.cost` measures.
"""

import functools
import importlib
import json
import math
import subprocess
import sys
from typing import Final, NamedTuple

import numpy as np
from ml_collections import ConfigDict

from experiments import (
    connect_four_supervised,
    hyperparameter_correlation,
    hyperparameter_sweep,
    published,
)
from experiments.configs.connect_four_extensions import POPULATIONS
from experiments.hyperparameters.groups import partition
from experiments.hyperparameters.settings import Training, trainings
from experiments.reproduce import papers
from experiments.reproduce.papers import Part
from experiments.shell import presets
from experiments.strength import fixed_opponents
from jaxzero.runs import Member, flops, hardware
from jaxzero.runs.hardware import Hardware
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib
from jaxzero.training.spec import Spec


class Rates(NamedTuple):
    """Seconds of a unit are a constant, and the network's operations over a rate."""

    evaluation: float  # seconds of one beside the network's
    inference: float  # operations a second
    example: float  # seconds of one beside the network's
    training: float  # operations a second


# Fitted to docs/performance.md: two cores of an AMD EPYC as measured, a GPU as predicted for an
# H200.
RATES: Final = {
    "cpu": Rates(12e-6, 4.5e11, 30e-6, 4e11),
    "gpu": Rates(5e-6, 2e14, 0.5e-6, 2e14),
}
DEVICES: Final = {"cpu": 2, "gpu": 1}  # that the rates are of; runs are shared out among them
_LOOK: Final = (
    "import dataclasses, json; from jaxzero.runs import hardware; "
    "from jaxzero.settings import devices; devices.one_for_each_core(); "
    "print(json.dumps(dataclasses.asdict(hardware.look())))"
)
# Games whose rules and trees cost more beside the network's evaluation, on a CPU.
_EVALUATION: Final = {"racing_kings": 60e-6}
# Supervised training on a CPU: 0.4 and 0.9 ms of a core for an example, 5 blocks of 16 and 32
# channels, minibatches of 128.
_SUPERVISED: Final = 8e10
START: Final = 60.0  # seconds: to begin, to compile, to draw
_EPOCHS: Final = 30  # of supervised training, until its validation no longer improves
# Mean plies of games where random ones are far shorter than the longest (paper 004's: docs).
_PLIES: Final = {"racing_kings": 139.0, "connect_four_6x7": 30.0}


class Forecast(NamedTuple):
    """Of a part: runs that it trains, and hours on a machine of a kind."""

    runs: int
    hours: float


class Work(NamedTuple):
    """Network evaluations, and examples learned from."""

    evaluations: float
    examples: float


@functools.cache
def settings(part: Part, scale: str) -> ConfigDict:
    """Of a part, as its command will have them. ConfigError: a change that its preset refuses."""
    found = presets.settings(part.study, f"{scale}{part.suffix}", part.changes(scale))
    module = importlib.import_module(f"experiments.{part.study}")
    return module.resolve(found) if hasattr(module, "resolve") else found


def of(part: Part, scale: str, platform: str, devices: int | None = None) -> Forecast:
    """Runs and hours of a part, on a CPU's cores or another platform's devices.

    `devices`: how many; None: those of `DEVICES`.
    """
    config = settings(part, scale)
    configs, spec = _runs(part, config), spec_lib.make_spec(config)
    work = [_of_run(part, one, spec) for one in configs]
    evaluations = sum(one.evaluations for one in work) + _played(part, config, len(configs), spec)
    forward, rates = _forward(part, config, spec), RATES.get(platform, RATES["gpu"])
    if platform == "cpu":
        rates = rates._replace(evaluation=_EVALUATION.get(_kind(spec), rates.evaluation))
        if part.study == papers.SUPERVISED:
            rates = rates._replace(training=_SUPERVISED)
    seconds = evaluations * (rates.evaluation + forward / rates.inference)
    seconds += sum(one.examples for one in work) * (
        rates.example + flops.TRAINING * forward / rates.training
    )
    usual = DEVICES.get(platform, DEVICES["gpu"])
    at_work = min(devices or usual, len(configs))
    return Forecast(len(configs), (START + seconds * min(usual, len(configs)) / at_work) / 3600)


def _runs(part: Part, config: ConfigDict) -> list[ConfigDict]:
    """The settings of every run."""
    s = config.study
    if part.study in (papers.SWEEP, papers.CORRELATION):
        return [training.config for training in _trainings(part, config)]
    if part.study == papers.EXTENSIONS:
        return [config] * sum(s.population if arm in POPULATIONS else s.seeds for arm in s.arms)
    if part.study == papers.LOSSES:
        groups = len(s.targets) + len(s.lambdas)
    elif part.study == papers.SUPERVISED:
        groups = len(connect_four_supervised.groups(config))
    else:
        groups = len(s.arms)
    return [config] * (groups * s.seeds)


def _trainings(part: Part, config: ConfigDict) -> list[Training]:
    """Of a sweep or a correlation."""
    module = hyperparameter_sweep if part.study == papers.SWEEP else hyperparameter_correlation
    return trainings(module.make_settings(config), range(config.study.seeds))


def _forward(part: Part, config: ConfigDict, spec: Spec) -> float:
    """Operations of an evaluation; of supervised networks the mean over the groups' depths."""
    if part.study != papers.SUPERVISED:
        return flops.forward(spec)
    depths = {group.blocks: group for group in connect_four_supervised.groups(config)}
    specs = [connect_four_supervised.settings(config, group)[0] for group in depths.values()]
    return float(np.mean([flops.forward(one) for one in specs]))


def _plies(spec: Spec) -> float:
    """Of a game, mean: as random games where that is known, else nearly as long as there are."""
    known = published.random_plies(spec.game.name)
    return known or _PLIES.get(spec.game.name, 0.9 * spec.game.max_plies)


def _kind(spec: Spec) -> str:
    """`racing_kings` of `racing_kings_100plies`."""
    return next((name for name in _EVALUATION if spec.game.name.startswith(name)), spec.game.name)


def _of_run(part: Part, config: ConfigDict, spec: Spec) -> Work:
    """Of one training."""
    if part.study == papers.SUPERVISED:
        epochs = min(config.study.max_epochs, _EPOCHS)
        return Work(0.0, 0.8 * config.study.positions * epochs)
    train, replay = config.train, config.replay
    games = config.selfplay.episodes
    games += 0 if config.arena.gate == "none" else config.arena.games
    evaluations = train.iterations * games * _plies(spec) * (config.search.num_simulations + 1)
    new = config.selfplay.episodes * _plies(spec)
    window = replay.window_positions or replay.window * new
    seen = np.minimum(np.arange(1, train.iterations + 1) * new, window).sum()
    if train.passes:
        seen = train.passes * train.iterations * new
    return Work(evaluations, float(train.epochs * seen * spec.num_images))


def _played(part: Part, config: ConfigDict, runs: int, spec: Spec) -> float:
    """Evaluations of what follows training: tournaments, ladders, examinations."""
    s, m = config.study, config.search.num_simulations
    kept = config.train.iterations // config.execution.snapshot_every + 1
    if part.study in (papers.EFFICIENCY, papers.EXTENSIONS):
        return runs * kept * s.test_positions * (s.simulations or m)
    if part.study == papers.SUPERVISED:
        return runs * 0.1 * s.positions * (1 + s.searches)
    if part.study == papers.CURRICULUM:
        return runs * min(s.points, kept) * s.games * _plies(spec) * m
    settings = math.comb(runs, 2)
    if part.study == papers.CORRELATION:  # every run at several I
        settings = math.comb(runs * len(s.iterations), 2)
    games, searched = settings * s.tournament_games, s.tournament_simulations
    if part.study == papers.LOSSES:
        searched += s.low_simulations
        measured = min(kept, fixed_opponents.POINTS)
        games += runs * measured * s.ladder_games * len(s.ladder_opponents)
    return games * _plies(spec) * searched * (1 + (part.study == papers.CORRELATION))


def memory(part: Part, scale: str, machine: Hardware) -> int | None:
    """Bytes of a device, of the population that needs most; None for what is no self-play."""
    if part.study == papers.SUPERVISED:
        return None
    needed = []
    for config, runs in _populations(part, settings(part, scale), machine):
        members = [Member(str(n), "", n, config) for n in range(runs)]
        needed.append(hardware.forecast(config, members, machine).total)
    return max(needed)


def _populations(part: Part, config: ConfigDict, machine: Hardware) -> list[tuple[ConfigDict, int]]:
    """Settings and number of runs of what trains one after another.

    Of arms the largest one, with the settings that all begin from: their own change little.
    """
    s = config.study
    if part.study in (papers.SWEEP, papers.CORRELATION):
        together = machine.platform != "cpu"
        cut = partition(_trainings(part, config), programs=s.programs, together=together)
        return [(group.config, len(group.trainings)) for group in cut]
    if part.study == papers.LOSSES:
        return [(config, len(_runs(part, config)))]
    return [(config, max(s.population if arm in POPULATIONS else s.seeds for arm in s.arms))]


def look() -> Hardware:
    """The parts' devices, seen by a process that leaves them free. ConfigError: JAX finds none."""
    seen = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, text=True)
    if seen.returncode:
        raise ConfigError(f"no device: {(seen.stderr.strip().splitlines() or ['?'])[-1]}")
    return Hardware(**json.loads(seen.stdout.splitlines()[-1]))
