"""Strength over training against fixed opponents, on one scale for all runs.

    python -m experiments.ladder runs/first runs/second

The networks that each run kept play a random player, a greedy one and plain MCTS, who also play
each other; networks do not meet. All are rated in one pool, in which random is 0, so curves of
different runs can be compared. Writes ladder.json and figures/ladder.svg into each run's directory.
See docs/tournaments.md.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.pages import page
from experiments.shell import next_command
from experiments.strength import contestants, fixed_opponents, opponents
from experiments.strength import ladder_figures as pictures
from experiments.strength.fixed_opponents import ZERO, LadderSettings
from jaxzero import arguments, files, runs
from jaxzero.arguments import Parser
from jaxzero.runs import Run, backend
from jaxzero.runs.processes import say
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config

FILE = "ladder.json"


def parser() -> Parser:
    made = Parser(prog="python -m experiments.ladder", description=__doc__)
    made.add_runs("runs", "run directory, finished or not")
    made.add_fields(
        LadderSettings,
        opponents.FLAGS
        | {
            "games": "games of each network against each opponent, both colours together",
            "opponents": f"{ZERO} and any of {','.join(n for n in opponents.NAMES if n != ZERO)} "
            "or another mcts_N",
            "iterations": "all that a run kept, last, or numbers like 0,10,20",
            "points": "measure at most so many iterations of a run, evenly chosen",
        },
    )
    return made


def climb(directories: Sequence[Path], settings: LadderSettings) -> list[dict[str, Any]]:
    """Measures runs and writes their ladders, or finds that they are measured.

    ConfigError: one line, before anything is written or compiled.
    """
    backend.prepare(default_config())
    for path, times in Counter(path.resolve() for path in directories).items():
        if times > 1:
            raise ConfigError(f"{path} is named twice: name each run once")
    opened = [runs.open_run(directory) for directory in directories]
    contestants.refuse_shipped(opened)
    contestants.same_board(opened)
    fixed_opponents.check(settings, opened[0].spec.game.name)
    description = fixed_opponents.described(opened, settings)
    for run in opened:
        contestants.finite_members(run)  # refuses a run without any
    stored = [run.directory / FILE for run in opened]
    ladders = [files.read_json(path) if path.is_file() else {} for path in stored]
    if all(ladder.get("settings") == description for ladder in ladders):
        say("already measured with these settings")
    else:
        say(devices.idle_accelerator())
        ladders = fixed_opponents.measure(opened, settings)
        for run, ladder in zip(opened, ladders, strict=True):
            files.write_json(run.directory / FILE, ladder)
    print(summary(opened, directories, ladders))
    # Also if they are measured: a kill may have come before the figures.
    for run, ladder in zip(opened, ladders, strict=True):
        _draw(run, ladder)
    if len(opened) > 1:
        _compare(opened, directories, ladders)
    for run in opened:
        say(f"written: {run.directory / FILE}")
        next_command.after_measuring(run)
    return ladders


def write(run: Run, ladder: dict[str, Any]) -> None:
    """ladder.json and figures/ladder of one run."""
    files.write_json(run.directory / FILE, ladder)
    _draw(run, ladder)


def _draw(run: Run, ladder: dict[str, Any]) -> None:
    groups = pictures.groups_of(ladder, contestants.label_members(run))
    page.save(pictures.figure(groups, ladder["anchors"]), run.directory / "figures" / "ladder")


def _compare(
    opened: Sequence[Run], directories: Sequence[Path], ladders: Sequence[dict[str, Any]]
) -> None:
    """One figure of all runs, in the directory of each."""
    groups: dict[str, pictures.StrengthCurve] = {}
    for run, label, ladder in zip(
        opened, contestants.label_runs(directories), ladders, strict=True
    ):
        own = pictures.groups_of(ladder, contestants.label_members(run))
        groups |= {f"{label}: {name}" if len(own) > 1 else label: own[name] for name in own}
    for run in opened:
        drawn = pictures.figure(groups, ladders[0]["anchors"])
        page.save(drawn, run.directory / "figures" / "ladder_compared")


def summary(
    opened: Sequence[Run], directories: Sequence[Path], ladders: Sequence[dict[str, Any]]
) -> str:
    """Elo above random, first and last, by run and target, and the opponents."""
    lines = [
        f"{anchor['name']:40} {anchor['elo']:7.0f} ± {anchor['stderr']:.0f}"
        for anchor in sorted(ladders[0]["anchors"], key=lambda a: a["elo"])
    ]
    for run, label, ladder in zip(
        opened, contestants.label_runs(directories), ladders, strict=True
    ):
        for name, group in pictures.groups_of(ladder, contestants.label_members(run)).items():
            for at in dict.fromkeys((0, group.band.last)):
                text = f"{label}: {name}, iteration {group.band.iterations[at]}"
                mean, error = group.band.mean[at], group.error_of_mean(at)
                lines.append(f"{text:40} {mean:7.0f} ± {error:.0f}")
    return "\n".join(["Elo above the random player, ± standard error", *lines])


def main(words: Sequence[str] | None = None) -> None:
    given = vars(parser().parse(words))
    climb(given.pop("runs"), LadderSettings(**given))


if __name__ == "__main__":
    arguments.run(main)
