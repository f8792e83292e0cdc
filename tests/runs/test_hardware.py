"""Sizes that fit a device."""

import dataclasses

import jax

from jaxzero.runs import Member, hardware, memory
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.memory import Forecast
from jaxzero.training import components, heldout
from tests import small

GPU = Hardware("gpu", "1 x Tesla T4", 1, 15 * 2**30)


def members(count: int) -> list[Member]:
    """Runs of different seeds with the small settings."""
    config = small.small_config()
    return [Member(f"seed{seed}", "sum", seed, config) for seed in range(count)]


def test_what_is_seen_here() -> None:
    here = hardware.look()
    assert here.platform == "cpu"
    assert here.count == jax.device_count()
    assert here.memory is not None
    assert here.memory > 2**28


def test_what_does_not_fit_is_refused_in_words() -> None:
    fits, too_much = Forecast({"window": 2**30}, 0), Forecast({"window": 13 * 2**30}, 0)
    assert GPU.refuses(fits) is None
    assert GPU.refuses(too_much) == "needs 13.0 GiB of memory, 12.0 GiB can be planned with"
    assert dataclasses.replace(GPU, memory=None).refuses(too_much) is None


def test_the_forecast_is_the_one_that_training_prints() -> None:
    said = {"network.convolution": "patches", "execution.evaluate_at_once": 0}
    config = small.small_config({"execution.population": "auto", **said})
    made = heldout.make(components.build_game(config), num_games=2, num_simulations=2)
    for here, together in ((Hardware("cpu", "", 1, None), False), (GPU, True)):
        expected = memory.forecast(
            small.small_spec(said),
            small.small_hyper(),
            made,
            members=3,
            together=together,
            platform=here.platform,
        )
        one = dataclasses.replace(here, count=1)
        config.execution.devices = 1
        runs = [dataclasses.replace(member, config=config) for member in members(3)]
        assert hardware.forecast(config, runs, one) == expected


def test_what_is_left_to_an_accelerator_is_its_own() -> None:
    """The process that plans leaves the accelerator free, and sees a CPU."""
    own = ("bfloat16", "patches", 0)
    keys = ("network.dtype", "network.convolution", "execution.evaluate_at_once")
    left, said = (
        small.small_config(dict(zip(keys, values, strict=True)))
        for values in (("auto", "auto", None), own)
    )
    gpu, cpu = (Hardware(kind, "", 1, None, own[0]) for kind in ("gpu", "cpu"))
    of_gpu, of_cpu = (
        hardware.forecast(left, [Member("a", "sum", 0, left)], machine) for machine in (gpu, cpu)
    )
    assert of_gpu == hardware.forecast(said, [Member("a", "sum", 0, said)], gpu)
    assert of_gpu.parts["activations"] != of_cpu.parts["activations"]


def test_members_are_spread_over_devices_first() -> None:
    config = small.small_config({"execution.devices": 0})
    one, two = (
        hardware.forecast(config, members(4), Hardware("cpu", "", count, None)) for count in (1, 2)
    )
    assert two.parts["networks"] < one.parts["networks"]
    assert two.checkpoint == one.checkpoint / 2
