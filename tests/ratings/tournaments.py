"""Games between players of known strength, by BayesElo's model; rows as of `bayes_elo`."""

import numpy as np


def logistic(elo):
    return 1 / (1 + 10 ** (-elo / 400))


def chances(elo, advantage, draw_elo):
    """(win, draw, loss) of the first player, who is `elo` stronger."""
    win = logistic(elo + advantage - draw_elo)
    loss = logistic(-elo - advantage - draw_elo)
    return win, 1 - win - loss, loss


def simulate(rng, elo, games, advantage=0.0, draw_elo=97.3):
    """Random pairings."""
    first = rng.integers(len(elo), size=games)
    second = (first + rng.integers(1, len(elo), size=games)) % len(elo)
    return played(rng, elo, first, second, advantage, draw_elo)


def played(rng, elo, first, second, advantage, draw_elo):
    """One row per ordered pair, results drawn from the model."""
    win, draw, _ = chances(elo[first] - elo[second], advantage, draw_elo)
    luck = rng.random(len(first))
    counts = np.eye(3, dtype=int)[np.select([luck < win, luck < win + draw], [0, 1], 2)]
    pairs, row = np.unique(np.column_stack([first, second]), axis=0, return_inverse=True)
    total = np.zeros((len(pairs), 3), int)
    np.add.at(total, row.ravel(), counts)
    return np.column_stack([pairs, total])


def round_robin(rng, elo, games, advantage=0.0, draw_elo=97.3):
    """Every ordered pair in turn."""
    pairs = np.array([(a, b) for a in range(len(elo)) for b in range(len(elo)) if a != b])
    first, second = pairs[np.arange(games) % len(pairs)].T
    return played(rng, elo, first, second, advantage, draw_elo)


def neighbours(rng, elo, games, advantage=0.0, draw_elo=97.3):
    """Each against the next, as a run's arena matches, either one first."""
    lower = rng.integers(len(elo) - 1, size=games)
    swap = rng.random(games) < 0.5
    return played(rng, elo, lower + swap, lower + ~swap, advantage, draw_elo)
