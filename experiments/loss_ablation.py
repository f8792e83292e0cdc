"""Which loss should AlphaZero minimise? Wang 2020 (6.3), Wang 2019 and 2023 (6.3).

    python -m experiments.loss_ablation --config=experiments/configs/loss_ablation.py:quick \\
        --workdir=runs/quick

Trains networks by self-play under each target (l_p, l_v, l_+, l_x), several seeds each as one
population, plays the results against each other, against the untrained networks, a random player
and plain MCTS, measures all kept networks against fixed opponents, and writes `results.json` and
`report.html`.
"""

import time
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments import ladder
from experiments.claims.measured import AS_PUBLISHED
from experiments.configs.loss_ablation import KEYS
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import fixed_opponents, pool, tournament_files
from jaxzero import files, runs, workdir
from jaxzero.matches.tournament import Tournament
from jaxzero.runs import Member, processes, runner
from jaxzero.runs import training_elo as training_elo_lib
from jaxzero.runs.failures import Failures
from jaxzero.runs.runner import Trained
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import StudySummary, Tracker
from jaxzero.training import components
from jaxzero.training import spec as spec_lib

STUDY = "loss_ablation"
# By name: title, and the study's key that says m.
TOURNAMENTS = {
    "final": ("Final networks, full search", "tournament_simulations"),
    "low": ("The same pool, hardly any search", "low_simulations"),
    AS_PUBLISHED: (
        "As published: the entries of a loss are its last model",
        "tournament_simulations",
    ),
}


def resolve(config: ConfigDict) -> ConfigDict:
    """Fills in what depends on the board (000: I is 200 on 5x5 boards, 100 elsewhere)."""
    config = ConfigDict(config)
    if config.train.iterations is None:
        config.train.iterations = 200 if "_5x5" in config.game else 100
    return config.lock()


def make_members(config: ConfigDict) -> list[Member]:
    """One run for each target and seed. Runs of a seed start from the same weights and games.

    A member of `study.lambdas` has the target `lambda_0.25`: l_lambda with that weight of l_p.
    """
    losses: list[tuple[str, dict[str, Any]]] = [
        (target, {"train.loss": target}) for target in config.study.targets
    ]
    losses += [
        (f"lambda_{weight:g}", {"train.loss": "weighted", "train.loss_weight": float(weight)})
        for weight in config.study.lambdas
    ]
    return [
        member
        for target, changes in losses
        for member in runs.one_for_each_seed(config, target, changes)
    ]


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS)
    targets, lambdas = config.study.targets, config.study.lambdas
    if not (targets or lambdas) or len(set(targets)) < len(targets):
        raise ConfigError(f"config.study.targets={targets}: name at least one, each only once")
    if len({f"{weight:g}" for weight in lambdas}) < len(lambdas):
        raise ConfigError(f"config.study.lambdas={lambdas}: name each only once (to six digits)")
    if config.train.loss != "sum":
        raise ConfigError(
            f"config.train.loss={config.train.loss!r}: this study trains each of "
            f"config.study.targets, set --config.study.targets={config.train.loss}"
        )
    if config.train.loss_weight != 0.5 and "weighted" not in targets:
        raise ConfigError(
            f"config.train.loss_weight={config.train.loss_weight}: no run has that loss, set "
            f"--config.study.lambdas={config.train.loss_weight:g}"
        )
    if config.study.ladder_games:
        board = components.build_game(config).name
        fixed_opponents.check(ladder_settings(config), board, "config.study.ladder_")
    spec_lib.make_spec(config)


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(
        STUDY, resolve(config), directory, command, validate=validate, over_hosts=True
    )
    config, members = study.config, make_members(study.config)
    with Tracker(directory, config, STUDY) as tracker:
        failures = Failures(directory)
        trained = runner.train(config, members, directory, tracker, failures=failures)
        processes.part()
        if jax.process_index() == 0:
            tracker.finish(conclude(study, trained, members))


def conclude(study: StudyRun, trained: Trained, members: list[Member]) -> StudySummary:
    """Plays the tournaments and writes `results.json`, `games/`, the figures and the report."""
    config, directory = study.config, study.directory
    shell.say("playing the final tournaments...")
    started = time.monotonic()
    players = pool.of_trained(config, trained, members)
    tournaments = play_tournaments(config, players)
    seconds = {
        "starting": trained.starting_seconds,
        "training": trained.seconds - trained.starting_seconds,
        "examination": trained.examination_seconds,
        "tournaments": time.monotonic() - started,
    }
    rows = files.read_rows(directory / workdir.METRICS)
    published = trained.spec.switches.elo_first_listed_advantage
    results = study.header(members) | {
        "cost": {
            "wall_seconds": sum(seconds.values()),
            "compile_seconds": trained.compile_seconds,
            "phases": seconds,
            "runs": {m.name: _work([r for r in rows if r["run"] == m.name]) for m in members},
        },
        "failed": [{"run": name, "reason": reason} for name, reason in trained.failed.items()],
        "training_elo": training_elo(config, members, rows, published=published),
        "tournaments": [
            players.entry(played, name, TOURNAMENTS[name][0], config.study[TOURNAMENTS[name][1]])
            for name, played in tournaments.items()
        ],
        "checks": pool.checks(members, rows, tournaments, players.entries),
    }
    files.write_json(directory / workdir.RESULTS, results)
    tournament_files.games(directory, tournaments, players.entries)
    if config.study.ladder_games:
        started = time.monotonic()
        opened = runs.open_run(directory)
        results["ladder"] = fixed_opponents.measure([opened], ladder_settings(config))[0]
        ladder.write(opened, results["ladder"])
        seconds["ladder"] = time.monotonic() - started
        results["cost"] |= {"phases": seconds, "wall_seconds": sum(seconds.values())}
    return study.finish(results)


def ladder_settings(config: ConfigDict) -> fixed_opponents.LadderSettings:
    """How the kept networks are measured against fixed opponents."""
    return fixed_opponents.LadderSettings(
        games=config.study.ladder_games,
        opponents=tuple(config.study.ladder_opponents),
        seed=config.seed,
    )


def play_tournaments(config: ConfigDict, players: pool.Pool) -> dict[str, Tournament]:
    """The final round robin with full search, and the same pool with hardly any.

    Under the switch tournament_one_model_per_target the first one again, as published.

    Pool: all runs' final networks, the untrained network of each seed, plain MCTS with rollouts and
    a random player; temperature 0 (000 section 6.3: m = 100, c = 1, 20 rounds).
    """
    networks = len(players.entries) - 2  # without plain MCTS and the random player
    pools = {"final": players, "low": players}
    if players.spec.switches.tournament_one_model_per_target:
        pools[AS_PUBLISHED] = players.one_model_per_target()
    tournaments = {}
    for name, entered in pools.items():
        m, key = config.study[TOURNAMENTS[name][1]], jax.random.key(2 * config.seed + 1)
        tournaments[name] = entered.play([m] * networks, key, f"{name} tournament")
    return tournaments


def training_elo(
    config: ConfigDict, members: list[Member], rows: list[dict[str, Any]], *, published: bool
) -> dict[str, Any]:
    """Ratings of each run's candidates 0..I from their arena games, each run a pool of its own.

    As the papers (000 section 6.3): iteration i against the best network of its time. Published:
    32.8 Elo for the newer network, who is listed first; corrected: for whoever moves first, fitted,
    as draws are.
    """
    if config.arena.gate == "none":
        return {}
    rated = {
        m.name: training_elo_lib.rate((r for r in rows if r["run"] == m.name), published=published)
        for m in members
    }
    return {name: curve for name, curve in rated.items() if curve is not None}


def _work(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Of one run, summed over its iterations."""
    names = ("evaluations", "useful_evaluations", "gradient_steps", "games")
    return {n: sum(r.get(f"count/{n}", 0.0) for r in rows) for n in names}


if __name__ == "__main__":
    cli.run(run, STUDY)
