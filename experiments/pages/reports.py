"""Which module makes the page of which study, and the page of a run directory."""

import contextlib
import importlib
from pathlib import Path
from typing import Final

from experiments.pages import learning_section
from experiments.pages.page import Page
from jaxzero import files, workdir
from jaxzero.settings.config import ConfigError

# Where each study's `build(directory) -> Page` is; imported when it is asked for.
REPORTS: Final = {
    "arms": "experiments.losses.arms_report",
    "connect_four_efficiency": "experiments.connect_four.efficiency_report",
    "connect_four_extensions": "experiments.connect_four.extensions_report",
    "connect_four_search": "experiments.connect_four.search_report",
    "connect_four_supervised": "experiments.connect_four.supervised_report",
    "curriculum": "experiments.endgame.report",
    "hyperparameter_correlation": "experiments.hyperparameters.correlation_report",
    "hyperparameter_search": "experiments.hyperparameters.search_report",
    "hyperparameter_sweep": "experiments.hyperparameters.sweep_report",
    "loss_ablation": "experiments.losses.report",
    "recipe": "experiments.strength.recipe_report",
    "tournament": "experiments.strength.tournament_report",
    "train": "experiments.strength.training_report",
}
FIRST: Final = "loss_ablation"  # the study of directories that do not carry its name


def write(directory: Path) -> Path:
    """Writes figures and page of the study that a run directory holds; the path of `report.html`.

    ConfigError: it is none, no study's that has a report, or has not got far enough.
    """
    built: Page = importlib.import_module(REPORTS[study_of(directory)]).build(directory)
    with files.writing(directory):
        return learning_section.write(built, directory)


def study_of(directory: Path) -> str:
    """The study whose report can be made of a directory; reads only. ConfigError: see `write`."""
    files = {name for name in (workdir.RESULTS, workdir.CONFIG, workdir.METRICS)
             if (directory / name).is_file()}  # fmt: skip
    if not files:
        raise ConfigError(
            f"{directory} is no run directory (it holds no {workdir.RESULTS} or "
            f"{workdir.METRICS}): give the --workdir of a study"
        )
    stored = {}
    if workdir.RESULTS in files:
        stored = workdir.read_results(directory)
    elif workdir.CONFIG in files:
        stored = workdir.read_config(directory)
    study = stored.get("study") or FIRST
    if study not in REPORTS:
        raise ConfigError(
            f"{directory} is a run of {study}, which has no report: give the run directory of "
            f"one of {', '.join(REPORTS)}"
        )
    enough = [workdir.RESULTS, *([workdir.METRICS] if study == FIRST else [])]
    if not files & set(enough):
        for above in directory.resolve().parents[:2]:
            if _holds(above, study):
                raise ConfigError(f"{directory} is a part of {above}: give that")
        raise ConfigError(
            f"{directory} holds no {' or '.join(enough)} yet: the study writes its report when it "
            "ends; if it is not running any more, run its command again"
        )
    return study


def _holds(directory: Path, study: str) -> bool:
    """Whether a directory is a run of a study; another program's are none."""
    with contextlib.suppress(ConfigError, OSError):
        return bool(workdir.read_config(directory)["study"] == study)
    return False
