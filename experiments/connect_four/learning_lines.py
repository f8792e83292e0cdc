"""Accuracy, cost and diversity by network, ours and published (Clausen 2021, Figs. 1 to 13)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from experiments import published
from experiments.configs.connect_four_extensions import TEACHER

PUBLISHED: Final = "clausen_extensions"
INGREDIENTS: Final = "clausen_efficiency"  # Figs. 1 to 7
MOVE_MS: Final = 7.8  # of the authors' extended network on their machine (clausen_extensions.json)
LEVELS: Final = (86, 88, 90, 91)  # percent, whose cost the paper's figures are read by

# By `as_drawn`: where published networks stand.
AXES: Final = {
    False: "Published networks stand at what they had cost when they were trained; the paper's "
    "figures draw them one iteration later.",
    True: "Published networks stand where the paper's figures draw them, one iteration too late: "
    "at a cost that includes the games that they play themselves.",
}


@dataclass(frozen=True)
class Line:
    """One run. All arrays are [N], by network, in the order of training; NaN where not known."""

    seed: int  # of the run; published ones are numbered
    network: np.ndarray  # iterations of games that it was trained on
    hours: np.ndarray  # of self-play that it had cost: positions searched times the time of a move
    # the same with the authors' time of a move, so that runs of any machine compare
    paper_hours: np.ndarray
    accuracy: np.ndarray  # with search, percent
    alone: np.ndarray  # without search, percent
    # new positions over positions played, of the newest games that it was trained on
    diversity: np.ndarray
    grown: tuple[int, ...] = ()  # networks that are the first of their width

    def accuracy_of(self, network: int) -> float:
        """In percent; NaN where it is not known."""
        found = self.accuracy[self.network == network]
        return float(found[0]) if len(found) else np.nan

    def growth(self, network: int) -> float:
        """Accuracy of a network less that of the one before it; NaN where one is not known."""
        return self.accuracy_of(network) - self.accuracy_of(network - 1)


Lines = Mapping[str, tuple[Line, ...]]  # by arm


def of_arms(arms: list[dict[str, Any]], channels: int = 0) -> dict[str, tuple[Line, ...]]:
    """Of a study's results.json; the untrained network, which has cost nothing, is left out.

    `channels`: of the study's networks, which stand for the authors' 128 where some are narrower
    or wider. A search of the first arm that shares no searches takes the authors' time; of another
    such arm as many times that as it has more simulations. What the arm `teacher` had cost
    is added to those who learn its features.
    """
    lengths = [_length(arm) for arm in arms]
    usual = next(filter(None, lengths), 0.0)
    found = {
        arm["arm"]: tuple(_measured(arm, run, channels, own) for run in arm["runs"])
        for arm, own in zip(arms, [x / usual if x else 1.0 for x in lengths], strict=True)
    }
    for arm in (arm["arm"] for arm in arms if arm.get("changes", {}).get("train.teacher")):
        found[arm] = tuple(_later(line, found[TEACHER]) for line in found[arm])
    return found


def _later(line: Line, before: Sequence[Line]) -> Line:
    """After other runs had ended, by their mean cost."""
    cost = {
        name: getattr(line, name) + float(np.mean([getattr(one, name)[-1] for one in before]))
        for name in ("hours", "paper_hours")
    }
    return replace(line, **cost)


def _length(arm: Mapping[str, Any]) -> float:
    """Simulations of a search, mean over an arm's runs; 0 where several moves share a search."""
    ends = [run["points"][-1] for run in arm["runs"]]
    if any(end["asked"] != end["searches"] for end in ends):
        return 0.0
    return sum(end["simulations"] for end in ends) / sum(end["searches"] for end in ends)


def _milliseconds(channels: np.ndarray, base: int) -> np.ndarray:
    """Of a search on the authors' machine, by the width of the network over the usual one."""
    known = (published.load(PUBLISHED) or {})["milliseconds"]["by_channels"]
    widths, times = zip(*((int(width), ms) for width, ms in known.items()), strict=True)
    relative = np.interp(np.log2(128 * channels / base), np.log2(widths), times)
    return np.where(channels == base, MOVE_MS, relative)


def _paper_hours(points: list[dict[str, Any]], base: int) -> np.ndarray:
    """float[N] of the points but the first: searches made, each at the authors' time of it.

    `base`: usual number of channels; 0: the network of all searches is theirs.
    """
    made = [point["searches_by_channels"] for point in points[1:]]
    widths = list(made[-1])
    counts = np.array([[one.get(width, 0.0) for width in widths] for one in made])
    ms = _milliseconds(np.array(widths, float), base) if base else MOVE_MS * np.ones(len(widths))
    return counts @ ms / 3.6e6


def _measured(arm: Mapping[str, Any], run: Mapping[str, Any], channels: int, length: float) -> Line:
    points = [point for point in run["points"] if point["iteration"]]
    widths = [point.get("channels", channels) for point in run["points"]]

    def column(name: str, factor: float = 1.0) -> np.ndarray:
        known = [point.get(name) for point in points]
        return factor * np.array([np.nan if x is None else x for x in known], float)

    return Line(
        seed=run["seed"],
        network=column("iteration"),
        hours=column("hours"),
        paper_hours=length * _paper_hours(run["points"], channels),
        accuracy=column("search", 100),
        alone=column("network", 100),
        diversity=column("new_share"),
        grown=tuple(
            point["iteration"]
            for point, before, now in zip(points, widths, widths[1:], strict=False)
            if now != before
        ),
    )


def of_paper(*, as_drawn: bool = False) -> dict[str, tuple[Line, ...]]:
    """The published curves, by arm; where networks stand: see `AXES`."""
    extensions = published.load(PUBLISHED) or {"curves": {}}
    ingredients = published.load(INGREDIENTS) or {"curves": {}}
    found = {
        name: tuple(_unnumbered(i, points, as_drawn) for i, points in enumerate(_runs(curve)))
        for name, curve in ingredients["curves"].items()
    }
    return found | {
        name: tuple(_numbered(i, run, curve, as_drawn) for i, run in enumerate(curve["runs"]))
        for name, curve in extensions["curves"].items()
    }


def _runs(curve: Mapping[str, Any]) -> list[list[list[float]]]:
    return curve["runs"] or [curve["mean"]]


def placed(points: list[list[float]], *, as_drawn: bool) -> np.ndarray:
    """float[2, N], hours and accuracies of a curve of Figs. 1 to 7.

    Without its first point, which lies on the figure's border. `as_drawn` as in `of_paper`: else
    each network stands where the one before it was drawn, the first one by the distance to the
    second.
    """
    hours, accuracy = np.array(points[1:]).T
    before = np.concatenate([[2 * hours[0] - hours[1]], hours[:-1]])
    return np.array([hours if as_drawn else before, accuracy])


def _unnumbered(place: int, points: list[list[float]], as_drawn: bool) -> Line:
    """A curve of which it is not known which network is which."""
    hours, accuracy = placed(points, as_drawn=as_drawn)
    unknown = np.full(len(hours), np.nan)
    return Line(place, unknown, hours, hours, accuracy, unknown, unknown)


def _numbered(place: int, run: Mapping[str, Any], curve: Mapping[str, Any], as_drawn: bool) -> Line:
    """A run of a curve, networks 1, 2, ...; what was not drawn of them is NaN."""
    first, drawn, diversity = run["first"], run["hours"], run.get("diversity", [])
    network = np.arange(1, first + len(drawn))
    ends = network if as_drawn else network - 1  # the last iteration of games that counts
    known = np.concatenate([[-1], np.arange(first, first + len(drawn))])
    hours = np.interp(ends, known, [curve.get("teacher_hours", 0.0), *drawn])
    accuracy = np.full(len(network), np.nan)
    accuracy[first - 1 :] = run["accuracy"]
    of_games = [diversity[i] if i < len(diversity) else np.nan for i in ends]
    unknown = np.full(len(network), np.nan)
    new, grown = np.array(of_games, float), tuple(curve.get("grown", ()))
    return Line(place, network, hours, hours, accuracy, unknown, new, grown)


def hours_to(hours: np.ndarray, accuracy: np.ndarray, level: float) -> float | None:
    """Cost at which a curve first reaches a level, by interpolation; None: never."""
    above = np.flatnonzero(accuracy >= level)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(hours[0])
    share = (level - accuracy[i - 1]) / (accuracy[i] - accuracy[i - 1])
    return float(hours[i - 1] + share * (hours[i] - hours[i - 1]))


def mean_line(lines: Sequence[Line], axis: str, measured: str) -> tuple[np.ndarray, np.ndarray]:
    """(x, y) float[N] of the networks that all runs have; means over the runs."""
    if not lines:
        return np.empty(0), np.empty(0)
    known = [line.network[np.isfinite(getattr(line, measured))] for line in lines]
    shared = set.intersection(*map(set, known))
    rows = [np.flatnonzero(np.isin(line.network, list(shared))) for line in lines]
    pairs = list(zip(lines, rows, strict=True))
    x, y = (
        np.array([getattr(line, name)[own] for line, own in pairs]).mean(axis=0)
        for name in (axis, measured)
    )
    return x, y
