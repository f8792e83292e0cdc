"""Clausen 2021's claims, decided from finished studies of Connect Four."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from experiments.claims import decision, papers, sides, supervised
from experiments.claims import section as claims_section
from experiments.claims.papers import EFFICIENCY, Contrast
from experiments.claims.sides import Values
from experiments.configs.connect_four_supervised import GAME
from experiments.connect_four import learning_lines
from experiments.connect_four.learning_lines import Line, Lines
from experiments.pages.bands import mean_between
from experiments.pages.tables import Table

PREFIX: Final = "connect_four_"  # of the studies' names; what follows is in the claims' `studies`
_SPANS: Final = {"early": (0.0, 1 / 3), "late": (2 / 3, 1.0)}  # else all of it
_NOTE: Final = (
    "Sides are arms, or groups of networks. Accuracies in percent, compared over the paper's cost, "
    "searches made times the authors' time of one (network: over the numbers of networks), that "
    "all runs of a contrast reached; early, late: its first and its last third. Published: the "
    f"same of the published curves. {decision.METHOD}"
)


def table(results: Mapping[str, Any]) -> Table:
    """The verdicts on the claims that belong to a study, from its results.json."""
    return claims_section.of_results("The paper's claims", rows(results), _NOTE, digits=2)


def rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same as data: a claim that these runs say nothing about is "not addressed"."""
    study = results["study"].removeprefix(PREFIX)
    if study == "supervised":
        return supervised.rows({"": results})
    channels = results["config"]["network"]["channels"] if "config" in results else 0
    lines = learning_lines.of_arms(results.get("arms", []), channels)
    found = decide(study, partial(of_lines, lines))
    if results.get("game", GAME) != GAME:  # asked everything, but nothing is published of it
        tests = [test for row in found for test in row["contrasts"]]
        for test in tests:
            test["published"] = {}
    return found


def decide(study: str, values: Values) -> list[dict[str, Any]]:
    """All claims that belong to a study."""
    known = [claim for claim in papers.claims(EFFICIENCY) if study in claim.raw["studies"]]
    return [sides.row(sides.decide(claim, values), published_effect) for claim in known]


def published_effect(contrast: Contrast) -> float | None:
    """The contrast in the paper's numbers, means of its runs; None without them."""
    return sides.effect(contrast, partial(of_lines, learning_lines.of_paper()))


# ---- statistics of a run: what claims_efficiency.json names


def of_lines(lines: Lines, contrast: Contrast, name: str) -> dict[int, float]:
    """A statistic of an arm's runs by seed; runs without it are left out."""
    compared = [line for side, _ in contrast.sides for line in lines.get(side, ())]
    own = lines.get(name, ())
    found = {line.seed: _statistic(contrast.statistic, line, compared) for line in own}
    return {seed: value for seed, value in found.items() if np.isfinite(value)}


def _statistic(name: str, line: Line, compared: Sequence[Line]) -> float:
    """Of one run; `compared`: all runs of the contrast, which end somewhere together."""
    if name == "best_accuracy":
        return float(np.nanmax(line.accuracy))
    if name == "search_gain":
        return float((line.accuracy - line.alone)[-1])
    if name.endswith("growth_drop"):
        return _drop(line, last=name.startswith("last"))
    part, _, rest = name.rpartition("_")
    span = _SPANS.get(name.partition("_")[0], (0.0, 1.0))
    axis = "network" if "network" in part.split("_") else "paper_hours"
    measured = "diversity" if rest == "diversity" else "accuracy"
    return _mean(line, compared, axis, measured, span)


def _mean(
    line: Line, compared: Sequence[Line], axis: str, measured: str, span: tuple[float, float]
) -> float:
    """Mean over a share of what all compared runs reached, from where the last of them begins."""
    known = [
        getattr(one, axis)[np.isfinite(getattr(one, measured)) & np.isfinite(getattr(one, axis))]
        for one in compared
    ]
    if not all(len(x) for x in known):
        return np.nan
    first, end = max(x[0] for x in known), min(x[-1] for x in known)
    low, high = (max(share * end, first) for share in span)
    return mean_between(getattr(line, axis), getattr(line, measured), low, high)


def _drop(line: Line, *, last: bool) -> float:
    """Change of accuracy from the last network of a width to the first of the next one."""
    steps = line.grown[-1:] if last else line.grown[:-1]
    known = [change for change in map(line.growth, steps) if np.isfinite(change)]
    return float(np.mean(known)) if known else np.nan
