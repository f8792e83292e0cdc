"""What a claim's contrasts say: verdicts on single contrasts and on claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments import published
from experiments.claims import effort, inference, measured
from experiments.claims.inference import LEVEL, Estimate
from experiments.claims.measured import Group
from experiments.published import Claim, Contrast

REPRODUCED, CONTRADICTED, EQUIVALENT, UNDECIDED = VERDICTS = (
    "reproduced",
    "contradicted",
    "equivalent",
    "undecided",
)


@dataclass(frozen=True)
class Tested:
    """One contrast of a claim.

    Attributes:
      contrast: what was compared.
      estimate: None without a single seed that has all of it.
      adjusted: p value after Holm's correction over the claim's boards and contrasts.
      verdict: one of `VERDICTS`.
      needed: seeds that would decide it, of an undecided one; None where that is not known.
      published: the effect in the papers' numbers, where they are known.
      compute: share of the papers' computing that a run spent, the smallest of the boards.
    """

    contrast: Contrast
    estimate: Estimate | None
    adjusted: float
    verdict: str
    needed: int | None
    published: float | None
    compute: float | None


@dataclass(frozen=True)
class Decided:
    """A claim under one semantics.

    Attributes:
      tests: on the boards that have runs.
      verdict: contradicted or undecided if a contrast is, else equivalent if one is.
      absent: boards of the claim that have no runs.
      missing: runs and values that should be there.
    """

    claim: Claim
    semantics: str
    tests: tuple[Tested, ...]
    verdict: str
    absent: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """All that was decided, and from what."""

    groups: tuple[Group, ...]
    decided: tuple[Decided, ...]


def decide(groups: Sequence[Group]) -> Findings:
    """All claims that the runs say something about."""
    by_semantics: dict[str, dict[str, Group]] = {}
    for group in groups:
        by_semantics.setdefault(group.semantics, {})[group.board] = group
    decided = []
    for claim in published.claims():
        for semantics, boards in by_semantics.items():
            contrasts = [c for c in claim.contrasts if {c.board, c.against or c.board} <= {*boards}]
            if contrasts:
                decided.append(_decide(claim, semantics, contrasts, boards))
    return Findings(tuple(groups), tuple(decided))


def _decide(
    claim: Claim, semantics: str, contrasts: Sequence[Contrast], boards: Mapping[str, Group]
) -> Decided:
    estimates: list[Estimate | None] = []
    missing: list[str] = []
    for contrast in contrasts:
        samples = []
        for board in filter(None, (contrast.board, contrast.against)):
            values, absent = differences(boards[board], contrast)
            samples.append(values)
            missing += absent
        weights = (1.0, -1.0)[: len(samples)]
        whole = all(len(values) for values in samples)
        estimates.append(inference.estimate(samples, weights) if whole else None)
    tests = _test(contrasts, estimates, boards)
    needed = {b for c in claim.contrasts for b in (c.board, c.against) if b}
    return Decided(
        claim,
        semantics,
        tests,
        overall([test.verdict for test in tests]),
        absent=tuple(sorted(needed - {*boards})),
        missing=tuple(dict.fromkeys(missing)),
    )


def differences(group: Group, contrast: Contrast) -> tuple[np.ndarray, tuple[str, ...]]:
    """(float[S], a contrast of every seed that has all of it; what is missing, in words)."""
    missing: list[str] = []
    found = {}
    for target in (*contrast.plus, *contrast.minus):
        found[target], absent = group.values(contrast.statistic, target)
        missing += absent
    seeds = sorted(set.intersection(*(set(values) for values in found.values())))

    def mean(targets: Sequence[str], seed: measured.Key) -> float:
        return float(np.mean([found[target][seed] for target in targets])) if targets else 0.0

    values = [mean(contrast.plus, seed) - mean(contrast.minus, seed) for seed in seeds]
    return np.array(values, dtype=float), tuple(missing)


def _test(
    contrasts: Sequence[Contrast],
    estimates: Sequence[Estimate | None],
    boards: Mapping[str, Group],
) -> tuple[Tested, ...]:
    present = [i for i, found in enumerate(estimates) if found is not None]
    adjusted = dict(
        zip(
            present,
            inference.holm([_p_value(contrasts[i], estimates[i]) for i in present]),
            strict=True,
        )
    )
    tests = []
    for i, (contrast, found) in enumerate(zip(contrasts, estimates, strict=True)):
        p = adjusted.get(i, 1.0)
        verdict = judge(found, contrast.direction, contrast.margin, p)
        needed = None
        if found is not None and verdict == UNDECIDED:
            needed = inference.seeds_needed(
                found.effect,
                found.sd,
                contrast.margin,
                tests=len(present),
                equality=contrast.direction == "equal",
            )
            if needed is not None:  # these seeds did not do
                needed = max(needed, found.seeds + 1)
        tests.append(
            Tested(
                contrast,
                found,
                p,
                verdict,
                needed,
                published_effect(contrast),
                _compute(contrast, boards),
            )
        )
    return tuple(tests)


def _p_value(contrast: Contrast, found: Estimate | None) -> float:
    """Of no effect; where no effect is claimed, of one within the margin."""
    if found is None:
        return 1.0
    return found.p_value(contrast.margin if contrast.direction == "equal" else 0.0)


def judge(found: Estimate | None, direction: str, margin: float, adjusted: float) -> str:
    """The verdict on one contrast.

    An interval inside the margin comes first: an effect that is surely there and surely too
    small to matter is no effect.

    Args:
      found: the effect; None is undecided.
      direction: claimed: "greater", "less", "equal" or "different".
      margin: differences below it count as none.
      adjusted: p value of no effect ("equal": of one within the margin).
    """
    if found is None:
        return UNDECIDED
    if found.within(margin):
        return {"equal": REPRODUCED, "different": CONTRADICTED}.get(direction, EQUIVALENT)
    if adjusted > LEVEL:
        return UNDECIDED
    if direction in ("equal", "different"):
        return CONTRADICTED if direction == "equal" else REPRODUCED
    return REPRODUCED if (found.effect > 0) == (direction == "greater") else CONTRADICTED


def overall(verdicts: Sequence[str]) -> str:
    """Of a claim, which needs all its contrasts: one against it is enough."""
    return next(v for v in (CONTRADICTED, UNDECIDED, EQUIVALENT, REPRODUCED) if v in verdicts)


def published_effect(contrast: Contrast) -> float | None:
    """The contrast in the papers' numbers."""
    if contrast.statistic == "training_elo_bias" and not contrast.minus:
        return None  # the untrained networks were not rated
    total = 0.0
    for board, sign in ((contrast.board, 1.0), (contrast.against, -1.0)):
        for targets, side in ((contrast.plus, 1.0), (contrast.minus, -1.0)):
            for target in targets if board else ():
                value = measured.published_value(contrast.statistic, board or "", target)
                if value is None:
                    return None
                total += sign * side * value / len(targets)
    return total


def _compute(contrast: Contrast, boards: Mapping[str, Group]) -> float | None:
    used = [boards[board] for board in (contrast.board, contrast.against) if board]
    spent = [effort.fraction(study) for group in used for study in group.studies]
    return min((s for s in spent if s is not None), default=None)
