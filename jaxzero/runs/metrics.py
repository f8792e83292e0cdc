"""An iteration's metrics as rows: one for each run, named as docs/metrics.md says."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from ml_collections import ConfigDict

from jaxzero.ratings.incremental import elo_of_score
from jaxzero.runs import Member
from jaxzero.training import losses

Row = dict[str, Any]


def make_rows(
    members: Sequence[Member],
    number: int,
    metrics: Mapping[str, np.ndarray],
    *,
    times: Mapping[str, float],
    elo: Mapping[str, float],
) -> list[Row]:
    """One row for each run; before the first, one for the untrained network on the first window.

    `number`: the iteration, from 1; `metrics`: [R] or, by epoch, [R, ep]; `times`: of the training
    so far, as `TrainingClock.read`; `elo`: `elo/running` of each run before this iteration.
    """
    rows = []
    for i, member in enumerate(members):
        head: Row = {
            "iteration": number,
            "run": member.name,
            "target": member.target,
            "seed": member.seed,
            **{name: round(value, 3) for name, value in times.items()},
        }
        row = dict(head)
        for name, values in metrics.items():
            value = values[i]
            if value.ndim:  # by epoch: the paper plots the last (facts 1.5)
                epochs = [float(v) for v in value[: member.config.train.epochs]]
                row[name.replace("loss/", "loss_epochs/")] = epochs
                row[name] = epochs[-1]
            else:
                row[name] = float(value)
        for count in ("evaluations", "useful_evaluations"):
            both = (row.get(f"count/{phase}_{count}", 0.0) for phase in ("selfplay", "arena"))
            row[f"count/{count}"] = sum(both)
        if "arena/wins" in row:
            row["elo/running"] = running_elo(elo[member.name], row)
        if number == 1:
            rows.append(head | {"iteration": 0} | _untrained(member.config, row))
        rows.append(row)
    return rows


def _untrained(config: ConfigDict, first: Row) -> Row:
    """The untrained network's losses on the games it played."""
    measured = {k.replace("unseen/", "loss/"): v for k, v in first.items() if "unseen/" in k}
    weights = losses.coefficients(
        config.train.loss, config.train.loss_weight, config.train.value_weight
    )
    both = (jnp.float32(measured[f"loss/{name}"]) for name in ("policy", "value"))
    measured["loss/minimised"] = float(losses.combine(jnp.asarray(weights), *both))
    return measured


def running_elo(before: float, row: Row) -> float:
    """The best network's rating after an iteration, 0 for the untrained: a sum of gate matches.

    Cheap and seen at once, for the progress line and live dashboards. Errors add up and it is of
    self-play alone; the report's training Elo rates all matches together.
    """
    if not row["arena/accepted"]:
        return before
    return before + elo_of_score(row["arena/wins"], row["arena/draws"], row["arena/losses"])


def newest_elo(members: Sequence[Member], rows: Sequence[Row]) -> dict[str, float]:
    """`elo/running` of each run in its newest row."""
    ratings = {member.name: 0.0 for member in members}
    for row in rows:
        if "elo/running" in row and row["run"] in ratings:
            ratings[row["run"]] = row["elo/running"]
    return ratings


def refuse_nan(rows: Sequence[Row], saved: int) -> None:
    """Stops a population in which a loss is not finite; `saved`: the iteration of the checkpoint.

    FloatingPointError: names the run, the iteration, the epoch and the remedy.
    """
    kept = f"iteration {saved} is saved" if saved else "nothing was saved before it"
    for row in rows:
        if row.get("count/gradient_steps") == 0 or not row["iteration"]:
            continue  # of an empty window there is no loss; iteration 1 says what is wrong in 0
        for name in ("policy", "value"):
            values = row.get(f"loss_epochs/{name}", [row[f"loss/{name}"]])
            bad = [i for i, value in enumerate(values) if not math.isfinite(value)]
            if bad:
                raise FloatingPointError(
                    f"loss/{name} of run {row['run']} is {values[bad[0]]} in epoch {bad[0] + 1} of "
                    f"iteration {row['iteration']}: lower config.train.learning_rate or set "
                    f"config.train.max_gradient_norm; {kept}"
                )


def summary(rows: Sequence[Row]) -> str:
    """The end of the progress line: means over the runs of the newest iteration."""
    newest = [row for row in rows if row["iteration"] == rows[-1]["iteration"]]

    def mean(name: str) -> float:
        return float(np.mean([row[name] for row in newest]))

    words = [f"l_p {mean('loss/policy'):.3f}", f"l_v {mean('loss/value'):.3f}"]
    if "elo/running" in newest[0]:
        words.append(f"Elo {mean('elo/running'):+.0f}")
    return " ".join(words)
