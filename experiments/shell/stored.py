"""Settings that a run directory stores, to train with them again: `--config=RUN`."""

from collections.abc import Callable
from pathlib import Path

from experiments.shell.usage import StudySettings
from jaxzero import pretrained, workdir
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError

_ELSEWHERE = ("execution.", "tracking.")  # how and where it ran, not what was trained


def directory_of(named: str) -> Path | None:
    """The run directory that `--config` names, by itself, by its config.json, or as
    `pretrained:NAME`; None: it names a settings file.

    ConfigError: no such player ships.
    """
    place = pretrained.resolve(named)
    place = place.parent if place.name == workdir.CONFIG else place
    return place if place.is_dir() else None


def settings(
    directory: Path, study: str, of_preset: Callable[[str], StudySettings]
) -> StudySettings:
    """The settings that a run was trained with.

    Those of `execution` and `tracking` are the preset's. A key that is younger than the run had its
    default in it.

    Args:
      study: that is to take them.
      of_preset: the settings of one of its presets.

    Raises:
      ConfigError: it is no run directory, or another study's, or a part of one (an arm, a group),
        or damaged, or of another version.
    """
    flag = f"--config={pretrained.named(directory)}"
    if not (directory / workdir.CONFIG).is_file():
        raise ConfigError(
            f"{flag} is no run directory ({workdir.CONFIG} is missing): give the --workdir of a "
            "study, or a settings file"
        )
    held = workdir.read_config(directory)
    if (other := held.pop("study")) != study:
        raise ConfigError(
            f"{flag} holds settings of another study, of {other}: begin with python -m "
            f"experiments.{other}, or choose a run of {study}"
        )
    if (whole := _whole_of(directory, study)) is not None:
        raise ConfigError(f"{flag} is a part of a study, with changes of its own: give {whole}")
    base = of_preset(str(held.get("preset", "")))
    if unknown := sorted(held.keys() - base.keys.keys()):
        raise ConfigError(
            f"{flag} has the setting {unknown[0]}, which this version lacks: take the version in "
            f"its {workdir.ENVIRONMENT}, or a preset"
        )
    values = {name: held.get(name, key.default) for name, key in base.keys.items()}
    changes = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if not name.startswith(_ELSEWHERE)
    }
    try:
        config = config_lib.changed(base.config, changes)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{directory / workdir.CONFIG} is damaged ({error}): put back a copy of it"
        ) from error
    return base._replace(config=config, origin=f" of {pretrained.named(directory)}")


def _whole_of(directory: Path, study: str) -> Path | None:
    """The directory of the study that a directory is a part of; None: it is one itself.

    A player's folder in its run directory has the same settings, and is none.
    """
    for above in directory.absolute().parents[:2]:
        if (above / workdir.CONFIG).is_file():
            own, around = workdir.read_config(directory), workdir.read_config(above)
            differing = {k for k in own | around if own.get(k) != around.get(k)}
            if around["study"] == study and any(not k.startswith(_ELSEWHERE) for k in differing):
                return above
    return None
