"""What the figures should be, on two CPU cores: the limits that work on speed is held to."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks import search, training


class Target(NamedTuple):
    """A limit of one figure."""

    what: str  # for people
    figure: str  # its name in the file of figures
    field: str  # `value`, or a key of its details
    at_most: bool  # a limit from above (True) or from below (False)
    limit: float  # the number
    unit: str = ""  # of the number


def _over_network(algorithm: str, m: int, limit: float) -> Target:
    point = search.Point(algorithm, m, 50)
    what = f"{algorithm} search, m = {m}, over the bare network"
    return Target(what, search.name(point), "over_floor", True, limit)


def _trains(channels: int, limit: float) -> Target:
    what = f"training, {channels} channels, of the matmul rate"
    return Target(what, training.name(training.Point(channels, 1)), "matmul_fraction", False, limit)


def _together(channels: int) -> Target:
    point = training.Point(channels, 1, members=8, mode="map")
    what = f"population of 8 (map), {channels} channels, over one after another"
    return Target(what, training.name(point), "over_floor", True, 1.05)


def _plays(channels: int, part: str, limit: float) -> Target:
    name = f"selfplay/othello_6x6 {channels}ch m=100 50 games{part}"
    what = f"self-play, {channels} channels"
    return Target(what, name, "value", False, limit, "simulations/s")


TARGETS: Sequence[Target] = (
    *(_over_network("puct", m, 1.2) for m in (100, 600)),
    *(_over_network("gumbel", m, 1.5) for m in (100, 600)),
    *(_trains(channels, limit) for channels, limit in ((64, 0.45), (256, 0.60), (512, 0.65))),
    *(_together(channels) for channels in (32, 64)),
    _plays(64, "", 35_000),
    _plays(512, " one move", 1_150),
    Target("quick preset, cold: compiling", "start/quick cold, compiling", "value", True, 25, "s"),
    Target(
        "quick preset, warm: until training begins",
        "start/quick warm, until training begins", "value", True, 8, "s",
    ),
    Target(
        "host between iterations, of the time",
        "start/quick host between iterations", "value", True, 0.03,
    ),
)  # fmt: skip


def measured(target: Target, figures: Sequence[dict[str, Any]]) -> float | None:
    """The number that a target limits; None if it was not measured."""
    for record in figures:
        if record["figure"] == target.figure:
            return record["value"] if target.field == "value" else record["details"][target.field]
    return None


def is_met(target: Target, number: float) -> bool:
    """Whether the number keeps the limit."""
    return number <= target.limit if target.at_most else number >= target.limit
