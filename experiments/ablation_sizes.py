"""Sizes of the loss ablation, and which of them suits the devices at hand."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from experiments import loss_ablation
from experiments.costs import cost_model
from experiments.costs.clock import Cost
from experiments.shell import presets
from jaxzero import files, workdir
from jaxzero.games import make_game
from jaxzero.runs import backend, population
from jaxzero.runs import hardware as hardware_lib
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.memory import Forecast, mebibytes
from jaxzero.settings.config import ConfigError, flatten, nearest
from jaxzero.settings.switches import resolve_switches
from jaxzero.tracking import Sheet
from jaxzero.training.spec import make_spec

_GIB = 2**30
# Of a device's nominal memory: JAX tells what XLA set aside, three quarters of what the driver has,
# 22.0 GiB of an L4's and an A10G's 24.
_TOLD = 0.65


@dataclasses.dataclass(frozen=True)
class Size:
    """Settings with a name."""

    name: str
    meant_for: str  # the devices, for people
    preset: str  # of the study's settings file, from which it begins
    changes: Mapping[str, Any]  # dotted keys
    platforms: tuple[str, ...]  # on which it ends within an evening
    least_memory: int = 0  # bytes of a device; less memory means an older, slower device


# From the largest to the smallest.
SIZES: tuple[Size, ...] = (
    Size("large", "a GPU or TPU with 24 GiB or more", "gpu", {}, ("gpu", "tpu"), 24 * _GIB),
    Size(
        "medium",
        "a free Colab's GPU (T4) or TPU",
        "quick",
        {
            "study.seeds": 4,
            "network.channels": 64,
            "network.hidden": (512, 256),
            "search.num_simulations": 50,
            "selfplay.episodes": 64,
            "replay.window": 8,
            "train.iterations": 30,
            "arena.games": 32,
            "study.tournament_simulations": 50,
        },
        ("gpu", "tpu"),
    ),
    Size("small", "two CPU cores", "quick", {}, ("cpu", "gpu", "tpu")),
    Size(
        "tiny",
        "a look at what comes out",
        "quick",
        {
            "study.seeds": 1,
            "network.channels": 8,
            "network.hidden": (32, 16),
            "search.num_simulations": 10,
            "study.tournament_simulations": 10,
            "study.tournament_games": 20,
            "selfplay.episodes": 16,
            "train.iterations": 6,
            "train.epochs": 2,
            "arena.games": 8,
            "evaluation.heldout_games": 8,
        },
        ("cpu", "gpu", "tpu"),
    ),
)
AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class Fit:
    """A size, and whether a study of it suits the hardware."""

    size: Size
    config: ConfigDict  # its settings, changed
    predicted: Forecast | None  # memory of one device; None where the platform says enough
    against: str | None  # why not, in words; None if nothing speaks against it


def settings(size: Size, changes: Mapping[str, Any] | None = None) -> ConfigDict:
    """A size's settings, then changed (dotted keys). ConfigError: a key or value that can't be."""
    config = presets.settings(loss_ablation.STUDY, size.preset, {**size.changes, **(changes or {})})
    config = loss_ablation.resolve(config)
    backend.prepare(config)  # before anything looks for devices
    loss_ablation.validate(config)
    return config


def fits(changes: Mapping[str, Any] | None = None, hardware: Hardware | None = None) -> list[Fit]:
    """All sizes, from the largest to the smallest, compared with what JAX sees, or other hardware.

    `changes`: to the settings of every size (dotted keys). ConfigError: see `settings`.
    """
    configs = [settings(size, changes) for size in SIZES]
    hardware = hardware or hardware_lib.look()
    return [_fit(size, config, hardware) for size, config in zip(SIZES, configs, strict=True)]


def _fit(size: Size, config: ConfigDict, hardware: Hardware) -> Fit:
    if hardware.platform not in size.platforms:  # a forecast takes a second or two
        return Fit(size, config, None, f"too much for a {hardware.platform.upper()}")
    predicted = hardware_lib.forecast(config, loss_ablation.make_members(config), hardware)
    against = hardware.refuses(predicted)
    if hardware.memory is not None and hardware.memory < _TOLD * size.least_memory:
        against = f"meant for {size.meant_for}"
    return Fit(size, config, predicted, against)


def choose(candidates: Sequence[Fit], name: str = AUTO, directory: Path | None = None) -> Fit:
    """The largest that suits, or that a run `directory` was begun with; or the size of that `name`.

    ConfigError: there is none of that name, or nothing suits.
    """
    if name != AUTO:
        names = [fit.size.name for fit in candidates]
        if name not in names:
            raise ConfigError(f"size {name!r}: {nearest(name, [AUTO, *names])}")
        return candidates[names.index(name)]
    begun = [fit for fit in candidates if directory is not None and _is_of(directory, fit.config)]
    for fit in (*begun, *(fit for fit in candidates if fit.against is None)):
        return fit
    last = candidates[-1]
    raise ConfigError(f"size {last.size.name!r}, the smallest, {last.against}: change its settings")


def _is_of(directory: Path, config: ConfigDict) -> bool:
    """Was the run directory begun with these settings?"""
    if not (directory / workdir.CONFIG).exists():
        return False
    wanted = files.plain(flatten(config)) | {"study": loss_ablation.STUDY}
    return not workdir.differing_keys(workdir.read_config(directory), wanted)


def table(candidates: Sequence[Fit], chosen: Fit) -> Sheet:
    """The sizes for people: what they are, what they need, and why one was taken."""
    rows = []
    for fit in candidates:
        config = fit.config
        verdict = fit.against or "fits, but a larger one does too"
        members = loss_ablation.make_members(config)
        losses = len(members) // config.study.seeds
        rows.append(
            (
                fit.size.name,
                fit.size.meant_for,
                f"{losses} losses x {config.study.seeds} seeds = {len(members)} runs",
                config.network.channels,
                config.search.num_simulations,
                f"{config.train.iterations} x {config.selfplay.episodes}",
                None if fit.predicted is None else mebibytes(fit.predicted.total),
                "**chosen**" if fit.size == chosen.size else verdict,
            )
        )
    columns = ("size", "for", "population", "channels", "m", "iterations x games", "memory", "")
    return Sheet(columns, tuple(rows))


def training_minutes(config: ConfigDict, units: Cost, *, plies: float, done: int = 0) -> float:
    """Of all runs after iteration `done`, by Equation 2 of the papers (`costs.cost_model`).

    `units`: seconds of one unit of one run; `plies`: of a game, mean.
    """
    members, images = loss_ablation.make_members(config), make_spec(config).num_images
    layout, _ = population.chosen(config, len(members))
    flat = flatten(config)
    whole, part = (
        cost_model.our_seconds(
            cost_model.job(flat | {"train.iterations": number}, plies=plies, images=images), units
        ).total
        for number in (config.train.iterations, done)
    )
    return len(members) * (whole - part) / (layout.run_devices * layout.data_devices) / 60


def tournament_minutes(config: ConfigDict, unit: float) -> float:
    """Of the study's tournaments, roughly: evaluations at the rate of self-play.

    Games are taken to be as long as the board allows; players without networks cost as much.
    `unit` is seconds of an evaluation.
    """
    study = config.study
    players = len(loss_ablation.make_members(config)) + study.seeds + 2
    games = players * (players - 1) // 2 * study.tournament_games
    plies = make_game(config.game).max_plies
    as_published = resolve_switches(config).tournament_one_model_per_target  # one more
    full = study.tournament_simulations * (1 + as_published)
    evaluations = games * plies * (full + study.low_simulations)
    return evaluations * unit / 60
