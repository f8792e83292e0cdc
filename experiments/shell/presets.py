"""A study's presets by name, and settings as the command line makes them of one and changes."""

import importlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from experiments.shell.usage import UNSET
from jaxzero.settings.config import KEYS, ConfigError, flatten, nearest
from jaxzero.settings.keys import table


def names(study: str) -> tuple[str, ...]:
    """The presets of a study's settings file."""
    return tuple(importlib.import_module(f"experiments.configs.{study}").PRESETS)


def replaced(study: str) -> Mapping[str, str]:
    """Keys that a study sets itself, and its own in their place, as its settings file says."""
    file = importlib.import_module(f"experiments.configs.{study}")
    found: Mapping[str, str] = getattr(file, "REPLACED", {})
    return found


def settings(study: str, preset: str, changes: Mapping[str, Any] | None = None) -> ConfigDict:
    """`--config=experiments/configs/STUDY.py:PRESET --config.KEY=VALUE ...`, not locked.

    ConfigError: a preset or a key that does not exist, or a value that it cannot have.
    """
    file = importlib.import_module(f"experiments.configs.{study}")
    config: ConfigDict = file.get_config(preset).copy_and_resolve_references()
    known = table(KEYS, file.KEYS)
    for key, value in (changes or {}).items():
        if key == "preset":
            raise ConfigError(f"preset={value!r}: would change the name alone, choose the preset")
        if key not in known:
            raise ConfigError(f"unknown key config.{key}: {nearest(key, known)}")
        try:
            config.update_from_flattened_dict({key: value})
        except (TypeError, ValueError) as error:
            raise known[key].refusal(repr(value)) from error
    return config


def words(study: str, config: ConfigDict, directory: Path) -> list[str]:
    """The command line's words for these settings, the program's name left out."""
    usual = flatten(settings(study, config.preset))
    changes = [
        f"--config.{key}={UNSET if value is None else value}"
        for key, value in flatten(config).items()
        if usual[key] != value
    ]
    preset = f"--config=experiments/configs/{study}.py:{config.preset}"
    return [preset, f"--workdir={directory}", *changes]


def command(study: str, config: ConfigDict, directory: Path) -> str:
    """The command line that does what these settings say in this run directory."""
    return shlex.join(["python", "-m", f"experiments.{study}", *words(study, config, directory)])
