"""The page of a study of arms: which of them changes how the losses rank, and by how much."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.claims import inference
from experiments.claims.decision import METHOD, coverage, too_few
from experiments.configs.arms import ARMS, PLAIN, PUBLISHED
from experiments.losses import arms_figures
from experiments.losses.arms_results import ArmsStudy, load
from experiments.pages import page, style
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.study import Study
from experiments.pages.tables import Table, table
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

STRENGTH_TITLE: Final = "Strength at the end"
_SENTENCES = 6  # changes that are all spelled out


def build(directory: Path) -> Page:
    """The page of a study of arms, figures drawn, nothing written yet."""
    study = load(directory)
    results = study.results
    return Page(
        title=f"Arms of the loss study: {game_title(results['game'])}",
        subtitle=f"{results['game']}, preset {results['preset']}, {study.name}",
        verdicts=sentences(results),
        missing=_missing(study),
        facts=_facts(study),
        sections=[
            _strength(study),
            section("What the arms change", *_effect_tables(results)),
            _defects(study),
            _sweep(study),
            _self_play(study),
        ],
    )


def tables(study: ArmsStudy) -> list[Table | None]:
    """Strength at the end and what the arms change: what needs results.json alone."""
    if not study.results.get("ladder"):
        return []
    effects = _effect_tables(study.results)
    return [_final_table(study), _judged_table(study.results), *effects]


def sentences(results: dict[str, Any]) -> list[str]:
    """What the arms change between l_v and its rivals; of many changes those beyond doubt."""
    changes = [row for row in results.get("effects") or [] if row["kind"] == "change"]
    beyond_doubt = [row for row in changes if _is_sure(row)]
    if len(changes) <= _SENTENCES or not any(row["low"] is not None for row in changes):
        return [_sentence(results, row) for row in changes[:_SENTENCES]]
    others = plural(len(changes) - len(beyond_doubt), "other change")
    return [*(_sentence(results, row) for row in beyond_doubt), f"{others} may be nothing."]


def _sentence(results: dict[str, Any], row: dict[str, Any]) -> str:
    """A change between an arm and its reference, which the differences in both go before."""
    if row["arm"] not in ARMS:  # a recorded one may be gone
        return f"{row['arm']} less its reference: value less {row['target']} {_change(row)}"
    reference = ARMS[row["arm"]].reference
    values = [_told(_find(results, a, row["target"])) for a in (reference, row["arm"])]
    return (
        f"Value less {row['target']}: {values[0]} Elo in {reference}, {values[1]} in {row['arm']}; "
        f"{_change(row)}"
    )


def _find(results: dict[str, Any], arm: str, target: str) -> dict[str, Any] | None:
    """The effect of a loss in an arm."""
    wanted, rows = ("loss", arm, target), results.get("effects") or []
    return next((r for r in rows if (r["kind"], r["arm"], r["target"]) == wanted), None)


def _told(row: dict[str, Any] | None) -> str:
    return NONE if row is None else plus_minus(row["effect"], row["stderr"])


def _change(row: dict[str, Any]) -> str:
    change = f"changed by {_told(row)}"
    if row["low"] is None:
        return f"{change}, no interval from {plural(row['seeds'], 'seed')}."
    ends = f"{_coverage(row)} interval {interval((row['low'], row['high']))}"
    return f"{change}, {ends}: {'the arm matters' if _is_sure(row) else 'may be nothing'}."


def _is_sure(row: dict[str, Any]) -> bool:
    """Whether there is an effect beyond doubt."""
    return row["low"] is not None and (row["low"] > 0 or row["high"] < 0)


def _missing(study: ArmsStudy) -> list[str]:
    lines = [f"Arm {name} has no directory." for name in study.names if name not in study.studies]
    lines += [
        f"Arm {name}: {run} failed in iteration {iteration}, left out of strengths."
        for name, own in study.studies.items()
        for run, iteration in own.failed.items()
    ]
    if not study.results.get("ladder"):
        lines.append("No strength was measured (study.ladder_games=0): arms are not compared.")
    seeds = (row["seeds"] for row in study.results.get("effects") or [])
    if few := too_few(min(seeds, default=inference.FEWEST), " a loss"):
        lines.append(f"{few} (--config.study.seeds); after ± stands the spread over seeds.")
    return lines


def _facts(study: ArmsStudy) -> page.Facts:
    results = study.results
    seconds = sum(float(arm["cost"]["wall_seconds"]) for arm in results["arms"])
    return [
        *((f"Arm {a['name']}", f"{a['meaning']}{_changes(a['changes'])}") for a in results["arms"]),
        ("Runs", f"{len(results['runs'])}, {len(study.targets)} losses in each arm"),
        ("Reports", ", ".join(f"{name}/report.html" for name in study.names)),
        ("Wall time", f"{duration(seconds)} without the last measurement"),
        *page.origin(results),
    ]


def _changes(changes: dict[str, Any]) -> str:
    shown = ", ".join(f"{key}={short(value)}" for key, value in changes.items())
    return f" ({shown})" if shown else ""


# ---- strength


def _strength(study: ArmsStudy) -> Section:
    title = "Strength over training"
    if not study.results.get("ladder"):
        return section(title)
    measured = study.results["ladder"]
    return section(
        title,
        plate(
            "arms_strength",
            arms_figures.strength(study),
            title,
            "A panel for each arm, a curve for each loss: mean over seeds, band ± 1 standard "
            "deviation, thin lines single seeds. All networks played fixed opponents (random = 0) "
            f"with the plain arm's search and {number(measured['settings']['simulations'])} "
            "simulations, whatever they were trained with; networks did not meet. No published "
            "data: the papers have the plain arm only, without such a scale.",
        ),
        plate(
            "arms_final",
            arms_figures.final(study),
            STRENGTH_TITLE,
            "Last measured networks: mean ± standard error over seeds (or of the ratings, where "
            "larger), points single seeds.",
        ),
        _final_table(study),
    )


def _final_table(study: ArmsStudy) -> Table:
    rows = []
    for name in study.names:
        own = study.curves(name)
        cells = (
            own[target].mean_and_error(own[target].band.last) if target in own else NONE
            for target in study.targets
        )
        rows.append((name, *cells))
    headers = ("arm", *map(style.label, study.targets))
    note = "Means over seeds ± standard error."
    return Table("Elo above random at the end", headers, tuple(rows), note)


# ---- differences


def _effect_tables(results: dict[str, Any]) -> list[Table]:
    titles = {
        "loss": "l_v against its rivals within an arm",
        "change": "Change of those differences from the arm's baseline",
        "arm": "Each loss in an arm against the same in its baseline",
    }
    note = (
        "Differences of strength at the end, seed by seed (runs of a seed begin with the same "
        f"weights in all arms): mean ± standard error. {METHOD} The rows of a table are read "
        "together."
    )
    if results.get("ladders", 1) > 1:
        note += (
            " Some arms were measured apart, on ladders of their own: the error of a loss in one "
            "arm less the same in such another holds that of both ladders, too."
        )
    return [
        table(
            title,
            [row for row in results.get("effects") or [] if row["kind"] == kind],
            {
                "difference": lambda row: row["words"],
                "Elo": _told,
                "interval": lambda row: interval((row["low"], row["high"])),
                "of": _coverage,
                "seeds": lambda row: str(row["seeds"]),
            },
            note,
            folded=kind == "arm",
        )
        for kind, title in titles.items()
    ]


def _coverage(row: dict[str, Any]) -> str:
    level = row.get("level", inference.LEVEL)  # old files: 95 %
    return NONE if row["low"] is None else coverage(level)


# ---- defects of the published programs


def _defects(study: ArmsStudy) -> Section:
    """Trained and judged in both ways, then each defect alone and left out."""
    title = "Which defect of the published programs turns the order?"
    if (judged := _judged_table(study.results)) is None:
        return section(title)
    drawn = arms_figures.defects(study)
    return section(title, judged, plate("arms_defects", drawn, DEFECTS_TITLE, _DEFECTS_CAPTION))


DEFECTS_TITLE: Final = "Each defect alone, and all but it"
_DEFECTS_CAPTION: Final = (
    "Elo of l_v less that of a rival at the end, judged as corrected: mean over seeds; bar: the "
    "interval that decides. Left of 0 the rival is stronger. A defect that turns the order by "
    "itself lies near `published` when it is the only one, and near `plain` when it is left out."
)


def _judged_table(results: dict[str, Any]) -> Table | None:
    """Trained and judged in both ways; None where nothing was judged as published."""
    judged = results.get("judged_as_published")
    if not judged:
        return None
    ways = {"judged as corrected": results, "judged as published": judged}
    rivals = [row["target"] for row in results["effects"] if row["arm"] == PLAIN]

    def cell(judged: dict[str, Any], arm: str, rival: str) -> str:
        row = _find(judged, arm, rival)
        return f"{_told(row)}, {interval((row['low'], row['high']))}" if row else NONE

    rows = tuple(
        (f"value less {rival}", trained, *(cell(way, arm, rival) for way in ways.values()))
        for rival in dict.fromkeys(rivals)
        for arm, trained in ((PLAIN, "corrected"), (PUBLISHED, "published"))
    )
    note = (
        "Elo of l_v less that of a rival, seed by seed: mean ± standard error and the interval "
        "that decides. Judged as published: the search keeps its tree and games begin at the start."
    )
    return Table("Trained and judged", ("difference", "trained", *ways), rows, note, text_columns=2)


# ---- lambda


def _sweep(study: ArmsStudy) -> Section:
    title = "Between the value loss and the policy loss"
    caption = (
        "Elo above random at the end of runs that minimise λ l_p + (1 - λ) l_v; λ = 0 is l_v, λ = "
        "1 is l_p (the targets value and policy, where they were run), λ = 1/2 is half of l_+. "
        "Mean ± standard error, points single seeds. Wang 2020, section 5.3, defines it and runs "
        "only the ends and the sum: no published data."
    )
    return section(title, plate("arms_lambda", arms_figures.sweep(study), title, caption))


# ---- how explored self-play was


def _self_play(study: ArmsStudy) -> Section:
    explored = table(
        "How much self-play explored",
        [
            (name, target, _played(own, target), len(own.runs_of(target)))
            for name, own in study.studies.items()
            for target in own.targets
        ],
        {
            "arm": lambda row: row[0],
            "minimised": lambda row: style.label(row[1]),
            "distinct games": lambda row: _share(row[2], "selfplay/distinct_games", "count/games"),
            "distinct positions": lambda row: _share(
                row[2], "selfplay/distinct_positions", "selfplay/positions"
            ),
            "entropy": lambda row: number(_mean(row[2], "selfplay/policy_entropy"), 3),
            "accepted": lambda row: number(
                sum(played.get("arena/accepted", 0) for played in row[2]) / row[3], 1
            ),
        },
        "Means over seeds and iterations of self-play: shares of games and of positions that "
        "differ within an iteration, entropy of the policy targets in nats; accepted networks of a "
        "run. Few distinct games mean that self-play did not explore.",
        text_columns=2,
    )
    return section("Self-play", explored)


def _played(own: Study, target: str) -> list[dict[str, Any]]:
    """The rows of all runs of a target but those of the untrained network."""
    runs = [own.rows.get(run.name, {}) for run in own.runs_of(target)]
    return [row for rows in runs for iteration, row in rows.items() if iteration > 0]


def _mean(rows: list[dict[str, Any]], key: str, over: str | None = None) -> float:
    values = [row[key] / (row[over] if over else 1.0) for row in rows if row.get(key) is not None]
    return float(np.mean(values)) if values else math.nan


def _share(rows: list[dict[str, Any]], key: str, over: str) -> str:
    return percent(_mean(rows, key, over))
