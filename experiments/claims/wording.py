"""Contrasts in words."""

from typing import Final

from experiments.claims.papers import Contrast
from experiments.pages.style import SYMBOLS
from experiments.pages.wording import game_title, number

_RELATIONS: Final = {
    "greater": "> 0",
    "less": "< 0",
    "equal": "= 0",
    "different": "≠ 0",
    "not_greater": "≤ 0",
}


def words_of(contrast: Contrast) -> str:
    """What is compared and what is claimed of it: `training Elo gain: l+ - lp > 0`."""
    claimed = _RELATIONS[contrast.direction].replace("0", f"{contrast.than:g}")
    return f"{subject_of(contrast)} {claimed}".strip()


def subject_of(contrast: Contrast) -> str:
    """What is compared: `training Elo gain: l+ - lp`."""
    sides = [[SYMBOLS.get(t, t) for t in side] for side in (contrast.plus, contrast.minus) if side]
    named = [side[0] if len(side) == 1 else f"mean({', '.join(side)})" for side in sides]
    what = f" {number(-1)[0]} ".join(named)
    if contrast.against:
        what = f"({what}, more than on {game_title(contrast.against)})"
    statistic = contrast.statistic.replace("_", " ").replace("elo", "Elo")
    return ": ".join(filter(None, [statistic, what]))
