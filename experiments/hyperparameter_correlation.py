"""Outer or inner iterations? Wang 2020 and 2023, section 6.2: all combinations of I, E, m and ep.

    python -m experiments.hyperparameter_correlation \\
        --config=experiments/configs/hyperparameter_correlation.py:quick --workdir=runs/correlation

Trains networks at 3 x 3 x 3 x 3 settings without an arena, as few populations. They, the untrained
networks and a random player meet each other, each with its own number of simulations and then all
with the same. Writes `results.json` and `report.html`: strength over settings and over cost,
Pareto fronts, a model of Elo, and what holds of the papers' claims.
"""

import itertools
from pathlib import Path
from typing import Any

import jax
from ml_collections import ConfigDict

from experiments.configs.hyperparameter_correlation import KEYS
from experiments.hyperparameters import elo_model, setting_study
from experiments.hyperparameters.setting_study import Plan
from experiments.hyperparameters.settings import FIELDS, Setting, make_setting
from experiments.shell import cli
from experiments.shell.study import StudyRun
from experiments.strength import tournament_files
from jaxzero.settings import config as config_lib
from jaxzero.tracking import StudySummary

STUDY = "hyperparameter_correlation"
OWN, SAME = "own_simulations", "same_simulations"


def make_settings(config: ConfigDict) -> list[Setting]:
    """Every combination of the four, the first letter slowest."""
    lists = [config.study[field] for field in FIELDS.values()]
    return [
        make_setting(config, dict(zip(FIELDS, values, strict=True)))
        for values in itertools.product(*lists)
    ]


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    setting_study.validate(config, KEYS)
    for field in FIELDS.values():
        config_lib.require_distinct(config, f"study.{field}")
    config_lib.require_any_simulations(config)


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, its share, or the rest of it: (config, workdir) -> report.html."""
    setting_study.run(STUDY, config, directory, command, validate, make_settings, conclude)


def conclude(study: StudyRun, planned: Plan) -> StudySummary:
    """Plays the tournaments; writes results and report. ConfigError: runs are missing or failed."""
    config = study.config
    places, _, listed, costs = setting_study.finished(study, planned)
    same = config.study.tournament_simulations
    of_setting = {s.name: int(s.config.search.num_simulations) for s in planned.settings}
    own = [of_setting[player.setting] for player in listed]
    seeds = sorted({player.seed for player in listed})
    pool = setting_study.make_pool(config, listed, places, untrained=seeds, most=max(same, *own))
    results = setting_study.described(study, planned)
    values = {setting.name: dict(setting.values) for setting in planned.settings}
    players: list[dict[str, Any]] = [
        setting_study.record(player, cost) | {"values": values[player.setting]}
        for player, cost in zip(listed, costs, strict=True)
    ]
    results["tournaments"], results["correlation"] = [], {"players": players}
    tournaments = {}
    for number, (name, title, each) in enumerate(
        (
            (OWN, "Each with its own number of simulations", own),
            (SAME, "All with the same number of simulations", [same] * len(own)),
        )
    ):
        key = jax.random.fold_in(jax.random.key(2 * config.seed + 1), number)
        played = tournaments[name] = pool.play([*each, *[same] * len(seeds)], key, title)
        m = None if name == OWN else same
        results["tournaments"].append(pool.entry(played, name, title, m))
        elo = played.ratings.elo
        data = elo_model.collect(players, elo, played.ratings.covariance)
        untrained = {seed: float(elo[len(listed) + i]) for i, seed in enumerate(seeds)}
        results["correlation"][name] = {
            "model": elo_model.fit(data),
            "claims": elo_model.claims(data),
            "fronts": elo_model.fronts(data),
            "gains": elo_model.gains(data, untrained),
        }
    tournament_files.games(study.directory, tournaments, pool.entries)
    return study.finish(results)


if __name__ == "__main__":
    cli.run(run, STUDY)
