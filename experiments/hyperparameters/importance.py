"""How much one hyper-parameter matters: Wang 2020 and 2023, Tables 3 and 4, and twelve remarks.

A hyper-parameter has an effect if the span of its settings' means exceeds what the seeds' spread
explains: Tukey's studentised range test at 5 %. The papers ran one seed, with which this cannot be
decided.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments.claims import decision, inference, papers
from experiments.claims.decision import Decided
from experiments.claims.papers import Contrast
from experiments.hyperparameters.settings import LETTERS

SENSITIVE, FRIENDLY, NOT_DECIDED = "time-sensitive", "time-friendly", "not decided"
SIMILAR, INSIGNIFICANT, ONE_SEED = "similar", "insignificant", "one seed"


@dataclasses.dataclass(frozen=True)
class Swept:
    """One hyper-parameter."""

    letter: str  # of `settings.LETTERS`
    values: tuple[float, ...]  # V, ascending, the default among them
    settings: tuple[str, ...]  # the names of its settings, in the order of the values

    def role(self, name: str) -> str | None:
        """The setting that is the minimum, the default or the maximum of this hyper-parameter."""
        found = {"default": "default", "minimum": self.settings[0], "maximum": self.settings[-1]}
        return found[name] if found[name] != "default" or name == "default" else None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One setting with one seed."""

    iterations: np.ndarray  # int[N], from 1
    loss: np.ndarray  # float[N], l_+ of the last epoch of each
    seconds: float  # of the run alone


Outcomes = Mapping[tuple[str, int], Outcome]  # by setting and seed


@dataclasses.dataclass(frozen=True)
class Span:
    """How far the means of some settings are apart."""

    means: tuple[float, ...]  # float[V], NaN for a setting without a run
    span: float  # the largest less the smallest
    noise: float  # the span that seeds alone exceed in 5 % of the cases; NaN with one seed
    significant: bool | None  # None where that is not known


def span(samples: Sequence[np.ndarray]) -> Span:
    """The range test of float[S_v] for each value; settings without a run are empty."""
    means = tuple(float(np.mean(s)) if len(s) else math.nan for s in samples)
    present = [s for s in samples if len(s)]
    freedom = sum(len(s) - 1 for s in present)
    if len(present) < 2:
        return Span(means, math.nan, math.nan, None)
    wide = float(np.nanmax(means) - np.nanmin(means))
    if freedom < 1 or min(len(s) for s in present) < 2:
        return Span(means, wide, math.nan, None)
    variance = sum(((s - s.mean()) ** 2).sum() for s in present) / freedom
    harmonic = len(present) / sum(1 / len(s) for s in present)
    bound = stats.studentized_range.ppf(1 - inference.LEVEL, len(present), freedom)
    noise = float(bound * math.sqrt(variance / harmonic))
    return Span(means, wide, noise, wide > noise)


def _samples(
    swept: Swept, outcomes: Outcomes, value: Callable[[Outcome], float]
) -> list[np.ndarray]:
    """float[S_v] for each value of the hyper-parameter; not finite ones left out."""
    return [
        np.array(
            [x for (name, _), o in outcomes.items() if name == own and math.isfinite(x := value(o))]
        )
        for own in swept.settings
    ]


def describe(swept: Swept, outcomes: Outcomes) -> dict[str, Any]:
    """The rows of Tables 3 and 4 of one hyper-parameter, for results.json."""
    time = span(_samples(swept, outcomes, lambda o: o.seconds))
    loss = span(_samples(swept, outcomes, lambda o: float(o.loss[-1])))
    kind = {True: SENSITIVE, False: FRIENDLY, None: NOT_DECIDED}[time.significant]
    return {
        "letter": swept.letter,
        "key": LETTERS[swept.letter],
        "values": list(swept.values),
        "settings": list(swept.settings),
        "seconds": dataclasses.asdict(time),
        "loss": dataclasses.asdict(loss),
        "type": kind,
        "best_for_loss": _best(swept, loss, INSIGNIFICANT),
        "best_for_time": _best(swept, time, SIMILAR),
    }


def _best(swept: Swept, found: Span, none: str) -> str:
    """The value with the smallest mean, `none` where there is no effect."""
    if found.significant is False or math.isnan(found.span):
        return none
    value = f"{swept.values[int(np.nanargmin(found.means))]:g}"
    return value if found.significant else f"{value} ({ONE_SEED})"


# ---- the twelve remarks


def remarks(swept: Sequence[Swept], outcomes: Outcomes, iterations: int) -> list[dict[str, Any]]:
    """Verdicts on the papers' remarks, seed by seed; the contrasts of each are read together.

    `iterations`: I of the default.
    """
    by_letter = {s.letter: s for s in swept}
    found = []
    for claim in papers.claims(papers.SWEEP):
        if one := by_letter.get(claim.raw["letter"]):
            estimates = [_estimate(c, one, outcomes, iterations) for c in claim.contrasts]
            decided = Decided(claim, decision.decide(claim.contrasts, estimates))
            rows = zip(claim.raw["contrasts"], decided.tests, strict=True)
            found.append(
                {key: claim.raw[key] for key in ("id", "letter", "words", "where")}
                | {"verdict": decided.verdict}
                | {"contrasts": [dict(contrast) | test.row() for contrast, test in rows]}
            )
    return found


def _estimate(
    contrast: Contrast, swept: Swept, outcomes: Outcomes, iterations: int
) -> inference.Estimate | None:
    """Plus less minus, of every seed that has both; None without one."""

    def values(role: str) -> dict[int, float]:
        name = swept.role(role)
        return {
            seed: statistic(contrast.statistic, outcome, iterations)
            for (setting, seed), outcome in outcomes.items()
            if setting == name
        }

    sample = decision.differences(contrast, values)
    return inference.estimate([sample]) if len(sample) else None


def statistic(name: str, outcome: Outcome, iterations: int) -> float:
    """What `claims_sweep.json` names in `statistics`; NaN where the run is too short for it.

    `iterations`: I of the default.
    """
    at, loss = outcome.iterations, outcome.loss
    if name == "final_loss":
        return float(loss[-1])
    if name == "early_loss":
        return float(loss[at <= max(1, iterations // 2)].mean())
    if name == "late_rise":
        before, after = at <= round(1.2 * iterations), at > round(1.2 * iterations)
        return float(loss[after].max() - loss[before][-1]) if after.any() else math.nan
    where = np.flatnonzero(
        at == max(1, round(int(name.removeprefix("loss_at_")) * iterations / 100))
    )
    return float(loss[where[0]]) if len(where) else math.nan
