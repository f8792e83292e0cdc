"""A tournament between finished runs, or unfinished ones, and fixed opponents.

    python -m experiments.tournament runs/first runs/second --games=20

The networks of any run directories on one board, after their last iteration or several, a random
player, a greedy one and plain MCTS with random rollouts: everyone meets everyone with both colours,
at temperature 0, in pairs of games that start from a random opening of their own. Writes
results.json, games/tournament.npz, figures and report.html. See docs/tournaments.md.
"""

import dataclasses
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.pages import reports
from experiments.shell.next_command import suggest
from experiments.strength import (
    contestants,
    opponents,
    run_means,
    tournament_figures,
    tournament_files,
    tournament_report,
)
from experiments.strength.contestants import Contestant
from experiments.strength.opponents import Entry
from jaxzero import arguments, files, runs, workdir
from jaxzero.arguments import Parser
from jaxzero.matches import round_robin, tournament
from jaxzero.runs import Run, backend
from jaxzero.runs.processes import say
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config

STUDY = "tournament"


@dataclasses.dataclass(frozen=True)
class TournamentSettings:
    """What a tournament is."""

    runs: tuple[Path, ...]  # run directories; one that is given twice plays as two
    games: int = 20  # of each pair, both colours together
    simulations: int | None = None  # m of all networks; None: each its own run's
    opponents: tuple[str, ...] = opponents.NAMES  # names, see `opponents.NAMES`
    iterations: str = "last"  # `last`, `all`, or numbers
    members: tuple[str, ...] = ()  # names of members of the runs; empty: all
    openings: int = 2  # random plies before each colour-swapped pair of games
    seed: int = 0  # of the games


def parser() -> Parser:
    made = Parser(prog="python -m experiments.tournament", description=__doc__)
    made.add_runs("runs", "run directory, finished or not")
    made.add_fields(
        TournamentSettings,
        opponents.FLAGS
        | {
            "games": "games of each pair, both colours together",
            "opponents": "fixed opponents, also mcts_N with another number of rollouts; "
            "--opponents= for none",
            "iterations": "last, all that a run keeps, or numbers like 0,10,20: each is a player",
            "members": "members of the runs, like sum_seed0,value_seed0 (default: all)",
        },
    )
    made.add_argument(
        "--workdir",
        type=Path,
        metavar="DIR",
        help="directory for the results (default: runs/tournament_X, X made of the settings)",
    )
    return made


def play(
    settings: TournamentSettings, directory: Path | None = None, command: str | None = None
) -> Path:
    """Plays a tournament, or finds that it was played; returns its directory.

    By default that is made of the settings. ConfigError: one line, before anything is written or
    compiled.
    """
    check(settings)
    backend.prepare(default_config())
    opened = [runs.open_run(path) for path in settings.runs]
    contestants.same_board(opened)
    opponents.check(settings.opponents, "--opponents", opened[0].spec.game.name)
    fielded = field(settings, opened)
    description = describe(settings, opened, fielded)
    directory = directory or Path("runs") / f"tournament_{_digest(description)[:8]}"
    contestants.refuse_run(directory)
    workdir.claim(directory, ConfigDict(description), STUDY)
    if (directory / workdir.RESULTS).is_file():
        results = workdir.read_results(directory)
        say(f"already played: {directory}")
    else:
        results = _play(settings, opened, fielded, description, directory, command)
    print(summary(results["tournaments"][0]))
    say(f"report: {reports.write(directory)}")
    suggest("strength over training", "experiments.ladder", *dict.fromkeys(settings.runs))
    return directory


def check(settings: TournamentSettings) -> None:
    """Refuses what needs no run to be seen as wrong (ConfigError)."""
    arguments.check_games(settings.games, "--games")
    arguments.check_at_least(settings.simulations, 1, "--simulations")
    arguments.check_at_least(settings.openings, 0, "--openings")
    arguments.check_seed(settings.seed)


def field(settings: TournamentSettings, opened: Sequence[Run]) -> list[Contestant]:
    """The networks that take part; says which failed and don't.

    ConfigError: a member or an iteration that there is not; a tournament of one; all members of a
    run failed.
    """
    contestants.check_members(opened, settings.members)
    labels = contestants.label_runs(settings.runs)
    found = []
    for run, label in zip(opened, labels, strict=True):
        if settings.members and not contestants.choose_members(run, settings.members):
            failed = [name for name in contestants.failed_in(run) if name in settings.members]
            why = f"only {', '.join(failed)}, which failed" if failed else "none of them"
            raise ConfigError(
                f"--members={','.join(settings.members)}: {run.directory} has {why}, leave it out"
            )
        found += contestants.field_run(
            run,
            label,
            iterations=contestants.choose_iterations(run, settings.iterations),
            members=contestants.choose_members(run, settings.members),
            asked=settings.simulations,
        )
    if len(found) + len(settings.opponents) < 2:
        raise ConfigError(
            f"--opponents={','.join(settings.opponents)}: {found[0].entry.name} would play alone, "
            "name opponents or more runs"
        )
    contestants.say_who_failed(opened)
    return found


def describe(
    settings: TournamentSettings, opened: Sequence[Run], fielded: Sequence[Contestant]
) -> dict[str, Any]:
    """The settings as they are stored, equal for equal tournaments."""
    lines = []
    for run, label in zip(opened, contestants.label_runs(settings.runs), strict=True):
        iterations = dict.fromkeys(one.iteration for one in fielded if one.label == label)
        members = contestants.choose_members(run, settings.members)
        names = [run.members[i].name for i in members]
        lines.append(
            f"{label} = {run.directory.resolve()}, iterations {_listed(iterations)}, members "
            f"{'all' if len(names) == len(run.members) else _listed(names)}, settings "
            f"{_digest([_fixed(member.config) for member in run.members])[:8]}"
        )
    facts = dataclasses.asdict(settings) | {"runs": tuple(lines), "game": opened[0].spec.game.name}
    del facts["iterations"], facts["members"]
    return facts | {"simulations": settings.simulations or 0}  # 0: each network's own


def _fixed(config: ConfigDict) -> dict[str, Any]:
    """The settings that stay as they are when a run goes on."""
    settings = config_lib.flatten(config)
    return {k: v for k, v in settings.items() if not k.startswith(workdir.MAY_DIFFER)}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(files.plain(value), sort_keys=True).encode()).hexdigest()


def _listed(items: Any) -> str:
    return " ".join(map(str, items))


def _play(
    settings: TournamentSettings,
    opened: Sequence[Run],
    fielded: Sequence[Contestant],
    told: dict[str, Any],
    directory: Path,
    command: str | None,
) -> dict[str, Any]:
    """The tournament itself, its files written."""
    started = time.monotonic()
    game = opened[0].spec.game
    networks, kinds = contestants.build(fielded)
    others, more = opponents.build(game, settings.opponents)
    entries, kinds = [*networks, *others], [*kinds, *more]
    _announce(settings, game, entries)
    match_of = round_robin.compile_round_robin(
        game, kinds, games_per_direction=settings.games // 2, opening_plies=settings.openings
    )
    match = match_of([k.params for k in kinds], jax.random.key(settings.seed), STUDY)
    played = tournament.rate(match, len(entries))
    entry = tournament_files.entry(
        played,
        entries,
        name=STUDY,
        title="Tournament",
        num_simulations=settings.simulations,
        games_per_pair=settings.games,
    ) | tournament_files.circles(played)
    results = {
        "study": STUDY,
        "game": game.name,
        "command": command,
        "settings": told,
        "environment": workdir.environment(),
        "cost": {"wall_seconds": time.monotonic() - started},
        "tournaments": [entry],
    }
    tournament_files.games(directory, {STUDY: played}, entries)
    files.write_json(directory / workdir.RESULTS, results)  # it says that all is played
    return files.plain(results)


def _announce(settings: TournamentSettings, game: Any, entries: Sequence[Entry]) -> None:
    """What will be played, on what, and how much that is at most."""
    say(devices.idle_accelerator())
    most = round_robin.forecast(
        game, [entry.simulations or 0 for entry in entries], settings.games // 2
    )
    rollouts = sum(
        most.evaluations[i] for i, entry in enumerate(entries) if entry.kind == "rollouts"
    )
    say(
        f"{len(entries)} players, {most.games:,} games of {game.name} on {devices.describe()}, at "
        f"most {sum(most.evaluations) - rollouts:,} evaluations of networks and {rollouts:,} "
        "random playouts; compiling..."
    )


def summary(played: dict[str, Any]) -> str:
    """The ratings as a table for the terminal, runs over their seeds, and the circles."""
    ranked = tournament_figures.by_rating(played)
    text = [tournament_figures.ratings(ranked).text(), ""]
    if runs := run_means.means_table(played):
        text += [runs.text(), ""]
    return "\n".join([*text, *tournament_report.sentences(ranked)])


def main(words: Sequence[str] | None = None) -> None:
    made = parser()
    given = vars(made.parse(words))
    directory = given.pop("workdir")
    settings = TournamentSettings(**given | {"runs": tuple(given["runs"])})
    play(settings, directory, made.command)


if __name__ == "__main__":
    arguments.run(main)
