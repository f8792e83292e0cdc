"""Searches with random options against the plain-Python search of `tests/oracles`."""

import random
from typing import Any

from jaxzero.search import SearchOptions
from tests.search import common

BATCHES = 25  # of `common.LANES` positions, with the options of a number
# The first of each is the default.
_LEVELS: dict[str, tuple[Any, ...]] = {
    "unvisited_q": (0.0, -0.3, 0.85),
    "q_scale": ("signed", "unit"),
    "exploration": ("sqrt_total", "sqrt_total_plus"),
    "renormalise_prior": (True, False),
    "draw_value": (0.0, 0.4, -0.5),
    "draw_for_asked": (0.0, 0.0, -1.0, 1e-4),
    "discount": (1.0, 0.8),
    "root_expansion_counts": (False, True),
    "propagate_results": (False, False, True),
    "capacity": (common.CAPACITY, common.CAPACITY, 20),
}


def options_of(rng: random.Random) -> SearchOptions:
    """Options that go together; each is the default, or another, as likely."""
    while True:
        chosen = {name: rng.choice(levels) for name, levels in _LEVELS.items()}
        try:
            return SearchOptions(**chosen)
        except ValueError:
            continue


def compare(number: int) -> tuple[int, list[str]]:
    """Searches of a number: one game and one set of options, many positions, m and c.

    Returns:
      how many there were, and what differed.
    """
    rng = random.Random(number)
    name, options, differs = rng.choice(common.GAMES), options_of(rng), []
    for _ in range(BATCHES):
        games = [common.random_game(name, rng.randrange(40)) for _ in range(common.LANES)]
        positions = [rng.choice(game[:-1]) for game in games]
        m, c = rng.randint(2, 60), rng.choice((0.5, 1.0, 1.5, 3.0))
        try:
            common.check_search(name, positions, m, c, options)
        except AssertionError as error:
            said = " ".join(str(error).split())[:200]
            differs.append(f"{name} {options}, m={m}, c={c}: {said}")
    common.compiled.cache_clear()  # no other number has this program
    return BATCHES * common.LANES, differs
