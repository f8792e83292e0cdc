"""West 2020's claims, decided from win ratios seed by seed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from experiments import published
from experiments.claims import decision, inference, papers
from experiments.claims.decision import Decided
from experiments.claims.papers import CURRICULUM, Claim
from experiments.configs.curriculum import get_config
from experiments.endgame import win_ratio
from experiments.endgame.win_ratio import PAIR, Point
from experiments.pages.bands import mean_between

CURVES = "west2019_curriculum"
_PRESETS = {"fig4": "paper_racing_kings", "fig5": "paper", "fig6": "paper_racing_kings_gate"}
# Of the curriculum player's number and the baseline's; elsewhere the first less the second.
_WEIGHTS = {"late_gain": (0.5, 0.5)}
_REACH = 0.3  # epochs compared before and after the end of the curriculum, a share of those before


def figure_of(config: ConfigDict) -> str | None:
    """004's figure of the same experiment: fig4, fig5, fig6; None for other games."""
    if config.game.startswith("racing_kings"):
        return "fig6" if config.arena.gate == "wilson" else "fig4"
    return "fig5" if config.game.startswith("reversi_8x8") else None


def published_curves(figure: str | None) -> dict[str, dict[str, dict[str, list[float]]]]:
    """axis -> player -> x and y; empty where nothing is published."""
    data = published.load(CURVES) or {}
    return data["figures"].get(figure, {})


def end_of_curriculum(config: ConfigDict) -> float | None:
    """Epochs from which the whole game is played; None if that never comes."""
    own = config.selfplay
    if own.curriculum != "schedule" or own.curriculum_fractions[-1] < 1:
        return None
    pairs = zip(own.curriculum_epochs, own.curriculum_fractions, strict=True)
    return float(min(epochs for epochs, fraction in pairs if fraction == 1))


def decide(config: ConfigDict, points: Sequence[Point]) -> list[Decided]:
    """All claims that these runs say something about; none without both players.

    Boards of which 004 says nothing are asked everything.
    """
    if not {*PAIR} <= {p.arm for p in points}:
        return []
    figure, found = figure_of(config), []
    for claim in papers.claims(CURRICULUM):
        if figure is not None and figure not in claim.raw["figures"]:
            continue
        if needs := claim.raw.get("needs"):
            found.append(Decided(claim, (), missing=(needs,)))
        else:
            sample = _sample(config, claim, points)
            estimates = [inference.estimate([sample]) if len(sample) else None]
            found.append(Decided(claim, decision.decide(claim.contrasts, estimates)))
    return found


def _span(claim: Claim) -> tuple[float, float]:
    file = papers.file(CURRICULUM)
    early = claim.raw["statistic"] == "early"
    return (0.0, file["early"]) if early else (1.0 - file["late"], 1.0)


def _sample(config: ConfigDict, claim: Claim, points: Sequence[Point]) -> np.ndarray:
    """float[S], the players' curves weighed against each other (`_WEIGHTS`) for each seed."""
    axis = claim.raw["axis"]
    end = win_ratio.common_end([p for p in points if p.arm in PAIR], axis)
    measure = _measure(claim, (0.0, end), end_of_curriculum(config))
    if measure is None:
        return np.empty(0)
    weights = _WEIGHTS.get(claim.raw["statistic"], (1.0, -1.0))
    return win_ratio.paired(points, axis, config.study.draw_points, measure, weights)


def _measure(
    claim: Claim, reached: tuple[float, float], change: float | None
) -> Callable[[np.ndarray, np.ndarray], float] | None:
    """What a claim asks of a curve (x, win ratio); None where the curriculum has no end.

    `reached`: from where and up to where all curves are known; `change`: epochs at which the
    curriculum ends.
    """
    first, end = reached
    statistic = claim.raw["statistic"]
    if statistic == "after_curriculum":
        if change is None:
            return None
        return partial(win_ratio.gain_around, change=change, reach=_REACH * change)
    if statistic == "late_gain":
        return partial(win_ratio.late_gain, end=end, share=papers.file(CURRICULUM)["late"])
    low, high = (share * end for share in _span(claim))
    return lambda x, y: mean_between(x, y, max(low, first, x[0]), high)


def published_effects(claim: Claim) -> dict[str, float]:
    """The same of the paper's curves, by figure."""
    found: dict[str, float] = {}
    if claim.raw.get("needs"):
        return found
    for figure in claim.raw["figures"]:
        curves = published_curves(figure)[claim.raw["axis"]]
        lines = [[np.asarray(curves[arm][side]) for side in ("x", "y")] for arm in PAIR]
        reached = max(x[0] for x, _ in lines), min(x[-1] for x, _ in lines)
        measure = _measure(claim, reached, end_of_curriculum(get_config(_PRESETS[figure])))
        assert measure is not None
        weights = _WEIGHTS.get(claim.raw["statistic"], (1.0, -1.0))
        found[figure] = float(np.dot(weights, [measure(x, y) for x, y in lines]))
    return found


def as_json(found: Sequence[Decided]) -> list[dict[str, Any]]:
    """For results.json."""
    kept = ("id", "words", "where", "statistic", "axis", "direction", "margin")
    return [
        {key: one.claim.raw[key] for key in kept if key in one.claim.raw}
        | {"verdict": one.verdict, "published": published_effects(one.claim)}
        | (one.tests[0].row() if one.tests else {"contrasts": [], "needs": one.missing[0]})
        for one in found
    ]
