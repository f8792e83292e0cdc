"""The report of a loss study: `python -m experiments.report WORKDIR`.

Reads `metrics.jsonl` and `results.json` and writes `figures/` and `report.html`. It may be run at
any time, also while the study is still running or after it was stopped.
"""

from pathlib import Path

from experiments import published
from experiments.claims import measured
from experiments.claims import section as claims_section
from experiments.claims.losses import decide
from experiments.losses import cost_section, figures, joint_report, sentences, tables
from experiments.losses.rating_sections import ladder, papers_tournament, tournament, training_elo
from experiments.pages import page, record
from experiments.pages.page import Page, Section, plate, section
from experiments.pages.study import Run, Study, load
from experiments.pages.wording import (
    ABSENT,
    TIMES,
    duration,
    game_title,
    number,
    plural,
    short,
    unpublished,
)
from experiments.strength import absolute_section

_NOT_FINITE_SHOWN = 20


def build(directory: Path) -> Page:
    """The page of a loss study, figures drawn, nothing written yet.

    ConfigError: the folder holds neither `metrics.jsonl` nor `results.json`, or one is damaged.
    """
    study = load(directory)
    preset = study.results.get("preset")
    values = {
        letter: short(value)
        for letter, key, _ in record.SETTINGS
        if (value := study.setting(key)) is not None
    }
    return Page(
        title=f"Which loss to minimise: {game_title(study.game)}",
        subtitle=f"{study.game}" + (f", preset {preset}" if preset else "") + f", {study.name}",
        headline=sentences.headline(study),
        numbers=sentences.key_numbers(study),
        lead="tournament_1",
        verdicts=[
            *sentences.sentences(study),
            *filter(None, [sentences.differences_from_papers(study)]),
        ],
        missing=study.missing,
        facts=_facts(study, values),
        sections=[
            _claims(study),
            _losses(study),
            training_elo(study),
            ladder(study),
            papers_tournament(study),
            *(tournament(study, played, n) for n, played in enumerate(study.tournaments)),
            absolute_section.section_of(study),
            cost_section.section_of(study),
            _health(study),
            joint_report.games({study.game: directory}, values),
            _record(study),
        ],
    )


def _facts(study: Study, values: dict[str, str]) -> page.Facts:
    """What was run, on what, at what cost."""
    cost = study.results.get("cost") or {}
    seeds = ", ".join(f"{target} {TIMES} {len(study.runs_of(target))}" for target in study.targets)
    wall, compiling = (duration(cost.get(f"{kind}_seconds")) for kind in ("wall", "compile"))
    return [
        ("Budget", _budget(values)),
        ("Runs", f"{len(study.runs)} (loss {TIMES} seeds: {seeds})"),
        ("Semantics", str(study.setting("semantics") or ABSENT)),
        ("Wall time", f"{wall}, of which compiling {compiling} in the last call"),
        ("Work", record.work_in_words(study)),
        *record.software(study.results),
        *page.origin(study.results),
    ]


def _budget(values: dict[str, str]) -> str:
    """The four settings that decide what a run costs, by the papers' letters."""
    letters = {letter: values.get(letter, ABSENT) for letter in ("I", "E", "m", "ep")}
    if set(letters.values()) == {ABSENT}:
        return f"I, E, m and ep {ABSENT}"
    return (
        f"I = {letters['I']} iterations of E = {letters['E']} games, "
        f"m = {letters['m']} simulations per move, ep = {letters['ep']} epochs"
    )


def _claims(study: Study) -> Section:
    """The verdicts on what the papers claim of this board, from this study alone."""
    if study.results.get("study") != measured.STUDY or study.went_on:
        return section(claims_section.TITLE)
    return claims_section.section(decide(measured.together([(Path(study.name), study)])))


def _losses(study: Study) -> Section:
    overlay = (
        "Dotted: published mean of 8 runs, whose settings may differ (see Settings)."
        if published.loss_curves(study.game)
        else f"{unpublished('losses', study.game).capitalize()}."
    )
    if published.losses_in_words(study.game):
        overlay += " Diamonds: the first and last values that the text names."
    run = _example(study)
    return section(
        "Losses",
        plate(
            "losses",
            figures.losses(study),
            "Training losses",
            "Wang 2020, Figs. 7 to 9; Wang 2019, Figs. 2 to 4; Wang 2023, Fig. 8. One panel per "
            "minimised loss (drawn thicker), one curve per measured loss: mean of the last epoch "
            "of each iteration, band ± 1 standard deviation over seeds, thin lines single seeds; "
            "iteration 0 is the untrained network. Policy loss in nats, value loss in "
            f"{study.value_unit}. {overlay}",
        ),
        plate(
            "held_out",
            figures.held_out(study),
            "Losses on held-out positions",
            "Dashed: a fixed set of positions that no run trained on. Thin solid: the mean "
            "training loss of the previous figure. No published data.",
        ),
        plate(
            "epochs",
            figures.epochs(study, run),
            "Every epoch of one run",
            f"As Wang 2020, Fig. 2; Wang 2023, Fig. 3. Run {run.name}. A line is the epochs of one "
            "iteration; the step to the next line is what its new games brought. "
            f"{unpublished('epochs', study.game).capitalize()}.",
        )
        if run is not None
        else None,
        tables.losses(study),
    )


def _example(study: Study) -> Run | None:
    """The run to show epoch by epoch: the usual loss's first seed, else the first with metrics."""
    candidates = [run for run in (*study.runs_of("sum"), *study.runs) if study.rows.get(run.name)]
    return candidates[0] if candidates else None


def _health(study: Study) -> Section:
    return section(
        "Self-play",
        plate(
            "selfplay",
            figures.health(study),
            "Self-play, search and arena",
            "Means over seeds, thin lines single seeds. Dashed horizontal lines: even "
            "chances, and the number of games played. Few distinct games or a collapsing "
            "entropy mean that a run feeds on its own repetitions.",
        ),
        tables.arena(study),
    )


def _record(study: Study) -> Section:
    bad, text = study.non_finite, None
    if bad:
        shown = "; ".join(bad[:_NOT_FINITE_SHOWN])
        rest = len(bad) - _NOT_FINITE_SHOWN
        more = f"; and {number(rest)} more" if rest > 0 else ""
        text = f"{plural(len(bad), 'value')} not finite: {shown}{more}."
    kinds = (record.checks, record.settings, record.other_settings, record.time, record.work)
    return section("Settings, checks and cost", text, *(kind(study) for kind in kinds))
