"""The tables of a loss study: cells are finished text, numbers as they stand in the files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from experiments import published
from experiments.losses.figures import MEASURED
from experiments.pages.study import Band, Study
from experiments.pages.style import label
from experiments.pages.wording import ABSENT, NONE, number, percent, plus_minus, short

# Paper 000, Table 1: letter, our key, meaning.
SETTINGS: Final = (
    ("I", "train.iterations", "iterations"),
    ("E", "selfplay.episodes", "self-play games per iteration"),
    ("T'", "selfplay.temperature_plies", "plies before play turns greedy"),
    ("m", "search.num_simulations", "simulations per move"),
    ("c", "search.c_puct", "exploration constant of the search"),
    ("rs", "replay.window", "iterations in the replay window"),
    ("ep", "train.epochs", "epochs per iteration"),
    ("bs", "train.batch_size", "batch size"),
    ("lr", "train.learning_rate", "learning rate"),
    ("d", "train.dropout_rate", "dropout rate"),
    ("n", "arena.games", "arena games per iteration"),
    ("u", "arena.threshold", "score to accept a network"),
)
_MANY_RUNS = 16  # from here on a table with a row per run is shown closed


@dataclass(frozen=True)
class Table:
    """A titled table; the first `text_columns` columns are words, the others numbers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    text_columns: int = 1
    folded: bool = False  # shown closed, for what few readers need

    def text(self, columns: Sequence[int] | None = None) -> str:
        """Some or all columns for the terminal."""
        shown = range(len(self.headers)) if columns is None else columns
        lines = [[line[c] for c in shown] for line in (self.headers, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if c < self.text_columns else cell.rjust(width)
                for c, cell, width in zip(shown, line, widths, strict=True)
            ).rstrip()
            for line in lines
        )


def losses(study: Study) -> Table | None:
    """First and last losses, training and held out, with the published ones beside them."""
    rows = [row for target in study.targets for row in _loss_rows(study, target)]
    if not rows:
        return None
    symbols = tuple(label(loss) for loss in MEASURED)
    note = "Mean ± standard deviation over seeds, in nats (policy) and squared error (value)."
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
    if curve is None:
        return NONE
    where = np.flatnonzero(curve.iterations == iteration)
    if not len(where):
        return NONE
    return plus_minus(float(curve.mean[where[0]]), float(curve.sd[where[0]]), 3)


def arena(study: Study) -> Table | None:
    """What the gate did, per target: means over the runs."""
    rows = []
    for target in study.targets:
        runs = [study.rows.get(run.name, {}) for run in study.runs_of(target)]
        played = [[row for i, row in run.items() if i > 0 and "arena/wins" in row] for run in runs]
        played = [rows_of_run for rows_of_run in played if rows_of_run]
        if not played:
            continue
        accepted = [sum(row.get("arena/accepted", 0) for row in run) for run in played]
        kinds = {
            kind: sum(row[f"arena/{kind}"] for run in played for row in run)
            for kind in ("wins", "draws", "losses")
        }
        firsts = [
            row["arena/first_mover_wins"]
            for run in played
            for row in run
            if "arena/first_mover_wins" in row
        ]
        total = sum(kinds.values())
        rows.append(
            (
                label(target),
                str(len(played)),
                number(float(np.mean(accepted)), 1),
                number(float(np.mean([len(run) for run in played])), 1),
                *(percent(kinds[kind] / total) if total else NONE for kind in kinds),
                percent(sum(firsts) / total) if total and firsts else NONE,
            )
        )
    headers = (
        "minimised",
        "runs",
        "accepted per run",
        "of iterations",
        "new network won",
        "drew",
        "lost",
        "first mover won",
    )
    return Table("Arena", headers, tuple(rows)) if rows else None


def settings(study: Study) -> Table | None:
    """The papers' twelve settings with their letters, and the papers' defaults for this board."""
    if not study.results.get("config"):
        return None
    theirs = published.settings(study.game) or {}
    rows = tuple(
        (
            letter,
            key,
            meaning,
            ", ".join(short(value) for value in _tried(study, letter, key)),
            short(theirs[key]) if key in theirs else NONE,
        )
        for letter, key, meaning in SETTINGS
    )
    headers = ("letter", "key", "meaning", "this study", "papers' default")
    return Table("Settings", headers, rows, text_columns=3)


def _tried(study: Study, letter: str, key: str) -> list[Any]:
    """All values of a hyper-parameter, the smallest first; most studies have one."""
    changed = [setting["values"] for setting in study.results.get("settings") or []]
    values = {values[letter] for values in changed if letter in values}
    if not changed or any(letter not in values for values in changed):
        values.add(study.setting(key))
    return sorted(values) if len(values) > 1 else list(values)


def other_settings(study: Study) -> Table | None:
    """All the other keys of the config; switches as they were, be it by `semantics` alone."""
    named = {key for _, key, _ in SETTINGS}
    switches = {
        f"switches.{name}": value for name, value in (study.results.get("switches") or {}).items()
    }
    rows = tuple(
        (key, short(switches.get(key, value) if value is None else value))
        for key, value in _flat(study.results.get("config") or {})
        if key not in named
    )
    return Table("All other settings", ("key", "value"), rows, folded=True) if rows else None


def _flat(config: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        nested = isinstance(value, dict) and bool(value)
        found += _flat(value, f"{prefix}{key}.") if nested else [(f"{prefix}{key}", value)]
    return found


def time(study: Study) -> Table | None:
    """Wall time as it was measured: of the whole, of compiling, of every recorded phase."""
    recorded = study.results.get("cost")
    if not recorded:
        return None
    measured = [("wall time", recorded.get("wall_seconds"))]
    measured += [("of which compiling", recorded.get("compile_seconds"))]
    measured += _flat(recorded.get("phases") or {})
    rows = tuple((name.replace("_", " "), short(value)) for name, value in measured)
    return Table("Time", ("phase", "seconds"), rows)


def work(study: Study) -> Table | None:
    """The work of every run, counted: runs that share a program have no clock of their own."""
    counts = (study.results.get("cost") or {}).get("runs")
    if not counts:
        return None
    kinds = ("evaluations", "gradient_steps", "games")
    rows = [
        (run, *(number(done.get(kind)) for kind in kinds), useful_share(study, run))
        for run, done in counts.items()
    ]
    if len(counts) > 1:
        totals = [[done.get(kind) for done in counts.values()] for kind in kinds]
        sums = [ABSENT if None in column else number(sum(column)) for column in totals]
        rows.append(("all runs", *sums, NONE))
    headers = ("run", "evaluations", "gradient steps", "games", "useful evaluations")
    return Table("Work", headers, tuple(rows), folded=len(counts) > _MANY_RUNS)


def useful_share(study: Study, run: str) -> str:
    """Evaluations that reached a game that was still going on, as a share of all."""
    pairs = [
        (row["count/useful_evaluations"], row["count/evaluations"])
        for row in study.rows.get(run, {}).values()
        if "count/useful_evaluations" in row
    ]
    total = sum(evaluated for _, evaluated in pairs)
    return percent(sum(useful for useful, _ in pairs) / total) if total else NONE


def _verdict(check: dict[str, Any]) -> str:
    if check.get("bar") is None:
        return "reported"
    return "holds" if check.get("holds") else "does not hold"


def checks(study: Study) -> Table | None:
    """Statements that were tested, with their bars; without a bar, a finding."""
    rows = tuple(
        (
            str(check.get("name")),
            str(check.get("statement", "")),
            _verdict(check),
            *(short(check.get(key)) for key in ("value", "stderr", "bar")),
        )
        for check in study.results.get("checks") or []
    )
    headers = ("check", "statement", "verdict", "value", "± error", "bar")
    return Table("Checks", headers, rows, text_columns=3) if rows else None
