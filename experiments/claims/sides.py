"""Clausen 2021's claims, decided from the values of their sides by seed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from experiments.claims import decision, inference
from experiments.claims.decision import Decided
from experiments.claims.inference import Estimate
from experiments.claims.papers import Claim, Contrast
from experiments.pages.wording import joined

# Of a contrast and a side: its values by seed, empty where it was not run.
Values = Callable[[Contrast, str], Mapping[int, float]]


def decide(claim: Claim, values: Values) -> Decided:
    """A claim of which nothing was run says what it needs."""
    estimates = [_estimate(contrast, values) for contrast in claim.contrasts]
    absent = dict.fromkeys(
        name for c in claim.contrasts for name, _ in c.sides if not values(c, name)
    )
    if all(found is None for found in estimates):
        needs = claim.raw.get("needs") or f"runs of {joined(list(absent))}"
        return Decided(claim, (), missing=(needs,))
    return Decided(claim, decision.decide(claim.contrasts, estimates), missing=tuple(absent))


def _estimate(contrast: Contrast, values: Values) -> Estimate | None:
    """Seed by seed; None without one that has all sides, and for what no study measures."""
    if not contrast.sides:
        return None
    sample = decision.differences(contrast, partial(values, contrast))
    return inference.estimate([sample]) if len(sample) else None


def effect(contrast: Contrast, values: Values) -> float | None:
    """Of the means of the sides, as published ones have no seeds in common; None without them."""
    sides = [(list(values(contrast, name).values()), weight) for name, weight in contrast.sides]
    if not sides or not all(found for found, _ in sides):
        return None
    known = float(sum(weight * np.mean(found) for found, weight in sides))
    return known if np.isfinite(known) else None


def row(one: Decided, published_effect: Callable[[Contrast], float | None]) -> dict[str, Any]:
    """For results.json; `published_effect`: of a contrast, in the paper's numbers."""
    raw = {key: one.claim.raw[key] for key in ("id", "words", "where")}
    tests = [
        {
            "plus": test.contrast.plus,
            "minus": test.contrast.minus,
            "statistic": test.contrast.statistic,
            "direction": test.contrast.direction,
            "margin": test.contrast.margin,
            **test.row(),
            "published": _named(published_effect(test.contrast)),
        }
        for test in one.tests
    ]
    more = {} if tests else {"needs": one.missing[0]}
    return raw | {"note": one.claim.note, "verdict": one.verdict, "contrasts": tests} | more


def _named(effect: float | None) -> dict[str, float]:
    return {} if effect is None else {"Clausen 2021": effect}
