"""A group's networks on their way: epochs, checkpoints, rows, and what may stop them."""

import time
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict
from tqdm import tqdm

from experiments.connect_four import supervised
from experiments.connect_four.supervised import Progress, Questions, Schedule
from jaxzero import files, workdir
from jaxzero.runs import population
from jaxzero.runs.checkpoints import Checkpoints
from jaxzero.runs.processes import say
from jaxzero.runs.stopping import Stopped, StopRequest
from jaxzero.tracking import Tracker
from jaxzero.training.replay import Examples
from jaxzero.training.spec import Hyper, Spec

GROUPS: Final = "groups"  # folder of finished groups' results and running groups' checkpoints


class Place(NamedTuple):
    """Where groups are trained, who hears of it, and what may stop it."""

    directory: Path  # the study's
    tracker: Tracker
    stop: StopRequest


def fit(
    config: ConfigDict,
    name: str,
    settings: tuple[Spec, Hyper],
    train: Examples,
    asked: Questions,
    place: Place,
) -> Progress:
    """Trains all seeds of a group of that name to their ends, from the newest checkpoint on: [S].

    `asked`: of the validation. Stopped: it has saved.
    """
    s, execution = config.study, config.execution
    schedule = Schedule(s.patience, s.factor, s.stop_after, s.max_epochs)
    mode = population.resolve_mode(execution.population)
    begin = jax.jit(population.over_members(partial(supervised.start, *settings), mode))
    epoch = jax.jit(
        lambda progress, train, asked: population.over_members(
            lambda one: supervised.epoch(*settings, schedule, one, train, asked), mode
        )(progress)
    )
    is_going = jax.vmap(partial(supervised.is_going, schedule))
    seeds = jnp.arange(config.seed, config.seed + s.seeds)
    names = [{"run": f"{name}_seed{seed}", "target": name, "seed": seed} for seed in seeds.tolist()]
    checkpoints = Checkpoints(place.directory / GROUPS / name, keep=execution.keep_checkpoints)
    number = checkpoints.newest_whole(say) or 0
    checkpoints.drop_after(number)
    _forget_rows(place.directory / workdir.METRICS, name, number)
    started = time.monotonic() - seconds(place, name)
    progress = begin(seeds)
    if number:
        progress = jax.tree.map(
            jnp.asarray, checkpoints.restore(number, jax.eval_shape(begin, seeds))
        )
    with tqdm(desc=name, initial=number, unit="epoch") as bar:
        while (going := np.asarray(is_going(progress))).any():
            progress, metrics = epoch(progress, train, asked)
            number += 1
            measured = jax.device_get(metrics)
            if not np.isfinite(measured["loss/policy"][going]).all():
                raise FloatingPointError(
                    f"loss/policy of {name} is not finite in epoch {number}: lower "
                    f"config.train.learning_rate; epoch {checkpoints.latest() or 0} is saved"
                )
            took = {"seconds": round(time.monotonic() - started, 3)}
            rows = supervised.rows(measured, going, number, names)
            place.tracker.log([row | took for row in rows])
            bar.set_postfix_str(
                f"move {measured['validation/move'][going].mean():.2%} "
                f"result {measured['validation/result'][going].mean():.2%}"
            )
            bar.update()
            reason = place.stop.reason()
            if reason is not None or number % execution.checkpoint_every == 0:
                checkpoints.save(number, progress)
            if reason is not None:
                checkpoints.close()
                raise Stopped(
                    f"{reason}: saved at epoch {number} of {name}; the same command resumes",
                    reason.status,
                )
    checkpoints.save(number, progress)
    checkpoints.close()
    return progress


def seconds(place: Place, name: str) -> float:
    """That earlier processes have trained a group for, until the last epoch that is known."""
    rows = files.read_rows(place.directory / workdir.METRICS)
    return max((row.get("seconds", 0.0) for row in rows if row["target"] == name), default=0)


def _forget_rows(path: Path, target: str, after: int) -> None:
    """Forgets the metrics of a group's epochs that will be done again."""
    rows = files.read_rows(path)
    kept = (row for row in rows if row["target"] != target or row["iteration"] <= after)
    files.rewrite_rows(path, kept)
