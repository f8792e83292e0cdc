"""What the devices at hand can hold."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from jaxzero.networks import default_dtype
from jaxzero.runs import Member, memory, population
from jaxzero.runs.memory import Forecast
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices as devices_lib
from jaxzero.training import components, heldout
from jaxzero.training import spec as spec_lib

SHARE = 0.8  # of a device's memory that may be planned with: XLA wants room of its own


@dataclasses.dataclass(frozen=True)
class Hardware:
    """The devices that a study would use."""

    platform: str  # `"cpu"`, `"gpu"` or `"tpu"`
    described: str  # for people, e.g. `"1 x Tesla T4"`
    count: int
    memory: int | None  # bytes of one of them, None where it does not tell
    dtype: str = "float32"  # what `network.dtype=auto` is there

    def refuses(self, predicted: Forecast) -> str | None:
        """Why a population does not fit, in words; None where it does, or where nobody can know."""
        room = None if self.memory is None else SHARE * self.memory
        if room is None or predicted.total <= room:
            return None
        return (
            f"needs {memory.mebibytes(predicted.total)} of memory, "
            f"{memory.mebibytes(room)} can be planned with"
        )


def look() -> Hardware:
    """All that JAX sees."""
    devices = jax.devices()
    found = devices[0].platform
    platform = found if found in ("cpu", "tpu") else "gpu"
    return Hardware(
        platform,
        devices_lib.describe(devices),
        len(devices),
        memory.capacity(devices),
        jnp.dtype(default_dtype(platform)).name,
    )


def forecast(config: ConfigDict, members: Sequence[Member], hardware: Hardware) -> Forecast:
    """What a device will need for its part of a population: shapes only, nothing is compiled."""
    first = _on(members[0].config, hardware)
    layout = population.plan(
        len(members),
        config.execution.devices or hardware.count,
        share=devices_lib.share_runs(config, hardware.platform),
    )
    mode = config.execution.population
    return memory.forecast(
        spec_lib.make_spec(first, data_devices=layout.data_devices),
        jax.eval_shape(lambda: spec_lib.make_hyper(first)),
        heldout_shapes(config),
        members=len(members) // layout.run_devices,
        together=mode == "vmap" or (mode == "auto" and hardware.platform != "cpu"),
        platform=hardware.platform,
    )


def _on(config: ConfigDict, hardware: Hardware) -> ConfigDict:
    """The settings with what is left to an accelerator, which this process may not see."""
    left = {
        "network.dtype": hardware.dtype,
        "network.convolution": "patches",
        "execution.evaluate_at_once": 0,
    }
    if hardware.platform == "cpu":
        return config
    return config_lib.changed(
        config, {k: v for k, v in left.items() if config_lib.get(config, k) in ("auto", None)}
    )


def heldout_shapes(config: ConfigDict) -> Any:
    """Of the held-out examples that a study trains beside: nothing is played."""
    game = components.build_game(config)
    return heldout.shapes(game, num_games=config.evaluation.heldout_games)
