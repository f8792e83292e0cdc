"""Settings as a locked `ConfigDict`: made from the table of keys, changed by presets, refused.

The table itself is `key_table.KEYS`. Nothing here compiles or looks for devices, so that a config
can be made, printed and refused before anything else happens.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from jaxzero.settings.keys import ConfigError, Key, nearest, table
from jaxzero.settings.switches import (
    SEMANTICS,
    SWITCHES,
    Switch,
    Switches,
    game_family,
    resolve_switches,
)
from jaxzero.settings.table import KEYS, TARGETS

__all__ = [
    "KEYS",
    "SEMANTICS",
    "SWITCHES",
    "TARGETS",
    "ConfigError",
    "Key",
    "Preset",
    "Switch",
    "Switches",
    "default_config",
    "flatten",
    "from_flat",
    "game_family",
    "get",
    "nearest",
    "preset_config",
    "preset_getter",
    "require_extras",
    "resolve_switches",
    "validate",
]


class Preset(NamedTuple):
    """Settings with a name: what they are for, in one line, and what they change (dotted keys)."""

    meaning: str
    changes: Mapping[str, Any]


def default_config(study_keys: Iterable[Key] = ()) -> ConfigDict:
    """Table 1's defaults (000, 001, 003) on 6x6 Othello, corrected semantics, one run.

    Args:
      study_keys: a study's own; one with the name of a general key takes its place.

    Returns:
      A locked `ConfigDict`; presets change values, never keys.
    """
    config = ConfigDict()
    for key in table(KEYS, study_keys).values():
        *sections, name = key.name.split(".")
        part = config
        for section in sections:
            if section not in part:
                part[section] = ConfigDict()
            part = part[section]
        part[name] = placeholder(key.kind) if key.default is None else key.default
    return config.lock()


def preset_config(
    name: str, presets: Mapping[str, Preset], study_keys: Iterable[Key]
) -> ConfigDict:
    """The settings of a preset, locked; `config.preset` is its name.

    Args:
      name: one of `presets`.
      presets: a study's.
      study_keys: a study's own, `preset` among them.

    Raises:
      ConfigError: unknown preset.
    """
    if name not in presets:
        raise ConfigError(f"unknown preset {name!r}: {nearest(name, presets)}")
    config = default_config(study_keys)
    config.update_from_flattened_dict({"preset": name, **presets[name].changes})
    return config


def preset_getter(
    presets: Mapping[str, Preset], study_keys: Iterable[Key]
) -> Callable[..., ConfigDict]:
    """`get_config(preset="quick")` of a settings file, see `preset_config`."""
    return lambda preset="quick": preset_config(preset, presets, study_keys)


def get(config: ConfigDict, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = value[part]
    return value


def changed(config: ConfigDict, changes: Mapping[str, Any]) -> ConfigDict:
    """A locked copy with other values, by dotted key."""
    own = config.copy_and_resolve_references()
    own.update_from_flattened_dict(dict(changes))
    return own.lock()


def validate(config: ConfigDict, study_keys: Iterable[Key] = ()) -> None:
    """Refuses impossible settings, before anything compiles.

    What needs the game (its size, its name) is refused by `spec.make_spec`.

    Args:
      config: with all keys of the table.
      study_keys: a study's own, checked too.

    Raises:
      ConfigError: one line with key, value and remedy.
    """
    for key in table(KEYS, study_keys).values():
        key.check(get(config, key.name))
    if config.arena.gate != "none" and config.arena.games % 2:
        raise ConfigError(
            f"config.arena.games={config.arena.games}: both colours need an even number, "
            f"e.g. {config.arena.games + 1}"
        )
    if config.search.draw_value and config.network.value_head != "wdl":
        raise ConfigError(
            f"config.search.draw_value={config.search.draw_value}: needs draw probabilities, "
            "set config.network.value_head='wdl'"
        )
    _check_curriculum(config)
    _refuse_odd_pairs(config)
    switches = resolve_switches(config)
    if switches.root_expansion_counts and config.search.num_simulations < 2:
        raise ConfigError(
            f"config.search.num_simulations={config.search.num_simulations}: the published "
            "program's first simulation visits nothing, choose at least 2 or set "
            "config.switches.root_expansion_counts=False"
        )
    if config.search.propagate_results and switches.draw_for_asked:
        raise ConfigError(
            "config.search.propagate_results=True: true results are propagated, set "
            "config.switches.small_draw_value=False and "
            "config.switches.othello_tie_is_loss_of_asked=False"
        )
    if config.search.algorithm == "gumbel" and switches.keep_tree:
        raise ConfigError(
            "config.search.algorithm='gumbel': sequential halving starts from an unvisited root, "
            "set config.switches.keep_tree=False"
        )
    if config.search.loop == "mctx":
        for name, value, without in (
            ("search.draw_value", config.search.draw_value, 0.0),
            ("search.propagate_results", config.search.propagate_results, False),
            ("search.ties", config.search.ties, "lowest"),
            ("selfplay.fast_share", config.selfplay.fast_share, 0.0),
            ("switches.keep_tree", switches.keep_tree, False),
        ):
            if value != without:
                raise ConfigError(
                    f"config.{name}={value!r}: mctx's own loop has no such thing, set "
                    f"config.{name}={without!r} or config.search.loop='tree'"
                )


def require_any_simulations(config: ConfigDict) -> None:
    """Refuses, in one line, searches that are compiled for one number of simulations."""
    for key, value, remedy in (("algorithm", "gumbel", "puct"), ("loop", "mctx", "tree")):
        if config.search[key] == value:
            raise ConfigError(
                f"config.search.{key}={value!r}: it is compiled for one number of simulations, "
                f"set it to {remedy}"
            )


def _check_curriculum(config: ConfigDict) -> None:
    own, window = config.selfplay, config.replay
    epochs, fractions = own.curriculum_epochs, own.curriculum_fractions
    if len(epochs) != len(fractions) or not epochs:
        raise ConfigError(
            f"config.selfplay.curriculum_fractions={fractions}: one for each of "
            f"config.selfplay.curriculum_epochs={epochs}"
        )
    if epochs[0] != 0 or list(epochs) != sorted(set(epochs)):
        raise ConfigError(
            f"config.selfplay.curriculum_epochs={epochs}: begin with 0 and count upwards"
        )
    if window.minimum_games and (window.window_positions or config.train.schedule != "constant"):
        raise ConfigError(
            f"config.replay.minimum_games={window.minimum_games}: needs "
            "config.replay.window_positions=0 and config.train.schedule='constant'"
        )
    most = max(window.minimum_games, default=0)
    slots = -(-most // own.episodes)
    if slots > window.window:
        raise ConfigError(
            f"config.replay.minimum_games={window.minimum_games}: {most} games are {slots} batches "
            f"of config.selfplay.episodes={own.episodes}, set config.replay.window to at least that"
        )


def _refuse_odd_pairs(config: ConfigDict) -> None:
    """Settings of paper 002's mechanisms that need another one."""
    train, replay = config.train, config.replay
    for name, weight in (
        ("network.squeeze_excite", config.network.squeeze_excite),
        ("train.reply_weight", train.reply_weight),
        ("train.move_value_weight", train.move_value_weight),
    ):
        if weight and config.network.name != "resnet":
            raise ConfigError(f"config.{name}={weight}: needs config.network.name='resnet'")
    if replay.duplicate_weight and not replay.window_positions:
        raise ConfigError(
            f"config.replay.duplicate_weight={replay.duplicate_weight}: equal positions are merged "
            "in a window counted in positions, set config.replay.window_positions"
        )
    if replay.window_start > replay.window_positions:
        raise ConfigError(
            f"config.replay.window_start={replay.window_start}: the window grows from it to "
            f"config.replay.window_positions={replay.window_positions}, choose at most that"
        )
    for name, pair in (
        ("replay.window_grows", replay.window_grows),
        ("train.cycle_momentum", train.cycle_momentum),
    ):
        if len(pair) != 2:
            raise ConfigError(f"config.{name}={tuple(pair)}: give two numbers")
    if train.schedule == "cyclic" and train.optimizer != "sgd":
        raise ConfigError(
            "config.train.schedule='cyclic': its momentum is that of config.train.optimizer='sgd'"
        )
    if train.schedule == "cyclic" and not 0 < train.cycle_peak < train.cycle_end < 1:
        raise ConfigError(
            f"config.train.cycle_peak={train.cycle_peak}: 0 < cycle_peak < cycle_end < 1 is needed "
            f"(cycle_end={train.cycle_end})"
        )
    if config.search.algorithm == "gumbel" and (
        config.selfplay.fast_share or config.search.forced_playouts
    ):
        raise ConfigError(
            "config.search.algorithm='gumbel': its number of simulations is one for all plies, set "
            "config.selfplay.fast_share=0 and config.search.forced_playouts=0"
        )
    if config.search.propagate_results and (
        config.search.algorithm != "puct" or config.search.forced_playouts
    ):
        raise ConfigError(
            "config.search.propagate_results=True: set config.search.algorithm='puct' and "
            "config.search.forced_playouts=0"
        )
    if config.selfplay.fast_share and (
        config.selfplay.fast_simulations > config.search.num_simulations
    ):
        raise ConfigError(
            f"config.selfplay.fast_simulations={config.selfplay.fast_simulations}: a full search "
            f"makes {config.search.num_simulations}, choose at most that"
        )


def require_distinct(config: ConfigDict, key: str) -> None:
    """Refuses a list that is empty or says something twice, e.g. `study.arms`.

    Raises:
      ConfigError: it does.
    """
    values = get(config, key)
    if not values or len(set(values)) < len(values):
        raise ConfigError(f"config.{key}={values}: name at least one, each only once")


def require_extras(config: ConfigDict) -> None:
    """Refuses to begin what needs a package that is not there.

    Apart from `validate`: a finished run can be opened without the extras that it was made with.

    Raises:
      ConfigError: one line with key, value and remedy.
    """
    if config.tracking.wandb != "off" and not _installed("wandb"):
        raise ConfigError(
            f"config.tracking.wandb={config.tracking.wandb!r}: wandb is not installed, "
            'pip install "jaxzero[wandb]" or set it to off'
        )
    if config.tracking.tensorboard and not _installed("tensorboardX"):
        raise ConfigError(
            "config.tracking.tensorboard=True: tensorboardX is not installed, "
            'pip install "jaxzero[tensorboard]" or set it to False'
        )


def _installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


def flatten(config: ConfigDict, prefix: str = "") -> dict[str, Any]:
    """Dotted keys to plain values."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, ConfigDict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def from_flat(flat: dict[str, Any]) -> ConfigDict:
    """The reverse of `flatten`, from values that went through JSON (tuples came back as lists)."""
    config = default_config().unlock()
    for key, value in flat.items():
        *sections, name = key.split(".")
        part = config
        for section in sections:
            if section not in part:
                part[section] = ConfigDict()
            part = part[section]
        part[name] = tuple(value) if isinstance(value, list) else value
    return config.lock()
