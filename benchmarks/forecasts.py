"""The forecast of memory against XLA's own count, for whole iterations of studies' presets.

    python -m benchmarks.forecasts loss_ablation:quick                 # as compiled for this CPU
    python -m benchmarks.forecasts --h100 loss_ablation:gpu arms:gpu   # no GPU is needed
    python -m benchmarks.forecasts --record=FILE.tsv                   # all presets; resumes

Compiled and counted, nothing runs. For an H100 (see `deviceless.py`) members go together, in
bfloat16. One line for each: XLA's GiB, the forecast over them, and the forecast's parts.
"""

import csv
import dataclasses
import importlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from ml_collections import ConfigDict

from benchmarks import deviceless, probe
from experiments.shell import cli
from jaxzero import arguments, workdir
from jaxzero.runs import Member, hardware, memory, population, runner
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.memory import Forecast
from jaxzero.settings.config import ConfigError, changed
from jaxzero.training import spec as spec_lib

CONFIGS = Path("experiments/configs")
ON_A_GPU = {
    "network.dtype": "bfloat16",
    "network.convolution": "patches",
    "execution.evaluate_at_once": 0,
    "execution.population": "vmap",
}


class Counted(NamedTuple):
    """Bytes of one device: what was forecast, and what XLA allots."""

    forecast: Forecast
    xla: int


def first_population(study: str, preset: str) -> tuple[ConfigDict, Sequence[Member]]:
    """Settings and members of what a study would train first."""
    found: list[Any] = []

    def instead(*args: Any, **_: Any) -> None:
        found.extend(args[:2])
        raise probe.Enough

    path, known = f"{CONFIGS}/{study}.py", studies()
    if study not in known:
        raise ConfigError(f"study {study!r}: unknown; known are {', '.join(known)}")
    module = importlib.import_module(f"experiments.{study}")
    config = cli.load(f"{path}:{preset}", path).config
    train, runner.train = runner.train, instead  # type: ignore[assignment]
    try:
        with tempfile.TemporaryDirectory() as folder:
            # What is measured by does not matter: no engine is asked, few positions are solved.
            own = {"reference": "mcts_50", "test_positions": 20, "data": f"{folder}/positions"}
            own = {f"study.{key}": value for key, value in own.items() if key in config.study}
            module.run(changed(config, own), Path(folder) / "run", "")
    except probe.Enough:
        pass
    finally:
        runner.train = train
    config, members = found
    return config, members


def count(config: ConfigDict, members: Sequence[Member], device: Any, platform: str) -> Counted:
    """Compiles an iteration of a population on one device."""
    layout = population.plan(len(members), 1)
    spec = spec_lib.make_spec(members[0].config)
    mode = config.execution.population
    mode = mode if mode != "auto" else "map" if platform == "cpu" else "vmap"
    one = Hardware(platform, "", 1, None)
    program = population.make_program(spec, population.make_mesh(layout, [device]), mode)
    seeds = jax.ShapeDtypeStruct((len(members),), np.int32, sharding=program.sharding)
    hypers = jax.eval_shape(
        lambda: population.stack([spec_lib.make_hyper(member.config) for member in members])
    )
    states, held = jax.eval_shape(program.init, seeds), hardware.heldout_shapes(config)

    def lie(tree: Any, sharding: Any) -> Any:
        return jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), tree
        )

    lowered = program.iterate.lower(
        lie(hypers, program.sharding), lie(states, program.sharding), lie(held, program.replicated)
    )
    options = {} if platform == "cpu" else {"xla_gpu_autotune_level": "0"}
    used = lowered.compile(compiler_options=options).memory_analysis()
    whole = used.argument_size_in_bytes + used.output_size_in_bytes - used.alias_size_in_bytes
    return Counted(hardware.forecast(config, members, one), whole + used.temp_size_in_bytes)


def studies() -> list[str]:
    """Those that learn from games of their own."""
    return sorted({one.stem for one in CONFIGS.glob("[a-z]*.py")} - {"connect_four_supervised"})


def every_preset() -> list[str]:
    """`STUDY:PRESET` of all those studies."""
    presets = {s: importlib.import_module(f"experiments.configs.{s}").PRESETS for s in studies()}
    return [f"{study}:{preset}" for study, known in presets.items() for preset in known]


def measure(named: str, device: Any, platform: str) -> Counted:
    """A preset's first population, on one device.

    ConfigError: unknown study or preset.
    """
    study, colon, preset = named.partition(":")
    if not colon:
        raise ConfigError(f"{named!r}: write STUDY:PRESET, e.g. loss_ablation:quick")
    config, members = first_population(study, preset)
    if platform == "gpu":
        config = changed(config, ON_A_GPU)
        members = [dataclasses.replace(m, config=changed(m.config, ON_A_GPU)) for m in members]
    counted = count(config, members, device, platform)
    jax.clear_caches()  # no other preset has this program
    memory.trim()
    return counted


def read(record: Path | None) -> set[tuple[str, ...]]:
    """Which device and preset a file has, with which JAX."""
    if record is None or not record.exists():
        return set()
    with record.open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["device"], row["preset"], row["jax"]) for row in rows}


def add(record: Path, row: Mapping[str, Any]) -> None:
    """A line more."""
    record.parent.mkdir(parents=True, exist_ok=True)
    is_new = not record.exists()
    with record.open("a", encoding="utf-8") as file:
        lines = csv.DictWriter(file, row, delimiter="\t", lineterminator="\n")
        if is_new:
            lines.writeheader()
        lines.writerow(row)


def main(words: Sequence[str] | None = None) -> None:
    """Prints a line for each preset."""
    parser = arguments.Parser(prog="python -m benchmarks.forecasts", description=__doc__)
    parser.add_argument("presets", nargs="*", metavar="STUDY:PRESET", help="default: all")
    parser.add_argument("--h100", action="store_true", help="for that GPU, which need not be there")
    parser.add_argument("--record", type=Path, metavar="FILE.tsv", help="adds what it lacks to it")
    asked = parser.parse(words)
    jax.config.update("jax_platforms", "cpu")  # of what runs; the GPU is only compiled for
    device, platform = jax.devices()[0], "cpu"
    if asked.h100:
        device, platform = deviceless.h100().mesh.devices.flat[0], "gpu"
    kind, known = "H100" if asked.h100 else "CPU", read(asked.record)
    for named in asked.presets or every_preset():
        if (kind, named, jax.__version__) in known:
            continue
        counted = measure(named, device, platform)
        parts = sorted(counted.forecast.parts.items(), key=lambda part: -part[1])
        said = ", ".join(f"{name} {memory.mebibytes(size)}" for name, size in parts)
        ratio = counted.forecast.total / counted.xla
        print(f"{named}: {memory.mebibytes(counted.xla)}, forecast {ratio:.2f} of it ({said})")
        sys.stdout.flush()
        if asked.record:
            row = {"device": kind, "preset": named, "xla": counted.xla}
            row |= {"forecast": counted.forecast.total, "ratio": f"{ratio:.3f}"}
            now = workdir.environment()
            add(asked.record, row | {"commit": now["commit"], "jax": jax.__version__})


if __name__ == "__main__":
    arguments.run(main)
