"""Does a run learn? Its kept networks under `examination`, each once, in `learning.json`.

What it takes is bounded by what training took: fewer positions, then fewer of the kept iterations,
then nothing but a sentence that says so.
"""

import functools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ml_collections import ConfigDict

from jaxzero import files, runs, workdir
from jaxzero.runs import Member, Run, generations, population
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.runs.flops import TRAINING
from jaxzero.runs.processes import say
from jaxzero.training import examination, examined_positions
from jaxzero.training import spec as spec_lib
from jaxzero.training.examination import Positions
from jaxzero.training.spec import Spec

FILE = "learning.json"
POSITIONS = "learning.npz"
SHARE = 1 / 30  # of training's evaluations, those of gradient steps counted too
FEWEST = 50  # positions; fewer say too little

Row = Mapping[str, Any]
Curves = dict[str, dict[str, dict[int, float]]]  # metric -> run -> iteration -> value


def update(directory: Path, config: ConfigDict, members: Sequence[Member], spec: Spec) -> float:
    """Examines the kept networks of a run that were not yet; what was found is in `FILE`.

    Returns the seconds that it took, 0 but on the first process.
    """
    if jax.process_index() != 0 or not config.evaluation.learning_positions:
        return 0.0
    kept = tuple(sorted({0, *Checkpoints.steps(directory / runs.SNAPSHOTS)}))
    run = Run(directory, "", config, tuple(members), spec, kept)
    started, path = time.monotonic(), directory / FILE
    held = files.read_json(path) if path.is_file() else {}
    done = held.get("iterations", {})
    todo = [i for i in run.iterations if str(i) not in done]
    asked = held.get("positions", run.config.evaluation.learning_positions)
    if not todo:
        return 0.0
    rows = files.read_rows(run.directory / workdir.METRICS)
    is_exact = examined_positions.has_solver(run.spec.game)
    each = len(run.members) * (examination.SIMULATIONS + run.spec.num_simulations)
    budget = SHARE * work(rows, run.config.train.batch_size)
    count, chosen = plan(
        asked,
        todo,
        fewest=asked if done else min(asked, FEWEST),  # the same positions for all
        each=each,
        labelling=0 if is_exact or done else examined_positions.LONG,
        budget=budget - len(done) * each * asked,
    )
    if not chosen:
        if not done:
            skipped = (
                f"The networks were not examined: {count} positions take more than {SHARE:.1%} of "
                f"the evaluations that training took ({budget:,.0f})."
            )
            files.write_json(path, {"skipped": skipped})
        return 0.0
    say(f"examining the networks after iterations {', '.join(map(str, chosen))}...")
    if done:
        positions = examined_positions.load(run.directory / POSITIONS, run.spec.game)
    else:
        positions, held = _positions(run, count, is_exact)
        examined_positions.save(run.directory / POSITIONS, positions)
    held["iterations"] = done | {str(i): examine(run, i, positions, rows) for i in chosen}
    held["kept"] = list(run.iterations)
    seconds = time.monotonic() - started
    held["seconds"] = held.get("seconds", 0.0) + seconds
    files.write_json(path, held)
    return seconds


def work(rows: Sequence[Row], batch_size: int) -> float:
    """Evaluations of training: of searches, and as many as gradient steps are worth."""
    steps = sum(row.get("count/gradient_steps", 0.0) for row in rows)
    return sum(row.get("count/evaluations", 0.0) for row in rows) + TRAINING * batch_size * steps


def plan(
    asked: int, kept: Sequence[int], *, fewest: int, each: int, labelling: int, budget: float
) -> tuple[int, list[int]]:
    """How many positions, and the networks of which iterations are put to them.

    Args:
      asked: positions, at most.
      kept: iterations, ascending.
      fewest: positions; iterations are left out before there are fewer.
      each: evaluations for a position and an iteration.
      labelling: evaluations for a position once.
      budget: evaluations that all may take.

    Returns:
      Positions; all of the iterations, or some from the last one to the first; or none.
    """
    count = min(asked, max(int(budget / (each * len(kept) + labelling)), fewest))
    most = int((budget / count - labelling) / each)
    if most >= len(kept):
        return count, list(kept)
    places = np.linspace(len(kept) - 1, 0, max(most, 0)).round().astype(int)
    return count, [kept[place] for place in sorted(places)]


def _positions(run: Run, count: int, is_exact: bool) -> tuple[Positions, dict[str, Any]]:
    """The positions, and what `FILE` says of them."""
    labels = "exact"
    if is_exact:
        positions = examined_positions.solved(run.spec.game, count)
    else:
        newest = run.iterations[-1]
        teacher = runs.member_network(run, 0, newest)
        positions = examined_positions.searched(run.spec, teacher, count)
        labels = (
            f"a search of {examined_positions.LONG} simulations with the network of "
            f"{run.members[0].name} after iteration {newest}"
        )
    return positions, {
        "positions": len(positions.plies),
        "contested": int(positions.contested.sum()),
        "plies": [int(positions.plies.min()), int(positions.plies.max())],
        "labels": labels,
        "simulations": examination.SIMULATIONS,
        "c_puct": examination.C_PUCT,
        "discount": run.spec.search.discount,
    }


@functools.lru_cache(maxsize=8)
def _program(spec: Spec, mode: str) -> Callable[..., dict[str, jax.Array]]:
    """(hypers [R], networks [R], positions) -> metrics [R], compiled."""

    def everybody(hypers: Any, networks: Any, positions: Positions) -> dict[str, jax.Array]:
        def one(hyper: Any, network: Any) -> dict[str, jax.Array]:
            return examination.examine(spec, hyper, network, positions)

        return population.over_members(one, mode)(hypers, networks)

    return jax.jit(everybody)


def examine(run: Run, at: int, positions: Positions, rows: Sequence[Row]) -> dict[str, Any]:
    """By run, the metrics of its network after a kept iteration; without runs that had failed.

    `rows`: of its `metrics.jsonl`.
    """
    hypers = population.stack([spec_lib.make_hyper(member.config) for member in run.members])
    program = _program(run.spec, population.resolve_mode(run.config.execution.population))
    found = population.fetch(program(hypers, runs.networks(run, at), positions))
    lived = {row["run"] for row in rows if row["iteration"] == at}
    if _constants_change(run):  # no settings say what the target is searched with
        found = {name: values for name, values in found.items() if not name.startswith("target")}
    return {
        member.name: {name: values[i].tolist() for name, values in found.items()}
        for i, member in enumerate(run.members)
        if member.name in lived
    }


def _constants_change(run: Run) -> bool:
    """Whether constants of self-play's search evolve, in a league or a population."""
    return run.spec.selfplay.league != "none" or (run.directory / generations.FILE).exists()


def paths(directory: Path) -> list[Path]:
    """Every `FILE` of a study: its own, or those of its trainings."""
    return sorted(p for depth in ("", "*/", "*/*/") for p in directory.glob(depth + FILE))


def curves(directory: Path, names: Collection[str]) -> Curves:
    """What was found of runs of these names in a study's directory, to be tracked."""
    found: Curves = {}
    for path in paths(directory):
        for at, by_run in files.read_json(path).get("iterations", {}).items():
            for run in by_run.keys() & set(names):
                for name, value in by_run[run].items():
                    if isinstance(value, int | float):
                        found.setdefault(name, {}).setdefault(run, {})[int(at)] = value
    return found
