"""What the devices at hand can hold, and how long a population will take on them."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from jaxzero.runs import Member, memory, population
from jaxzero.runs.memory import Forecast
from jaxzero.settings import devices as devices_lib
from jaxzero.training import heldout, parts
from jaxzero.training import spec as spec_lib

SHARE = 0.8  # of a device's memory that may be planned with: XLA wants room of its own


@dataclasses.dataclass(frozen=True)
class Hardware:
    """The devices that a study would use.

    Attributes:
      platform: `"cpu"`, `"gpu"` or `"tpu"`.
      described: for people, e.g. `"1 x Tesla T4"`.
      count: devices.
      memory: bytes of one of them, None where it does not tell.
    """

    platform: str
    described: str
    count: int
    memory: int | None

    def refuses(self, predicted: Forecast) -> str | None:
        """Why a population does not fit, in words; None where it does, or where nobody can know."""
        room = None if self.memory is None else SHARE * self.memory
        if room is None or predicted.total <= room:
            return None
        return (
            f"needs {memory.mebibytes(predicted.total)} of memory, "
            f"{memory.mebibytes(room)} can be planned with"
        )


def look(devices: Sequence[Any] | None = None) -> Hardware:
    """The hardware of `devices`, of all that JAX sees by default."""
    devices = jax.devices() if devices is None else devices
    platform = devices[0].platform
    return Hardware(
        platform if platform in ("cpu", "tpu") else "gpu",
        devices_lib.describe(devices),
        len(devices),
        memory.capacity(devices[0]),
    )


def forecast(config: ConfigDict, members: Sequence[Member], hardware: Hardware) -> Forecast:
    """What a device will need for its part of a population: shapes only, nothing is compiled.

    Args:
      config: the study's.
      members: the population.
      hardware: platform and number of the devices.
    """
    layout = population.plan(len(members), config.execution.devices or hardware.count)
    mode = config.execution.population
    return memory.forecast(
        spec_lib.make_spec(members[0].config, data_devices=layout.data_devices),
        jax.eval_shape(lambda: spec_lib.make_hyper(members[0].config)),
        jax.eval_shape(lambda: _heldout(config)),
        members=len(members) // layout.run_devices,
        together=mode == "vmap" or (mode == "auto" and hardware.platform != "cpu"),
    )


@dataclasses.dataclass(frozen=True)
class Pace:
    """How fast a population goes, as measured. Seconds, of all its members.

    Attributes:
      compiling: until the program was ready.
      playing: self-play, arena and everything else of an iteration but the training.
      training: of the first iteration, whose window holds a single iteration's games.
      evaluations: network evaluations that `playing` made.
    """

    compiling: float
    playing: float
    training: float
    evaluations: float

    def minutes(self, config: ConfigDict, first: int = 0) -> float:
        """Of the iterations after `first`, the window filling up to `config.replay.window`."""
        total = 0.0
        for number in range(first + 1, config.train.iterations + 1):
            total += self.playing + self.training * min(number, config.replay.window)
        return total / 60


def trial(config: ConfigDict, members: Sequence[Member]) -> Pace:
    """Plays the first iteration of a population twice, once without its training. Keeps nothing.

    It is the program that training compiles: with the compilation cache that costs its time once.

    Args:
      config: the study's, valid.
      members: the population.
    """
    devices = devices_lib.choose(config)
    layout = population.plan(len(members), len(devices))
    spec = spec_lib.make_spec(members[0].config, data_devices=layout.data_devices)
    mode = population.resolve_mode(config.execution.population)
    program = population.make_program(spec, population.make_mesh(layout, devices), mode)
    seeds = population.place(np.array([m.seed for m in members], np.int32), program.sharding)
    held = population.place(_heldout(config), program.replicated)
    hyper = population.stack([spec_lib.make_hyper(m.config) for m in members])
    without = hyper.replace(epochs=0 * hyper.epochs)
    begun = time.monotonic()
    example = jax.eval_shape(program.init, seeds)
    placed = population.place(hyper, program.sharding)
    iterate = program.iterate.lower(placed, example, held).compile()
    compiling = time.monotonic() - begun

    def seconds(hyper: Any) -> tuple[float, Any]:
        state = jax.block_until_ready(program.init(seeds))  # donated: each time a fresh one
        placed = population.place(hyper, program.sharding)
        begun = time.monotonic()
        _, measured = jax.block_until_ready(iterate(placed, state, held))
        return time.monotonic() - begun, population.fetch(measured)

    playing, measured = seconds(without)
    both, _ = seconds(hyper)
    names = [f"count/{phase}_evaluations" for phase in ("selfplay", "arena")]
    counted = sum(float(measured[n].sum()) for n in names if n in measured)
    return Pace(compiling, playing, max(both - playing, 0.0), counted)


def _heldout(config: ConfigDict) -> Any:
    return heldout.make(
        parts.build_game(config),
        num_games=config.evaluation.heldout_games,
        num_simulations=config.evaluation.heldout_simulations,
        temperature_plies=config.selfplay.temperature_plies,
    )
