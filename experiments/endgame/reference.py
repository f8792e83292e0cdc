"""Networks over training against one reference opponent (West 2020, II-B4): played and kept."""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict
from tqdm import tqdm

from experiments.endgame.win_ratio import Point
from experiments.strength import contestants, fixed_opponents, opponents
from jaxzero import files
from jaxzero.games import RacingKings
from jaxzero.games.base import Game
from jaxzero.matches import tournament, uci
from jaxzero.matches.engine_match import compile_player, play_match
from jaxzero.matches.ladder import Ladder
from jaxzero.matches.uci import Engines, EngineSettings
from jaxzero.runs import Run
from jaxzero.runs.processes import say
from jaxzero.settings.config import ConfigError

FILE = "points.jsonl"
ENGINE = "engine"
_VARIANT = "racingkings"

# (params of a run's members [R], key, bar) -> int[R, 3], their wins, draws and losses.
Measure = Callable[[Any, jax.Array, tqdm], np.ndarray]


def check(config: ConfigDict, game: Game) -> None:
    """Refuses a reference that cannot be played, before anything is trained.

    ConfigError: an unknown opponent, a missing program or package, a game without an engine.
    """
    if config.study.reference != ENGINE:
        opponents.check((config.study.reference,), "config.study.reference", game.name)
        return
    if not isinstance(game, RacingKings):
        raise ConfigError(
            f"config.study.reference='engine': it plays racing_kings, not {game.name}: name "
            "mcts_200 or another number of rollouts"
        )
    uci.load_chess()
    try:
        uci.find(config.study.engine_command)
    except ConfigError as error:
        raise ConfigError(
            f"config.study.reference='engine': {error}; or set it to mcts_200, which measures "
            "something else"
        ) from error


def engine_settings(config: ConfigDict) -> EngineSettings:
    """Of `config.study.engine_*`."""
    study = config.study
    return EngineSettings(
        command=tuple(study.engine_command),
        skill=study.engine_skill,
        nodes=study.engine_nodes,
        depth=study.engine_depth,
        seconds=study.engine_seconds,
        processes=study.engine_processes,
    )


def measure(config: ConfigDict, directory: Path, arms: Mapping[str, Run]) -> list[dict[str, Any]]:
    """Plays all points of finished runs, by player, that the study's `points.jsonl` does not have.

    Returns:
      Rows of the points that are asked for now: arm, run, seed, iteration, wins, draws, losses
      (over distinct games), and for the engine `problems`, how often what went wrong.
    """
    path = directory / FILE
    rows = files.read_rows(path)
    done = {(row["arm"], row["iteration"]) for row in rows}
    most = config.study.points
    asked = {
        arm: fixed_opponents.choose_points(run, fixed_opponents.LadderSettings(points=most))
        for arm, run in arms.items()
    }
    missing = [(a, at) for a, its in asked.items() for at in its if (a, at) not in done]
    if not missing:
        return _asked(asked, rows)
    total = sum(len(arms[arm].members) * config.study.games for arm, _ in missing)
    first = arms[missing[0][0]]
    say(f"against {config.study.reference}: {total:,} games; compiling...")
    with ExitStack() as stack:
        problems: collections.Counter[str] = collections.Counter()
        play = _against(config, first, stack, problems)
        bar = stack.enter_context(tqdm(total=total, unit="game", desc="reference"))
        for arm, at in missing:
            run = arms[arm]
            before = problems.copy()
            key = jax.random.fold_in(jax.random.key(config.seed), at)
            params = contestants.players_of(run, range(len(run.members)), at, None).params
            results = play(params, key, bar)
            new = [
                {
                    "arm": arm,
                    "run": member.name,
                    "seed": member.seed,
                    "iteration": at,
                    "wins": int(w),
                    "draws": int(d),
                    "losses": int(lost),
                    "problems": dict(problems - before),
                }
                for member, (w, d, lost) in zip(run.members, results, strict=True)
            ]
            files.append_rows(path, new)
            rows += new
    return _asked(asked, rows)


def _asked(
    asked: Mapping[str, Sequence[int]], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Without those that were asked for before the training was made longer."""
    return [row for row in rows if row["iteration"] in asked.get(row["arm"], ())]


def _against(
    config: ConfigDict, run: Run, stack: ExitStack, problems: collections.Counter[str]
) -> Measure:
    """How the members of a run are measured; both arms have equal programs of players."""
    players = contestants.players_of(run, range(len(run.members)), run.iterations[0], None)
    pairs = config.study.games // 2
    if config.study.reference == ENGINE:
        engines = stack.enter_context(Engines(engine_settings(config), _VARIANT))
        game = run.spec.game
        assert isinstance(game, RacingKings)
        compiled = compile_player(game, players)

        def by_engine(params: Any, key: jax.Array, bar: tqdm) -> np.ndarray:
            counts = []
            for i in range(len(run.members)):
                match = play_match(
                    game,
                    players,
                    jax.tree.map(lambda x, i=i: x[i], params),
                    engines,
                    jax.random.fold_in(key, i),
                    pairs=pairs,
                    opening_plies=config.study.openings,
                    compiled=compiled,
                )
                problems.clear()
                problems.update(engines.problems)
                bar.update(2 * pairs)
                moves = match.actions[:, None]
                known = np.isfinite(match.outcome)[None]
                distinct = np.zeros(known.shape, bool)
                for colour in (True, False):  # the same moves in both colours are two games
                    of_colour = known & (match.first == colour)[None]
                    distinct |= tournament.is_first_of_its_kind(moves, of_colour)
                counts.append([int((distinct[0] & (match.outcome == r)).sum()) for r in (1, 0, -1)])
            return np.array(counts)

        return by_engine
    _, references = opponents.build(run.spec.game, (config.study.reference,))
    ladder = Ladder(
        run.spec.game,
        players,
        references,
        games_per_direction=pairs,
        opening_plies=config.study.openings,
        at_once=pairs,
    )
    ladder.compile()

    def by_rollouts(params: Any, key: jax.Array, bar: tqdm) -> np.ndarray:
        counts = np.zeros((len(run.members), 3), int)
        for first, second, *result in ladder.play(params, key, bar).tolist():
            ours = result if first < len(counts) else result[::-1]
            counts[min(first, second)] += np.array(ours)
        return counts

    return by_rollouts


def points(
    rows: Sequence[Mapping[str, Any]], metrics: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Point]:
    """The rows of `measure` with their places on the axes; `metrics`: `metrics.jsonl` by arm.

    ConfigError: an earlier version wrote the metrics.
    """
    for arm, own in metrics.items():
        if not all("starting_seconds" in row for row in own):
            raise ConfigError(
                f"arms/{arm} was trained by an earlier version, which did not keep how much of its "
                "time was no training: go on with the commit that environment.json names, or "
                "choose another --workdir"
            )
    places = {arm: dict(_places(own)) for arm, own in metrics.items()}
    return [Point.of(row, places[row["arm"]][row["run"], row["iteration"]]) for row in rows]


def _places(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[tuple[str, int], dict[str, float]]]:
    """((run, iteration), minutes, steps and epochs) of every row, the untrained ones at 0."""
    steps: collections.Counter[str] = collections.Counter()
    epochs: collections.Counter[str] = collections.Counter()
    for row in sorted(rows, key=lambda r: r["iteration"]):
        name = row["run"]
        steps[name] += int(row.get("count/gradient_steps", 0))
        epochs[name] += len(row.get("loss_epochs/policy", ()))
        trained = row["seconds"] - row["starting_seconds"] if row["iteration"] else 0.0
        yield (
            (name, row["iteration"]),
            {"minutes": trained / 60, "steps": float(steps[name]), "epochs": float(epochs[name])},
        )


def described(config: ConfigDict) -> dict[str, Any]:
    """The reference, for results.json."""
    facts: dict[str, Any] = {"name": config.study.reference, "games": config.study.games}
    if config.study.reference == ENGINE:
        facts["engine"] = dataclasses.asdict(engine_settings(config))
    return facts
