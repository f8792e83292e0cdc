"""What `--help` prints: usage, presets, and every key as it stands in a preset."""

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ml_collections import ConfigDict

from jaxzero.settings import companions
from jaxzero.settings.config import Preset, flatten
from jaxzero.settings.keys import Key
from jaxzero.settings.table import SECTIONS

FLAGS: dict[str, tuple[str, str]] = {
    "config": ("FILE:PRESET", "settings file and preset, or a run directory: the same again"),
    "workdir": ("DIR", "run directory; the same command resumes in it"),
    "max-minutes": ("N", "save and stop after N minutes; the same command resumes"),
    "grace": ("N", "end at once, at the newest checkpoint, N seconds after SIGTERM or Ctrl-C"),
    "shard": ("I/K", "the I-th of K shares of a study of many runs"),
    "help": ("", "this page"),
}
UNSET = "unset"  # None, of a key that may be
_WIDEST, _NARROWEST = 110, 80
_WIDEST_VALUE = 16


class StudySettings(NamedTuple):
    """What `--config` names: a settings file, or a run directory and the file of its preset."""

    path: str  # as it was given
    config: ConfigDict  # of the preset, locked
    presets: Mapping[str, Preset]  # all that the file has, by name; empty if it declares none
    keys: Mapping[str, Key]  # of the table and of the study, by name
    replaced: Mapping[str, str]  # keys that the study sets itself, and its own in their place
    origin: str  # of the values, for `--help`: ` in preset quick`; empty where it has no name


def page(title: str, command: str, default_config: str, settings: StudySettings) -> str:
    """The whole page: the study in a line, how it is started, and its settings."""
    path, config, presets, keys, _, origin = settings
    values = flatten(config)
    width = min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((100, 24)).columns))
    flags = {
        f"--{name}={form}" if form else f"--{name}": meaning
        for name, (form, meaning) in FLAGS.items()
        if name != "shard" or has_shares(keys)
    }
    flags["--config=FILE:PRESET"] += f" (default {default_config})"
    flags["--config.KEY=VALUE"] = "one setting, of those below"
    parts = [
        title,
        f"usage: {command} --workdir=DIR\n"
        "         [--config=FILE:PRESET] [--config.KEY=VALUE ...] [--max-minutes=N]",
        _pairs(flags, width),
    ]
    if presets:
        meanings = {name: preset.meaning for name, preset in presets.items()}
        parts.append(f"presets of {path}\n" + _pairs(meanings, width))
    parts.append(
        f"settings{origin}: letter in Wang 2020 and 2023, key, value, meaning\n"
        "(ranges: docs/glossary.md; several values: "
        f"--config.network.hidden=64,32;\n{UNSET} takes a preset's value away, where there need be "
        "none: --config.KEY=unset)"
    )
    for section in dict.fromkeys([*SECTIONS, *(key.section for key in keys.values())]):
        # A preset is chosen behind the file, and stands above.
        own = [k for k in keys.values() if k.section == section and k.name != "preset"]
        if own:
            parts.append(_section(section, own, values, width))
    return "\n\n".join(parts)


def has_shares(keys: Mapping[str, Key]) -> bool:
    """Whether a study with these keys, by dotted name, can be done in shares (`--shard=i/k`)."""
    key = keys.get("execution.shard")
    return key is not None and not key.choices


def show(value: Any) -> str:
    """A value as the command line takes it; `UNSET` for None."""
    if value is None:
        return UNSET
    return ",".join(map(str, value)) if isinstance(value, tuple) and value else str(value)


def _section(section: str, keys: Sequence[Key], values: Mapping[str, Any], width: int) -> str:
    """A heading, and a row for each key: letter, key, value, meaning."""
    rows = [(k.letter, k.name.removeprefix(f"{section}."), show(values[k.name])) for k in keys]
    letters, names, shown = (max(map(len, column)) for column in zip(*rows, strict=True))
    shown = min(shown, _WIDEST_VALUE)
    indent = " " * (2 + (letters and letters + 1) + names + 2 + shown + 2)
    prefix = f"{section}." if section else ""
    heading = f"--config.{prefix}KEY=VALUE  "
    lines = _wrapped(heading, " " * len(heading), SECTIONS.get(section, "of this study"), width)
    for key, (letter, name, value) in zip(keys, rows, strict=True):
        head = (f"{letter:>{letters}} " if letters else "") + f"{name:<{names}}  {value:<{shown}}"
        choices = f" ({' | '.join(key.choices)})" if key.choices else ""
        told = companions.described(key, values) + choices
        lines += _wrapped("  " + head + "  ", indent, told, width)
    return "\n".join(lines)


def _wrapped(head: str, indent: str, text: str, width: int) -> list[str]:
    """Text behind a head; below it, if the head leaves no room."""
    if len(head) > len(indent):
        return [head.rstrip(), *_wrapped(indent, indent, text, width)]
    return textwrap.wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _pairs(pairs: Mapping[str, str], width: int) -> str:
    """Two columns."""
    left = max(map(len, pairs)) + 4
    lines = [_wrapped(f"  {w:<{left - 2}}", " " * left, text, width) for w, text in pairs.items()]
    return "\n".join(line for entry in lines for line in entry)
