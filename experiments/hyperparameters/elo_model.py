"""Elo explained by I, E, m and ep: a linear model on their logarithms, and the papers' claims.

Settings that differ in I alone are one training seen at different times, so trainings, not players,
are what is resampled for the intervals (cluster bootstrap).
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy import stats

from experiments import published
from experiments.claims import decisions, inference
from experiments.hyperparameters import pareto

LETTERS: Final = ("I", "E", "m", "ep")
RESAMPLES: Final = 2000
_TAILS: Final = (0.025, 0.975)


@dataclasses.dataclass(frozen=True)
class Data:
    """P rated players.

    Attributes:
      values: float[P, 4], I, E, m, ep.
      elo: float[P].
      covariance: float[P, P], of the ratings, from the games.
      seconds: float[P, 2], self-play and training of the run alone.
      cluster: int[P], the number of the training.
      seed: int[P].
    """

    values: np.ndarray
    elo: np.ndarray
    covariance: np.ndarray
    seconds: np.ndarray
    cluster: np.ndarray
    seed: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """float[P], seconds."""
        return self.seconds.sum(1)


@dataclasses.dataclass(frozen=True)
class Effect:
    """A number and its 95 % interval; NaN where there is none.

    `of_networks`: the interval is about these very networks, for want of seeds, and decides nothing
    about their settings.
    """

    value: float
    low: float
    high: float
    of_networks: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        """(low, high)."""
        return self.low, self.high

    def judge(self, direction: str, margin: float) -> str:
        """A verdict of `decisions`: an interval inside the margin is no effect."""
        if math.isnan(self.low) or self.of_networks:
            return decisions.UNDECIDED
        if -margin < self.low and self.high < margin:
            return decisions.EQUIVALENT
        if self.low > 0 or self.high < 0:
            held = (self.low > 0) == (direction == "greater")
            return decisions.REPRODUCED if held else decisions.CONTRADICTED
        return decisions.UNDECIDED


def slopes(values: np.ndarray, response: np.ndarray) -> np.ndarray:
    """float[4]: change of the response for each doubling of a letter, others equal; NaN for a
    letter that does not vary.

    Args:
      values: float[P, 4].
      response: float[P].
    """
    logs = np.log2(values)
    varies = np.ptp(logs, axis=0) > 0
    design = np.column_stack([np.ones(len(values)), logs[:, varies]])
    found = np.full(values.shape[1], np.nan)
    found[varies] = np.linalg.lstsq(design, response, rcond=None)[0][1:]
    return found


def fit(data: Data) -> dict[str, Any]:
    """The model for results.json: slopes of Elo and of log2 cost with intervals, R squared."""
    found = _bootstrap(data, lambda d: np.concatenate([slopes(d.values, d.elo), _of_cost(d)]))
    logs = np.log2(data.values)
    design = np.column_stack([np.ones(len(logs)), logs])
    fitted = design @ np.linalg.lstsq(design, data.elo, rcond=None)[0]
    left, all_of_it = ((data.elo - fitted) ** 2).sum(), ((data.elo - data.elo.mean()) ** 2).sum()
    return {
        "elo_for_each_doubling": dict(zip(LETTERS, map(_plain, found[:4]), strict=True)),
        "log2_cost_for_each_doubling": dict(zip(LETTERS, map(_plain, found[4:]), strict=True)),
        "explained": float(1 - left / all_of_it) if all_of_it else math.nan,
    }


def _plain(effect: Effect) -> dict[str, float]:
    return {"value": effect.value, "low": effect.low, "high": effect.high}


def _of_cost(data: Data) -> np.ndarray:
    return slopes(data.values, np.log2(data.total))


def _bootstrap(data: Data, statistic: Callable[[Data], np.ndarray]) -> list[Effect]:
    """The statistics with 95 % intervals: Student's t times the spread over resampled trainings.

    The spread is widened, and the degrees of freedom are lessened, by the model's parameters:
    resampled residuals are too small by that. No interval where there are no more trainings.
    """
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(data.cluster == c) for c in np.unique(data.cluster)]
    value, freedom = statistic(data), len(members) - len(LETTERS) - 1
    if freedom < 1:
        return [Effect(float(x), math.nan, math.nan) for x in value]
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(members), size=len(members))
        drawn.append(statistic(_pick(data, np.concatenate([members[c] for c in chosen]))))
    error = np.std(np.array(drawn), axis=0) * math.sqrt(len(members) / freedom)
    reach = stats.t.ppf(_TAILS[1], freedom) * error
    return [Effect(float(x), float(x - r), float(x + r)) for x, r in zip(value, reach, strict=True)]


def _pick(data: Data, index: np.ndarray) -> Data:
    return dataclasses.replace(
        data, values=data.values[index], elo=data.elo[index], seconds=data.seconds[index]
    )


# ---- the papers' claims


def claims(data: Data) -> list[dict[str, Any]]:
    """Verdicts on what the papers say of the four hyper-parameters (`claims_correlation.json`)."""
    found = []
    for claim in (published.load("claims_correlation") or {})["claims"]:
        effect = _effect(claim, data)
        found.append(
            {k: claim[k] for k in ("id", "words", "where", "statistic", "direction", "margin")}
            | {
                "verdict": effect.judge(claim["direction"], claim["margin"]),
                "effect": effect.value,
                "interval": effect.interval,
                "of_networks": effect.of_networks,
            }
        )
    return found


def _effect(claim: Mapping[str, Any], data: Data) -> Effect:
    statistic = claim["statistic"]
    if statistic == "corner":
        return _corner(data)
    if statistic == "front_epochs":
        return _front_epochs(data)
    plus, minus = ([LETTERS.index(x) for x in claim[side]] for side in ("plus", "minus"))

    def difference(d: Data) -> np.ndarray:
        each = slopes(d.values, d.elo)
        if statistic == "slope_at_cost":
            each = each / _of_cost(d)
        return np.array([each[plus].mean() - (each[minus].mean() if minus else 0.0)])

    return _bootstrap(data, difference)[0]


def _corner(data: Data) -> Effect:
    """At the largest I, E and m: Elo of the middle ep less that of the largest."""
    epochs = np.unique(data.values[:, 3])
    middle, most = epochs[len(epochs) // 2], epochs[-1]
    top = (data.values[:, :3] == data.values[:, :3].max(0)).all(1)

    def gap(index: np.ndarray, elo: np.ndarray) -> float:
        own = data.values[index, 3]
        if middle not in own or most not in own:
            return math.nan
        return float(elo[own == middle].mean() - elo[own == most].mean())

    return _over_seeds(data, np.flatnonzero(top), gap)


def _front_epochs(data: Data) -> Effect:
    """At the largest I and E: mean of log2 ep on the front over total cost, less that of all."""
    panel = np.flatnonzero((data.values[:, :2] == data.values[:, :2].max(0)).all(1))

    def excess(index: np.ndarray, elo: np.ndarray) -> float:
        logs = np.log2(data.values[index, 3])
        return float(logs[pareto.front(data.total[index], elo)].mean() - logs.mean())

    return _over_seeds(data, panel, excess)


def _over_seeds(
    data: Data, index: np.ndarray, statistic: Callable[[np.ndarray, np.ndarray], float]
) -> Effect:
    """The mean over seeds of a statistic of some players, (their numbers, their Elo) -> number.

    Its interval is from the spread over seeds; with fewer than `inference.FEWEST` it is over
    ratings drawn from their errors, of these networks.
    """
    parts = [index[data.seed[index] == seed] for seed in np.unique(data.seed)]
    parts = [part for part in parts if len(part)]

    def mean(elo: np.ndarray) -> float:
        return float(np.mean([statistic(part, elo[part]) for part in parts]))

    if len(parts) >= inference.FEWEST:
        each = np.array([statistic(part, data.elo[part]) for part in parts])
        found = inference.estimate([each])
        return Effect(found.effect, *found.interval)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(
        data.elo, data.covariance, size=RESAMPLES, check_valid="ignore", method="eigh"
    )
    low, high = np.quantile([mean(elo) for elo in draws], _TAILS)
    return Effect(mean(data.elo), float(low), float(high), of_networks=True)


def fronts(data: Data) -> dict[str, list[dict[str, float]]]:
    """Pareto fronts of Elo at the largest I and E over self-play and total time (000, Fig. 6).

    Values are means over seeds.
    """
    panel = (data.values[:, :2] == data.values[:, :2].max(0)).all(1)
    pairs = sorted({(m, ep) for m, ep in data.values[panel][:, 2:].tolist()})
    elo: list[float] = []
    selfplay: list[float] = []
    total: list[float] = []
    for m, ep in pairs:
        own = panel & (data.values[:, 2] == m) & (data.values[:, 3] == ep)
        elo.append(float(data.elo[own].mean()))
        selfplay.append(float(data.seconds[own, 0].mean()))
        total.append(float(data.total[own].mean()))
    return {
        name: [
            {"m": pairs[i][0], "ep": pairs[i][1], "elo": elo[i], "seconds": cost[i]}
            for i in pareto.front(cost, elo)
        ]
        for name, cost in (("selfplay", selfplay), ("total", total))
    }


def collect(
    players: Sequence[Mapping[str, Any]], elo: Sequence[float] | np.ndarray, covariance: np.ndarray
) -> Data:
    """Players as results.json describes them, with their ratings, the first P of a tournament."""
    trainings = list(dict.fromkeys(p["training"] for p in players))
    count = len(players)
    return Data(
        values=np.array([[p["values"][x] for x in LETTERS] for p in players], float),
        elo=np.asarray(elo, float)[:count],
        covariance=np.asarray(covariance, float)[:count, :count],
        seconds=np.array([[p["seconds"][x] for x in ("selfplay", "training")] for p in players]),
        cluster=np.array([trainings.index(p["training"]) for p in players]),
        seed=np.array([p["seed"] for p in players]),
    )
