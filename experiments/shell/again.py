"""The commands that make a run directory's figures and report again: one for each kind of study."""

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.shell import arguments
from jaxzero import workdir
from jaxzero.settings.config import ConfigError

WriteReport = Callable[[Path], Path]  # run directory -> report.html


def make(
    write_report: WriteReport,
    study: str,
    module: str,
    words: Sequence[str] | None = None,
    *,
    unfinished: bool = False,
) -> None:
    """Reads the command line, checks the run directory, writes its report and prints where.

    Args:
      write_report: of that study.
      study: the name that its directories carry, e.g. `"loss_ablation"`.
      module: how the command is called.
      words: of the command line; None: those of the process.
      unfinished: whether metrics alone are enough for a report.

    Raises:
      ConfigError: one line about a wrong word or directory, or one that can't be written.
    """
    kind = f"{study} run, finished or not" if unfinished else f"finished {study} run"
    parser = arguments.Parser(
        prog=f"python -m {module}", description=f"Makes the figures and the report of a {kind}."
    )
    parser.add_argument("run", type=Path, metavar="RUN", help=f"directory of a {kind}")
    directory = parser.parse(words).run
    check(directory, study, unfinished=unfinished)
    with workdir.writing(directory):
        print(write_report(directory))


def check(directory: Path, study: str, *, unfinished: bool = False) -> None:
    """Refuses a directory that the report can't be made of; reads only.

    Raises:
      ConfigError: it is none, is another study's, or has not got far enough.
    """
    files = [directory / name for name in (workdir.RESULTS, workdir.CONFIG)]
    found = [path for path in files if path.is_file()]
    enough = [workdir.RESULTS, *([workdir.METRICS] if unfinished else [])]
    if not found and not any((directory / name).is_file() for name in enough):
        raise ConfigError(
            f"{directory} is no run directory (it holds no {' or '.join(enough)}): give the "
            f"--workdir of a {study} run"
        )
    named = workdir.read_json(found[0]).get("study") if found else None
    if named not in (study, None):  # None: before directories carried it
        raise ConfigError(f"{directory} is a run of {named}: give the --workdir of a {study} run")
    if not any((directory / name).is_file() for name in enough):
        raise ConfigError(
            f"{directory} holds no {' or '.join(enough)} yet: run the study's command again, which "
            "goes on and writes the report at its end"
        )
