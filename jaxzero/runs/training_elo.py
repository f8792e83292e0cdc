"""Training Elo: a run's candidates rated by its own arena games (Wang 2020, section 6.3.2)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from jaxzero.matches import tournament
from jaxzero.ratings import bayes_elo

_NEEDED: Final = (
    "arena/opponent",
    *(f"arena/{result}" for result in ("wins", "draws", "losses")),
    *(f"arena/{result}_moving_first" for result in ("wins", "draws", "losses")),
)


def rate(rows: Iterable[Mapping[str, Any]], *, published: bool) -> dict[str, Any] | None:
    """Ratings of one run's candidates, iteration i against the best network of its time.

    Args:
      published: as the papers' program: 32.8 Elo for the newer network, who is listed first, and
        BayesElo's draw rate; else the advantage of whoever moves first and draws, both fitted, as
        in tournaments.

    Returns:
      `iterations` int[N], `elo` and `stderr` float64[N], the pool's mean 0; None without games, or
      where a row is lost and the networks before it never met those after it.
    """
    games: list[list[int]] = []
    candidates, opponents = set(), set()
    for row in rows:
        if any(row.get(name) is None for name in _NEEDED):
            continue
        new, best = int(row["iteration"]), int(row["arena/opponent"])
        candidates.add(new)
        opponents.add(best)
        every = [int(row[f"arena/{result}"]) for result in ("wins", "draws", "losses")]
        first = [int(row[f"arena/{r}_moving_first"]) for r in ("wins", "draws", "losses")]
        if published:
            games.append([new, best, *every])
        else:
            second = [a - b for a, b in zip(every, first, strict=True)]
            games += [[new, best, *first], [best, new, *second[::-1]]]
    if len(opponents - candidates) != 1:  # the first of all; one more for each row that parts them
        return None
    results = np.array(games, np.int64)
    iterations, numbers = np.unique(results[:, :2], return_inverse=True)
    results[:, :2] = numbers.reshape(-1, 2)
    if published:
        rated = bayes_elo(results, num_players=len(iterations))
    else:
        rated = tournament.fit(results, len(iterations))
    return {"iterations": iterations.tolist(), "elo": rated.elo, "stderr": rated.stderr}
