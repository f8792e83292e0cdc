"""Command lines of programs that take flags: `python -m experiments.X RUN RUN --flag=...`.

Studies, which take settings, have `experiments.shell.cli`. Both answer a wrong word in one line.
"""

import argparse
import dataclasses
import difflib
import shlex
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from jaxzero import files, pipes
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises `ConfigError`, and knows the nearest flag."""

    command: str  # how the program was called, once its words are parsed

    def __init__(self, **settings: Any) -> None:
        self._flags: list[str] = []
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def add_argument(self, *names: Any, **settings: Any) -> Any:
        """As `ArgumentParser.add_argument`."""
        self._flags += [name for name in names if name.startswith("--")]
        if settings.get("type") is Path:
            settings["type"] = files.from_home
        return super().add_argument(*names, **settings)

    def add_runs(self, name: str, meaning: str) -> None:
        """Run directories, at least one."""
        self.add_argument(name, nargs="+", type=Path, metavar="RUN", help=meaning)

    def add_fields(self, settings: Any, meanings: Mapping[str, str]) -> None:
        """A flag for each field of a dataclass that has a meaning, with its kind and its default.

        Kinds are whole numbers, words, tuples of words, or None; the meaning is what `--help` says.
        """
        kinds = typing.get_type_hints(settings)
        for field in dataclasses.fields(settings):
            if field.name in meanings:
                kind: Any = kinds[field.name]
                default: Any = field.default
                listed = typing.get_origin(kind) is tuple
                whole = int in (kind, *typing.get_args(kind))
                shown = ",".join(default) if listed else default
                self.add_argument(
                    f"--{field.name}",
                    type=words if listed else int if whole else str,
                    default=default,
                    metavar="NAMES" if listed else "N" if whole else "WHICH",
                    help=meanings[field.name]
                    + ("" if shown in (None, "") else f" (default {shown})"),
                )

    def parse(self, words: Sequence[str] | None = None) -> argparse.Namespace:
        """The flags' values. ConfigError: one line about the first word that is wrong."""
        words = sys.argv[1:] if words is None else list(words)
        self.command = shlex.join([*self.prog.split(), *words])
        known, unknown = self.parse_known_args(words)
        if unknown:
            flag = unknown[0].partition("=")[0]
            close = difflib.get_close_matches(flag, self._flags, n=1)
            hint = f"did you mean {close[0]}?" if close else "see --help"
            raise ConfigError(f"unknown argument {unknown[0]!r}: {hint}")
        return known

    def error(self, message: str) -> NoReturn:
        """Called by argparse for a bad value."""
        raise ConfigError(message.removeprefix("argument "))


def words(text: str) -> tuple[str, ...]:
    """`("a", "b")` of `"a,b"`."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def check_games(games: int, said: str) -> None:
    """Refuses a number of games that two colours can't share (ConfigError)."""
    if games < 2 or games % 2:
        raise ConfigError(
            f"{said}={games}: both colours need an even number, e.g. {max(2, games + 1)}"
        )


def check_at_least(value: int | None, least: int, said: str) -> None:
    """Refuses a number below `least` (ConfigError); None is not given."""
    if value is not None and value < least:
        raise ConfigError(f"{said}={value}: at least {least} is needed")


def check_seed(value: int) -> None:
    """Refuses what is no seed of `jax.random` (ConfigError)."""
    if not 0 <= value < 2**31:
        raise ConfigError(f"--seed={value}: 0 to {2**31 - 1} can be used")


@pipes.reader_may_leave()
def run(program: Callable[[], None]) -> None:
    """Runs a program and turns what stops it into one line and a status.

    Exits with status 2 for what can't work or a full disk, 130 when interrupted, 141 when nobody
    reads the output.
    """
    try:
        with devices.known_platforms():
            program()
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in files.DISK_TROUBLE:
            raise
        print(f"error: {error}: make room or choose another place", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; the same command starts again", file=sys.stderr)
        sys.exit(130)
