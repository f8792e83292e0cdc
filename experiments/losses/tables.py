"""The tables of a loss study: first and last losses, and what the arena's gate did."""

from typing import Any, Final

import numpy as np

from experiments import published
from experiments.pages.bands import Band
from experiments.pages.study import Study
from experiments.pages.style import label
from experiments.pages.tables import Table, table
from experiments.pages.wording import NONE, number, percent, plus_minus

MEASURED: Final = ("policy", "value", "sum", "product")  # the losses that every run reports
_RESULTS: Final = ("wins", "draws", "losses")


def losses(study: Study) -> Table | None:
    """First and last losses, training and held out, with the published ones beside them."""
    rows = [row for target in study.targets for row in _loss_rows(study, target)]
    if not rows:
        return None
    symbols = tuple(label(loss) for loss in MEASURED)
    note = f"Mean ± standard deviation over seeds, in nats (policy) and {study.value_unit} (value)."
    return Table("Losses", ("minimised", "measured", *symbols), tuple(rows), note, text_columns=2)


def _loss_rows(study: Study, target: str) -> list[tuple[str, ...]]:
    training = {loss: study.band(target, f"loss/{loss}") for loss in MEASURED}
    held_out = {loss: study.band(target, f"heldout/{loss}") for loss in MEASURED}
    bands = [band for band in training.values() if band is not None]
    if not bands:
        return []
    last = int(bands[0].iterations[bands[0].last])
    rows = []
    if bands[0].iterations[0] == 0:
        rows.append(("untrained network", [_at(band, 0) for band in training.values()]))
    rows.append((f"training, iteration {last}", [_at(band, last) for band in training.values()]))
    if any(band is not None for band in held_out.values()):
        rows.append((f"held out, iteration {last}", [_at(b, last) for b in held_out.values()]))
    theirs = (published.loss_curves(study.game) or {}).get(target)
    if theirs:
        final = int(next(iter(theirs.values())).iterations[-1])
        for iteration in dict.fromkeys((max(1, min(last, final)), final)):
            curves = [theirs.get(loss) for loss in MEASURED]
            rows.append((f"published, iteration {iteration}", [_at(c, iteration) for c in curves]))
    return [(label(target), name, *cells) for name, cells in rows]


def _at(curve: Band | published.Curve | None, iteration: int) -> str:
    if curve is None or iteration not in curve.iterations:
        return NONE
    where = int(np.flatnonzero(curve.iterations == iteration)[0])
    return plus_minus(float(curve.mean[where]), float(curve.sd[where]), 3)


def arena(study: Study) -> Table:
    """What the gate did, per target: means over the runs."""
    played = {target: _arena_rows(study, target) for target in study.targets}

    def share(key: str) -> Any:
        def cell(target: str) -> str | None:
            rows = [row for run in played[target] for row in run]
            games = sum(row[f"arena/{kind}"] for row in rows for kind in _RESULTS)
            counts = [row[f"arena/{key}"] for row in rows if f"arena/{key}" in row]
            return percent(sum(counts) / games) if games and counts else None

        return cell

    def accepted(target: str) -> str:
        sums = [sum(row.get("arena/accepted", 0) for row in run) for run in played[target]]
        return number(float(np.mean(sums)), 1)

    def all_drawn(target: str) -> str:
        rows = [row for run in played[target] for row in run]
        return percent(np.mean([row["arena/wins"] + row["arena/losses"] == 0 for row in rows]))

    return table(
        "Arena",
        [target for target in study.targets if played[target]],
        {
            "minimised": label,
            "runs": lambda target: str(len(played[target])),
            "accepted per run": accepted,
            "of iterations": lambda target: number(float(np.mean([*map(len, played[target])])), 1),
            "new network won": share("wins"),
            "drew": share("draws"),
            "lost": share("losses"),
            "every game drawn": all_drawn,
            "first mover won": share("first_mover_wins"),
        },
    )


def _arena_rows(study: Study, target: str) -> list[list[dict[str, Any]]]:
    """Of each run that played in the arena, its rows with games."""
    runs = [study.rows.get(run.name, {}) for run in study.runs_of(target)]
    played = [[row for i, row in run.items() if i > 0 and "arena/wins" in row] for run in runs]
    return [rows for rows in played if rows]
