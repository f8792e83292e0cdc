"""The report of a loss study: `python -m experiments.report WORKDIR`.

Reads `metrics.jsonl` and `results.json` and writes `figures/` and `report.html`. It may be run at
any time, also while the study is still running or after it was stopped.
"""

from pathlib import Path
from typing import Any

from experiments import published
from experiments.claims import measured, section
from experiments.claims.losses import decide
from experiments.costs.report import section as cost_section
from experiments.losses import figures, joint, sentences
from experiments.losses.rating_sections import ladder, papers_tournament, tournament, training_elo
from experiments.pages import page, study, tables
from experiments.pages.boxplots import NO_DATA
from experiments.pages.page import Section
from experiments.pages.study import Study
from experiments.pages.wording import ABSENT, TIMES, duration, game_title, number, plural, short
from experiments.strength import absolute_report

_NOT_FINITE_SHOWN = 20


def write_report(workdir: str | Path) -> Path:
    """Writes the figures and the page of a study; returns the path of `report.html`.

    Raises:
      ConfigError: the folder holds neither `metrics.jsonl` nor `results.json`, or one is damaged.
    """
    found = study.load(Path(workdir))
    return page.write(build(found, Path(workdir)), Path(workdir))


def build(found: Study, workdir: Path | None = None) -> page.Page:
    """The page of a study, figures drawn, nothing written yet.

    Args:
      found: the study.
      workdir: where its recorded games are, if an example of them is to be shown.
    """
    sections = [
        _claims(found),
        _losses(found),
        training_elo(found),
        ladder(found),
    ]
    sections += [papers_tournament(found)]
    sections += [tournament(found, played, n) for n, played in enumerate(found.tournaments)]
    sections += [absolute_report.section(found), cost_section(found)]
    values = {
        letter: short(value)
        for letter, key, _ in tables.SETTINGS
        if (value := found.setting(key)) is not None
    }
    sections += [_health(found), joint.games({found.game: workdir}, values), _record(found)]
    preset = found.results.get("preset")
    return page.Page(
        title=f"Which loss to minimise: {game_title(found.game)}",
        subtitle=f"{found.game}" + (f", preset {preset}" if preset else "") + f", {found.name}",
        verdicts=[
            *sentences.sentences(found),
            *filter(None, [sentences.differences_from_papers(found)]),
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
        (
            "Wall time",
            f"{duration(cost.get('wall_seconds'))}, of which compiling "
            f"{duration(cost.get('compile_seconds'))}",
        ),
        ("Work", _work(cost.get("runs") or {})),
    ]
    versions = {k: v for k, v in environment.items() if k not in ("device", "commit")}
    versions |= versions.pop("packages", {})
    if versions:
        facts.append(("Software", ", ".join(f"{k} {short(v)}" for k, v in versions.items())))
    return [*facts, *page.origin(found.results)]


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


def _claims(found: Study) -> Section:
    """The verdicts on what the papers claim of this board, from this study alone."""
    if found.results.get("study") != measured.STUDY:
        return Section(section.TITLE)
    return section.section(decide(measured.together([(Path(found.name), found)])))


def _losses(found: Study) -> Section:
    overlay = (
        f"{NO_DATA.capitalize()} for this board."
        if published.loss_curves(found.game) is None
        else "Dotted: published mean of 8 runs, whose settings may differ (see Settings)."
    )
    run = _example(found)
    plates = [
        page.plate(
            "losses",
            figures.losses(found),
            "Training losses",
            "000, Figs. 7 to 9; 001, Figs. 2 to 4; 003, Fig. 8. One panel per minimised loss "
            "(drawn thicker), one curve per measured loss: mean of the last epoch of each "
            "iteration, band ± 1 standard deviation over seeds, thin lines single seeds; iteration "
            "0 is the untrained network. Policy loss in nats, value loss in squared outcome. "
            f"{overlay}",
        ),
        page.plate(
            "held_out",
            figures.held_out(found),
            "Losses on held-out positions",
            "Dashed: a fixed set of positions that no run trained on. Thin solid: the mean "
            "training loss of the previous figure. No published data.",
        ),
    ]
    if run is not None:
        plates.append(
            page.plate(
                "epochs",
                figures.epochs(found, run),
                "Every epoch of one run",
                f"As 000, Fig. 2; 003, Fig. 3. Run {run.name}. A line is the epochs of one "
                "iteration; the step to the next line is what its new games brought. "
                f"{NO_DATA.capitalize()}.",
            )
        )
    return Section("Losses", plates=page.present(plates), tables=page.given([tables.losses(found)]))


def _example(found: Study) -> study.Run | None:
    """The run to show epoch by epoch: the usual loss's first seed, else the first with metrics."""
    candidates = [run for run in (*found.runs_of("sum"), *found.runs) if found.rows.get(run.name)]
    return candidates[0] if candidates else None


def _health(found: Study) -> Section:
    plate = page.plate(
        "selfplay",
        figures.health(found),
        "Self-play, search and arena",
        "Means over seeds, thin lines single seeds. Dashed horizontal lines: even "
        "chances, and the number of games played. Few distinct games or a collapsing "
        "entropy mean that a run feeds on its own repetitions.",
    )
    return Section(
        "Self-play", plates=page.present([plate]), tables=page.given([tables.arena(found)])
    )


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
        tables=page.given(
            [
                tables.checks(found),
                tables.settings(found),
                tables.other_settings(found),
                tables.time(found),
                tables.work(found),
            ]
        ),
    )
