"""The studies' command line: `--config=FILE:PRESET --workdir=DIR [--config.key=value ...]`."""

import contextlib
import difflib
import inspect
import re
import runpy
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jax
from absl import flags
from ml_collections import ConfigDict
from ml_collections.config_flags import config_flags

from experiments.shell import stored, usage
from experiments.shell.usage import StudySettings
from jaxzero import files, pipes
from jaxzero.runs import processes
from jaxzero.runs.stopping import Stopped
from jaxzero.settings import companions, devices
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import KEYS, ConfigError, flatten
from jaxzero.settings.keys import Key, table
from jaxzero.workdir import CONFIG

Program = Callable[[ConfigDict, Path, str], None]  # settings, run directory, command as called
_ROOT = Path(__file__).resolve().parents[2]


@pipes.reader_may_leave()
def run(study: Program, name: str) -> None:
    """Reads the command line, runs the study, and turns what stops it into one line and a status.

    Args:
      name: of the study: that of its module in `experiments`, and of its settings file.

    Exits with status 2 for a setting that cannot work or a full disk, 1 for training that broke
    down or lost one of its processes, 130 when interrupted, 141 when nobody reads the output, 143
    after SIGTERM; with 0 after `--help` and `--max-minutes`.
    """
    words = sys.argv[1:]
    default_config, program = f"experiments/configs/{name}.py:quick", f"experiments.{name}"
    try:
        if "--help" in words or "-h" in words:
            title = (inspect.getdoc(inspect.getmodule(study)) or "").partition("\n")[0]
            print(_help(words, title, f"python -m {program}", default_config))
            return
        config, workdir = _parse(words, default_config)
        with devices.known_platforms():
            study(config, workdir, shlex.join(["python", "-m", program, *words]))
    except ConfigError as error:
        _stop(f"error: {error}", 2)
    except OSError as error:
        if error.errno not in files.DISK_TROUBLE:
            raise
        _stop(
            f"error: --workdir: {error}: make room or choose another directory; the same command "
            "resumes from what is saved",
            2,
        )
    except FloatingPointError as error:
        _stop(f"error: {error}", 1)
    except Stopped as stopped:  # all processes that share the run
        print(stopped, file=sys.stderr)
        if stopped.at_once:
            processes.leave(stopped.status, at_once=True)
        sys.exit(stopped.status)
    except KeyboardInterrupt:  # the second, or before training: what the device does is lost
        print(
            "interrupted; the same command resumes from the newest checkpoint, if any",
            file=sys.stderr,
        )
        processes.leave(130, at_once=True)
    except Exception as error:
        if processes.lost(error):
            _stop(
                "error: another process of this run has ended or can't be reached "
                f"({str(error).splitlines()[0]}): begin all of them again with the same commands; "
                "they resume from the newest checkpoint, if any",
                1,
            )
        if isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" in str(error):  # XLA's
            _stop(
                f"error: the device's memory is not enough ({str(error).splitlines()[0]}): lower "
                "what the line 'predicted memory' names first, or end other programs on this "
                "device; the same command resumes from what is saved",
                1,
            )
        if not jax.distributed.is_initialized():
            raise
        traceback.print_exc()
        processes.leave(1)


def _stop(message: str, status: int) -> NoReturn:
    print(message.replace("\n", " "), file=sys.stderr)  # a value may have several lines
    processes.leave(status)


def load(named: str, default_config: str) -> StudySettings:
    """Runs a settings file, FILE or FILE:PRESET, once; or reads the settings of a run directory.

    Relative to the working directory, or to this package's parent. `default_config`: the study's
    own, whose keys a file without `KEYS` has. ConfigError: no such file, no such preset in it, or
    one of another study.
    """
    if (directory := stored.directory_of(named)) is not None:
        own_file = default_config.partition(":")[0]
        return stored.settings(
            directory, Path(own_file).stem, lambda preset: load(f"{own_file}:{preset}", own_file)
        )
    path, _, preset = named.partition(":")
    found = _run_file(path, default_config)
    own = _run_file(default_config.partition(":")[0], default_config)["KEYS"]
    config = found["get_config"](preset) if preset else found["get_config"]()
    keys, values = table(KEYS, own), flatten(config)
    other = {key.name for key in found.get("KEYS", own)} ^ {key.name for key in own}
    if other := other or keys.keys() - values.keys():
        tells = min(other - table(KEYS).keys() or other)
        raise ConfigError(
            f"--config={named!r}: these are settings of another study (see config.{tells}), take "
            f"this one's, e.g. --config={default_config}"
        )
    undeclared = [Key(n, value, "", kind=str) for n, value in values.items() if n not in keys]
    name = preset or values.get("preset", "")
    return StudySettings(
        path,
        config,
        found.get("PRESETS", {}),
        table(keys.values(), undeclared),
        found.get("REPLACED", {}),
        f" in preset {name}" if name else "",
    )


def _run_file(path: str, default_config: str) -> dict[str, Any]:
    for candidate in (Path(path), _ROOT / path):
        if candidate.is_file():
            try:
                found = runpy.run_path(str(candidate))
            except SyntaxError as error:
                raise ConfigError(f"--config={path!r} is no Python file: {error}") from error
            if callable(found.get("get_config")):
                return found
    raise ConfigError(
        f"--config={path!r}: no such settings file or run directory, e.g. --config={default_config}"
    )


def _help(words: Sequence[str], title: str, command: str, default_config: str) -> str:
    named = [word.partition("=")[2] for word in _joined(words) if word.startswith("--config=")]
    settings = load(named[-1] if named else default_config, default_config)
    return usage.page(title, command, default_config, settings)


def _parse(words: Sequence[str], default_config: str) -> tuple[ConfigDict, Path]:
    given = _flags(words)
    settings = load(given.get("config", default_config), default_config)
    changes = {n.removeprefix("config."): v for n, v in given.items() if n.startswith("config.")}
    if "preset" in changes:
        raise ConfigError(
            f"--config.preset={changes['preset']}: would change the name alone, write "
            f"--config=FILE:{changes['preset']}"
        )
    for name in changes:
        _check_known(name, list(settings.keys))
    config = _overruled(settings, changes)
    for flag, key in (("max-minutes", "max_minutes"), ("grace", "grace")):
        if flag in given:
            config.execution[key] = _number(flag, f"execution.{key}", given[flag])
    if "shard" in given:
        if not usage.has_shares(settings.keys):
            raise ConfigError(f"--shard={given['shard']}: this study has no shares, leave it out")
        config.execution.shard = given["shard"]
    if not given.get("workdir"):
        raise ConfigError("--workdir is missing: name a directory for results, e.g. runs/first")
    shard = str(config.execution.shard) if usage.has_shares(settings.keys) else "1/1"
    directory = files.from_home(given["workdir"].replace("{shard}", shard.replace("/", "of")))
    for name in changes:
        settings.keys[name].check(config_lib.get(config, name))
    if not (directory / CONFIG).exists():  # what has begun goes on
        companions.refuse_idle(config, changes, settings.replaced)
    return config, directory


def _flags(words: Sequence[str]) -> dict[str, str]:
    """Values by flag, without the dashes; the last one counts, as in all shells' programs."""
    given = {}
    for word in _joined(words):
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise ConfigError(
                f"unexpected argument {word!r}: settings look like --config.key=value"
            )
        if name not in usage.FLAGS and not name.startswith("config."):
            if "." in name or name in table(KEYS):  # a setting
                close = [f"config.{name}"]
            else:
                close = difflib.get_close_matches(name, [*usage.FLAGS, "config.key"], n=1)
            hint = f"did you mean --{close[0]}?" if close else "see --help"
            raise ConfigError(f"unknown flag --{name}: {hint}")
        if name == "help":
            raise ConfigError("--help takes no value")
        if not equals:
            raise ConfigError(f"--{name} has no value: write --{name}=VALUE")
        given[name] = value
    return given


def _joined(words: Sequence[str]) -> list[str]:
    """`--config FILE` as `--config=FILE`: of the flags that are no settings."""
    joined: list[str] = []
    for word in words:
        before = joined[-1] if joined else ""
        takes = before.startswith("--") and before[2:] in usage.FLAGS and before != "--help"
        if takes and not word.startswith("--"):
            joined[-1] = f"{before}={word}"
        else:
            joined.append(word)
    return joined


def _check_known(name: str, known: list[str]) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean config.{close[0]}?" if close else "see --help"
        raise ConfigError(f"unknown key config.{name}: {hint}")


def _overruled(settings: StudySettings, changes: Mapping[str, str]) -> ConfigDict:
    """The preset's settings with those of the command line, each read as its key's kind."""
    keys = settings.keys
    unset = [n for n, t in changes.items() if t == usage.UNSET and keys[n].default is None]
    given = {n: _in_brackets(keys[n], t) for n, t in changes.items() if n not in unset}
    words = [f"--config.{name}={text}" for name, text in given.items()]
    values, argv = flags.FlagValues(), ["study", *words]
    config_flags.DEFINE_config_dict(
        "config", settings.config, lock_config=True, flag_values=values, sys_argv=argv
    )
    try:
        values(argv)
    except flags.Error as error:
        named = re.match(r"flag --config\.([\w.]+)=(.*?): ", str(error), re.DOTALL)
        if named is None:
            raise ConfigError(str(error).replace("\n", " ")) from error
        raise settings.keys[named[1]].refusal(repr(named[2])) from error
    values.config.update_from_flattened_dict(dict.fromkeys(unset))
    return values.config


def _in_brackets(key: Key, text: str) -> str:
    """`('sum', 'value')` for `sum,value` or `sum,value,`: words in a tuple need no quotes."""
    if key.kind is tuple and key.item is str and not set(text) & set("()[]'\""):
        return repr(tuple(word.strip() for word in text.strip().removesuffix(",").split(",")))
    return text


def _number(flag: str, key: str, text: str) -> float:
    """Of a flag that stands for a key."""
    limit = table(KEYS)[key]
    with contextlib.suppress(ValueError, ConfigError):
        value = float(text)
        limit.check(value)
        return value
    raise ConfigError(f"--{flag}={text!r}: give {limit.allowed}; 0 for no limit")
