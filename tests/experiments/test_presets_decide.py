"""Presets `laptop`, `gpu` and `paper` can decide: made-up effects as large as the papers', no runs.

Of every claim that a preset addresses, runs of as many seeds as it has, with the claimed effect,
give another verdict than "undecided".
"""

import dataclasses
import itertools
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from experiments import hyperparameter_correlation as correlation
from experiments import hyperparameter_sweep as sweep
from experiments.claims import inference, losses, papers, sides
from experiments.claims.decision import NOT_ADDRESSED, UNDECIDED
from experiments.claims.papers import Claim, Contrast
from experiments.configs import (
    connect_four_efficiency,
    connect_four_extensions,
    connect_four_supervised,
    loss_ablation,
)
from experiments.configs import curriculum as curriculum_config
from experiments.configs import hyperparameter_correlation as correlation_config
from experiments.configs import hyperparameter_sweep as sweep_config
from experiments.connect_four.claims import PREFIX
from experiments.endgame import claims as curriculum
from experiments.endgame import win_ratio
from experiments.endgame.win_ratio import Point
from experiments.hyperparameters import elo_model
from experiments.hyperparameters.importance import Outcome, remarks
from experiments.reproduce import forecast
from experiments.reproduce import papers as reproduced
from jaxzero.settings import config as config_lib
from tests.experiments.exhibits import compared

SCALES = ("laptop", "gpu", "paper")
Side = tuple[str, str, str]  # board, statistic, name


def claimed(claim: Claim, effect: float) -> dict[Side, float]:
    """Values of all sides of a claim by which its contrasts differ as it says."""
    values: dict[Side, float] = defaultdict(float)
    for c in claim.contrasts:
        sign = {"greater": 1.0, "different": 1.0, "less": -1.0}.get(c.direction, 0.0)
        for name, weight in c.sides:
            up = sign * effect * np.sign(weight)
            values[c.board, c.statistic, name] += up
            if c.against:
                values[c.against, c.statistic, name] -= up
    return values


def by_seed(value: float, spread: float, seeds: int, name: object) -> dict[Any, float]:
    noise = np.random.default_rng(zlib.crc32(repr(name).encode())).normal(0, spread, seeds)
    return {(0, seed): value + noise[seed] for seed in range(seeds)}


@dataclasses.dataclass(frozen=True)
class Board:
    """Stands for the studies of a board (`claims.measured.BoardStudies`)."""

    board: str
    made: Mapping[Side, float]
    spread: float
    seeds: int
    semantics: str = "corrected"

    def values(self, statistic: str, target: str) -> tuple[dict[Any, float], tuple[str, ...]]:
        side = (self.board, statistic, target)
        return by_seed(self.made.get(side, 0.0), self.spread, self.seeds, side), ()


def largest(statistic: str) -> float:
    """Of the papers' effects of a statistic; ten margins where no number was published."""
    own = [c for claim in papers.claims(papers.LOSSES) for c in claim.contrasts]
    own = [c for c in own if c.statistic == statistic]
    known = [abs(e) for c in own if (e := losses.published_effect(c)) is not None]
    return max([*known, 2 * own[0].margin]) if known else 10 * own[0].margin


def loss_verdicts(claim: Claim, seeds: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(papers, "claims", lambda paper: (claim,))
    effect = max(largest_of[c.statistic] for c in claim.contrasts)
    margin = min(c.margin for c in claim.contrasts)
    made = claimed(claim, effect)
    groups = [Board(board, made, margin / 8, seeds) for board in loss_ablation.BOARDS]
    found = losses.decide(groups)  # type: ignore[arg-type]
    monkeypatch.undo()
    return [one.verdict for one in found.decided]


largest_of = {
    statistic: largest(statistic)
    for statistic in dict.fromkeys(
        c.statistic for claim in papers.claims(papers.LOSSES) for c in claim.contrasts
    )
}


@pytest.mark.parametrize("scale", SCALES)
def test_claims_on_losses(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = loss_ablation.get_config(scale).study.seeds
    for claim in papers.claims(papers.LOSSES):
        verdicts = loss_verdicts(claim, seeds, monkeypatch)
        assert verdicts
        assert UNDECIDED not in verdicts, claim.id
    one = papers.claims(papers.LOSSES)[0]
    assert loss_verdicts(one, inference.FEWEST - 1, monkeypatch) == [UNDECIDED]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("part", reproduced.find("002").parts, ids=lambda part: part.name)
def test_claims_of_paper_002(part: reproduced.Part, scale: str) -> None:
    names, seeds = compared(part, scale), forecast.settings(part, scale).study.seeds
    study = part.study.removeprefix(PREFIX)

    def verdict_of(claim: Claim, seeds: int) -> str:
        made = claimed(claim, 10 * max(c.margin for c in claim.contrasts))
        spread = min(c.margin for c in claim.contrasts) / 8

        def values(contrast: Contrast, name: str) -> dict[int, float]:
            side = (contrast.board, contrast.statistic, name)
            found = by_seed(made[side], spread, seeds, side)
            return {seed: value for (_, seed), value in found.items()} if name in names else {}

        return sides.decide(claim, values).verdict

    addressed = [
        claim
        for claim in papers.claims(papers.EFFICIENCY)
        if study in claim.raw["studies"]
        and all(c.sides and {name for name, _ in c.sides} <= names for c in claim.contrasts)
    ]
    assert addressed
    for claim in addressed:
        assert verdict_of(claim, seeds) != UNDECIDED, claim.id
        assert verdict_of(claim, inference.FEWEST - 1) == UNDECIDED


# ---- hyper-parameters


def curve(claim: Claim, role: str, iterations: int, default: int, noise: float) -> np.ndarray:
    """Losses of a run, each part of the course as the claim's contrasts of it say."""
    at, turn = np.arange(1, iterations + 1), round(1.2 * default)
    loss = np.full(iterations, 1.0 + noise)
    for c in claim.contrasts:
        sign = {"greater": 1.0, "less": -1.0}.get(c.direction, 0.0)
        lift = 0.5 * sign * ((role in c.plus) - (role in c.minus))
        when = {
            "early_loss": at <= default // 2,
            "final_loss": at > 0.95 * default,
            "rise_after": at > turn,
            "fall_after": (at > turn) & (at <= turn - (turn - iterations) // 3),
        }.get(c.statistic, (at > default // 2) & (at <= 0.95 * default))
        if c.statistic == "loss_fluctuation":
            loss[::2] += max(lift, 0.0)
        else:
            loss[when] += lift
    return loss


@pytest.mark.parametrize("scale", SCALES)
def test_remarks_on_the_sweep(scale: str) -> None:
    config = sweep_config.get_config(scale)
    default = config.train.iterations
    for one in sweep.swept(config):
        roles = dict(zip(one.settings, ("minimum", "default", "maximum"), strict=True))
        lengths = dict.fromkeys(one.settings, default)
        if one.letter == "I":
            lengths = dict(zip(one.settings, one.values, strict=True))
        for claim in papers.claims(papers.SWEEP):
            if claim.raw.get("letter", one.letter) != one.letter:
                continue
            rng = np.random.default_rng(0)
            outcomes = {
                (name, seed): Outcome(
                    np.arange(1, lengths[name] + 1),
                    curve(claim, role, lengths[name], default, rng.normal(0, 0.005)),
                    1.0,
                    100.0 * (role == "maximum") + rng.normal(0, 5),
                )
                for name, role in roles.items()
                for seed in range(config.study.seeds)
            }
            found = {row["id"]: row for row in remarks([one], outcomes, default)}
            assert found[claim.id]["verdict"] != UNDECIDED, claim.id
            few = {key: value for key, value in outcomes.items() if key[1] < inference.FEWEST - 1}
            assert {row["verdict"] for row in remarks([one], few, default)} == {UNDECIDED}


# Elo for each doubling of I, E, m and ep, and what the largest ep adds at the largest I, E and m.
WORLDS = ((100.0, 100.0, 30.0, 30.0, -200.0), (100.0, 100.0, 30.0, 0.0, 0.0))


def correlated(config: Any, world: tuple[float, ...]) -> elo_model.Data:
    """All players of a study in a world."""
    rng, rows = np.random.default_rng(1), []
    values = [tuple(s.values.values()) for s in correlation.make_settings(config)]
    top = np.max(values, axis=0)
    trainings = list(dict.fromkeys(v[1:] for v in values))
    for seed in range(config.study.seeds):
        shift = {training: rng.normal(0, 3) for training in trainings}
        for v in values:
            elo = np.dot(world[:4], np.log2(v)) + world[4] * bool((v == top).all())
            cost = (v[0] * v[1] * v[2], 4.0 * v[0] * v[1] * v[3])
            cluster = seed * len(trainings) + trainings.index(v[1:])
            rows.append((v, elo + shift[v[1:]] + rng.normal(0, 3), cost, cluster, seed))
    listed, elo, cost, cluster, seeds = (np.array(column) for column in zip(*rows, strict=True))
    return elo_model.Data(
        listed.astype(float), elo, np.zeros((len(elo), len(elo))), cost, cluster, seeds
    )


@pytest.mark.parametrize("scale", SCALES)
def test_claims_on_the_correlation(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elo_model, "RESAMPLES", 40)
    config = correlation_config.get_config(scale)

    def decided(seeds: int) -> set[str]:
        config.study.seeds = seeds
        return {
            claim["id"]
            for world in WORLDS
            for claim in elo_model.claims(correlated(config, world))
            if claim["verdict"] != UNDECIDED
        }

    every = {claim.id for claim in papers.claims(papers.CORRELATION)}
    assert decided(config.study.seeds) == every
    few = {"ep_10_beats_15", "low_ep_on_front", "low_ep_on_selfplay_front"}
    assert few.isdisjoint(decided(inference.FEWEST - 1))


# ---- the curriculum


def course(config: Any, arm: str, seed: int) -> Iterator[Point]:
    """Win ratios of a run: 004's largest lead early, alike late, a dip after the curriculum."""
    change = curriculum.end_of_curriculum(config) or 1.0
    for i in range(41):
        share = i / 40
        ratio = 0.2 + 0.4 * share
        ratio += 0.15 * (arm == "curriculum") * (share < 0.4)
        ratio -= 0.15 * (arm == "curriculum") * (0.5 < share < 0.7)
        wins = round(1000 * ratio) + (seed * 7 + i * (arm == "curriculum")) % 3
        x = dict.fromkeys(win_ratio.AXES, 2 * change * share)
        yield Point(arm, seed, i, x, wins, 0, 1000 - wins)


@pytest.mark.parametrize("preset", [p for p in curriculum_config.PRESETS if p.startswith(SCALES)])
def test_claims_on_the_curriculum(preset: str) -> None:
    config = curriculum_config.get_config(preset)

    def verdicts(seeds: int) -> dict[str, str]:
        arms = itertools.product(config.study.arms, range(seeds))
        points = [point for arm, seed in arms for point in course(config, arm, seed)]
        return {one.claim.id: one.verdict for one in curriculum.decide(config, points)}

    found = verdicts(config.study.seeds)
    assert found
    assert UNDECIDED not in found.values(), found
    few = {v for v in verdicts(inference.FEWEST - 1).values() if v != NOT_ADDRESSED}
    assert few == {UNDECIDED}


def test_no_preset_that_decides_has_fewer_seeds() -> None:
    for module in (
        loss_ablation, sweep_config, correlation_config, curriculum_config,
        connect_four_efficiency, connect_four_extensions, connect_four_supervised,
    ):  # fmt: skip
        for name in module.PRESETS:
            if name.startswith(SCALES) and name != "gpu_hour":
                config = module.get_config(name)
                assert config_lib.get(config, "study.seeds") >= inference.FEWEST, (module, name)
