"""A study from a notebook: the same run directory as from the command line."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ml_collections import ConfigDict

from experiments import ablation_sizes, loss_ablation
from experiments.costs import clock
from experiments.costs.clock import Cost
from experiments.pages import page
from experiments.shell import presets
from experiments.shell import study as shell
from jaxzero import files, workdir
from jaxzero.runs import backend, hardware
from jaxzero.runs.stopping import Stopped
from jaxzero.settings import companions
from jaxzero.settings.config import ConfigError, nearest
from jaxzero.tracking import Sheet

_TIMED = 2.0  # seconds of each phase
_WIDTH = 760  # pixels of a report's figure
_COLOURS = 64  # of it: a tenth of the file


class Study(Protocol):
    """The module of a study, e.g. `experiments.loss_ablation`."""

    STUDY: str

    def validate(self, config: ConfigDict, /) -> None:
        """Refuses settings."""

    def run(self, config: ConfigDict, directory: Path, command: str | None = None, /) -> None:
        """Trains, measures, writes the report."""


def place(folder: str, name: str, *, drive: bool = False) -> Path:
    """The run directory FOLDER/NAME; with `drive`, on Colab, in your Google Drive."""
    if drive:
        from google.colab import drive as google_drive  # exists on Colab only

        google_drive.mount("/content/drive")
        return Path("/content/drive/MyDrive") / folder / name
    return Path(folder) / name


def choose(sizes: Iterable[str], name: str = ablation_sizes.AUTO) -> str:
    """The size of that name; `auto`: `gpu` where JAX sees a GPU or TPU, else `cpu`.

    ConfigError: there is none of that name.
    """
    known = list(sizes)
    if name == ablation_sizes.AUTO:
        name = "cpu" if hardware.look().platform == "cpu" else "gpu"
    if name not in known:
        raise ConfigError(f"size {name!r}: {nearest(name, [ablation_sizes.AUTO, *known])}")
    return name


def settings(study: Study, preset: str, changes: Mapping[str, Any]) -> ConfigDict:
    """A preset, changed (dotted keys) and checked. ConfigError: settings that cannot work."""
    config = presets.settings(study.STUDY, preset, changes)
    config = getattr(study, "resolve", lambda config: config)(config)  # what a preset leaves open
    backend.prepare(config)  # before anything looks for devices
    study.validate(config)
    companions.refuse_idle(config, changes, presets.replaced(study.STUDY))
    return config


def run(config: ConfigDict, directory: Path, study: Study = loss_ablation) -> bool:
    """Runs a study, or the rest of it; says how to resume it. Returns whether it is finished.

    ConfigError: settings that cannot work, or a directory of other ones.
    """
    print("the same from a terminal:")
    command = presets.command(study.STUDY, config, directory)
    print(command)
    backend.prepare(config)
    workdir.claim(directory, config, study.STUDY)  # refuses a directory of another run
    failed = config.execution.get("retry_failed", False) and _failures(directory)
    if shell.is_finished(config, directory) and not failed:
        print(f"{directory} is finished: nothing left to do")
        return True
    try:
        study.run(config, directory, command)
    except Stopped as stopped:
        print(str(stopped).replace("the same command", "running this cell again"))
        return False
    return True


def _failures(directory: Path) -> bool:
    """Whether runs of a study failed and were left out of its results."""
    path = directory / workdir.RESULTS
    return path.exists() and bool(files.read_json(path).get("failed"))


def answer(directory: Path) -> str:
    """What a report says first, in Markdown: the headline and its numbers, or the verdicts."""
    read = page.read(directory / "report.html")
    if not read.headline:
        return "\n".join(f"* {verdict}" for verdict in read.verdicts)
    numbers = [f"* **{value}** {what}" for value, what in read.numbers]
    return "\n".join([f"**{read.headline}**", "", *numbers])


def table(directory: Path, title: str, columns: Sequence[str] = ()) -> str:
    """A report's table in Markdown, or some columns. ConfigError: there is none of that title."""
    tables = [t for s in page.read(directory / "report.html").sections for t in s.tables]
    found = next((t for t in tables if t.title == title), None)
    if found is None:
        raise ConfigError(f"table {title!r}: {nearest(title, [t.title for t in tables])}")
    for name in columns:
        if name not in found.headers:
            raise ConfigError(f"column {name!r}: {nearest(name, found.headers)}")
    shown = [found.headers.index(name) for name in columns or found.headers]
    rows = tuple(tuple(row[at] for at in shown) for row in found.rows)
    return Sheet(tuple(found.headers[at] for at in shown), rows).markdown() + f"\n\n{found.note}"


def figure(directory: Path, name: str) -> bytes:
    """A report's figure as a PNG that fits a notebook. ConfigError: there is none of that name."""
    from PIL import Image

    path = directory / "figures" / f"{name}.png"
    if not path.exists():
        known = sorted(other.stem for other in path.parent.glob("*.png"))
        raise ConfigError(f"figure {name!r} of {directory}: {nearest(name, known)}")
    with Image.open(path) as whole:
        size = (_WIDTH, round(whole.height * _WIDTH / whole.width))
        shrunk = whole.convert("RGB").resize(size, Image.Resampling.LANCZOS).quantize(_COLOURS)
    kept = io.BytesIO()
    shrunk.save(kept, "png", optimize=True)
    return kept.getvalue()


def estimate(config: ConfigDict, directory: Path) -> str:
    """How long the rest of the study takes here, in words: Equation 2, its units timed here."""
    if shell.is_finished(config, directory):
        return f"{directory} is finished"
    backend.prepare(config)
    done = [row["iteration"] for row in files.read_rows(directory / workdir.METRICS)]
    timing = clock.of_members(config, loss_ablation.make_members(config), seconds=_TIMED)
    played = timing.selfplay()
    units = Cost(played.unit, timing.arena().unit, timing.training().unit)
    training = ablation_sizes.training_minutes(
        config,
        units,
        plies=float(played.metrics["selfplay/plies"].mean()),
        done=max(done, default=0),
    )
    matches = ablation_sizes.tournament_minutes(config, units.selfplay)
    return (
        f"about {_minutes(training)} of training and {_minutes(matches)} of tournaments, judged by "
        f"untrained networks: {units.selfplay:.2g} s an evaluation in self-play, {units.arena:.2g} "
        f"s in the arena, {units.training:.2g} s a minibatch"
    )


def _minutes(value: float) -> str:
    if value < 1:
        return f"{60 * value:.0f} seconds"
    return f"{value:.0f} minutes" if value < 90 else f"{value / 60:.1f} hours"


def ratings(results: Mapping[str, Any]) -> Sheet:
    """The first tournament of `results.json`, strongest first: Elo and its standard error."""
    played = results["tournaments"][0]
    rated = zip(played["players"], played["elo"], played["stderr"], strict=True)
    rows = sorted(
        ((player["name"], round(elo), round(stderr)) for player, elo, stderr in rated),
        key=lambda row: -row[1],
    )
    return Sheet(("player", "Elo", "+-"), tuple(rows))
