"""The studies' command line: `--config=FILE:PRESET --workdir=DIR [--config.key=value ...]`."""

import difflib
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from absl import flags
from ml_collections import ConfigDict
from ml_collections.config_flags import config_flags

from jaxzero.config import ConfigError, flatten

Study = Callable[[ConfigDict, Path], None]


def run(study: Study, default_config: str) -> None:
    """Parses `sys.argv`, runs the study, and turns a bad setting into one line.

    Args:
      study: (config, workdir) -> None.
      default_config: file and preset when `--config` is not given.

    Exits with status 2 for a setting that cannot work, 1 for training that broke down, 130 when
    interrupted.
    """
    try:
        config, workdir = _parse(default_config)
        study(config, workdir)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except FloatingPointError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the newest checkpoint", file=sys.stderr)
        sys.exit(130)


def _parse(default_config: str) -> tuple[ConfigDict, Path]:
    argv = list(sys.argv)
    if not any(word.startswith("--config=") for word in argv):
        argv.insert(1, f"--config={default_config}")
    _check_keys(argv, default_config)
    values = flags.FlagValues()
    config_flags.DEFINE_config_file(
        "config", None, "Settings: FILE:PRESET.", lock_config=True, flag_values=values
    )
    flags.DEFINE_string(
        "workdir", None, "Run directory; the same command resumes.", flag_values=values
    )
    try:
        rest = values(argv)
    except (flags.Error, ValueError, TypeError, AttributeError, KeyError, OSError) as error:
        raise ConfigError(str(error).replace("\n", " ")) from error
    if len(rest) > 1:
        raise ConfigError(f"unexpected argument {rest[1]!r}: settings look like --config.key=value")
    if not values.workdir:
        raise ConfigError("--workdir is missing: name a directory for results, e.g. runs/first")
    return values.config, Path(values.workdir)


def _check_keys(argv: list[str], default: str) -> None:
    """Says which key is unknown, in words, before absl parses the line (and shows a traceback)."""
    named = [word.partition("=")[2] for word in argv[1:] if word.startswith("--config=")]
    path, _, preset = named[-1].partition(":")
    try:
        get_config = runpy.run_path(path)["get_config"]
    except (OSError, KeyError) as error:
        raise ConfigError(
            f"--config={path!r}: no such settings file, e.g. --config={default}"
        ) from error
    known = list(flatten(get_config(preset) if preset else get_config()))
    for word in argv[1:]:
        key = word.removeprefix("--config.").partition("=")[0]
        if word.startswith("--config.") and key not in known:
            close = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
            hint = f"did you mean config.{close[0]}?" if close else "see jaxzero/config.py"
            raise ConfigError(f"unknown key config.{key}: {hint}")
