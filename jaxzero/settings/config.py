"""Settings as a locked `ConfigDict`: made from the table of keys, changed by presets, refused.

The table itself is `table.KEYS`. Nothing here compiles or looks for devices, so that a config
can be made, printed and refused before anything else happens.
"""

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from jaxzero.settings.conflicts import conflicts
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
    "LETTERS",
    "NO_TENSORBOARD",
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
    "section",
    "validate",
]


# The twelve hyper-parameters of Wang 2020 and 2023, Table 1, in its order: keys by letter.
LETTERS: dict[str, Key] = {
    letter: next(key for key in KEYS if key.letter == letter)
    for letter in ("I", "E", "T'", "m", "c", "rs", "ep", "bs", "lr", "d", "n", "u")
}
NO_TENSORBOARD = (
    "config.tracking.tensorboard=True: tensorboardX is not installed, "
    'pip install -e ".[tensorboard]" or set it to False'
)
T = TypeVar("T")


class Preset(NamedTuple):
    """Settings with a name: what they are for, in one line, and what they change (dotted keys)."""

    meaning: str
    changes: Mapping[str, Any]


def default_config(study_keys: Iterable[Key] = ()) -> ConfigDict:
    """Table 1's defaults (Wang 2019, 2020, 2023) on 6x6 Othello, corrected semantics, one run.

    Args:
      study_keys: a study's own; one with the name of a general key takes its place.

    Returns:
      A locked `ConfigDict`; presets change values, never keys.
    """
    config = ConfigDict()
    for key in table(KEYS, study_keys).values():
        _put(config, key.name, placeholder(key.kind) if key.default is None else key.default)
    return config.lock()


def preset_config(
    name: str, presets: Mapping[str, Preset], study_keys: Iterable[Key]
) -> ConfigDict:
    """The settings of a preset, locked; `config.preset` is its name.

    Args:
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


def section(kind: type[T], values: Mapping[str, Any], **derived: Any) -> T:
    """A dataclass filled from a section of the config by its fields' names.

    Args:
      kind: the dataclass; a field that the section lacks keeps its default.
      values: the section, e.g. `config.train`.
      derived: fields that are not as the section says.
    """
    named = {f.name: values[f.name] for f in dataclasses.fields(kind) if f.name in values}  # type: ignore[arg-type]
    fields = {n: tuple(v) if isinstance(v, list | tuple) else v for n, v in named.items()}
    return kind(**(fields | derived))


def validate(config: ConfigDict, study_keys: Iterable[Key] = ()) -> None:
    """Refuses impossible settings, before anything compiles.

    What needs the game or a search's options is refused by `spec.make_spec`.

    Args:
      config: with all keys of the table.
      study_keys: a study's own, checked too.

    Raises:
      ConfigError: one line with key, value and remedy.
    """
    for key in table(KEYS, study_keys).values():
        value = get(config, key.name)
        key.check(value)
        if key.needs and value and get(config, key.needs[0]) != key.needs[1]:
            name, needed = key.needs
            raise ConfigError(f"config.{key.name}={value}: needs config.{name}={needed!r}")
    for is_wrong, name, remedy in conflicts(config, resolve_switches(config)):
        if is_wrong:
            raise ConfigError(f"config.{name}={get(config, name)!r}: {remedy}")


def require_any_simulations(config: ConfigDict) -> None:
    """Refuses, in one line, searches that are compiled for one number of simulations."""
    for key, value, remedy in (("algorithm", "gumbel", "puct"), ("loop", "mctx", "tree")):
        if config.search[key] == value:
            raise ConfigError(
                f"config.search.{key}={value!r}: it is compiled for one number of simulations, "
                f"set it to {remedy}"
            )


def require_one_width(config: ConfigDict) -> None:
    """Refuses, in one line, networks that grow: one evaluation then costs more than another."""
    if config.network.grow_at:
        raise ConfigError(
            f"config.network.grow_at={config.network.grow_at}: networks of several widths are not "
            "compared or timed here, leave it empty"
        )


def require_distinct(config: ConfigDict, key: str) -> None:
    """Refuses a list that is empty or says something twice, e.g. `study.arms` (ConfigError)."""
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
            'pip install -e ".[wandb]" or set it to off'
        )
    if config.tracking.tensorboard and not _installed("tensorboardX"):
        raise ConfigError(NO_TENSORBOARD)


def _installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


def flatten(config: ConfigDict | Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys to plain values, of settings or what was stored of them."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, ConfigDict | dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def with_defaults(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored config, dotted keys to plain values; a key younger than it had its default in it."""
    return flatten(default_config()) | flatten(stored)


def from_flat(flat: dict[str, Any]) -> ConfigDict:
    """The reverse of `flatten`, from values that went through JSON (tuples came back as lists)."""
    config = default_config().unlock()
    for key, value in flat.items():
        _put(config, key, tuple(value) if isinstance(value, list) else value)
    return config.lock()


def _put(config: ConfigDict, key: str, value: Any) -> None:
    """Sets a dotted key, making the sections that are missing."""
    *sections, name = key.split(".")
    for section in sections:
        if section not in config:
            config[section] = ConfigDict()
        config = config[section]
    config[name] = value
