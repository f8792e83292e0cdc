"""The report of a loss study: `python -m experiments.reporting.report WORKDIR`.

Reads `metrics.jsonl` and `results.json` and writes `figures/` and `report.html`. It may be run at
any time, also while the study is still running or after it was stopped.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments import published
from experiments.reporting import figures, ladder, page, study, tables, tournament, verdicts
from experiments.reporting.cost import section as cost_section
from experiments.reporting.page import Plate, Section
from experiments.reporting.study import Study
from experiments.reporting.tables import Table
from experiments.reporting.wording import (
    ABSENT,
    TIMES,
    duration,
    game_title,
    number,
    plural,
    short,
)

_NOT_FINITE_SHOWN = 20


def write_report(workdir: str | Path) -> Path:
    """Writes the figures and the page of a study; returns the path of `report.html`.

    Raises FileNotFoundError when the folder holds neither `metrics.jsonl` nor `results.json`.
    """
    found = study.load(Path(workdir))
    return page.write(build(found), Path(workdir))


def build(found: Study) -> page.Page:
    """The page of a study, figures drawn, nothing written yet."""
    sections = [_losses(found), _training_elo(found), _ladder(found)]
    sections += [_tournament(found, played, n) for n, played in enumerate(found.tournaments)]
    sections += [cost_section(found), _health(found), _record(found)]
    preset = found.results.get("preset")
    return page.Page(
        title=f"Which loss to minimise: {game_title(found.game)}",
        subtitle=f"{found.game}" + (f", preset {preset}" if preset else "") + f", {found.name}",
        verdicts=[
            *verdicts.sentences(found),
            *filter(None, [verdicts.differences_from_papers(found)]),
        ],
        missing=found.missing,
        facts=_facts(found),
        sections=[s for s in sections if s.text or s.plates or s.tables],
    )


def _facts(found: Study) -> list[tuple[str, str]]:
    """What was run, on what, at what cost."""
    environment = found.results.get("environment") or {}
    cost = found.results.get("cost") or {}
    seeds = ", ".join(f"{target} {TIMES} {len(found.runs_of(target))}" for target in found.targets)
    facts = [
        ("Budget", _budget(found)),
        ("Runs", f"{len(found.runs)} (loss {TIMES} seeds: {seeds})"),
        ("Semantics", str(found.setting("semantics") or ABSENT)),
        ("Device", str(environment.get("device", ABSENT))),
        (
            "Wall time",
            f"{duration(cost.get('wall_seconds'))}, of which compiling "
            f"{duration(cost.get('compile_seconds'))}",
        ),
        ("Work", _work(cost.get("runs") or {})),
        ("Commit", str(environment.get("commit", ABSENT))),
    ]
    versions = {k: v for k, v in environment.items() if k not in ("device", "commit")}
    versions |= versions.pop("packages", {})
    if versions:
        facts.append(("Software", ", ".join(f"{k} {short(v)}" for k, v in versions.items())))
    return [*facts, ("Command", str(found.results.get("command", ABSENT)))]


def _budget(found: Study) -> str:
    """The four settings that decide what a run costs, by the papers' letters."""
    value = {letter: found.setting(key) for letter, key, _ in tables.SETTINGS}
    if all(value[letter] is None for letter in ("I", "E", "m", "ep")):
        return f"I, E, m and ep {ABSENT}"
    told = {letter: short(setting) for letter, setting in value.items()}
    return (
        f"I = {told['I']} iterations of E = {told['E']} games, "
        f"m = {told['m']} simulations per move, ep = {told['ep']} epochs"
    )


def _work(runs: dict[str, dict[str, Any]]) -> str:
    kinds = ("evaluations", "gradient_steps", "games")
    known = [kind for kind in kinds if runs and all(kind in run for run in runs.values())]
    counted = (
        f"{number(sum(run[kind] for run in runs.values()))} {kind.replace('_', ' ')}"
        for kind in known
    )
    return ", ".join(counted) or ABSENT


def _losses(found: Study) -> Section:
    overlay = (
        "No published data for this board."
        if published.loss_curves(found.game) is None
        else "Dotted: published mean of 8 runs, whose settings may differ (see Settings)."
    )
    run = _example(found)
    plates = [
        _plate(
            "losses",
            figures.losses(found),
            "Training losses",
            "One panel per minimised loss (drawn thicker), one curve per measured loss: mean of "
            "the last epoch of each iteration, band ± 1 standard deviation over seeds, thin "
            "lines single seeds; iteration 0 is the untrained network. Policy loss in nats, "
            f"value loss in squared outcome. {overlay}",
        ),
        _plate(
            "held_out",
            figures.held_out(found),
            "Losses on held-out positions",
            "Dashed: a fixed set of positions that no run trained on. Thin solid: the mean "
            "training loss of the previous figure. No published data.",
        ),
    ]
    if run is not None:
        plates.append(
            _plate(
                "epochs",
                figures.epochs(found, run),
                "Every epoch of one run",
                f"Run {run.name}. A line is the epochs of one iteration; the step to "
                "the next line is what its new games brought.",
            )
        )
    return Section("Losses", plates=_present(plates), tables=_given([tables.losses(found)]))


def _example(found: Study) -> study.Run | None:
    """The run to show epoch by epoch: the usual loss's first seed, else the first with metrics."""
    candidates = [run for run in (*found.runs_of("sum"), *found.runs) if found.rows.get(run.name)]
    return candidates[0] if candidates else None


def _training_elo(found: Study) -> Section:
    theirs = (
        "No published data for this board."
        if published.training_elo(found.game) is None
        else "Lower row: the published curves on their own axes."
    )
    plate = _plate(
        "training_elo",
        figures.training_elo(found),
        "Training Elo",
        "All networks of one run, rated from its own arena games. Zero is the mean of "
        "that run's pool: levels of different runs cannot be compared. Grey: the means "
        f"of the other losses. {theirs}",
    )
    return Section("Training Elo", plates=_present([plate]))


def _ladder(found: Study) -> Section:
    """Strength over training on one scale, where it was measured."""
    title = "Strength against fixed opponents"
    measured = found.results.get("ladder")
    groups = ladder.of_study(found)
    if not measured or not groups:
        return Section(title)
    settings = measured["settings"]
    m = settings["simulations"]
    plate = _plate(
        "ladder",
        ladder.figure(groups, measured["anchors"]),
        title,
        "Kept networks against opponents that do not learn (dashed), who also played each other; "
        "networks did not meet. One pool, random = 0: unlike training Elo, levels of different "
        "runs can be compared, also with those of other studies on this board. Mean over seeds, "
        "band ± 1 standard deviation, thin lines single seeds. Untrained networks are one player "
        f"a seed. {number(settings['games'])} games against each opponent, "
        f"{f'{m} simulations a move' if m else 'simulations a move as in training'}; "
        f"{number(measured['games'])} games, {number(measured['distinct_games'])} distinct.",
    )
    return Section(
        title,
        plates=_present([plate]),
        tables=(ladder.table(groups), ladder.anchors_table(measured)),
    )


def _tournament(found: Study, played: dict[str, Any], place: int) -> Section:
    title = str(played.get("title") or played.get("name") or "Tournament")
    theirs = published.tournament(found.game)
    caveat = (published.load(published.LOSSES) or {}).get("tournament_caveat", "")
    overlay = (
        f"Diamonds: published ratings, from another pool. {caveat}"
        if theirs
        else "No published data for this board."
    )
    plate = _plate(
        f"tournament_{place + 1}",
        tournament.figure(found, played),
        title,
        f"Every point is one player. {_terms(played)} {overlay}",
    )
    return Section(
        title if title.lower().startswith("tournament") else f"Tournament: {title}",
        plates=_present([plate]),
        tables=_given(
            [
                tournament.targets(found, played),
                tournament.cross(played, by_player=False),
                tournament.ratings(played),
                tournament.cross(played, by_player=True),
            ]
        ),
    )


def _terms(played: dict[str, Any]) -> str:
    """How a tournament was played and rated."""
    known = [
        ("{} simulations per move", "num_simulations", 0),
        ("{} games per pair", "games_per_pair", 0),
        ("{} games", "games", 0),
        ("{} of them distinct", "distinct_games", 0),
        ("advantage of the first mover {} Elo", "advantage", 1),
        ("draw Elo {}", "draw_elo", 1),
    ]
    said = [
        text.format(number(played[key], digits))
        for text, key, digits in known
        if played.get(key) is not None
    ]
    return f"{'; '.join(said)}." if said else ""


def _health(found: Study) -> Section:
    plate = _plate(
        "selfplay",
        figures.health(found),
        "Self-play, search and arena",
        "Means over seeds, thin lines single seeds. Dashed horizontal lines: even "
        "chances, and the number of games played. Few distinct games or a collapsing "
        "entropy mean that a run feeds on its own repetitions.",
    )
    return Section("Self-play", plates=_present([plate]), tables=_given([tables.arena(found)]))


def _record(found: Study) -> Section:
    bad = found.non_finite
    text = []
    if bad:
        shown = "; ".join(bad[:_NOT_FINITE_SHOWN])
        rest = len(bad) - _NOT_FINITE_SHOWN
        more = f"; and {number(rest)} more" if rest > 0 else ""
        text.append(f"{plural(len(bad), 'value')} not finite: {shown}{more}.")
    return Section(
        "Settings, checks and cost",
        tuple(text),
        tables=_given(
            [
                tables.checks(found),
                tables.settings(found),
                tables.other_settings(found),
                tables.time(found),
                tables.work(found),
            ]
        ),
    )


def _plate(name: str, figure: Figure | None, title: str, caption: str) -> Plate | None:
    return None if figure is None else Plate(name, figure, title, " ".join(caption.split()))


def _present(plates: Sequence[Plate | None]) -> tuple[Plate, ...]:
    return tuple(plate for plate in plates if plate is not None)


def _given(found: Sequence[Table | None]) -> tuple[Table, ...]:
    return tuple(table for table in found if table is not None)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Makes a study's figures and report again.")
    parser.add_argument("workdir", type=Path, help="folder with metrics.jsonl and results.json")
    print(write_report(parser.parse_args(arguments).workdir))


if __name__ == "__main__":
    main()
