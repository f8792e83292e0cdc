"""Makes the figures and the report of a study again, from what lies in its run directory.

    python -m experiments.report runs/quick

Takes a finished run of any study, or of the loss ablation one that is still going on. Nothing is
trained or played.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from experiments.shell import arguments
from experiments.shell.next_command import play_it, suggest
from jaxzero import workdir
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError

# Where each study's `write_report(directory) -> page` is; imported when it is asked for.
REPORTS: Final = {
    "arms": "experiments.losses.arms_report",
    "connect_four_efficiency": "experiments.connect_four.efficiency_report",
    "connect_four_extensions": "experiments.connect_four.extensions_report",
    "connect_four_search": "experiments.connect_four.search_report",
    "connect_four_supervised": "experiments.connect_four.supervised_report",
    "curriculum": "experiments.curriculum.report",
    "hyperparameter_correlation": "experiments.hyperparameters.correlation_report",
    "hyperparameter_search": "experiments.hyperparameters.search_report",
    "hyperparameter_sweep": "experiments.hyperparameters.sweep_report",
    "loss_ablation": "experiments.losses.report",
    "recipe": "experiments.strength.recipe_report",
    "tournament": "experiments.strength.tournament_report",
    "train": "experiments.strength.training_report",
}
_FIRST: Final = "loss_ablation"  # the study of directories that do not carry its name


def write(directory: Path) -> Path:
    """Writes the report of the study that a run directory holds; returns the page's path.

    ConfigError: it is none, no study's that has a report, or has not got far enough.
    """
    module = importlib.import_module(REPORTS[study_of(directory)])
    with workdir.writing(directory):
        path: Path = module.write_report(directory)
    return path


def study_of(directory: Path) -> str:
    """The study whose report can be made of a directory; reads only. ConfigError: see `write`."""
    files = {name for name in (workdir.RESULTS, workdir.CONFIG, workdir.METRICS)
             if (directory / name).is_file()}  # fmt: skip
    if not files:
        raise ConfigError(
            f"{directory} is no run directory (it holds no {workdir.RESULTS} or "
            f"{workdir.METRICS}): give the --workdir of a study"
        )
    named = [name for name in (workdir.RESULTS, workdir.CONFIG) if name in files]
    study = (workdir.read_json(directory / named[0]).get("study") if named else None) or _FIRST
    if study not in REPORTS:
        raise ConfigError(
            f"{directory} is a run of {study}, which has no report: give the run directory of "
            f"one of {', '.join(REPORTS)}"
        )
    enough = [workdir.RESULTS, *([workdir.METRICS] if study == _FIRST else [])]
    if not files & set(enough):
        raise ConfigError(
            f"{directory} holds no {' or '.join(enough)} yet: the study writes its report when it "
            "ends; if it is not running any more, run its command again"
        )
    return study


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.report", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory of a study")
    run: Path = parser.parse(words).run
    print(write(run))
    if study_of(run) == _FIRST and (run / workdir.RESULTS).is_file():
        suggest("which claims hold", "experiments.claims", run)
    elif (run / workdir.CONFIG).is_file():
        say(play_it(run, workdir.read_json(run / workdir.CONFIG)["game"]))


if __name__ == "__main__":
    arguments.run(main)
