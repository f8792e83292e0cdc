"""What the data say, in sentences, with the uncertainty that they have.

A sentence claims a difference only where the data separate two losses: Welch's t test over seeds,
corrected by Holm's method for the number of pairs. A rating's own error bounds the spread over
seeds from below, so that two seeds that happen to agree do not look certain.
"""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments import published
from experiments.pages.study import Study, floats
from experiments.pages.style import label
from experiments.pages.wording import joined, number, plural, plus_minus, short

LEVEL = 0.05


class Rated(NamedTuple):
    """The ratings of one target's networks in one tournament."""

    target: str
    seeds: int
    mean: float
    stderr: float  # of the mean over seeds; with one seed only the rating's own error
    sd: float  # between seeds, NaN with one
    low: float  # 95 % interval of the mean
    high: float


def ranking(played: dict[str, Any]) -> list[Rated]:
    """Targets by mean rating, best first."""
    elo, errors = floats(played.get("elo") or []), floats(played.get("stderr") or [])
    errors = errors if len(errors) == len(elo) else np.full(len(elo), math.nan)
    members: dict[str, list[int]] = {}
    for index, player in enumerate(played.get("players") or []):
        if player.get("kind") == "trained" and index < len(elo):
            members.setdefault(str(player["target"]), []).append(index)
    rated = [_rated(target, elo[ids], errors[ids]) for target, ids in members.items()]
    return sorted(rated, key=lambda one: -one.mean)


def _rated(target: str, elo: np.ndarray, errors: np.ndarray) -> Rated:
    n = len(elo)
    own = float(np.sqrt(np.mean(errors**2) / n))
    sd = float(np.std(elo, ddof=1)) if n > 1 else math.nan
    stderr = float(np.fmax(own, sd / math.sqrt(n)))
    reach = stderr * (stats.t.ppf(1 - LEVEL / 2, n - 1) if n > 1 else stats.norm.ppf(0.975))
    mean = float(np.mean(elo))
    return Rated(target, n, mean, stderr, sd, mean - reach, mean + reach)


def separated(rated: list[Rated]) -> tuple[list[tuple[Rated, Rated]], list[tuple[Rated, Rated]]]:
    """All pairs (better, worse): those that the data separate, and those that they do not."""
    pairs = list(combinations(rated, 2))
    by_p = sorted(pairs, key=lambda pair: _welch(*pair))
    apart: set[tuple[Rated, Rated]] = set()
    for place, pair in enumerate(by_p):
        if not _welch(*pair) < LEVEL / (len(pairs) - place):
            break
        apart.add(pair)
    return [p for p in pairs if p in apart], [p for p in pairs if p not in apart]


def _welch(a: Rated, b: Rated) -> float:
    """Two-sided p value of Welch's t test; the normal test on rating errors with single seeds."""
    va, vb = a.stderr**2, b.stderr**2
    if not va + vb > 0:
        return 1.0
    score = abs(a.mean - b.mean) / math.sqrt(va + vb)
    if min(a.seeds, b.seeds) < 2:
        return float(2 * stats.norm.sf(score))
    freedom = (va + vb) ** 2 / (va**2 / (a.seeds - 1) + vb**2 / (b.seeds - 1))
    return float(2 * stats.t.sf(score, freedom))


def sentences(study: Study) -> list[str]:
    """The verdicts of a study, most important first."""
    found = [text for played in study.tournaments for text in _tournament(study, played)]
    found += [*_training_elo(study), *_checks(study), *_numbers(study)]
    return found or ["The files hold nothing yet from which a verdict could be drawn."]


def _tournament(study: Study, played: dict[str, Any]) -> Iterator[str]:
    rated = ranking(played)
    if not rated:
        return
    title = str(played.get("title") or played.get("name") or "Tournament")
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
    apart, together = separated(rated)
    better = {a.target: [label(b.target) for x, b in apart if x is a] for a, _ in apart}
    wins = "; ".join(f"{label(target)} above {joined(below)}" for target, below in better.items())
    if min(r.seeds for r in rated) < 2:
        yield (
            "With a single seed the differences are between these networks, not between losses"
            + (f" (rating error only: {wins})." if wins else "; none exceeds the rating error.")
        )
    elif not apart:
        yield f"No difference between the losses can be seen at this number of seeds ({over})."
    else:
        yield f"Separated at the 5 % level (Welch's t, Holm's correction): {wins}."
        if together:
            pairs = joined([f"{label(a.target)} and {label(b.target)}" for a, b in together])
            yield f"No difference at this number of seeds between {pairs}."


def _against_untrained(played: dict[str, Any], rated: list[Rated]) -> Iterator[str]:
    elo, errors = floats(played.get("elo") or []), floats(played.get("stderr") or [])
    where = [i for i, player in enumerate(played["players"]) if player.get("kind") == "untrained"]
    if not where or max(where) >= min(len(elo), len(errors)):
        return
    base = float(np.mean(elo[where]))
    own = float(np.sqrt(np.mean(errors[where] ** 2) / len(where)))
    gains = [(r, r.mean - base, math.hypot(r.stderr, own)) for r in rated]
    listed = ", ".join(f"{label(r.target)} {plus_minus(gain, error)}" for r, gain, error in gains)
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
        rises = np.array([elo[-1] - elo[0] for _, elo, _ in filter(None, found)])
        if len(rises):
            error = np.std(rises, ddof=1) / math.sqrt(len(rises)) if len(rises) > 1 else math.nan
            gains.append(f"{label(target)} {plus_minus(float(np.mean(rises)), float(error))}")
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
