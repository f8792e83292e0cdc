"""How strong the networks of runs are over training, on one scale: fixed opponents, random = 0."""

import collections
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

from experiments.strength import contestants, opponents
from experiments.strength.opponents import Entry
from jaxzero import arguments, files
from jaxzero.matches import tournament
from jaxzero.matches.ladder import Ladder, above
from jaxzero.players import Players
from jaxzero.ratings import Ratings
from jaxzero.runs import Run
from jaxzero.runs.processes import say
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError
from jaxzero.training import spec as spec_lib

OPPONENTS = ("random", "greedy", "mcts_50", "mcts_200")
POINTS = 12
ZERO = "random"  # whose rating is 0
# Games that were counted of an ordered pair of the pool: opponents meet each other at every network
Earlier = collections.defaultdict[tuple[int, int], set[bytes]]


@dataclasses.dataclass(frozen=True)
class LadderSettings:
    """How runs are measured."""

    games: int = 20  # of each network against each opponent, both colours together
    opponents: tuple[str, ...] = OPPONENTS  # names, see `opponents.NAMES`; `random` among them
    iterations: str = "all"  # `all` that a run kept, `last`, or numbers
    # measured iterations of a run, at most; evenly chosen, first and last among them
    points: int = POINTS
    simulations: int | None = None  # m of all networks; None: each its own run's
    openings: int = 2  # random plies before each colour-swapped pair of games
    seed: int = 0  # of the games


def check(settings: LadderSettings, game: str, prefix: str = "--") -> None:
    """Refuses what needs no run but its board's name (ConfigError); `prefix`: of flags or keys."""
    arguments.check_games(settings.games, f"{prefix}games")
    arguments.check_at_least(settings.points, 2, f"{prefix}points")
    arguments.check_at_least(settings.simulations, 1, f"{prefix}simulations")
    arguments.check_at_least(settings.openings, 0, f"{prefix}openings")
    arguments.check_seed(settings.seed)
    opponents.check(settings.opponents, f"{prefix}opponents", game)
    if ZERO not in settings.opponents:
        raise ConfigError(
            f"{prefix}opponents={','.join(settings.opponents)}: {ZERO} is missing, its rating is "
            "the zero of the scale"
        )


@dataclasses.dataclass(frozen=True)
class Task:
    """A run, and what of it is measured."""

    place: int  # of the run among the runs, from 0
    run: Run
    iterations: Sequence[int]  # measured ones
    candidates: Players  # its members that did not fail after the first of them
    # for each of these, by number, the one that is the same player before training
    same: dict[int, int]
    ladder: Ladder  # the compiled games

    def key(self, member: int, at: int) -> tuple[int, int, int]:
        """Who a member is at an iteration: untrained, runs of a seed are one player."""
        return self.place, self.same[member] if at == 0 else member, at


def measure(opened: Sequence[Run], settings: LadderSettings) -> list[dict[str, Any]]:
    """Plays and rates the networks of runs on one board, all in one pool; says who failed.

    Returns:
      For each run what `ladder.json` holds: `runs` ({name: {iterations, elo, stderr}}, Elo above
      the random player and its standard error; without members that failed), `anchors` (the
      opponents' ratings), `settings` and numbers of games.

    Raises:
      ConfigError: runs of several boards; an iteration that a run does not keep; all members of a
        run failed.
    """
    contestants.same_board(opened)
    contestants.say_who_failed(opened)
    entries, references = opponents.build(opened[0].spec.game, settings.opponents)
    points = [choose_points(run, settings) for run in opened]
    tasks = _tasks(opened, points, references, settings)
    total = sum(task.ladder.games * len(task.iterations) for task in tasks)
    say(f"ladder: {total:,} games on {devices.describe()}; compiling...")
    for task in tasks:
        task.ladder.compile()
    numbers: dict[tuple[int, int, int], int] = {}  # of the networks, after the references
    rows = []
    earlier: Earlier = collections.defaultdict(set)
    with tqdm(total=total, unit="game", desc="ladder", mininterval=0.5) as bar:
        for task in tasks:
            for at in task.iterations:
                for member in task.same:
                    numbers.setdefault(task.key(member, at), len(entries) + len(numbers))
                who = [numbers[task.key(member, at)] for member in task.same]
                everyone = np.array([*who, *range(len(entries))])
                rows.append(_play(task, at, everyone, settings, bar, earlier))
    results = np.concatenate(rows)
    ratings = tournament.fit(results, len(entries) + len(numbers))
    common = {
        "game": opened[0].spec.game.name,
        "settings": described(opened, settings),
        "games": total,
        "distinct_games": int(results[:, 2:].sum()),
        "advantage": ratings.advantage,
        "draw_elo": ratings.draw_elo,
    }
    return [files.plain(common | _rated(task, entries, numbers, ratings)) for task in tasks]


def _tasks(
    opened: Sequence[Run],
    points: Sequence[Sequence[int]],
    references: Sequence[Players],
    settings: LadderSettings,
) -> list[Task]:
    games = settings.games // 2
    at_once = _at_once(games, sum(map(len, points)))
    ladders: dict[Any, Ladder] = {}  # runs of equal programs share one
    tasks = []
    for place, (run, iterations) in enumerate(zip(opened, points, strict=True)):
        members = contestants.finite_members(run)
        candidates = contestants.players_of(run, members, iterations[0], settings.simulations)
        most = max(contestants.simulations_of(run, i, settings.simulations) for i in members)
        program = (run.spec, len(members), most)
        if program not in ladders:
            ladders[program] = Ladder(
                run.spec.game,
                candidates,
                references,
                games_per_direction=games,
                opening_plies=settings.openings,
                at_once=at_once,
            )
        same = contestants.twins(run, members, settings.simulations)
        tasks.append(Task(place, run, iterations, candidates, same, ladders[program]))
    return tasks


def _at_once(games_per_direction: int, calls: int) -> int:
    """Games that are played together: on a CPU so few that a bar moves about 24 times."""
    if jax.default_backend() != "cpu":
        return games_per_direction
    parts = max(1, min(games_per_direction, 24 // calls))
    return -(-games_per_direction // parts)


def _play(
    task: Task, at: int, who: np.ndarray, settings: LadderSettings, bar: tqdm, earlier: Earlier
) -> np.ndarray:
    """int64[M, 5]: results of a run's networks after an iteration, with the pool's numbers."""
    params = task.candidates.params
    if at != task.iterations[0]:
        networks = contestants.networks_of(task.run, list(task.same), at)
        params = params._replace(variables=networks)
    key = jax.random.fold_in(jax.random.key(settings.seed), task.place)
    seen = [earlier[first, second] for first, second in who[task.ladder.pairs].tolist()]
    rows = task.ladder.play(params, jax.random.fold_in(key, at), bar, seen)
    return np.concatenate([who[rows[:, :2]], rows[:, 2:]], axis=1)


def _rated(
    task: Task, entries: Sequence[Entry], numbers: dict[Any, int], ratings: Ratings
) -> dict[str, Any]:
    """The curves of one run's members, and the references' ratings."""
    names = [entry.name for entry in entries]
    elo, stderr = above(ratings, names.index(ZERO))
    shared = [
        _shared_error(ratings, sorted({numbers[task.key(i, at)] for i in task.same}), names)
        for at in task.iterations
    ]
    curves = {}
    for i in task.same:
        players = [numbers[task.key(i, at)] for at in task.iterations]
        curves[task.run.members[i].name] = {
            "iterations": list(task.iterations),
            "elo": elo[players],
            "stderr": stderr[players],
            "shared_stderr": shared,
        }
    references = [{"name": n, "elo": elo[i], "stderr": stderr[i]} for i, n in enumerate(names)]
    return {"anchors": references, "runs": curves}


def _own_search(run: Run) -> bool:
    """Whether its networks play with the search that they were trained with, as arms' may not."""
    own = spec_lib.make_spec(run.members[0].config)
    return (own.arena_search, own.switches.keep_tree) == (
        run.spec.arena_search,
        run.spec.switches.keep_tree,
    )


def _shared_error(ratings: Ratings, players: Sequence[int], names: Sequence[str]) -> float:
    """Elo: what the errors above random of these players have in common, that of its own place."""
    zero = names.index(ZERO)
    own = ratings.covariance[np.ix_(players, players)]
    to_zero = ratings.covariance[players, zero]
    both = own - to_zero[:, None] - to_zero[None, :] + ratings.covariance[zero, zero]
    between = both[~np.eye(len(players), dtype=bool)]
    return math.sqrt(max(0.0, float(between.mean()))) if len(between) else 0.0


def choose_points(run: Run, settings: LadderSettings) -> list[int]:
    """The measured iterations, at most so many, evenly spread. ConfigError: one is not kept."""
    asked = contestants.choose_iterations(run, settings.iterations)
    if len(asked) <= settings.points:
        return asked
    goals = np.linspace(asked[0], asked[-1], settings.points)
    nearest = np.abs(np.array(asked)[None, :] - goals[:, None]).argmin(axis=1)
    return sorted({asked[i] for i in nearest.tolist()})


def described(opened: Sequence[Run], settings: LadderSettings) -> dict[str, Any]:
    """The settings as they are stored: equal for equal measurements."""
    stored = dataclasses.asdict(settings)
    del stored["iterations"], stored["points"]
    alone = len(opened) == 1  # a run directory may be moved
    pool = [
        f"{'this run' if alone else run.directory.resolve()}, iterations "
        + " ".join(map(str, choose_points(run, settings)))
        + "".join(f", without {name}" for name in contestants.failed_in(run))
        + ("" if _own_search(run) else ", with another run's search")
        for run in opened
    ]
    return files.plain(stored | {"pool": pool})
