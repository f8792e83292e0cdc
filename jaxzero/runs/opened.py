"""A run directory opened again: its settings, its members and their networks over training."""

import dataclasses
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from ml_collections import ConfigDict

from jaxzero import files, pretrained, workdir
from jaxzero.networks import widening
from jaxzero.runs import weights
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import components, growth, iteration
from jaxzero.training import spec as spec_lib
from jaxzero.training.learner import Learner, without_optimiser
from jaxzero.training.spec import GrowthSettings, Spec

CHECKPOINTS = "checkpoints"  # whole states, from which a training resumes
SNAPSHOTS = "snapshots"  # networks by iteration, without optimiser and replay
CHANNELS = "network/channels"  # metric of a run whose network grows


@dataclasses.dataclass(frozen=True)
class Member:
    """One run of a population.

    Attributes:
      name: unique in the study, e.g. `"sum_seed0"`.
      target: what is minimised.
      seed: of weights, games and minibatches.
      config: the run's settings; all members of a population have equal specs.
    """

    name: str
    target: str
    seed: int
    config: ConfigDict


def one_for_each_seed(
    config: ConfigDict, target: str, changes: Mapping[str, Any] | None = None
) -> list[Member]:
    """Runs `TARGET_seedN` of a study's seeds, equal but for the seed.

    Args:
      config: with the keys `seed`, the first, and `study.seeds`, how many.
      target: what they have in common.

    ConfigError: a seed beyond what JAX takes.
    """
    last = config.seed + config.study.seeds - 1
    if last >= 2**31:
        raise ConfigError(
            f"config.seed={config.seed}: the last of {config.study.seeds} seeds would be {last}, "
            f"{2**31 - 1} is the largest"
        )
    members = []
    for seed in range(config.seed, config.seed + config.study.seeds):
        own = config.copy_and_resolve_references()
        own.update_from_flattened_dict({**(changes or {}), "seed": seed})
        members.append(Member(f"{target}_seed{seed}", target, seed, own))
    return members


@dataclasses.dataclass(frozen=True)
class Run:
    """A run directory that training has written to.

    Attributes:
      directory: where it lies.
      study: the study's name, e.g. `"loss_ablation"`.
      config: the study's settings.
      members: its population.
      spec: static settings of all members, for one device, with the width of the newest networks.
      iterations: those whose networks are kept, ascending; 0, the untrained network, is always one.
    """

    directory: Path
    study: str
    config: ConfigDict
    members: tuple[Member, ...]
    spec: Spec
    iterations: tuple[int, ...]


def write_members(directory: Path, config: ConfigDict, members: Sequence[Member]) -> None:
    """Records who is trained in a run directory: what differs from the study's settings."""
    base = config_lib.flatten(config)
    files.write_json(
        directory / workdir.MEMBERS,
        [
            {
                "name": m.name,
                "target": m.target,
                "seed": m.seed,
                "settings": {
                    k: v for k, v in config_lib.flatten(m.config).items() if base.get(k) != v
                },
            }
            for m in members
        ],
    )


def open_run(directory: str | Path) -> Run:
    """Opens a run directory, finished or not, or `pretrained:NAME`; reads only.

    Members whose weights an exported directory lacks are left out, and named on stderr; so is a
    directory that has lost all its networks, of which the untrained ones are opened.

    ConfigError: it is none, or a file of it is damaged.
    """
    directory = pretrained.resolve(directory)
    try:
        missing = [n for n in (workdir.CONFIG, workdir.MEMBERS) if not (directory / n).is_file()]
    except (OSError, ValueError) as error:  # no name of a directory
        raise ConfigError(f"{str(directory)[:80]}...: {error}"[:200]) from error
    if missing:
        raise ConfigError(
            f"{directory} is no run directory ({missing[0]} is missing): give the --workdir of a "
            "study"
        )
    study, config, members = _read(directory)
    saved_steps = Checkpoints.steps(directory / SNAPSHOTS)
    if not saved_steps and (saved_steps := weights.iterations(directory)):  # of an export
        members = _with_weights(directory, members)
    if not saved_steps and _has_lost_its_networks(directory):
        lost = "neither snapshots/ nor weights/ are there, the untrained networks are opened"
        print(f"{directory}: {lost}", file=sys.stderr)
    spec, kept = spec_lib.make_spec(members[0].config), tuple(sorted({0, *saved_steps}))
    if spec.growth.grow_at:
        spec = growth.of_width(spec, channels_after(directory, config, kept[-1]))
    return Run(directory, study, config, members, spec, kept)


def _read(directory: Path) -> tuple[str, ConfigDict, tuple[Member, ...]]:
    """Study, settings and members. ConfigError: the files hold something else."""
    stored = workdir.read_config(directory)
    saved = files.read_list(directory / workdir.MEMBERS)
    try:
        study = stored.pop("study")
        if not components.compiles_kernels():  # as the machine that trained may have
            stored["execution.tree_steps"] = "loops"
        config = config_lib.from_flat(stored)
        members = tuple(
            Member(
                one["name"],
                one["target"],
                one["seed"],
                config_lib.from_flat(stored | one["settings"]),
            )
            for one in saved
        )
        if not members:
            raise IndexError("no run")
        if not all(isinstance(member.seed, int) for member in members):
            raise TypeError("a seed is no whole number")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{directory} is damaged: {workdir.CONFIG} or {workdir.MEMBERS} is not what a study "
            f"writes ({error}); take it from a copy, or train again in another --workdir"
        ) from error
    return study, config, members


def saved_iteration(directory: Path) -> int:
    """The last one that a training in a run directory resumes from; 0: none."""
    return max(Checkpoints.steps(directory / CHECKPOINTS), default=0)


def _has_lost_its_networks(directory: Path) -> bool:
    """Was something trained in a run directory that is not at work?"""
    trained = (directory / workdir.METRICS).is_file()
    return trained and not (directory / CHECKPOINTS).is_dir()


def _with_weights(directory: Path, members: tuple[Member, ...]) -> tuple[Member, ...]:
    """The members whose weights lie in an exported run; names the others."""
    absent = [m.name for m in members if not weights.path_of(directory, m.name).is_file()]
    if not absent or len(absent) == len(members):  # of all: said when they are asked for
        return members
    print(f"{directory} has no weights of {', '.join(absent)}: left out", file=sys.stderr)
    return tuple(m for m in members if m.name not in absent)


def channels_after(directory: Path, config: ConfigDict, done: int) -> int:
    """Width of a run's networks after an iteration.

    Args:
      directory: the run's; its metrics say when a network that learned beside took over.

    Raises:
      ConfigError: they do not say it.
    """
    own = config_lib.section(GrowthSettings, config.network)
    if own.grow_by != "parallel" or not own.grow_at or not done:
        return growth.planned(own, config.network.channels, done)
    metrics = directory / workdir.METRICS
    for row in files.read_rows(metrics):
        if row["iteration"] == done and CHANNELS in row:
            return int(row[CHANNELS])
    raise ConfigError(f"{metrics} has no {CHANNELS} of iteration {done}: the run cannot be opened")


def channels_playing(directory: Path, config: ConfigDict, number: int) -> int:
    """Width of the networks that play in iteration `number`, from 1; else as `channels_after`."""
    widens_first = config.network.grow_by == "net2net"
    return channels_after(directory, config, number if widens_first else number - 1)


def kept_iteration(run: Run, at: int | None) -> int:
    """That iteration, or the newest. ConfigError: the run keeps no networks of it."""
    if at is None:
        return run.iterations[-1]
    if at not in run.iterations:
        place, kept = pretrained.named(run.directory), ", ".join(map(str, run.iterations))
        raise ConfigError(f"{place} keeps no networks of iteration {at}: choose one of {kept}")
    return at


def networks(run: Run, at: int | None = None, *, alike: bool = True) -> Learner:
    """The best networks of all members after an iteration, [R], without optimiser state.

    Args:
      run: of `open_run`.
      at: one of `run.iterations`; the newest by default. 0: the untrained networks, made again from
        their seeds.
      alike: as wide as the newest, when the run's networks grow, with the same answers.

    Raises:
      ConfigError: that iteration was not kept, or its file is damaged.
    """
    at = kept_iteration(run, at)
    spec = run.spec
    if spec.growth.grow_at:
        spec = growth.of_width(spec, channels_after(run.directory, run.config, at))
    found = _networks(run, spec, at)
    if spec.network == run.spec.network or not alike:
        return found
    like = jax.eval_shape(jax.vmap(functools.partial(_start, run.spec)), _seeds(run))
    return jax.tree.map(jnp.asarray, widening.widen(found, like))


def _start(spec: Spec, seed: jax.Array) -> Learner:
    """An untrained network."""
    return without_optimiser(iteration.init(spec, seed).learner)


def _networks(run: Run, spec: Spec, at: int) -> Learner:
    """As `networks`, of the width of a spec."""
    one = functools.partial(_start, spec)
    start, seeds = jax.vmap(one), _seeds(run)
    if at == 0:
        return jax.jit(start)(seeds)
    if at not in Checkpoints.steps(run.directory / SNAPSHOTS):
        names = [m.name for m in run.members]
        return weights.load(run.directory, names, jax.eval_shape(one, seeds[0]))
    snapshots = Checkpoints(run.directory / SNAPSHOTS, keep=None, read_only=True)
    try:
        restored = snapshots.restore(at, jax.eval_shape(start, seeds))
    finally:
        snapshots.close()
    return jax.tree.map(jnp.asarray, restored)


def _seeds(run: Run) -> jax.Array:
    return jnp.array([m.seed for m in run.members], jnp.int32)


def choose(run: Run, name: str | None = None) -> int:
    """The number of a member by its name (the first by default).

    Raises:
      ConfigError: there is none of that name.
    """
    if name is None:
        return 0
    names = [m.name for m in run.members]
    if name not in names:
        place, hint = pretrained.named(run.directory), config_lib.nearest(name, names)
        raise ConfigError(f"{place} has no run {name!r}: {hint}")
    return names.index(name)


def member_network(run: Run, index: int, at: int | None = None) -> Learner:
    """The best network of one member, see `networks`."""
    return jax.tree.map(lambda x: x[index], networks(run, at))
