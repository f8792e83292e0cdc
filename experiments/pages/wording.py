"""How numbers are written in tables and sentences. What is absent is said, never left blank."""

import math
from collections.abc import Sequence
from typing import Any, Final

ABSENT: Final = "not recorded"
NONE: Final = "\N{EN DASH}"  # where no value can exist
TIMES: Final = "\N{MULTIPLICATION SIGN}"
_MINUS: Final = "\N{MINUS SIGN}"
_GLUE: Final = "\N{NO-BREAK SPACE}"


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


def interval(ends: Sequence[float | None] | None, digits: int = 0) -> str:
    """`-3 to 5`; a dash where there is none."""
    if ends is None or any(end is None or math.isnan(end) for end in ends):
        return NONE
    return " to ".join(number(float(end), digits) for end in ends if end is not None)


def percent(fraction: float) -> str:
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
