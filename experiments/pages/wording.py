"""How numbers are written in tables and sentences. What is absent is said, never left blank."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from experiments import published
from jaxzero.ratings import DEFAULT_ADVANTAGE, displayed_scale

ABSENT: Final = "not recorded"
NONE: Final = "\N{EN DASH}"  # where no value can exist
NO_DATA: Final = "no published data"
PICTURE: Final = "published as a picture"  # no numbers, but something to look at
TIMES: Final = "\N{MULTIPLICATION SIGN}"
_MINUS: Final = "\N{MINUS SIGN}"
_GLUE: Final = "\N{NO-BREAK SPACE}"


def unpublished(section: str, game: str) -> str:
    """Why there are no published numbers of a board; `section` as in `published.is_pictured`."""
    return PICTURE if published.is_pictured(section, game) else NO_DATA


def moving_first(played: Mapping[str, Any]) -> str:
    """What it is worth in a tournament, on the scale of the ratings beside it.

    Rated as published, nothing is known of who moved first: then whom BayesElo favours.
    """
    elo = f"{number(played['advantage'] * displayed_scale(played['draw_elo']), 1)} Elo"
    if math.isclose(played["advantage"], DEFAULT_ADVANTAGE):  # fitted, it never is
        return f"rated as published: {elo} for the player listed first, whoever moved first"
    return f"moving first is worth {elo}"


def number(value: Any, digits: int = 0) -> str:
    """`1,234`, `-0.050` with a true minus sign; `NaN`, `∞` and `not recorded` where that is so."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", _MINUS)
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    text = f"{value:,.{digits}f}"
    is_zero = not any(digit in text for digit in "123456789")
    return text.removeprefix("-") if is_zero else text.replace("-", _MINUS)


def short(value: Any) -> str:
    """Six significant digits at most: `0.005`, `253.2`, `100`, `puct`."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}".replace("-", _MINUS)
    return number(value)


def plus_minus(value: float | None, error: float | None, digits: int = 0) -> str:
    """`12 ± 3`, or `12` where the error is not known."""
    if error is None or math.isnan(error):
        return number(value, digits)
    return f"{number(value, digits)}{_GLUE}±{_GLUE}{number(error, digits)}"


def maybe(value: float | None, digits: int = 0) -> str:
    """A number, or a dash where there is none."""
    return NONE if value is None or math.isnan(value) else number(value, digits)


def interval(bounds: Sequence[float | None] | None, digits: int = 0) -> str:
    """`-3 to 5`, or a dash where there is none."""
    low, high = bounds or (None, None)
    if low is None or high is None or math.isnan(low):
        return NONE
    return f"{number(float(low), digits)} to {number(float(high), digits)}"


def error_of_mean(values: ArrayLike) -> float:
    """Standard error of the mean of float[N]; NaN with fewer than two."""
    known = np.asarray(values, float)
    return float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan


def mean_and_error(values: ArrayLike, digits: int = 0) -> str:
    """Mean of float[N] ± its standard error."""
    known = np.asarray(values, float)
    return plus_minus(float(known.mean()), error_of_mean(known), digits)


def mean_and_sd(values: ArrayLike) -> str:
    """Mean of float[N] ± their standard deviation."""
    known = np.asarray(values, float)
    spread = float(known.std(ddof=1)) if len(known) > 1 else math.nan
    return plus_minus(float(known.mean()), spread)


def percent(fraction: float) -> str:
    """`12.3 %` of 0.123."""
    return ABSENT if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def duration(seconds: float | None) -> str:
    """`41 s`, `13.5 min` or `2.3 h`."""
    if seconds is None:
        return ABSENT
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.3g} s"


def joined(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def plural(count: int, noun: str, several: str | None = None) -> str:
    """`1 seed`, `2 seeds`; `several` where it takes more than an s."""
    return f"{number(count)} {noun if count == 1 else several or f'{noun}s'}"


def game_title(game: str) -> str:
    """`connect_four_5x5` -> `Connect Four 5x5`, with a multiplication sign."""
    words = [
        word if not word[0].isdigit() else word.replace("x", TIMES)
        for word in game.split("_")
        if word
    ]
    return " ".join(word[0].upper() + word[1:] for word in words)
