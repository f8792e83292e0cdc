"""What the suite is made of: cases, each of which measures one or a few figures."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """One figure.

    Attributes:
      value: as measured.
      unit: of the value and of the floor.
      floor: what the device could do at best, measured in turns with the value; None where nothing
        of the kind exists (a share, a number of bytes).
      against: what the floor is.
      fraction: how much of the floor is reached, at most about 1: floor / value for seconds,
        value / floor for rates.
      details: further numbers of the same measurement.
    """

    value: float
    unit: str
    floor: float | None = None
    against: str = ""
    fraction: float | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Case(NamedTuple):
    """Something to measure in one go.

    Attributes:
      name: `family/...`, unique in a preset.
      settings: everything that decides the figures; they are measured again when it changes.
      run: () -> figures by name; `""` is the case's own name, others are added behind it.
      guess: seconds that it may take, for the time left.
      first: cases with smaller numbers go first, so that a short budget measures what matters.
    """

    name: str
    settings: Mapping[str, Any]
    run: Callable[[], Mapping[str, Measured]]
    guess: float = 10.0
    first: int = 1


def seconds(value: float, floor: float, against: str, **details: Any) -> Measured:
    """A time, against the time that nothing could be faster than."""
    return Measured(
        value=value,
        unit="s",
        floor=floor,
        against=against,
        fraction=floor / value,
        details={"over_floor": value / floor, **details},
    )


def rate(value: float, unit: str, ceiling: float, against: str, **details: Any) -> Measured:
    """A rate, against the largest one possible."""
    return Measured(
        value=value,
        unit=unit,
        floor=ceiling,
        against=against,
        fraction=value / ceiling,
        details=details,
    )
