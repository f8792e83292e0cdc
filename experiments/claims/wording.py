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
# Statistics whose names in the files of claims do not say by themselves what they are.
_STATISTICS: Final = {
    "slope": "Elo for a doubling",
    "slope_at_cost": "Elo for a doubling of the cost",
    "slope_at_published_cost": "Elo for a doubling of the papers' hours",
    "time_slope": "Elo for a doubling of the time",
    "top_slope": "Elo for a doubling at the largest I and E",
    "corner": "Elo at the largest I, E and m",
    "front_epochs": "log2 of ep on the Pareto front",
    "selfplay_front_epochs": "log2 of ep on the Pareto front over self-play's time",
    "early": "share of games won early",
    "late": "share of games won late",
    "late_gain": "gain in the share of games won late",
    "accuracy": "best moves with search, %",
    "search_gain": "best moves with search less without, %",
    "moves": "right moves, %",
    "results": "right results, %",
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
    name = contrast.statistic
    statistic = _STATISTICS.get(name, name.replace("_", " ").replace("elo", "Elo"))
    return ": ".join(filter(None, [statistic, what]))
