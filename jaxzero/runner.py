"""The short Python loop around the compiled iteration: log, checkpoint, resume, stop."""

import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict
from tqdm import tqdm

from jaxzero import heldout, losses, population, runs, workdir
from jaxzero import spec as spec_lib
from jaxzero.checkpoints import Checkpoints
from jaxzero.config import ConfigError
from jaxzero.iteration import RunState
from jaxzero.runs import Member
from jaxzero.spec import Spec
from jaxzero.tracking import Tracker


@dataclasses.dataclass(frozen=True)
class Trained:
    """A finished population.

    Attributes:
      spec: of all members, for one device.
      states: [R], on the default device.
      seconds: wall time of training in this process.
      compile_seconds: of it, tracing and compiling.
    """

    spec: Spec
    states: RunState
    seconds: float
    compile_seconds: float


def prepare(config: ConfigDict) -> None:
    """What must be set before JAX looks for devices: the compilation cache, XLA's flags.

    Programs are kept on disk where JAX was not told otherwise already.
    """
    if config.execution.deterministic_gpu:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    if config.execution.compilation_cache and not jax.config.values["jax_compilation_cache_dir"]:
        cache = Path.home() / ".cache" / "jaxzero" / "compilation"
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def choose_devices(config: ConfigDict) -> list[Any]:
    """The devices a study may use.

    Raises:
      ConfigError: more are asked for than there are.
    """
    devices = jax.devices()
    wanted = config.execution.devices or len(devices)
    if wanted > len(devices):
        raise ConfigError(
            f"config.execution.devices={wanted}: this machine shows {len(devices)} "
            f"({devices[0].device_kind}), choose at most that many"
        )
    return devices[:wanted]


def train(
    config: ConfigDict, members: Sequence[Member], directory: Path, tracker: Tracker
) -> Trained:
    """Trains a population for I iterations, or goes on where its workdir left off.

    Args:
      config: the study's.
      members: their specs must be equal.
      directory: a workdir that was claimed for this config.
      tracker: gets every iteration's rows.

    Raises:
      ConfigError: members that can't share a program.
      FloatingPointError: a loss that is not finite; what was saved stays.
    """
    started = time.monotonic()
    devices = choose_devices(config)
    layout = population.plan(len(members), len(devices))
    spec = _common_spec(members, layout.data_devices)
    mode = population.resolve_mode(config.execution.population)
    program = population.make_program(spec, population.make_mesh(layout, devices), mode)
    hypers = population.place(
        population.stack([spec_lib.make_hyper(m.config) for m in members]), program.sharding
    )
    held = heldout.make(
        spec.game,
        num_games=config.evaluation.heldout_games,
        num_simulations=config.evaluation.heldout_simulations,
        temperature_plies=config.selfplay.temperature_plies,
    )
    held = population.place(held, program.replicated)
    seeds = population.place(np.array([m.seed for m in members], np.int32), program.sharding)

    checkpoints = Checkpoints(directory / "checkpoints", keep=config.execution.keep_checkpoints)
    snapshots = Checkpoints(directory / runs.SNAPSHOTS, keep=None)
    runs.write_members(directory, config, members)
    first, states = _begin_or_resume(program, seeds, checkpoints, directory)
    total = config.train.iterations
    if first > total:
        raise ConfigError(
            f"config.train.iterations={total}: {directory} is at iteration {first} already, "
            f"choose at least {first} or another --workdir"
        )
    _say(
        f"{len(members)} runs of {spec.game.name} on {workdir.describe_devices()} "
        f"({layout.run_devices} x {layout.data_devices} devices, {mode}); compiling..."
    )
    compiling = time.monotonic()
    iterate = program.iterate
    if first < total:
        iterate = iterate.lower(hypers, states, held).compile()
    compile_seconds = time.monotonic() - compiling
    _say(f"compiled in {compile_seconds:.1f} s")

    with tqdm(total=total, initial=first, unit="it", desc="training", mininterval=1.0) as bar:
        for number in range(first + 1, total + 1):
            states, metrics = iterate(hypers, states, held)
            rows = _rows(members, number, population.fetch(metrics), time.monotonic() - started)
            _refuse_nan(rows)
            if jax.process_index() == 0:
                tracker.log(rows)
            if number % config.execution.checkpoint_every == 0 or number == total:
                checkpoints.save(number, states)
            if number % config.execution.snapshot_every == 0 or number == total:
                snapshots.save(number, runs.without_optimiser(states.learner))
            bar.set_postfix_str(_summary(rows), refresh=False)
            bar.update()
    checkpoints.close()
    snapshots.close()
    return Trained(
        spec=dataclasses.replace(
            spec, data_devices=1, network=spec_lib.build_network(members[0].config, spec.game)
        ),
        states=_on_one_device(states),
        seconds=time.monotonic() - started,
        compile_seconds=compile_seconds,
    )


def _common_spec(members: Sequence[Member], data_devices: int) -> Spec:
    specs = [spec_lib.make_spec(m.config, data_devices=data_devices) for m in members]
    for member, spec in zip(members, specs, strict=True):
        for field in dataclasses.fields(Spec):
            mine, first = getattr(spec, field.name), getattr(specs[0], field.name)
            if mine != first:
                raise ConfigError(
                    f"run {member.name!r} differs from {members[0].name!r} in {field.name} "
                    f"({mine!r}, {first!r}): runs of one population share their shapes"
                )
    return specs[0]


def _begin_or_resume(
    program: population.Program, seeds: jax.Array, checkpoints: Checkpoints, directory: Path
) -> tuple[int, RunState]:
    """(iterations done, states): from the newest checkpoint, where there is one."""
    latest = checkpoints.latest()
    if jax.process_index() == 0:
        workdir.drop_rows_after(directory / workdir.METRICS, -1 if latest is None else latest)
    if latest is None:
        return 0, program.init(seeds)
    _say(f"going on from iteration {latest} of {directory}")
    restored = checkpoints.restore(latest, jax.eval_shape(program.init, seeds))
    return latest, population.place(restored, program.sharding)


def _rows(
    members: Sequence[Member], number: int, metrics: dict[str, np.ndarray], seconds: float
) -> list[dict[str, Any]]:
    """One row for each run; before the first, one for the untrained network on the first window."""
    rows = []
    for i, member in enumerate(members):
        head: dict[str, Any] = {"iteration": number, "run": member.name, "target": member.target,
                "seed": member.seed, "seconds": round(seconds, 3)}  # fmt: skip
        row: dict[str, Any] = dict(head)
        for name, values in metrics.items():
            value = values[i]
            if value.ndim:  # by epoch: the paper plots the last (facts 1.5)
                epochs = [float(v) for v in value[: member.config.train.epochs]]
                row[name.replace("loss/", "loss_epochs/")] = epochs
                row[name] = epochs[-1]
            else:
                row[name] = float(value)
        row["count/evaluations"] = row["count/selfplay_evaluations"] + row.get(
            "count/arena_evaluations", 0.0
        )
        row["count/useful_evaluations"] = row["count/selfplay_useful_evaluations"] + row.get(
            "count/arena_useful_evaluations", 0.0
        )
        if number == 1:
            untrained = {k.replace("unseen/", "loss/"): v for k, v in row.items() if "unseen/" in k}
            minimised = _minimised(member.config, untrained)
            rows.append(head | {"iteration": 0} | untrained | {"loss/minimised": minimised})
        rows.append(row)
    return rows


def _minimised(config: ConfigDict, measured: dict[str, float]) -> float:
    weights = losses.coefficients(config.train.loss, config.train.loss_weight)
    names = ("policy", "value", "product")
    return sum(w * measured[f"loss/{name}"] for w, name in zip(weights, names, strict=True) if w)


def _refuse_nan(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for name in ("loss/policy", "loss/value"):
            if not np.isfinite(row[name]):
                raise FloatingPointError(
                    f"{name} of run {row['run']} is {row[name]} at iteration {row['iteration']}: "
                    "lower config.train.learning_rate; the newest checkpoint is from before it"
                )


def _summary(rows: list[dict[str, Any]]) -> str:
    newest = [row for row in rows if row["iteration"] == rows[-1]["iteration"]]

    def mean(name: str) -> float:
        return float(np.mean([row[name] for row in newest]))

    return (
        f"l_p {mean('loss/policy'):.3f} l_v {mean('loss/value'):.3f} "
        f"accepted {mean('arena/accepted'):.2f}"
    )


def _on_one_device(states: RunState) -> RunState:
    """The population's states on the default device, from wherever they lie."""
    if jax.device_count() == 1:
        return states

    def move(x: jax.Array) -> jax.Array:
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(move(jax.random.key_data(x)))
        return jax.device_put(population.fetch(x), jax.local_devices()[0])

    return jax.tree.map(move, states)


def _say(text: str) -> None:
    if jax.process_index() == 0:
        print(text, file=sys.stderr, flush=True)
