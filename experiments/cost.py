"""What runs of a loss study cost, phase by phase, and how strong they are for it.

    python -m experiments.cost runs/quick

Times self-play, training and arena of the run's own program for a short while (calibration), counts
each run's work, and multiplies: the papers' time cost function (Wang 2020 and 2023, section 4.4,
Equation 2). Writes cost.json, figures and a section of report.html: cost of every run and phase,
the model against the measured wall time, the papers' hours, strength over evaluations,
floating-point operations and seconds (from ladder.json, see experiments.ladder), and the losses at
equal cost.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import ladder, published
from experiments.costs import clock, cost_model, cost_strength
from experiments.costs.clock import Calibration, Cost
from experiments.loss_ablation import STUDY
from experiments.pages import reports
from experiments.pages.wording import plus_minus
from experiments.shell.next_command import suggest
from experiments.strength import contestants
from jaxzero import arguments, files, runs, workdir
from jaxzero.arguments import Parser
from jaxzero.runs import Run, backend, flops, population
from jaxzero.runs.processes import say
from jaxzero.settings import config as config_lib
from jaxzero.settings import devices
from jaxzero.settings.config import ConfigError, default_config, flatten

FILE = "cost.json"


def parser() -> Parser:
    made = Parser(prog="python -m experiments.cost", description=__doc__)
    made.add_argument("run", type=Path, metavar="RUN", help="run directory, finished or not")
    made.add_argument(
        "--seconds",
        type=float,
        default=clock.SECONDS,
        metavar="N",
        help="calibrate each phase for about so long (default 10)",
    )
    return made


def measure(directory: Path, *, seconds: float = clock.SECONDS) -> dict[str, Any]:
    """Calibrates for so many seconds a phase, counts, writes cost.json and makes the report again.

    ConfigError: no run directory, no iteration done, an impossible flag.
    """
    if not 0 < seconds < math.inf:  # nan is neither
        raise ConfigError(f"--seconds={seconds:g}: a number of seconds above 0 is needed")
    backend.prepare(default_config())
    run = runs.open_run(directory)
    contestants.refuse_shipped([run])
    config_lib.require_one_width(run.config)
    rows = [r for r in files.read_rows(directory / workdir.METRICS) if r["iteration"] > 0]
    if not rows:
        raise ConfigError(f"{directory}: no iteration is done, there is no cost to speak of yet")
    say(f"calibrating {run.spec.game.name} on {devices.describe()}...")
    timed = clock.calibrate(
        clock.of_run(run, seconds=seconds), heldout_games=run.config.evaluation.heldout_games
    )
    cost = describe(run, rows, timed)
    files.write_json(directory / FILE, cost)
    print(summary(files.plain(cost)))
    say(f"written: {directory / FILE}")
    finished = (directory / workdir.RESULTS).is_file()
    reported = finished and workdir.read_results(directory)["study"] == STUDY
    if reported:
        say(f"report: {reports.write(directory)}")
    if "courses" not in cost:
        suggest("strength to set beside it", "experiments.ladder", directory)
    elif reported:
        suggest("which claims hold", "experiments.claims", directory)
    return files.plain(cost)


def describe(run: Run, rows: Sequence[dict[str, Any]], timed: Calibration) -> dict[str, Any]:
    """cost.json from a run's metrics and its calibration."""
    forward = flops.forward(run.spec)
    by_run = {m.name: [r for r in rows if r["run"] == m.name] for m in run.members}
    by_run = {name: own for name, own in by_run.items() if own}
    cumulative = {name: spent(run, own, timed.units, forward) for name, own in by_run.items()}
    environment = run.directory / workdir.ENVIRONMENT
    trained_in = files.read_json(environment) if environment.is_file() else {}
    cost: dict[str, Any] = {
        "game": run.spec.game.name,
        "calibration": timed._asdict() | {"units": timed.units._asdict()},
        "trained_on": trained_in.get("device"),
        "flops_per_evaluation": forward,
        "runs": {
            name: {
                "counts": clock.work(own)._asdict(),
                "phase_seconds": clock.seconds(own, timed.units)._asdict(),
                "accepted": sum(r.get("arena/accepted", 0.0) for r in own),
                **{m: float(values[-1]) for m, values in cumulative[name].items()},
            }
            for name, own in by_run.items()
        },
        "wall": wall(run, rows, timed),
        "equation_2": prior(run, by_run, timed.units),
        "papers": papers(run, timed.units),
    }
    path = run.directory / ladder.FILE
    if path.is_file():
        label = contestants.label_members(run)  # other settings are no other seeds
        runs_listed = [
            {"name": m.name, "target": label[m.name], "seed": m.seed} for m in run.members
        ]
        curves = files.read_json(path)["runs"]
        measured = cost_strength.courses(runs_listed, curves, cumulative)
        cost["courses"] = [course._asdict() for course in measured]
        if measured:
            cost["equal_cost"] = {
                name: cost_strength.at_equal_cost(measured, name) for name in cost_strength.MEASURES
            }
    return cost


def spent(
    run: Run, rows: Sequence[dict[str, Any]], units: Cost, forward: int
) -> dict[str, np.ndarray]:
    """Cost up to each iteration of one run, float[I + 1] by measure, 0 before the first."""
    ordered = sorted(rows, key=lambda r: r["iteration"])
    passes = flops.TRAINING + (run.spec.train.measure == "after_step")
    totals: dict[str, list[float]] = {name: [0.0] for name in cost_strength.MEASURES}
    for row in ordered:
        done = clock.work([row])
        evaluations = done.selfplay + done.arena
        examples = done.training * run.spec.train.batch_size
        totals["evaluations"].append(evaluations)
        totals["flops"].append(forward * (evaluations + passes * examples))
        totals["seconds"].append(done.times(units).total)
    return {name: np.cumsum(values) for name, values in totals.items()}


def wall(run: Run, rows: Sequence[dict[str, Any]], timed: Calibration) -> dict[str, Any]:
    """Predicted and measured seconds of training, from the end of iteration 1 on.

    Without starting and compiling, of any process. Runs on different devices go on at the same
    time; devices that share a run are taken to halve, third, ... its time.
    """
    layout, _ = population.chosen(run.config, len(run.members))
    share = layout.run_devices * layout.data_devices
    iterations = sorted({r["iteration"] for r in rows})
    measured = {
        i: max(r["seconds"] - r.get("starting_seconds", 0.0) for r in rows if r["iteration"] == i)
        for i in iterations
    }
    taken = [
        clock.seconds([r for r in rows if r["iteration"] == i], timed.units).total / share
        for i in iterations
    ]
    predicted = np.cumsum([0.0, *taken[1:]])
    since = np.array([measured[i] - measured[iterations[0]] for i in iterations])
    return {
        "iterations": iterations,
        "predicted": predicted,
        "measured": since,
        "ratio": float(predicted[-1] / since[-1]) if since[-1] > 0 else None,
        "devices": share,
    }


def prior(run: Run, by_run: dict[str, list[dict[str, Any]]], units: Cost) -> dict[str, Any]:
    """Equation 2 from settings and the mean length of games alone, beside what was counted.

    Less is counted: positions in which the game is over need no evaluation.
    """
    asked, done = [], []
    for member in run.members:
        if member.name in by_run:
            own = by_run[member.name]
            plies = float(np.mean([r["selfplay/plies"] for r in own]))
            settings = flatten(member.config) | {"train.iterations": len(own)}
            job = cost_model.job(settings, plies=plies, images=run.spec.num_images)
            asked.append(cost_model.our_seconds(job, units))
            done.append(clock.seconds(own, units)._replace(measuring=0.0))
    return {
        "predicted": Cost(*np.sum(asked, axis=0).tolist())._asdict(),
        "counted": Cost(*np.sum(done, axis=0).tolist())._asdict(),
    }


def papers(run: Run, units: Cost) -> dict[str, Any] | None:
    """Hours of one run at the papers' settings with this network; None for other boards.

    Beside them Table 3 and what Equation 2 makes of it, fitted to it and with our seconds.
    """
    plies = published.random_plies(run.spec.game.name)
    if plies is None:
        return None
    theirs = published.default_settings(run.spec.game.name)
    asked = cost_model.job(theirs, plies=plies, images=run.spec.num_images)
    rows = cost_model.table_3()
    fitted = cost_model.fit(rows)
    default = cost_model.our_seconds(rows[0].job, units).total
    return {
        "hours": cost_model.our_seconds(asked, units).over(3600)._asdict(),
        "published_units": fitted._asdict(),
        "published_hours": rows[0].hours,
        "published_phases": cost_model.seconds(rows[0].job, fitted).over(3600)._asdict(),
        "table_3": [
            {
                "letter": row.letter,
                "value": row.value,
                "called": row.called,
                "published": row.hours,
                "fitted": cost_model.hours(row.job, fitted),
                "ours": cost_model.our_seconds(row.job, units).total / default,
            }
            for row in rows
        ],
    }


def summary(cost: dict[str, Any]) -> str:
    """Seconds by phase, the model against the clock, and the losses at equal cost."""
    lines = [f"{len(cost['runs'])} runs, seconds by counted work:"]
    for phase in Cost._fields:
        total = sum(run["phase_seconds"][phase] for run in cost["runs"].values())
        lines.append(f"  {phase:10} {total:12.1f}")
    if cost["wall"]["ratio"] is not None:
        lines.append(
            f"after iteration 1: predicted {cost['wall']['predicted'][-1]:.1f} s, measured "
            f"{cost['wall']['measured'][-1]:.1f} s, ratio {cost['wall']['ratio']:.2f}"
        )
    for name, equal in (cost.get("equal_cost") or {}).items():
        lines.append(f"Elo above random at {equal['cost']:.4g} {name}, ± standard error:")
        lines += [
            f"  {r['target']:12} {plus_minus(r['elo'], r['stderr'])}" for r in equal["targets"]
        ]
    if "courses" not in cost:
        lines.append("no ladder.json: strength for its cost is not known")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    given = parser().parse(words)
    measure(given.run, seconds=given.seconds)


if __name__ == "__main__":
    arguments.run(main)
