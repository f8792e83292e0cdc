"""Paper 004's claims, decided from win ratios with intervals over seeds."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from experiments import published
from experiments.claims import inference
from experiments.claims.decisions import UNDECIDED, judge
from experiments.claims.inference import Estimate
from experiments.curriculum import win_ratio
from experiments.curriculum.win_ratio import Point

CLAIMS, CURVES = "claims_curriculum", "west2019_curriculum"
_PAIR = ("curriculum", "baseline")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One claim.

    Attributes:
      id, words, where, axis, direction, margin: as in the file of claims.
      estimate: curriculum less baseline, seed by seed; None without a seed that has it.
      adjusted: p value after Holm's correction over all claims.
      verdict: one of `decisions.VERDICTS`.
      needed: seeds that would decide it, where it is undecided and that is known.
      published: the same difference in the paper's curves, by figure.
    """

    id: str
    words: str
    where: tuple[str, ...]
    axis: str
    direction: str
    margin: float
    estimate: Estimate | None
    adjusted: float
    verdict: str
    needed: int | None
    published: dict[str, float]


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


def decide(config: ConfigDict, points: Sequence[Point]) -> list[Verdict]:
    """All claims that these runs say something about; none without both players."""
    if not {*_PAIR} <= {p.arm for p in points}:
        return []
    file = published.load(CLAIMS) or {}
    asked = [c for c in file["claims"] if _concerns(c, figure_of(config))]
    samples = [_sample(config, file, claim, points) for claim in asked]
    estimates = [inference.estimate([s]) if len(s) else None for s in samples]
    p_values = [
        1.0 if e is None else e.p_value(c["margin"] if c["direction"] == "equal" else 0.0)
        for e, c in zip(estimates, asked, strict=True)
    ]
    found = []
    for claim, estimate, p in zip(asked, estimates, inference.holm(p_values), strict=True):
        verdict = judge(estimate, claim["direction"], claim["margin"], p)
        needed = None
        if estimate is not None and verdict == UNDECIDED:
            needed = inference.seeds_needed(
                estimate.effect,
                estimate.sd,
                claim["margin"],
                tests=len(asked),
                equality=claim["direction"] == "equal",
            )
        found.append(
            Verdict(
                claim["id"], claim["words"], tuple(claim["where"]), claim["axis"],
                claim["direction"], claim["margin"], estimate, p, verdict, needed,
                _published(claim, file),
            )
        )  # fmt: skip
    return found


def _concerns(claim: Mapping[str, Any], figure: str | None) -> bool:
    """Boards of which 004 says nothing are asked everything."""
    return figure is None or figure in claim["figures"]


def _span(claim: Mapping[str, Any], file: Mapping[str, Any]) -> tuple[float, float]:
    return (0.0, file["early"]) if claim["statistic"] == "early" else (1.0 - file["late"], 1.0)


def _sample(
    config: ConfigDict, file: Mapping[str, Any], claim: Mapping[str, Any], points: Sequence[Point]
) -> np.ndarray:
    """float[S], one value for each seed."""
    draw_points = config.study.draw_points
    if claim["statistic"] == "after_curriculum":
        change = end_of_curriculum(config)
        if change is None:
            return np.empty(0)
        return win_ratio.after_curriculum(points, change, 0.3 * change, draw_points)
    return win_ratio.differences(points, claim["axis"], _span(claim, file), draw_points)


def _published(claim: Mapping[str, Any], file: Mapping[str, Any]) -> dict[str, float]:
    if claim["statistic"] == "after_curriculum":
        return {}
    found = {}
    for figure in claim["figures"]:
        curves = published_curves(figure)[claim["axis"]]
        lines = [[np.asarray(curves[arm][side]) for side in ("x", "y")] for arm in _PAIR]
        end = min(x[-1] for x, _ in lines)
        low, high = (share * end for share in _span(claim, file))
        means = [win_ratio.mean_between(x, y, max(low, x[0]), high) for x, y in lines]
        found[figure] = float(means[0] - means[1])
    return found


def as_json(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """For results.json."""
    rows = []
    for one in found:
        row = {f.name: getattr(one, f.name) for f in dataclasses.fields(one)}
        e = row.pop("estimate")
        row |= {
            "effect": None if e is None else e.effect,
            "stderr": None if e is None else e.stderr,
            "interval": None if e is None else e.interval,
            "seeds": 0 if e is None else e.seeds,
        }
        rows.append(row)
    return rows
