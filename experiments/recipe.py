"""What did each part of the training recipe earn? Each left out in turn, over several seeds.

    python -m experiments.recipe --config=experiments/configs/recipe.py:quick --workdir=runs/recipe

Trains the recipe of `experiments.train`, the recipe without each of its parts, with Gumbel search,
and the package's defaults; measures every kept network, alone and with one search that is the same
for all, on the same solved positions; compares at equal evaluations. Writes `results.json` and
`report.html`. The same command resumes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jax
from ml_collections import ConfigDict

from experiments.configs.recipe import KEYS, PREFIX, WHOLE, changes, meaning, own_parts
from experiments.shell import cli
from experiments.shell import study as shell
from experiments.shell.study import StudyRun
from experiments.strength import examinations
from jaxzero import files, runs, solvers, workdir
from jaxzero.games import Game
from jaxzero.runs import learning
from jaxzero.settings import config as config_lib
from jaxzero.settings.config import ConfigError
from jaxzero.training import examination, examined_positions
from jaxzero.training import spec as spec_lib
from jaxzero.training.examination import Positions

STUDY: Final = "recipe"
ARMS: Final = "arms"  # folder of the arms' run directories
MEASURED: Final = "measured.json"  # in an arm's directory, when it is finished
POSITIONS: Final = "positions.npz"
NUMBERS: Final = ("search", "network", "target", "value_error")
_SEED: Final = 4711  # of the positions, the same for all studies


def arm_config(config: ConfigDict, arm: str) -> ConfigDict:
    """An arm's settings, locked."""
    return config_lib.changed(config, changes(config, arm))


def validate(config: ConfigDict) -> None:
    """Refuses what this study can't do, before anything compiles."""
    shell.check(config, KEYS, "arms")
    if WHOLE not in config.study.arms:
        raise ConfigError(f"config.study.arms: add {WHOLE}, which the others are compared with")
    parts = own_parts(config_lib.flatten(config))
    for arm in config.study.arms:
        if arm.startswith(PREFIX) and arm.removeprefix(PREFIX) not in parts:
            raise ConfigError(
                f"config.study.arms={arm}: these settings do not have that part, leave the arm out"
            )
        own = arm_config(config, arm)
        try:
            config_lib.validate(own, KEYS)
            spec_lib.make_spec(own)
        except ConfigError as error:
            raise ConfigError(f"arm {arm} of config.study.arms: {error}") from error
    try:
        solvers.solver_of(spec_lib.make_spec(config).game)
    except ConfigError as error:
        raise ConfigError(f"config.game={config.game!r}: {error}") from error


def run(config: ConfigDict, directory: Path, command: str | None = None) -> None:
    """The whole study, or the rest of it: (config, workdir) -> results.json, report.html."""
    study = shell.begin(STUDY, config, directory, command, validate=validate)
    positions = test_positions(study)
    arms = []
    for arm in config.study.arms:
        place = directory / ARMS / arm
        if not is_measured(config, place):
            shell.say(f"{arm}: {meaning(arm)}")
            study.train(arm, study.within(arm_config(config, arm), arm), place)
            files.write_json(place / MEASURED, measure(place, positions))
        head = {"arm": arm, "meaning": meaning(arm), "changes": changes(config, arm)}
        arms.append(head | files.read_json(place / MEASURED))
    results = {
        "positions": {
            "number": len(positions.plies),
            "contested": int(positions.contested.sum()),
            "simulations": examination.SIMULATIONS,
            **baselines(spec_lib.make_spec(config).game, positions),
        },
        "arms": arms,
    }
    study.conclude(study.header() | files.plain(results))


def is_measured(config: ConfigDict, directory: Path) -> bool:
    """Whether an arm was measured after its last iteration, which may have been put off since."""
    if not (directory / MEASURED).is_file():
        return False
    measured = files.read_json(directory / MEASURED)["runs"]
    return all(run["points"][-1]["iteration"] >= config.train.iterations for run in measured)


def test_positions(study: StudyRun) -> Positions:
    """The solved positions, made once and kept in the run directory."""
    game, count = spec_lib.make_spec(study.config).game, study.config.study.test_positions
    labelled = examinations.kept_positions(study.directory / POSITIONS, game, count, _SEED)
    assert labelled is not None
    return examined_positions.of(labelled)


def baselines(game: Game, positions: Positions) -> dict[str, float]:
    """What needs no learning, by the measures of the arms.

    Returns:
      `random`, the share of contested positions in which a random move keeps the result;
      `constant_error`, the squared error of the best constant as the value.
    """
    legal = jax.vmap(game.legal_actions)(positions.states)
    kept = positions.right.sum(-1) / legal.sum(-1)
    return {
        "random": float(kept[positions.contested].mean()),
        "constant_error": float(positions.value.var()),
    }


def measure(directory: Path, positions: Positions) -> dict[str, Any]:
    """Every kept network of an arm, beside the evaluations of self-play until then.

    Returns:
      `seconds`, of training; `runs`: for each its `name`, `seed` and `points`, by iteration:
      `evaluations`, and `NUMBERS` (shares of contested positions in which the move keeps the
      result: of one search that is the same for all, of the network alone, of the policy target
      that training would get; mean squared error of the value).
    """
    opened = runs.open_run(directory)
    rows = files.read_rows(directory / workdir.METRICS)
    points: dict[str, list[Mapping[str, Any]]] = {member.name: [] for member in opened.members}
    for i in opened.iterations:
        shell.say(f"examining the networks after iteration {i}...")
        for name, numbers in learning.examine(opened, i, positions, rows).items():
            until = [r for r in rows if r["run"] == name and 0 < r["iteration"] <= i]
            spent = sum(row["count/selfplay_evaluations"] for row in until)
            own = {key: numbers[f"{examination.PREFIX}{key}"] for key in NUMBERS}
            points[name].append({"iteration": i, "evaluations": spent} | own)
    return {
        "seconds": max((row["seconds"] for row in rows), default=0.0),
        "runs": [
            {"name": m.name, "seed": m.seed, "points": points[m.name]} for m in opened.members
        ],
    }


if __name__ == "__main__":
    cli.run(run, STUDY)
