"""What a loss study's data say, in sentences, with the uncertainty that they have.

A sentence claims a difference only where the data separate two losses (`claims.ranking`).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments import published
from experiments.claims import decision, measured
from experiments.claims.ranking import Rated, lead, ranking, separated
from experiments.pages.study import Study
from experiments.pages.style import label
from experiments.pages.wording import joined, mean_and_error, number, plural, plus_minus, short


def sentences(study: Study) -> list[str]:
    """The verdicts of a study, most important first."""
    found = [text for one in _with_seeds(study) for text in _tournament(study, one)]
    found += [*_training_elo(study), *_checks(study), *_numbers(study)]
    return found or ["The files hold nothing yet from which a verdict could be drawn."]


def headline(study: Study) -> str:
    """Which loss makes the strongest player with full search, or what is missing to say it."""
    rated = ranking(played[0]) if (played := _with_seeds(study)) else []
    if len(rated) < 2:
        return ""
    seeds, best = min(r.seeds for r in rated), label(rated[0].target)
    undecided = "Undecided which loss makes the strongest player"
    if few := decision.too_few(seeds, " a loss"):
        return f"{undecided}: {few}."
    below = [label(worse.target) for better, worse in separated(rated)[0] if better is rated[0]]
    if len(below) == len(rated) - 1:
        return f"Minimising {best} makes the strongest player."
    above = f" is above {joined(below)}, but" if below else " leads, but"
    return f"{undecided}: {best}{above} {seeds} seeds a loss do not separate it from all others."


def key_numbers(study: Study) -> list[tuple[str, str]]:
    """How far the best loss leads, how much it has learned, and from how many runs."""
    played = _with_seeds(study)
    rated = ranking(played[0]) if played else []
    if not rated:
        return []
    everyone = ranking(played[0], trained_only=False)
    best = rated[0]
    others = rated[1:2] + [one for one in everyone if one.target == "untrained"]
    leads = [
        (plus_minus(*lead(best, other)), f"Elo of {label(best.target)} above {label(other.target)}")
        for other in others
    ]
    return [*leads, (number(len(study.runs)), "runs")]


def _with_seeds(study: Study) -> list[dict[str, Any]]:
    """The tournaments whose networks are one for each seed; the papers' has one for each loss."""
    if measured.no_seeds(study):
        return []
    return [one for one in study.tournaments if one.get("name") != measured.AS_PUBLISHED]


def _tournament(study: Study, played: dict[str, Any]) -> Iterator[str]:
    rated = ranking(played)
    if not rated:
        return
    title = played["title"]
    order = ", ".join(f"{label(r.target)} {plus_minus(r.mean, r.stderr)}" for r in rated)
    seeds = sorted({r.seeds for r in rated})
    counts = " to ".join(map(str, seeds)) if len(seeds) < 3 else f"{seeds[0]} to {seeds[-1]}"
    over = f"{counts} seed{'s' * (seeds[-1] > 1)} per loss"
    yield f"{title}, mean Elo ± standard error, best first: {order} ({over})."
    yield from _separation(rated, over)
    yield from _against_untrained(played, rated)
    yield from _against_published(study, rated)


def _separation(rated: list[Rated], over: str) -> Iterator[str]:
    if len(rated) < 2:
        return
    fewest = min(r.seeds for r in rated)
    if fewest < 2:
        yield "With a single seed the differences are between these networks, not between losses."
        return
    apart, together = separated(rated)
    better = {a.target: [label(b.target) for x, b in apart if x is a] for a, _ in apart}
    if not apart:
        few = decision.too_few(fewest, " per loss") or over
        yield f"No difference between the losses can be seen at this number of seeds ({few})."
        return
    wins = "; ".join(f"{label(target)} above {joined(below)}" for target, below in better.items())
    yield f"Separated at the 5 % level (Student's t, Holm's correction over all pairs): {wins}."
    if together:
        pairs = joined([f"{label(a.target)} and {label(b.target)}" for a, b in together])
        yield f"No difference at this number of seeds between {pairs}."


def _against_untrained(played: dict[str, Any], rated: list[Rated]) -> Iterator[str]:
    everyone = {one.target: one for one in ranking(played, trained_only=False)}
    if base := everyone.get("untrained"):
        listed = ", ".join(f"{label(r.target)} {plus_minus(*lead(r, base))}" for r in rated)
        yield f"Gain in Elo over the untrained network with the same search: {listed}."


def _against_published(study: Study, rated: list[Rated]) -> Iterator[str]:
    theirs = published.tournament(study.game)
    common = [r for r in rated if theirs and r.target in theirs]
    if theirs is None or len(common) < 2:
        return
    means = {r.target: float(np.mean(theirs[r.target])) for r in common}
    order = sorted(means, key=lambda target: -means[target])
    text = ", ".join(f"{label(target)} {number(means[target])}" for target in order)
    same = "the same loss has" if order[0] == common[0].target else "another loss has"
    yield (
        f"Published for this board: {text} (one network per loss); {same} the highest mean here."
    )


def _training_elo(study: Study) -> Iterator[str]:
    gains = []
    for target in study.targets:
        going = [run for run in study.runs_of(target) if run.name not in study.failed]
        found = [study.training_elo(run.name) for run in going]
        rises = [elo[-1] - elo[0] for _, elo, _ in filter(None, found)]
        if rises:
            gains.append(f"{label(target)} {mean_and_error(rises)}")
    if gains:
        yield (
            f"Training Elo, last minus first iteration, mean ± standard error: "
            f"{', '.join(gains)}. It compares a run with itself only."
        )


def _checks(study: Study) -> Iterator[str]:
    checks = [c for c in study.results.get("checks") or [] if c.get("bar") is not None]
    failed = [str(check.get("name")) for check in checks if not check.get("holds")]
    if checks and failed:
        held = len(checks) - len(failed)
        yield f"{held} of {plural(len(checks), 'check')} hold; not: {joined(failed)}."
    elif checks:
        yield f"All {plural(len(checks), 'check')} hold." if len(checks) > 1 else "The check holds."


def _numbers(study: Study) -> Iterator[str]:
    if study.non_finite:
        runs = sorted({text.split(",")[0] for text in study.non_finite})
        yield (
            f"{plural(len(study.non_finite), 'value')} not finite in the metrics of "
            f"{joined(runs)}: these runs diverged or broke, and the means are marked there."
        )


def differences_from_papers(study: Study) -> str | None:
    """Settings in which this study differs from the papers' defaults; None where none apply."""
    defaults = published.settings(study.game)
    if defaults is None or not study.results.get("config"):
        return None
    different = [
        f"{key} {short(study.setting(key))} (papers: {short(value)})"
        for key, value in defaults.items()
        if study.setting(key) is not None and study.setting(key) != value
    ]
    if not different:
        return "All settings of the papers' table are the published ones."
    return f"Differs from the published settings in {joined(different)}."
