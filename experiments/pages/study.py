"""A study's files, read once: runs, iterations, curves over seeds, and what is missing."""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from experiments import published
from experiments.pages.bands import Band, band_of, floats
from experiments.pages.wording import plural
from jaxzero import files
from jaxzero.runs import training_elo
from jaxzero.runs.failures import FAILED
from jaxzero.settings.config import TARGETS, ConfigError
from jaxzero.workdir import CONFIG, METRICS, RESULTS, read_config, read_results

UNKNOWN_GAME = "unknown game"
# Sections of results that commands write beside them: of as many iterations as the study's own, or
# of fewer, when it went on since (`Study.missing` says so).
_LOSSES: Final = "loss_ablation"  # trains as long as its settings say, and may be trained on
BESIDE: Final = {
    "ladder": "ladder.json",
    "measured_cost": "cost.json",
    "absolute_strength": "absolute_strength.json",
}


class Run(NamedTuple):
    """One training run of a study."""

    name: str
    target: str  # the loss that it minimised
    seed: int


@dataclass(frozen=True)
class Study:
    """`metrics.jsonl` and `results.json` of one working directory.

    Nothing is filled in: a value that was not recorded is None or NaN, and `missing` and
    `non_finite` say so in words for the reader of the report.
    """

    name: str
    results: dict[str, Any]
    rows: dict[str, dict[int, dict[str, Any]]]  # by run name, then by iteration
    file_notes: tuple[str, ...] = ()
    failed: Mapping[str, int] = dataclasses.field(default_factory=dict)  # run -> iteration

    @property
    def game(self) -> str:
        named = self.results.get("game") or self.setting("game")
        return str(named or UNKNOWN_GAME)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs, in the papers' order of targets, then by seed."""
        listed = {
            str(run["name"]): Run(str(run["name"]), str(run["target"]), int(run["seed"]))
            for run in self.results.get("runs") or []
        }
        for name, by_iteration in self.rows.items():
            row = next(iter(by_iteration.values()))
            target, seed = str(row.get("target", "unknown")), int(row.get("seed", 0))
            listed.setdefault(name, Run(name, target, seed))
        return tuple(sorted(listed.values(), key=lambda run: (_rank(run.target), run.seed)))

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.target for run in self.runs))

    def runs_of(self, target: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.target == target)

    def setting(self, path: str) -> Any:
        """A value of the config by its dotted key; None when it was not recorded."""
        node: Any = self.results.get("config") or {}
        for part in path.split("."):
            if not isinstance(node, dict) or part not in node:
                return None
            node = node[part]
        return node

    @property
    def value_unit(self) -> str:
        """Of l_v: a squared error, but the cross entropy of a win/draw/loss head."""
        return "nats" if self.setting("network.value_head") == "wdl" else "squared error"

    @property
    def loss_units(self) -> str:
        """Of l_p and l_v on one axis."""
        return "nats" if self.value_unit == "nats" else f"nats; {self.value_unit}"

    def reached(self, run: str) -> int | None:
        """The last iteration in a run's metrics, or None when it has no metrics."""
        return max(self.rows[run]) if self.rows.get(run) else None

    def series(self, run: str, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Iterations int [N] and values float [N] of one scalar metric of one run."""
        found = sorted((i, row[key]) for i, row in self.rows.get(run, {}).items() if key in row)
        values = [math.nan if value is None else float(value) for _, value in found]
        return np.array([i for i, _ in found], dtype=int), np.array(values, dtype=float)

    def band(self, target: str, key: str, *, first: int = 0) -> Band | None:
        """One metric over the seeds of a target from iteration `first`; None when unrecorded."""
        return band_of([self.series(run.name, key) for run in self.runs_of(target)], first=first)

    def training_elo(self, run: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Iterations, training Elo and its standard error, each [N]; None when not rated."""
        raw = self._rated.get(run)
        if not raw or not raw.get("iterations"):
            return None
        stderr = raw.get("stderr", [None] * len(raw["elo"]))
        return np.asarray(raw["iterations"], dtype=int), floats(raw["elo"]), floats(stderr)

    @cached_property
    def _rated(self) -> dict[str, Any]:
        """By run, as the study's semantics have it; as stored where arena games are not known.

        Rated here, as older programs took BayesElo's draw rate for corrected runs, too.
        """
        stored = self.results.get("training_elo") or {}
        switches = self.results.get("switches") or {}
        as_authors = self.setting("semantics") == "published"
        if switches.get("elo_first_listed_advantage", as_authors):
            return stored
        return {name: self._rate(name, published=False) or one for name, one in stored.items()}

    def _rate(self, run: str, *, published: bool) -> dict[str, Any] | None:
        """A run's training Elo up to its failure, if it failed."""
        rows, end = self.rows.get(run, {}), self.failed.get(run, math.inf)
        own = (rows[i] for i in sorted(rows) if i < end)
        return training_elo.rate(own, published=published)

    @cached_property
    def authors_training_elo(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Iterations int[N] and training Elo float[N] by run, by the papers' formula.

        Up to its failure, of a run that failed; without the runs whose arena games are not known.
        """
        rated = {run.name: self._rate(run.name, published=True) for run in self.runs}
        return {
            name: (np.asarray(one["iterations"], int), floats(one["elo"]))
            for name, one in rated.items()
            if one is not None
        }

    @property
    def tournaments(self) -> list[dict[str, Any]]:
        return list(self.results.get("tournaments") or [])

    @cached_property
    def non_finite(self) -> tuple[str, ...]:
        """Every NaN and infinity of the metrics: `run, iteration 3, loss/policy: NaN`."""
        found = []
        for run, by_iteration in self.rows.items():
            for iteration, row in sorted(by_iteration.items()):
                found += [
                    f"{run}, iteration {iteration}, {name}: {_word(value)}"
                    for name, value in _numbers(row)
                    if not math.isfinite(value)
                ]
        return tuple(found)

    @cached_property
    def went_on(self) -> str:
        """That training has gone on since the results, with the remedy; empty if it has not."""
        ended, trained = self.setting("train.iterations"), self._trained
        if self.results.get("study") != _LOSSES or ended is None or trained <= int(ended):
            return ""
        return (
            f"{RESULTS} is of iteration {ended}, training is at {trained}: the study's command, "
            "run to its end, makes it again"
        )

    @property
    def _trained(self) -> int:
        """The last iteration of any run; 0 without metrics."""
        return max((max(rows) for rows in self.rows.values()), default=0)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """What the files do not hold, in sentences."""
        return (*self.file_notes, *self._unfinished(), *self._outrun(), *self._absent_sections())

    def _unfinished(self) -> Iterator[str]:
        silent = [run.name for run in self.runs if self.reached(run.name) is None]
        if silent and self.rows:
            yield f"No metrics of {len(silent)} of {len(self.runs)} runs: {', '.join(silent)}."
        if self.failed:
            named = ", ".join(f"{name} in iteration {i}" for name, i in self.failed.items())
            yield (
                f"{len(self.failed)} of {len(self.runs)} runs failed, a training loss was not "
                f"finite: {named}; left out of tournaments and verdicts."
            )
        last = {
            run.name: self.reached(run.name) for run in self.runs if run.name not in self.failed
        }
        known = (i for i in last.values() if i is not None)
        goal = int(self.setting("train.iterations") or max(known, default=0))
        short = [f"{name} at {i}" for name, i in last.items() if i is not None and i < goal]
        if short:
            head = f"{len(short)} of {len(self.runs)} runs stopped before iteration {goal}"
            yield f"{head}: {', '.join(short)}."
        seeds = {target: len(self.runs_of(target)) for target in self.targets}
        alone = [target for target, count in seeds.items() if count == 1]
        if alone:
            yield f"One seed only for {', '.join(alone)}: no spread over seeds can be given."

    def _outrun(self) -> Iterator[str]:
        """What was measured, also beside the study, before it went on."""
        if self.went_on:
            yield f"{self.went_on}. Ratings are of the networks of then, and no claim is decided."
        trained = self._trained
        for key, name in BESIDE.items():
            found = self.results.get(key) or {}
            courses = [*(found.get("runs") or {}).values(), found.get("wall") or {}]
            ends = [iteration for course in courses for iteration in course.get("iterations", ())]
            ends += [network["iteration"] for network in found.get("networks") or ()]
            if ends and max(ends) < trained:
                command = name.removesuffix(".json")
                yield (
                    f"{name} ends at iteration {max(ends)}, training at {trained}: "
                    f"experiments.{command} measures it again."
                )

    def _absent_sections(self) -> Iterator[str]:
        absent = {
            "training_elo": "No training Elo was computed.",
            "tournaments": "No tournament was played.",
            "checks": "No checks were recorded.",
            "cost": "No cost was recorded.",
            "config": "The settings were not recorded.",
        }
        if self.results:
            yield from (text for key, text in absent.items() if not self.results.get(key))
        keys = {
            key
            for by_iteration in self.rows.values()
            for row in by_iteration.values()
            for key in row
        }
        if self.rows and not any(key.startswith("heldout/") for key in keys):
            yield "No losses on held-out positions were recorded."
        if self.game == UNKNOWN_GAME:
            yield "The game was not recorded."
        elif published.loss_curves(self.game) is None:
            pictured = published.is_pictured("tournament", self.game)
            only = "are pictures only, no numbers," if pictured else "is no published data"
            yield f"There {only} for {self.game}."


def load(workdir: Path) -> Study:
    """Reads a run directory, finished or not.

    ConfigError: it holds neither `results.json` nor `metrics.jsonl`, or a file is damaged.
    """
    results_path, metrics_path = workdir / RESULTS, workdir / METRICS
    if not results_path.exists() and not metrics_path.exists():
        raise ConfigError(
            f"{workdir} is no run directory (it holds no results.json or metrics.jsonl): give the "
            "--workdir of a study"
        )
    notes: list[str] = []
    results: dict[str, Any] = {}
    if results_path.exists():
        results = read_results(workdir)
    else:
        notes.append("There is no results.json: the study has not finished.")
        if (workdir / CONFIG).exists():
            results["config"] = read_config(workdir)
    for key, name in BESIDE.items():
        if (workdir / name).exists():
            results[key] = files.read_json(workdir / name)
    rows, damaged = _read_metrics(metrics_path)
    if not rows:
        notes.append("There are no metrics.")
    if damaged:
        notes.append(f"Left out of metrics.jsonl: {plural(damaged, 'damaged line')}.")
    failed: dict[str, int] = {}
    if (workdir / FAILED).exists():
        noted = files.read_json(workdir / FAILED)
        failed = {name: int(failure["iteration"]) for name, failure in noted.items()}
    found = Study(workdir.resolve().name, results, rows, tuple(notes), failed)
    _end_failed_ladders(found)
    return found


def _end_failed_ladders(found: Study) -> None:
    """A failed run's networks after its failure are no longer its own: their ratings go."""
    curves = (found.results.get("ladder") or {}).get("runs") or {}
    for name, failed_at in found.failed.items():
        if name in curves:
            kept = [k for k, i in enumerate(curves[name]["iterations"]) if i < failed_at]
            curves[name] = {key: [values[k] for k in kept] for key, values in curves[name].items()}


def _read_metrics(path: Path) -> tuple[dict[str, dict[int, dict[str, Any]]], int]:
    """Rows by run and iteration. A resumed run may repeat an iteration: its last row counts."""
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    damaged = 0
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            rows.setdefault(str(row["run"]), {})[int(row["iteration"])] = row
        except (ValueError, KeyError, TypeError):
            damaged += bool(line.strip())  # an interrupted write ends in half a line
    return rows, damaged


def _rank(target: str) -> int:
    return TARGETS.index(target) if target in TARGETS else len(TARGETS)


def _numbers(row: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """All floats of a row; an element of a list is named with its epoch, from 1."""
    for key, value in row.items():
        if value is None or isinstance(value, float):
            yield key, math.nan if value is None else value
        elif isinstance(value, list):
            numbers = [math.nan if item is None else item for item in value]
            yield from (
                (f"{key} (epoch {n})", x)
                for n, x in enumerate(numbers, start=1)
                if isinstance(x, float)
            )


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinite"
