"""How much one hyper-parameter matters: Wang 2020 and 2023, Tables 3 and 4, and remarks.

A hyper-parameter has an effect if the span of its settings' means exceeds what seeds explain:
Tukey's studentised range, with seeds as blocks (a seed's settings begin alike, and those of I are
one training at three times), corrected over the hyper-parameters of a table. The papers ran one
seed, with which this cannot be decided.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy

from experiments.claims import decision, inference, papers
from experiments.claims.decision import Decided
from experiments.claims.papers import Contrast
from experiments.hyperparameters.settings import LETTERS
from experiments.pages.wording import plural

SENSITIVE, FRIENDLY, NOT_DECIDED = "time-sensitive", "time-friendly", "not decided"
SIMILAR, INSIGNIFICANT = "similar", "insignificant"


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
    elo: float = math.nan  # in the round robin of all


Outcomes = Mapping[tuple[str, int], Outcome]  # by setting and seed


@dataclasses.dataclass(frozen=True)
class Span:
    """How far the means of some settings are apart, over the seeds that all of them have."""

    means: tuple[float, ...]  # float[V], NaN for a setting without a run
    span: float  # the largest less the smallest
    seeds: int
    noise: float  # the span that seeds alone exceed at the test's level; NaN where not tested
    significant: bool | None  # None where not tested


Sample: TypeAlias = Mapping[int, float]  # by seed


class Block(NamedTuple):
    """Settings by seeds: what a seed has in common in all settings is not noise."""

    values: np.ndarray  # float[V, S], settings that have runs
    means: tuple[float, ...]  # float, of all settings

    @property
    def span(self) -> float:
        return float(np.ptp(self.values.mean(1))) if len(self.values) > 1 else math.nan

    @property
    def tested(self) -> bool:
        return len(self.values) > 1 and self.values.shape[1] >= inference.FEWEST

    @property
    def freedom(self) -> int:
        return (len(self.values) - 1) * (self.values.shape[1] - 1)

    @property
    def error(self) -> float:
        """Of one mean, from what neither its setting nor its seeds explain."""
        x = self.values
        rest = x - x.mean(1, keepdims=True) - x.mean(0) + x.mean()
        return math.sqrt((rest**2).sum() / self.freedom / x.shape[1])

    def p_value(self) -> float:
        if not self.error:
            return 0.0 if self.span else 1.0
        q = self.span / self.error
        return float(scipy.stats.studentized_range.sf(q, len(self.values), self.freedom))

    def noise(self, level: float) -> float:
        q = scipy.stats.studentized_range.ppf(1 - level, len(self.values), self.freedom)
        return float(q * self.error)


def spans(groups: Sequence[Sequence[Sample]]) -> list[Span]:
    """The range tests of several hyper-parameters, corrected together by Holm's method.

    `groups`: for each the samples of its values; settings without a run are empty.
    """
    blocks = [block_of(samples) for samples in groups]
    tested = [i for i, block in enumerate(blocks) if block.tested]
    levels = dict(zip(tested, inference.holm([blocks[i].p_value() for i in tested]), strict=True))
    found = []
    for i, block in enumerate(blocks):
        adjusted, level = levels.get(i, (math.nan, math.nan))
        noise = block.noise(level) if block.tested else math.nan
        significant = adjusted <= inference.LEVEL if block.tested else None
        found.append(Span(block.means, block.span, block.values.shape[1], noise, significant))
    return found


def block_of(samples: Sequence[Sample]) -> Block:
    """Of the seeds that all settings with runs have."""
    present = [s for s in samples if s]
    seeds = sorted(set.intersection(*map(set, present))) if present else []
    values = np.array([[s[seed] for seed in seeds] for s in present], float)
    means = tuple(
        float(np.mean([s[x] for x in seeds])) if s and seeds else math.nan for s in samples
    )
    return Block(values.reshape(len(present), len(seeds)) if seeds else np.empty((0, 0)), means)


def _samples(swept: Swept, outcomes: Outcomes, value: Callable[[Outcome], float]) -> list[Sample]:
    """For each value of the hyper-parameter; not finite ones left out."""
    return [
        {
            seed: x
            for (name, seed), o in outcomes.items()
            if name == own and math.isfinite(x := value(o))
        }
        for own in swept.settings
    ]


def describe(swept: Sequence[Swept], outcomes: Outcomes) -> list[dict[str, Any]]:
    """The rows of Tables 3 and 4, for results.json."""
    times = spans([_samples(one, outcomes, lambda o: o.seconds) for one in swept])
    losses = spans([_samples(one, outcomes, lambda o: float(o.loss[-1])) for one in swept])
    return [
        {
            "letter": one.letter,
            "key": LETTERS[one.letter],
            "values": list(one.values),
            "settings": list(one.settings),
            "seconds": dataclasses.asdict(time),
            "loss": dataclasses.asdict(loss),
            "type": {True: SENSITIVE, False: FRIENDLY, None: NOT_DECIDED}[time.significant],
            "best_for_loss": _best(one, loss, INSIGNIFICANT),
            "best_for_time": _best(one, time, SIMILAR),
        }
        for one, time, loss in zip(swept, times, losses, strict=True)
    ]


def _best(swept: Swept, found: Span, none: str) -> str:
    """The value with the smallest mean, `none` where there is no effect."""
    if math.isnan(found.span):  # nothing to compare
        return NOT_DECIDED
    if found.significant is False:
        return none
    value = f"{swept.values[int(np.nanargmin(found.means))]:g}"
    return value if found.significant else f"{value} ({plural(found.seeds, 'seed')})"


# ---- the remarks


def remarks(swept: Sequence[Swept], outcomes: Outcomes, iterations: int) -> list[dict[str, Any]]:
    """Verdicts on the papers' remarks, seed by seed; the contrasts of each are read together.

    Those on what was not swept are left out. `iterations`: I of the default.
    """
    found = []
    for claim in papers.claims(papers.SWEEP):
        letter = claim.raw.get("letter")
        own = [s for s in swept if letter in (None, s.letter)]
        if own:
            estimates = [_estimate(c, own, outcomes, iterations) for c in claim.contrasts]
            decided = Decided(claim, decision.decide(claim.contrasts, estimates))
            rows = zip(claim.raw["contrasts"], decided.tests, strict=True)
            head = ("id", "letter", "words", "where")
            found.append(
                {key: claim.raw[key] for key in head if key in claim.raw}
                | {"verdict": decided.verdict}
                | {"contrasts": [dict(contrast) | test.row() for contrast, test in rows]}
            )
    return found


def elo_of(played: Mapping[str, Any]) -> dict[tuple[str, int], float]:
    """By setting and seed, in a tournament."""
    players = zip(played["players"], played["elo"], strict=True)
    return {(one["target"], one["seed"]): float(elo) for one, elo in players}


def _estimate(
    contrast: Contrast, swept: Sequence[Swept], outcomes: Outcomes, iterations: int
) -> inference.Estimate | None:
    """Plus less minus, mean over the hyper-parameters that have all settings, seed by seed.

    Of every seed that has all of these; None without one.
    """
    asked = [role for role, _ in contrast.sides]
    known = {setting for setting, _ in outcomes}
    whole = [one for one in swept if all(one.role(role) in known for role in asked)]

    def values(role: str) -> dict[int, float]:
        by_setting = [
            {
                seed: statistic(contrast.statistic, outcome, iterations)
                for (setting, seed), outcome in outcomes.items()
                if setting == one.role(role)
            }
            for one in whole
        ]
        seeds = set.intersection(*map(set, by_setting)) if by_setting else set()
        return {seed: float(np.mean([own[seed] for own in by_setting])) for seed in seeds}

    sample = decision.differences(contrast, values)
    return inference.estimate([sample]) if len(sample) else None


def statistic(name: str, outcome: Outcome, iterations: int) -> float:
    """What `claims_sweep.json` names in `statistics`; NaN where the run is too short for it.

    `iterations`: I of the default.
    """
    at, loss = outcome.iterations, outcome.loss
    if name == "final_loss":
        return float(loss[-1])
    if name == "tournament_elo":
        return outcome.elo
    if name == "loss_fluctuation":
        changes = np.diff(loss[at > at[-1] / 2])
        return float(np.std(changes, ddof=1)) if len(changes) > 1 else math.nan
    if name == "early_loss":
        return float(loss[at <= max(1, iterations // 2)].mean())
    if name in ("rise_after", "fall_after"):
        turn = round(1.2 * iterations)
        after = loss[at > turn]
        count = -(-len(after) // 3)
        if len(after) < 2:
            return math.nan
        before = loss[(at <= turn) & (at > turn - count)]
        less = before if name == "rise_after" else after[-count:]
        return float(after[:count].mean() - less.mean())
    where = np.flatnonzero(
        at == max(1, round(int(name.removeprefix("loss_at_")) * iterations / 100))
    )
    return float(loss[where[0]]) if len(where) else math.nan
