"""Weights & Biases: a W&B run for each run of a study, and one for the study's results."""

import functools
import glob
import hashlib
import importlib
import itertools
import json
import logging
import re
import secrets
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict
from tqdm import tqdm

from jaxzero import files, workdir
from jaxzero.settings.config import ConfigError, flatten
from jaxzero.tracking.background import reason
from jaxzero.tracking.summary import Row, StudySummary, scalars

LEDGER = "tracking.json"  # which W&B runs are this directory's, and what they were sent
STUDY = "study"
STEP = "iteration"  # of every chart
# Of what is logged at each step the summary keeps the last value, and of these the best one, too.
BEST = {
    "loss/*": "last,min",
    "unseen/*": "last,min",
    "heldout/*": "last,min",
    "validation/*": "last,max",
    "learning/search/*": "last,max",
    "accuracy/*": "last,max",
    "elo/ladder/*": "last,max",
}
_TELEMETRY = "opentelemetry.exporter.otlp.proto.http"  # logs where W&B's own statistics fail
_PATIENCE = 120.0  # seconds to wait at the end for a slow network


class WandbRuns:
    """Sends rows to W&B, online or to offline files.

    A W&B step is an iteration. Before a W&B run gets anything it is asked what it holds: online the
    server knows, offline the files that earlier processes left. Rows up to there are skipped, so
    that no step is there twice; rows that a crash lost are sent again.
    """

    def __init__(self, directory: Path, config: ConfigDict, study: str) -> None:
        """Args: directory: the run directory. config: the study's settings. study: its name.

        Raises:
          ConfigError: wandb is missing, or nobody is logged in.
        """
        self._mode: str = config.tracking.wandb
        self._library = _load(self._mode)
        self._directory = directory.absolute()
        self._config = config
        self._study = study
        self._group = _group_of(study, self._directory)
        self._runs: dict[str, Any] = {}  # W&B's, open
        self._heads: dict[str, Row] = {}  # a row of each run of the study
        self._defined: dict[str, set[str]] = {}  # metrics of each whose axis W&B knows
        self._last: dict[str, int] = {}  # step that each holds, -1 if none

    def log(self, rows: list[Row]) -> None:
        """Sends those rows that W&B does not have yet."""
        for row in rows:
            name = row["run"]
            self._heads.setdefault(name, row)
            if row["iteration"] > self._held(name):
                self._log(name, scalars(row), row["iteration"])
                self._last[name] = row["iteration"]
        if rows:
            self._write_ledger()

    def finish(self, summary: StudySummary) -> None:
        """Numbers to their runs; curves, tables, figures and the report to the study's own."""
        for name, numbers in summary.members.items():
            other = self._sent("numbers").get(name) != _digest(dict(numbers))
            if name in self._runs or (name in self._heads and other):
                self._run(name).summary.update(dict(numbers))
        self._finish_runs()
        name = self._name_of_results(summary)
        points = [i for by_run in summary.curves.values() for c in by_run.values() for i in c]
        end = max([summary.iteration, *points])  # some studies go on in a few of their runs
        for iteration in range(self._held(name) + 1, end + 1):
            values = {
                f"{metric}/{run}": curve[iteration]
                for metric, curves in summary.curves.items()
                for run, curve in curves.items()
                if iteration in curve
            }
            if iteration == end:
                self._run(name).summary.update(dict(summary.numbers))
                values |= self._media(summary)
            if values:
                self._log(name, values, iteration)
            self._last[name] = iteration
        self._finish_runs()
        # What a process that is stopped before this line has sent may be sent again.
        digests = {run: _digest(dict(numbers)) for run, numbers in summary.members.items()}
        self._sent("numbers").update(digests)
        self._sent("results")[name] = _digest_of_results(summary)
        self._write_ledger()
        self._say_where()

    def _finish_runs(self, *, exit_code: int = 0) -> None:
        """Finishes all that are open, also those after one that fails; ExceptionGroup: which."""
        runs, self._runs = self._runs, {}
        failures = []
        for name, run in runs.items():
            try:
                if exit_code:
                    run.mark_preempting()
                run.finish(exit_code=exit_code)
            except Exception as error:
                failures.append(RuntimeError(f"{name}: {reason(error)}"))
        if failures:
            raise ExceptionGroup("W&B runs", failures)

    def _name_of_results(self, summary: StudySummary) -> str:
        """Of the study's own W&B run. Other results, as of more arms, get another one."""
        of_arms = f"-{summary.arms}arms" if summary.arms else ""
        name, digest = f"{STUDY}-{summary.iteration}{of_arms}", _digest_of_results(summary)
        names = itertools.chain([name], (f"{name}-again{i}" for i in itertools.count(1)))
        return next(n for n in names if self._sent("results").get(n, digest) == digest)

    def close(self) -> None:
        """Marks runs that were not finished as preempted: the same command resumes them."""
        if self._runs:
            self._finish_runs(exit_code=1)
            self._say_where()

    def _log(self, name: str, values: dict[str, Any], iteration: int) -> None:
        run, defined = self._run(name), self._defined.setdefault(name, set())
        # By whole names: which of several patterns that fit counts is W&B's secret.
        for metric in sorted(values.keys() - defined):
            best = (summary for pattern, summary in BEST.items() if fnmatch(metric, pattern))
            run.define_metric(metric, step_metric=STEP, summary=next(best, None))
        defined.update(values)
        run.log({STEP: iteration} | values, step=iteration)

    def _media(self, summary: StudySummary) -> dict[str, Any]:
        """Tables, figures and the report as W&B shows them."""
        media: dict[str, Any] = {
            name: self._library.Table(
                columns=list(table.columns),
                data=[list(row) for row in table.rows],
                allow_mixed_types=True,
            )
            for name, table in summary.tables.items()
        }
        for path in summary.figures:
            media[f"figures/{path.stem}"] = self._library.Image(str(path))
        if summary.report is not None:
            media["report"] = self._library.Html(summary.report.read_text("utf-8"), inject=False)
        return media

    def _held(self, name: str) -> int:
        """The last step that a W&B run holds, -1 if none."""
        if name not in self._last:
            if self._mode == "offline":
                self._last[name] = self._held_offline(name)
            else:
                self._last[name] = self._run(name).starting_step - 1
        return self._last[name]

    def _held_offline(self, name: str) -> int:
        """The last step in all files that earlier processes left; what they sent if there is none.

        (`wandb clean` removes files that were synced.) A process that was killed leaves a file that
        is cut short, at which `wandb sync` would stop: it is removed, and what was in it is sent
        again, unless it has been synced as far as it goes.
        """
        folder = glob.escape(str(self._directory / "wandb"))
        files = glob.glob(f"{folder}/offline-run-*-{glob.escape(self._identity(name))}/*.wandb")
        if not files or self._ledger["mode"] != "offline":
            return int(self._sent("sent").get(name, -1))
        last = -1
        for file in map(Path, files):  # names hold a time, which goes back with the clock
            step, whole = _read_log(file)
            if whole or file.with_name(f"{file.name}.syncstate").exists():
                last = max(last, step)
            if not whole:
                shutil.rmtree(file.parent)
        return last

    def _run(self, name: str) -> Any:
        """The W&B run of a run of the study or, by any other name, of the study itself."""
        if name not in self._runs:
            identity, head = self._identity(name), self._heads.get(name)
            settings = flatten(self._config)
            if head is not None:
                settings |= self._members().get(name, {}).get("settings", {})
                settings |= {key: head[key] for key in ("target", "seed")}
            self._runs[name] = self._library.init(
                project=self._config.tracking.wandb_project,
                group=self._group,
                job_type=STUDY if head is None else "training",
                name=name,
                id=identity,
                resume="allow",
                mode=self._mode,
                dir=str(self._directory),
                config=settings | {"study": self._study, "environment": self._environment()},
                reinit="create_new",
                settings=self._library.Settings(
                    console="off",
                    silent=True,
                    x_disable_stats=bool(self._runs),  # one of them watches the machine
                    finish_timeout=_PATIENCE,
                    finish_timeout_raises=True,
                ),
            )
        return self._runs[name]

    def _identity(self, name: str) -> str:
        """A run's W&B id: the directory's own and the name, without what ids may not have."""
        return f"{self._ledger['id']}-{re.sub(r'[^A-Za-z0-9_.=-]', '-', name)}"

    @functools.cached_property
    def _ledger(self) -> dict[str, Any]:
        """See `LEDGER`."""
        path = self._directory / LEDGER
        fresh = {"id": secrets.token_hex(4), "mode": self._mode}
        return files.read_json(path) if path.is_file() else fresh

    def _sent(self, what: str) -> dict[str, Any]:
        """The last step ("sent"), or a digest of numbers or results, by the W&B run's name."""
        return self._ledger.setdefault(what, {})

    def _write_ledger(self) -> None:
        self._ledger["mode"] = self._mode
        self._sent("sent").update(self._last)
        files.write_json(self._directory / LEDGER, self._ledger)

    def _members(self) -> dict[str, Any]:
        path = self._directory / workdir.MEMBERS
        members = files.read_list(path) if path.is_file() else []
        return {member["name"]: member for member in members}

    def _environment(self) -> dict[str, Any]:
        path = self._directory / workdir.ENVIRONMENT
        return files.read_json(path) if path.is_file() else workdir.environment()

    def _say_where(self) -> None:
        where = f"{self._config.tracking.wandb_project}, group {self._group}"
        if self._mode == "offline":
            where = f"offline, to send it: wandb sync {self._directory}/wandb/offline-run-*"
        tqdm.write(f"W&B: {where}", file=sys.stderr)


def _group_of(study: str, directory: Path) -> str:
    """`STUDY/WORKDIR`; of a part of a study (an arm, say) `STUDY/WORKDIR/PART`."""
    above = directory.parent.parent
    is_part = (above / workdir.CONFIG).is_file()
    return "/".join([study, *([above.name] if is_part else []), directory.name])


def _digest_of_results(summary: StudySummary) -> str:
    return _digest([summary.curves, summary.numbers, [vars(t) for t in summary.tables.values()]])


def _digest(values: Any) -> str:
    """Of what JSON can hold."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=float).encode()).hexdigest()


def _read_log(file: Path) -> tuple[int, bool]:
    """Of a W&B log file: the last step, -1 without any; whether it was brought to its end."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(file)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    records = [json.loads(line) for line in printed.splitlines()]
    steps = [r["history"]["item"]["_step"] for r in records if r.get("type") == "history"]
    return max(map(int, steps), default=-1), any(r.get("type") == "exit" for r in records)


def _load(mode: str) -> Any:
    """The library, ready for a mode."""
    try:
        library = importlib.import_module("wandb")
    except ImportError as error:
        raise ConfigError(
            f"config.tracking.wandb={mode!r}: wandb is not installed, "
            'pip install -e ".[wandb]" or set it to off'
        ) from error
    if mode == "online":
        logging.getLogger(_TELEMETRY).setLevel(logging.CRITICAL)
        try:
            library.login()  # asks for the key where somebody can answer
        except library.errors.UsageError as error:
            raise ConfigError(
                f"config.tracking.wandb={mode!r}: nobody is logged in; run `wandb login`, set "
                "WANDB_API_KEY or choose offline"
            ) from error
        except library.errors.Error:
            pass  # no network, say: training goes on without, and the first call tells
    return library
