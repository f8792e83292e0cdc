"""Trains one player of any game by one recipe, and examines it as it trains.

    python -m experiments.train --config=experiments/configs/train.py:connect_four_6x7 \\
        --workdir=runs/c4

Every few iterations the network plays fixed opponents and, where positions can be solved, is asked
for their moves; the best network is kept, and training ends early when nothing improves. `player/`
in the run directory is then a run directory of its own with that network alone and `card.json`,
what is known of it. See docs/train.md.
"""

import functools
import time
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.train import GAMES, KEYS
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import examinations, player_folder
from experiments.strength.examinations import Examiner, Record, Records
from jaxzero import files, runs, solvers, workdir
from jaxzero.runs import Member, learning, processes, runner
from jaxzero.runs.runner import Observer
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.solvers import Labelled
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import spec as spec_lib

STUDY = "train"
EXAMINATIONS = "examinations.json"
POSITIONS = "positions.npz"
PLAYER = "player"  # the member's name, and the folder of what is shipped


def validate(config: ConfigDict) -> None:
    """Refuses what cannot be trained, before anything compiles."""
    shell.check(config, KEYS, "opponents")
    config_lib.require_one_width(config)
    game = spec_lib.make_spec(config).game
    examinations.check(config, game)
    if (own := config.preset.removesuffix(".gpu")) in GAMES and own != config.game:
        raise ConfigError(
            f"config.game={config.game!r}: preset {config.preset} has the numbers of its own game, "
            "take the preset of that game, or laptop or gpu"
        )


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole training, or the rest of it: (config, workdir) -> player/, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate, over_hosts=True)
    member = Member(PLAYER, config.train.loss, config.seed, config)
    progress = Progress(study)
    with Tracker(directory, config, STUDY) as tracker:
        seconds = 0.0
        if not progress.is_done():
            observer = None
            progress.positions()  # a bad file is refused before anything compiles
            if config.study.examine_every:
                observer = Observer(config.study.examine_every, progress.look)
            trained = runner.train(config, [member], directory, tracker, observer=observer)
            seconds = trained.compile_seconds
        processes.part()
        if jax.process_index() == 0:
            tracker.finish(conclude(study, member, progress, seconds))


class Progress:
    """The examinations of a run so far, kept in `examinations.json`."""

    def __init__(self, study: StudyRun) -> None:
        """Reads what an earlier process found."""
        self._study, self._path = study, study.directory / EXAMINATIONS
        stored = files.read_json(self._path) if self._path.is_file() else {}
        self.records: Records = {int(i): record for i, record in stored.items()}
        self.positions = functools.cache(lambda: positions_of(study))
        self.examiner = Examiner(spec_lib.make_spec(study.config), study.config)

    def is_done(self) -> bool:
        """Whether training ended because nothing improved, if it is looked at."""
        if not self._study.config.study.examine_every:
            return False
        saved = runs.saved_iteration(self._study.directory)
        last = max(self.records, default=0)
        return last == saved and self._has_ended()

    def look(self, iteration: int, networks: Any) -> bool:
        """Examines the network after an iteration; whether to end the training."""
        config = self._study.config
        given = {"games": config.study.games, "seed": config.seed}
        record = self.examiner(networks, self.positions(), **given)
        self.records = {i: r for i, r in self.records.items() if i < iteration}
        self.records[iteration] = record
        shell.say(f"\niteration {iteration}: {in_words(record)}")
        if jax.process_index() == 0:
            files.write_json(self._path, self.records)
        return self._has_ended()

    def _has_ended(self) -> bool:
        return examinations.has_ended(self.records, self._study.config.study.patience)


def positions_of(study: StudyRun) -> Labelled | None:
    """The solved positions of all examinations, kept in the run directory."""
    config, path = study.config, study.directory / POSITIONS
    game, count = spec_lib.make_spec(config).game, config.study.positions
    if config.study.position_file:
        try:
            return solvers.read_positions(files.from_home(config.study.position_file), game)
        except ConfigError as error:
            raise ConfigError(f"config.study.position_file: {error}") from error
    return examinations.kept_positions(path, game, count, config.seed)


def in_words(record: Record) -> str:
    """One line about an examination."""
    shown = [f"{points:.2f} against {name}" for name, points in record["points"].items()]
    if "search" in record:
        shown.append(f"{record['search']:.3f} of contested positions kept with search")
        shown.append(f"{record['network']:.3f} alone")
    if "value_error" in record:
        shown.append(f"value error {record['value_error']:.3f}")
        shown.append(f"of the best constant {record['constant_error']:.3f}")
    return ", ".join(shown)


def conclude(
    study: StudyRun, member: Member, progress: Progress, compile_seconds: float
) -> StudySummary:
    """Measures the best network once more, writes `player/`, `results.json` and the report."""
    config, directory, records = study.config, study.directory, progress.records
    opened = runs.open_run(directory)
    at = examinations.best(records) if records else opened.iterations[-1]
    shell.say(f"examining the network of iteration {at} for its card...")
    started = time.monotonic()
    seed = config.seed + 1  # other openings and positions than those that it was chosen by
    labelled, count = None, config.study.positions
    if config.study.position_file:
        labelled = progress.positions()
    elif count:
        labelled = examinations.solved_positions(opened.spec.game, count, seed)
    final = progress.examiner(
        runs.networks(opened, at), labelled, games=config.study.final_games, seed=seed
    )
    rows = files.read_rows(directory / workdir.METRICS)
    spent = {"examinations": sum(record["seconds"] for record in records.values())}
    spent["training"] = max(row["seconds"] for row in rows)
    if (kept := directory / learning.FILE).is_file():
        spent["examination of learning"] = files.read_json(kept).get("seconds", 0.0)
    spent["card"] = time.monotonic() - started
    results = study.header([member]) | {
        "best_iteration": at,
        "final": final,
        "examinations": [{"iteration": i} | record for i, record in records.items()],
        "cost": {
            "wall_seconds": sum(spent.values()),
            "compile_seconds": compile_seconds,
            "phases": spent,
            "games": sum(row.get("count/games", 0) for row in rows if row["iteration"] <= at),
        },
    }
    files.write_json(directory / workdir.RESULTS, results)
    folder = directory / PLAYER
    player_folder.write(opened, at, folder, player_folder.card(results))
    shell.say(f"player: {folder} ({in_words(final)})")
    return study.finish(results)


if __name__ == "__main__":
    cli.run(run, STUDY)
