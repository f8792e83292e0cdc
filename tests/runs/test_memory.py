"""The forecast of memory, against what XLA allots to the compiled iteration."""

import resource
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
import pytest

from jaxzero.runs import memory, population
from jaxzero.runs.memory import Forecast
from jaxzero.runs.population import Layout
from tests import small

CPU: Final[Any] = {"together": False, "platform": "cpu"}


@pytest.mark.parametrize("mode", ["map", pytest.param("vmap", marks=pytest.mark.slow)])
def test_the_forecast_is_near_what_xla_allots(mode: str) -> None:
    spec, members = small.small_spec(), 2
    program = small.compiled_program(spec, Layout(1, 1), mode)
    held = small.heldout(spec.game)
    # As a run begins, so that the program is the one that other tests compile.
    states = program.init(population.place(np.arange(members, dtype=np.int32), program.sharding))
    hypers = population.place(population.stack([small.small_hyper()] * members), program.sharding)
    given = hypers, states, population.place(held, program.replicated)
    used = program.iterate.lower(*given).compile().memory_analysis()
    predicted = memory.forecast(
        spec,
        small.small_hyper(),
        held,
        members=members,
        together=mode == "vmap",
        platform="cpu",
    )
    allotted = (
        used.argument_size_in_bytes
        + used.output_size_in_bytes
        - used.alias_size_in_bytes
        + used.temp_size_in_bytes
    )
    assert 0.7 < predicted.total / allotted < 2  # tests compile unoptimised: more is kept
    state_bytes = memory.size_of(states)
    assert predicted.checkpoint == state_bytes
    assert used.argument_size_in_bytes >= state_bytes


def test_what_grows_with_what() -> None:
    def parts(**changes: Any) -> dict[str, int]:
        renamed = {key.replace("__", "."): value for key, value in changes.items()}
        spec = small.small_spec(renamed)
        held = small.heldout(spec.game)
        return memory.forecast(spec, small.small_hyper(), held, members=2, **CPU).parts

    base = parts()
    kept = parts(switches__keep_tree=True, search__tree_moves=1)
    assert kept["trees"] == 2 * base["trees"]
    assert kept["arena's trees"] == 7 * base["arena's trees"] > 0
    assert parts(arena__games=8)["arena's trees"] == 2 * base["arena's trees"]
    few = parts(arena__gate="wilson", arena__games=80, arena__batch=2)
    assert few["arena's trees"] == base["arena's trees"]
    assert parts(arena__gate="none")["arena's trees"] == 0
    assert parts(search__num_simulations=16)["trees"] > 1.5 * base["trees"]
    assert parts(selfplay__seen_positions=1000)["earlier games"] == 4 * 12_008  # two counters
    assert parts(replay__window=4)["window"] == pytest.approx(2 * base["window"], rel=0.1)
    apart, merged = (
        parts(replay__window_positions=900, replay__duplicate_weight=weight)["window"]
        for weight in (0.0, 0.8)
    )
    assert merged == 6 * apart / 5  # XLA: 5.4 windows of two runs, apart 4.2
    assert parts(network__channels=8)["networks"] > base["networks"]
    assert parts(train__batch_size=64)["gradients"] > base["gradients"]
    assert "table" not in base
    cache: dict[str, Any] = {"search__key": "position", "selfplay__share": "cache"}
    tables = [parts(**cache, selfplay__share_positions=size) for size in (10, 20)]
    assert tables[1]["table"] == 2 * tables[0]["table"] > 0
    tree = parts(**cache, selfplay__share_positions=10, selfplay__tree_c=1.5, selfplay__parts=4)
    assert tree["table"] == tables[0]["table"] + 10 * (12 + 8 * 5)
    assert tree["trees"] == base["trees"] / 4  # a part's games at once
    assert tree["games"] == base["games"]
    assert tree["arena's trees"] == base["arena's trees"]


def test_devices_share_the_games_of_a_run() -> None:
    def parts(devices: int) -> dict[str, int]:
        spec = small.small_spec(data_devices=devices)
        held = small.heldout(spec.game)
        return memory.forecast(spec, small.small_hyper(), held, members=1, **CPU).parts

    one, two = parts(1), parts(2)
    for part in ("trees", "arena's trees"):
        assert two[part] == one[part] / 2, part


def test_winograd_is_no_larger_than_patches() -> None:
    def parts(convolution: str) -> dict[str, int]:
        settings = {"network.channels": 64, "network.convolution": convolution}
        spec = small.small_spec(settings)
        held = small.heldout(spec.game)
        return memory.forecast(spec, small.small_hyper(), held, members=1, **CPU).parts

    patches, winograd = parts("patches"), parts("winograd")
    assert 0.45 * patches["activations"] < winograd["activations"] < patches["activations"]
    assert 0.5 * patches["gradients"] < winograd["gradients"] < patches["gradients"]


def test_what_does_not_fit_names_the_key_to_lower() -> None:
    predicted = Forecast({"trees": 3 * 2**30, "window": 2**20}, checkpoint=2**21)
    fits = memory.in_words(predicted, 4 * 2**30)
    assert fits.startswith("predicted memory: 3.0 GiB per device (trees 3.0 GiB, window 1 MiB)")
    assert "warning" not in fits
    said = memory.in_words(predicted, 2 * 2**30)
    assert "more than the device's 2.0 GiB" in said
    assert said.endswith("lower config.search.num_simulations or config.selfplay.episodes")


def test_phases_follow_one_another() -> None:
    parts = {"trees": 3, "arena's trees": 5, "window": 2, "activations": 4, "gradients": 8}
    assert Forecast(parts, checkpoint=0).total == 2 + 5 + 4
    assert Forecast(parts | {"gradients": 10}, checkpoint=0).total == 2 + 10


def test_the_cpus_memory_is_the_machines() -> None:
    available = memory.capacity(jax.devices()[:1])
    assert available is not None
    assert available > 2**28
    assert memory.capacity(jax.devices()) == available // 8  # which share it


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/job/step", "job/memory.max"),
        ("4:memory:/job/step", "memory/job/memory.limit_in_bytes"),
        ("4:memory:/elsewhere", "memory/memory.limit_in_bytes"),
    ],
)
def test_a_process_may_have_less_than_the_machine(
    line: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_TREE", tmp_path)
    (tmp_path / "groups").write_text(f"2:cpu:/\n{line}\n")
    limit = tmp_path / file
    limit.parent.mkdir(parents=True, exist_ok=True)
    limit.write_text("max\n")
    own = jax.devices()[:1]
    assert (memory.capacity(own) or 0) > 2**28
    limit.write_text("1000\n")
    assert memory.capacity(own) == 1000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (500, -1))
    assert memory.capacity(own) == 500


def test_a_process_asks_its_own_devices_only() -> None:
    class Gpu:
        platform = "gpu"

        def __init__(self, process_index: int) -> None:
            self.process_index = process_index

        def memory_stats(self) -> dict[str, int]:
            if self.process_index != jax.process_index():
                raise RuntimeError("MemoryStats is only supported for addressable devices")
            return {"bytes_limit": 5}

    assert memory.capacity([Gpu(1), Gpu(0)]) == 5
    assert memory.capacity([Gpu(1)]) is None
