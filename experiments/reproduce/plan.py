"""Which parts of a paper are run here, and what they are expected to take."""

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.hyperparameters.groups import parse_shard
from experiments.pages.tables import Table, table
from experiments.pages.wording import duration
from experiments.reproduce import forecast, parts
from experiments.reproduce.forecast import Forecast
from experiments.reproduce.papers import Paper, Part
from jaxzero.runs.hardware import Hardware
from jaxzero.runs.memory import mebibytes
from jaxzero.settings.config import ConfigError, nearest


class Planned(NamedTuple):
    """A part, how far it is, and what it will take."""

    part: Part
    state: str
    forecast: Forecast
    memory: int | None


def chosen(paper: Paper, only: Sequence[str]) -> tuple[Part, ...]:
    """The parts whose name has one of the words, or matches it (`*othello*`); all for no word.

    ConfigError: a word that is of no part.
    """
    found: set[Part] = set()
    for word in only:
        own = {p for p in paper.parts if word in p.name.split(".") or fnmatch.fnmatch(p.name, word)}
        if not own:
            known = dict.fromkeys(each for p in paper.parts for each in p.name.split("."))
            raise ConfigError(f"--only={word}: {paper.cited} has no such part, "
                              f"{nearest(word, list(known))}")  # fmt: skip
        found |= own
    return tuple(part for part in paper.parts if not only or part in found)


def share(selected: Sequence[Part], hours: Mapping[Part, float], shard: str) -> tuple[Part, ...]:
    """Of `i/k` shares the i-th, the longest parts dealt out first, each to that with least to do.

    `hours`: of the parts, the same on every machine.
    """
    number, count = parse_shard(shard)
    loads, mine = [0.0] * count, set()
    for part in sorted(selected, key=lambda part: (-hours[part], part.name)):
        least = loads.index(min(loads))
        loads[least] += hours[part]
        if least == number - 1:
            mine.add(part)
    return tuple(part for part in selected if part in mine)


def deal(selected: Sequence[Part], scale: str, count: int) -> list[tuple[Part, ...]]:
    """All shares, at most `count`."""
    hours = _hours(selected, scale)
    count = min(count, len(selected))
    return [share(selected, hours, f"{i}/{count}") for i in range(1, count + 1)]


def make(
    paper: Paper, scale: str, only: Sequence[str], shard: str, folder: Path, machine: Hardware
) -> list[Planned]:
    """What this machine is to do, in order; `folder`: of the run directories.

    ConfigError: a word of no part, a share that is none.
    """
    selected = chosen(paper, only)
    hours = _hours(selected, scale)
    return [
        Planned(
            part,
            parts.state_of(part, folder).state,
            forecast.of(part, scale, machine.platform, machine.count),
            forecast.memory(part, scale, machine),
        )
        for part in share(selected, hours, shard)
    ]


def _hours(selected: Sequence[Part], scale: str) -> dict[Part, float]:
    """On a CPU whatever the machine, so that all machines share out alike."""
    return {part: forecast.of(part, scale, "cpu").hours for part in selected}


def shown(plan: Sequence[Planned], max_minutes: float) -> Table:
    """The plan as a table, with the part in which the minutes are over."""
    cuts, spent = {}, 0.0
    for one in plan:
        if one.state != parts.FINISHED:
            begun, spent = spent, spent + 60 * one.forecast.hours
            if max_minutes and spent > max_minutes:
                cuts[one.part] = "cut here" if begun < max_minutes else "not reached"
    return table(
        "Plan",
        plan,
        {
            "part": lambda one: one.part.name,
            "state": lambda one: cuts.get(one.part, one.state),
            "runs": lambda one: str(one.forecast.runs),
            "time, forecast": lambda one: duration(3600 * one.forecast.hours),
            "memory": lambda one: None if one.memory is None else mebibytes(one.memory),
        },
        f"About {duration(60 * spent)} are left (forecast, right to a factor of two or three).",
        text_columns=2,
    )
