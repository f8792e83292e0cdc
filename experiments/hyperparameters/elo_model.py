"""Elo explained by I, E, m and ep: a linear model on their logarithms, and the papers' claims.

From `inference.FEWEST` seeds on all is fitted seed by seed: trainings of a seed begin alike. With
fewer the intervals are about these networks alone and decide nothing; trainings, not players, are
then resampled, as settings that differ in I alone are one training seen at different times.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from experiments import published
from experiments.claims import decision, inference, papers
from experiments.claims.inference import Estimate
from experiments.claims.papers import CORRELATION, Contrast
from experiments.hyperparameters import pareto
from experiments.hyperparameters.settings import VARIED

PAPER: Final = "wang2021_sweep"
RESAMPLES: Final = 2000
PHASES: Final = ("selfplay", "training")  # whose time is counted, in the order of `Data.seconds`
Interval: TypeAlias = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Data:
    """P rated players."""

    values: np.ndarray  # float[P, 4], I, E, m, ep
    elo: np.ndarray  # float[P]
    covariance: np.ndarray  # float[P, P], of the ratings, from the games
    seconds: np.ndarray  # float[P, 2], self-play and training of the run alone
    cluster: np.ndarray  # int[P], the number of the training
    seed: np.ndarray  # int[P]

    @property
    def total(self) -> np.ndarray:
        """float[P], seconds."""
        return self.seconds.sum(1)


def slopes(values: np.ndarray, response: np.ndarray) -> np.ndarray:
    """float[4]: change of the response for each doubling of a letter, others equal; NaN for a
    letter that does not vary. `values`: float[P, 4]; `response`: float[P].
    """
    logs = np.log2(values)
    varies = np.ptp(logs, axis=0) > 0
    design = np.column_stack([np.ones(len(values)), logs[:, varies]])
    found = np.full(values.shape[1], np.nan)
    found[varies] = np.linalg.lstsq(design, response, rcond=None)[0][1:]
    return found


def fit(data: Data) -> dict[str, Any]:
    """The model for results.json: slopes of Elo and of log2 cost with intervals, R squared."""
    both = _fitted(data, lambda d: np.concatenate([slopes(d.values, d.elo), _of_cost(d)]))
    found = [
        {"value": one.effect, "low": low, "high": high}
        for one, ends in both
        for low, high in [one.interval() if ends is None else ends]
    ]
    logs = np.log2(data.values)
    design = np.column_stack([np.ones(len(logs)), logs])
    fitted = design @ np.linalg.lstsq(design, data.elo, rcond=None)[0]
    left, all_of_it = ((data.elo - fitted) ** 2).sum(), ((data.elo - data.elo.mean()) ** 2).sum()
    return {
        "elo_for_each_doubling": dict(zip(VARIED, found[:4], strict=True)),
        "log2_cost_for_each_doubling": dict(zip(VARIED, found[4:], strict=True)),
        "explained": float(1 - left / all_of_it) if all_of_it else math.nan,
    }


def _of_cost(data: Data) -> np.ndarray:
    return slopes(data.values, np.log2(data.total))


def published_cost() -> np.ndarray:
    """float[4]: log2 of the papers' cost for each doubling of a letter, by the hours of a run at
    its minimum, default and maximum (Wang 2020, Tables 1 and 3: with the arena, one GPU).
    """
    theirs = published.load(PAPER) or {}
    lines = (
        np.polyfit(np.log2(theirs["table_1"][x]), np.log2(theirs["table_3"][x]["hours"]), 1)
        for x in VARIED
    )
    return np.array([line[0] for line in lines])


def _fitted(
    data: Data, statistic: Callable[[Data], np.ndarray]
) -> list[tuple[Estimate, Interval | None]]:
    """Statistics of the model over seeds; with few of them, the intervals of these networks."""
    seeds = [np.flatnonzero(data.seed == seed) for seed in np.unique(data.seed)]
    each = np.array([statistic(_pick(data, index)) for index in seeds])
    found = [inference.of_seeds(own) for own in each.T]  # nothing: a letter that does not vary
    if all(one.tested for one in found if one.seeds):
        return [(one, None) for one in found]
    return list(zip(found, _bootstrap(data, statistic), strict=True))


def _bootstrap(data: Data, statistic: Callable[[Data], np.ndarray]) -> list[Interval]:
    """Intervals over resampled trainings; NaN where there are too few.

    Resamples in which the letters do not vary as in the whole, each by itself, are drawn again. The
    spread is widened, and the degrees of freedom are lessened, by the model's parameters: resampled
    residuals are too small by that.
    """
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(data.cluster == c) for c in np.unique(data.cluster)]
    value, count = statistic(data), len(members)
    freedom = count - len(VARIED) - 1
    if freedom < 1:
        return [(math.nan, math.nan)] * len(value)
    varied, drawn = _rank(data), list[np.ndarray]()
    while len(drawn) < RESAMPLES:
        chosen = rng.integers(count, size=count)
        resample = _pick(data, np.concatenate([members[c] for c in chosen]))
        if _rank(resample) == varied:
            drawn.append(statistic(resample))
    error = np.std(np.array(drawn), axis=0) * math.sqrt(count / freedom)
    ends = [Estimate(float(x), float(e), count, freedom) for x, e in zip(value, error, strict=True)]
    return [one.interval() for one in ends]


def _rank(data: Data) -> int:
    """How many letters vary, each by itself."""
    logs = np.log2(data.values)
    return int(np.linalg.matrix_rank(logs - logs.mean(0)))


def _pick(data: Data, index: np.ndarray) -> Data:
    """Some players, which may be named twice; not their covariance, which no model uses."""
    columns = ("values", "elo", "seconds", "cluster", "seed")
    return dataclasses.replace(data, **{name: getattr(data, name)[index] for name in columns})


def _at_most(data: Data) -> np.ndarray:
    """bool[P]: whose I and E are the largest."""
    return (data.values[:, :2] == data.values[:, :2].max(0)).all(1)


# ---- the papers' claims


def claims(data: Data) -> list[dict[str, Any]]:
    """Verdicts on what the papers say of the four hyper-parameters, each claim by itself.

    `of_networks`: the interval is about these very networks, for want of seeds, and decides nothing
    about their settings.
    """
    found = []
    kept = ("id", "words", "where", "statistic", "plus", "minus", "direction", "margin")
    for claim in papers.claims(CORRELATION):
        [contrast] = claim.contrasts
        estimate, of_networks = _effect(contrast, data)
        [test] = decision.decide([contrast], [estimate])
        ends = test.interval if of_networks is None else of_networks
        found.append(
            {key: claim.raw[key] for key in kept if key in claim.raw}
            | {"verdict": test.verdict, "effect": estimate.effect, "interval": ends}
            | {"seeds": estimate.seeds, "seeds_to_decide": test.needed}
            | {"of_networks": of_networks is not None}
        )
    return found


def _effect(contrast: Contrast, data: Data) -> tuple[Estimate, Interval | None]:
    """The effect, and the interval of these networks where that is all there is."""
    statistic = contrast.statistic
    if statistic == "corner":
        return _corner(data)
    if statistic in ("front_epochs", "selfplay_front_epochs"):
        cost = data.total if statistic == "front_epochs" else data.seconds[:, 0]
        return _front_epochs(data, cost)
    if statistic == "time_slope":
        phase = [PHASES.index(contrast.plus[0])]
        return _fitted(data, lambda d: slopes(d.seconds[:, phase], d.elo))[0]
    plus, minus = ([VARIED.index(x) for x in side] for side in (contrast.plus, contrast.minus))
    if statistic == "top_slope":
        top = _pick(data, np.flatnonzero(_at_most(data)))
        return _fitted(top, lambda d: slopes(d.values, d.elo)[plus])[0]

    def difference(d: Data) -> np.ndarray:
        each = slopes(d.values, d.elo)
        if statistic == "slope_at_cost":
            each = each / _of_cost(d)
        if statistic == "slope_at_published_cost":
            each = each / published_cost()
        return np.array([each[plus].mean() - (each[minus].mean() if minus else 0.0)])

    return _fitted(data, difference)[0]


def _corner(data: Data) -> tuple[Estimate, Interval | None]:
    """At the largest I, E and m: Elo of the middle ep less that of the largest, if they differ."""
    epochs = np.unique(data.values[:, 3])
    middle, most = epochs[len(epochs) // 2], epochs[-1]
    top = (data.values[:, :3] == data.values[:, :3].max(0)).all(1)

    def gap(index: np.ndarray, elo: np.ndarray) -> float:
        own = data.values[index, 3]
        if middle == most or middle not in own or most not in own:
            return math.nan
        return float(elo[own == middle].mean() - elo[own == most].mean())

    return _over_seeds(data, np.flatnonzero(top), gap)


def _front_epochs(data: Data, cost: np.ndarray) -> tuple[Estimate, Interval | None]:
    """At the largest I and E: mean of log2 ep on the front over a cost, less that of all.

    Nothing of a seed whose ep does not vary.
    """
    panel = np.flatnonzero(_at_most(data))

    def excess(index: np.ndarray, elo: np.ndarray) -> float:
        logs = np.log2(data.values[index, 3])
        if not np.ptp(logs):
            return math.nan
        return float(logs[pareto.front(cost[index], elo)].mean() - logs.mean())

    return _over_seeds(data, panel, excess)


def _over_seeds(
    data: Data, index: np.ndarray, statistic: Callable[[np.ndarray, np.ndarray], float]
) -> tuple[Estimate, Interval | None]:
    """The mean over seeds of a statistic of some players, (their numbers, their Elo) -> number.

    Over the seeds that have it: of others it is NaN, as players that it needs are missing. With
    fewer than `inference.FEWEST` seeds there is an interval of these networks, over ratings drawn
    from their errors.
    """
    parts = [index[data.seed[index] == seed] for seed in np.unique(data.seed)]
    parts = [part for part in parts if len(part) and math.isfinite(statistic(part, data.elo[part]))]
    if not parts:
        return inference.NOTHING, (math.nan, math.nan)

    def each(elo: np.ndarray) -> np.ndarray:
        return np.array([statistic(part, elo[part]) for part in parts])

    found = inference.estimate([each(data.elo)])
    if found.tested:
        return found, None
    drawn = np.random.default_rng(0).multivariate_normal(
        data.elo, data.covariance, size=RESAMPLES, check_valid="ignore", method="eigh"
    )
    tails = (inference.LEVEL / 2, 1 - inference.LEVEL / 2)
    low, high = np.quantile([each(elo).mean() for elo in drawn], tails)
    return found, (float(low), float(high))


def fronts(data: Data) -> dict[str, list[dict[str, float]]]:
    """Pareto fronts of Elo at the largest I and E over self-play and total time (000, Fig. 6).

    Values are means over seeds.
    """
    panel = _at_most(data)
    pairs = sorted({(m, ep) for m, ep in data.values[panel][:, 2:].tolist()})
    players = [panel & (data.values[:, 2:] == pair).all(1) for pair in pairs]
    elo, selfplay, total = (
        [float(column[own].mean()) for own in players]
        for column in (data.elo, data.seconds[:, 0], data.total)
    )
    return {
        name: [
            {"m": pairs[i][0], "ep": pairs[i][1], "elo": elo[i], "seconds": cost[i]}
            for i in pareto.front(cost, elo)
        ]
        for name, cost in (("selfplay", selfplay), ("total", total))
    }


def gains(data: Data, untrained: Mapping[int, float]) -> list[dict[str, Any]]:
    """What training gained: Elo of all settings with a value less the untrained network's.

    Args:
      untrained: by seed, its Elo in the same tournament.

    Returns: a row for each letter and value, mean over seeds; `stderr` is over seeds, NaN of one.
    """
    base = np.array([untrained.get(int(seed), math.nan) for seed in data.seed])
    gain = data.elo - base
    rows = []
    for column, letter in enumerate(VARIED):
        for value in np.unique(data.values[:, column]):
            own = data.values[:, column] == value
            means = [gain[own & (data.seed == seed)].mean() for seed in np.unique(data.seed[own])]
            found = inference.estimate([np.array(means)])
            row = {"letter": letter, "value": float(value), "elo": found.effect}
            rows.append(row | {"stderr": found.stderr, "seeds": found.seeds})
    return rows


def collect(
    players: Sequence[Mapping[str, Any]], elo: Sequence[float] | np.ndarray, covariance: np.ndarray
) -> Data:
    """Players as results.json describes them, with their ratings, the first P of a tournament."""
    trainings = list(dict.fromkeys(p["training"] for p in players))
    count = len(players)
    return Data(
        values=np.array([[p["values"][x] for x in VARIED] for p in players], float),
        elo=np.asarray(elo, float)[:count],
        covariance=np.asarray(covariance, float)[:count, :count],
        seconds=np.array([[p["seconds"][x] for x in PHASES] for p in players]),
        cluster=np.array([trainings.index(p["training"]) for p in players]),
        seed=np.array([p["seed"] for p in players]),
    )
