"""Which hyper-parameters matter? Wang 2020 and 2023, section 6.1: one changed at a time.

    python -m experiments.hyperparameter_sweep \\
        --config=experiments/configs/hyperparameter_sweep.py:quick --workdir=runs/sweep

Trains networks at the minimum, the default and the maximum of twelve hyper-parameters, as few
populations, plays the results against each other, and writes `results.json` and `report.html`:
losses, Table 3 (time), Table 4 (what matters for loss and for time), and what holds of the papers'
remarks.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from experiments.configs.hyperparameter_sweep import KEYS
from experiments.costs.clock import Cost
from experiments.hyperparameters import importance, setting_study
from experiments.hyperparameters.importance import Outcome, Swept
from experiments.hyperparameters.setting_study import Plan, Player
from experiments.hyperparameters.settings import LETTERS, Setting, make_setting
from experiments.shell import cli
from experiments.shell.study import StudyRun
from experiments.strength import tournament_files
from jaxzero.settings import companions
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.tracking import StudySummary

STUDY = "hyperparameter_sweep"


def field_of(key: str) -> str:
    """The study's own key, without `study.`, that lists values of a key of `LETTERS`."""
    name = key.split(".")[1]
    return {"games": "arena_games"}.get(name, name)


def swept(config: ConfigDict) -> list[Swept]:
    """The hyper-parameters that have values beside the default, in the papers' order."""
    parameters = []
    for letter, key in LETTERS.items():
        field, default = field_of(key), config_lib.get(config, key)
        others = config.study[field]
        if default in others or len(set(others)) < len(others):
            raise ConfigError(
                f"config.study.{field}={tuple(others)}: name values other than the default "
                f"config.{key}={default}, each once"
            )
        values = tuple(sorted([*others, default]))
        names = tuple(
            "default" if v == default else make_setting(config, {letter: v}).name for v in values
        )
        if others:
            parameters.append(Swept(letter, values, names))
    return parameters


def make_settings(config: ConfigDict) -> list[Setting]:
    """The default, and every setting that differs from it in one hyper-parameter."""
    settings = [make_setting(config, {})]
    for one in swept(config):
        settings += [
            make_setting(config, {one.letter: value})
            for value, name in zip(one.values, one.settings, strict=True)
            if name != "default"
        ]
    return settings


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    setting_study.validate(config, KEYS)
    known = config_lib.flatten(config)
    # As published d is swept, too, though dropout never acts there: the report says so.
    meant = config_lib.changed(
        config, {"semantics": "corrected", "switches.dropout_inactive": False}
    )
    for key in LETTERS.values():
        field = field_of(key)
        values = config.study[field]
        if values and not companions.acts(meant, key):
            raise ConfigError(
                f"config.study.{field}={tuple(values)}: changes nothing here, config.{key} acts "
                f"{companions.how_it_acts(key, known)}, or this to ()"
            )


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, its share, or the rest of it: (config, workdir) -> report.html."""
    setting_study.run(STUDY, config, directory, command, validate, make_settings, conclude)


def conclude(study: StudyRun, planned: Plan) -> StudySummary:
    """Plays the tournament; writes results and report. ConfigError: runs are missing or failed."""
    config = study.config
    places, rows, listed, costs = setting_study.finished(study, planned)
    seeds = sorted({player.seed for player in listed})
    m = config.study.tournament_simulations
    pool = setting_study.make_pool(config, listed, places, untrained=seeds, most=m)
    key = jax.random.key(2 * config.seed + 1)
    played = pool.play([m] * (len(listed) + len(seeds)), key, "tournament")
    results = setting_study.described(study, planned)
    results["tournaments"] = [pool.entry(played, "final", "Final networks of all settings", m)]
    results["sweep"] = describe(config, listed, costs, rows, results["tournaments"][0])
    tournament_files.games(study.directory, {"final": played}, pool.entries)
    return study.finish(results)


def describe(
    config: ConfigDict,
    listed: Sequence[Player],
    costs: Sequence[Cost],
    rows: Sequence[dict],
    played: Mapping[str, Any],
) -> dict[str, Any]:
    """The `sweep` section of results.json: costs, Tables 3 and 4, the remarks."""
    outcomes, elo = {}, importance.elo_of(played)
    for player, cost in zip(listed, costs, strict=True):
        own = [r for r in rows if r["run"] == player.training]
        own = [r for r in own if 0 < r["iteration"] <= player.iterations]
        outcomes[player.setting, player.seed] = Outcome(
            np.array([r["iteration"] for r in own]),
            np.array([r["loss/sum"] for r in own], float),
            cost.total,
            elo.get((player.setting, player.seed), math.nan),
        )
    parameters = swept(config)
    return {
        "players": [
            setting_study.record(player, cost) for player, cost in zip(listed, costs, strict=True)
        ],
        "parameters": importance.describe(parameters, outcomes),
        "remarks": importance.remarks(parameters, outcomes, config.train.iterations),
    }


if __name__ == "__main__":
    cli.run(run, STUDY)
