"""The page of a study of arms: which of them changes how the losses rank, and by how much."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from experiments.claims import inference
from experiments.claims.decision import METHOD, coverage
from experiments.losses import arms_figures
from experiments.losses.arms_study import Arms, load
from experiments.pages import page, style
from experiments.pages.page import Plate, Section
from experiments.pages.study import Study
from experiments.pages.tables import Table
from experiments.pages.wording import (
    NONE,
    duration,
    game_title,
    interval,
    number,
    percent,
    plural,
    plus_minus,
    short,
)


def write_report(directory: Path) -> Path:
    """Writes figures and report.html from results.json; returns the latter's path."""
    return page.write(build(load(directory)), directory)


def build(found: Arms) -> page.Page:
    """The page, figures drawn, nothing written yet."""
    results = found.results
    sections = [_strength(found), _effects(found), _sweep(found), _self_play(found)]
    return page.Page(
        title=f"Arms of the loss study: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}, {found.name}",
        verdicts=sentences(results),
        missing=_missing(found),
        facts=_facts(found),
        sections=[s for s in sections if s.text or s.plates or s.tables],
    )


def sentences(results: dict[str, Any]) -> list[str]:
    """What noise and search change between l_v and its rivals, each with its error."""
    said = []
    for row in results.get("effects") or []:
        if row["kind"] == "change":
            plain = _find(results, "loss", "plain", row["target"])
            here = _find(results, "loss", row["arm"], row["target"])
            if plain and here:
                said.append(
                    f"Value less {row['target']}: {_told(plain)} Elo in plain, {_told(here)} in "
                    f"{row['arm']}; {_change(row)}"
                )
    return said


def _find(results: dict[str, Any], kind: str, arm: str, target: str) -> dict[str, Any] | None:
    for row in results.get("effects") or []:
        if (row["kind"], row["arm"], row["target"]) == (kind, arm, target):
            return row
    return None


def _told(row: dict[str, Any]) -> str:
    stderr = math.nan if row["stderr"] is None else row["stderr"]
    return plus_minus(row["effect"], stderr)


def _change(row: dict[str, Any]) -> str:
    told = f"changed by {_told(row)}"
    if row["low"] is None:
        return f"{told}, no interval from {plural(row['seeds'], 'seed')}."
    surely = row["low"] > 0 or row["high"] < 0
    ends = f"{_coverage(row)} interval {interval((row['low'], row['high']))}"
    return f"{told}, {ends}: {'the arm matters' if surely else 'may be nothing'}."


def _missing(found: Arms) -> list[str]:
    said = [f"Arm {name} has no directory." for name in found.names if name not in found.studies]
    if not found.results.get("ladder"):
        said.append("No strength was measured (study.ladder_games=0): arms are not compared.")
    fewest = min((row["seeds"] for row in found.results.get("effects") or []), default=None)
    if fewest is not None and fewest < inference.FEWEST:
        said.append(
            f"{plural(fewest, 'seed')} of each loss: intervals need {inference.FEWEST} "
            "(--config.study.seeds), what is written with ± is the spread over seeds."
        )
    return said


def _facts(found: Arms) -> list[tuple[str, str]]:
    results = found.results
    facts = [
        (f"Arm {arm['name']}", f"{arm['meaning']}{_changes(arm['changes'])}")
        for arm in results["arms"]
    ]
    seconds = sum(float(arm["cost"]["wall_seconds"]) for arm in results["arms"])
    facts += [
        ("Runs", f"{len(results['runs'])}, {len(found.targets)} losses in each arm"),
        ("Reports", ", ".join(f"{name}/report.html" for name in found.names)),
        ("Wall time", f"{duration(seconds)} without the last measurement"),
        *page.origin(results),
    ]
    return facts


def _changes(changes: dict[str, Any]) -> str:
    told = ", ".join(f"{key}={short(value)}" for key, value in changes.items())
    return f" ({told})" if told else ""


# ---- strength


def _strength(found: Arms) -> Section:
    title = "Strength over training"
    if not found.results.get("ladder"):
        return Section(title)
    measured = found.results["ladder"]
    plates = [
        Plate(
            "arms_strength",
            arms_figures.strength(found),
            title,
            "A panel for each arm, a curve for each loss: mean over seeds, band ± 1 standard "
            "deviation, thin lines single seeds. All networks played fixed opponents (random = 0) "
            f"with the plain arm's search and {number(measured['settings']['simulations'])} "
            "simulations, whatever they were trained with; networks did not meet. No published "
            "data: the papers have the plain arm only, without such a scale.",
        ),
        Plate(
            "arms_final",
            arms_figures.final(found),
            "Strength at the end",
            "Last measured networks: mean ± standard error over seeds (or of the ratings, where "
            "larger), points single seeds.",
        ),
    ]
    return Section(title, plates=tuple(plates), tables=(_final_table(found),))


def _final_table(found: Arms) -> Table:
    rows = []
    for target in found.targets:
        cells = []
        for name in found.names:
            group = found.curves(name).get(target)
            if group is None:
                cells.append(NONE)
                continue
            last = group.band.last
            cells.append(plus_minus(float(group.band.mean[last]), group.error_of_mean(last)))
        rows.append((style.label(target), *cells))
    return Table(
        "Elo above random at the end",
        ("minimised", *found.names),
        tuple(rows),
        "Means over seeds ± standard error.",
    )


# ---- differences


def _effects(found: Arms) -> Section:
    rows = found.results.get("effects") or []
    titles = {
        "loss": "l_v against its rivals within an arm",
        "change": "Change of those differences from the plain arm",
        "arm": "Each loss in an arm against the plain arm",
    }
    note = (
        "Differences of strength at the end, seed by seed (runs of a seed begin with the same "
        f"weights in all arms): mean ± standard error. {METHOD} The rows of a "
        "table are read together."
    )
    tables = tuple(
        Table(
            title,
            ("difference", "Elo", "interval", "of", "seeds"),
            tuple(_effect_row(row) for row in rows if row["kind"] == kind),
            note,
            folded=kind == "arm",
        )
        for kind, title in titles.items()
        if any(row["kind"] == kind for row in rows)
    )
    return Section("What the arms change", tables=tables)


def _effect_row(row: dict[str, Any]) -> tuple[str, ...]:
    ends = interval((row["low"], row["high"]))
    return row["words"], _told(row), ends, _coverage(row), str(row["seeds"])


def _coverage(row: dict[str, Any]) -> str:
    level = row.get("level", inference.LEVEL)  # old files: 95 %
    return NONE if row["low"] is None else coverage(level)


# ---- lambda


def _sweep(found: Arms) -> Section:
    title = "Between the value loss and the policy loss"
    figure = arms_figures.sweep(found)
    if figure is None:
        return Section(title)
    plate = Plate(
        "arms_lambda",
        figure,
        title,
        "Elo above random at the end of runs that minimise λ l_p + (1 - λ) l_v; λ = 0 is l_v, "
        "λ = 1 is l_p (the targets value and policy, where they were run), λ = 1/2 is half of l_+. "
        "Mean ± standard error, points single seeds. 000, section 5.3, defines it and runs only "
        "the ends and the sum: no published data.",
    )
    return Section(title, plates=(plate,))


# ---- how explored self-play was


def _self_play(found: Arms) -> Section:
    rows = []
    for name, own in found.studies.items():
        for target in own.targets:
            rows.append((name, style.label(target), *_explored(own, target)))
    headers = ("arm", "minimised", "distinct games", "distinct positions", "entropy", "accepted")
    note = (
        "Means over seeds and iterations of self-play: shares of games and of positions that "
        "differ within an iteration, entropy of the policy targets in nats; accepted networks of a "
        "run. Few distinct games mean that self-play did not explore."
    )
    table = Table("How much self-play explored", headers, tuple(rows), note, text_columns=2)
    return Section("Self-play", tables=(table,) if rows else ())


def _explored(own: Study, target: str) -> tuple[str, ...]:
    played = [
        row
        for run in own.runs_of(target)
        for iteration, row in own.rows.get(run.name, {}).items()
        if iteration > 0
    ]
    if not played:
        return (NONE,) * 4

    def mean(key: str, over: str | None = None) -> float:
        values = [row[key] / (row[over] if over else 1.0) for row in played if row.get(key)]
        return float(np.mean(values)) if values else math.nan

    accepted = sum(row.get("arena/accepted", 0) for row in played) / len(own.runs_of(target))
    return (
        percent(mean("selfplay/distinct_games", "count/games")),
        percent(mean("selfplay/distinct_positions", "selfplay/positions")),
        number(mean("selfplay/policy_entropy"), 3),
        number(accepted, 1),
    )
